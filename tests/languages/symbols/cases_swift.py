"""Swift: what is defined, what names mean, what is imported."""

from languages.symbols.labels import Case

CASES = (
    Case(
        "class with members",
        "class A: B, P {\n  var x = 1\n  let y: Int\n  init(y: Int) { self.y = y }\n"
        "  func m(_ a: Int, by b: Int) -> Int { return a + b }\n"
        "  static func s() {}\n}\n",
        "class A; property A.x; property A.y; method A.init; parameter A.init.y; method A.m; parameter A.m.a; "
        "parameter A.m.b; method A.s",
        "y@4.2 of THIS; y@4.3 -> 4; a@5.2 -> 5; b@5.2 -> 5; by@5 of KEYWORD",
    ),
    Case(
        "struct, enum, protocol, typealias",
        "struct S { let a: Int }\nenum E { case one, two(Int)\n"
        " case three }\nprotocol P { func m()\n var v: Int { get } }\n"
        "typealias T = Int\n",
        "struct S; property S.a; enum E; constant E.one; constant E.two; constant E.three; interface P; method P.m; "
        "property P.v; type T",
    ),
    Case(
        "imports",
        "import Foundation\nimport struct A.B\n@testable import C\nimport D.E\n",
        "",
        imports="swift_import Foundation : *; swift_import A : B; swift_import C : *; swift_import D.E : *",
    ),
    Case(
        "locals and optional bindings",
        "func f(p: Foo?) {\n  guard let q = p else { return }\n"
        "  if let r = q.s { print(r) }\n  let t = q\n  print(t)\n}\n",
        "function f; parameter f.p; variable f.q; variable f.r; variable f.t",
        "p@2 -> 1; q@3 -> 2; s@3 of q; r@3.2 -> 3; t@5 -> 4; q@4 -> 2",
    ),
    Case(
        "a binding may take the name of what it unwraps",
        "func f(x: Int?) {\n  if let x = x { print(x) }\n  print(x)\n}\n",
        None,
        "x@2.2 -> 1; x@2.3 -> 2; x@3 -> 1",
    ),
    Case(
        "closures",
        "func f(xs: [Int]) {\n  xs.map { x in x + 1 }\n  xs.reduce(0) { (a, b) -> Int in a + b }\n  xs.map { $0 }\n}\n",
        "function f; parameter f.xs; parameter f.x; parameter f.a; parameter f.b",
        "x@2.2 -> 2; b@3.2 -> 3; map@2 of xs",
    ),
    Case(
        "an extension belongs to its type",
        "extension Foo: P {\n  func bar() {}\n  var baz: Int { 1 }\n}\n",
        "method Foo.bar; property Foo.baz",
    ),
    Case(
        "receivers",
        "class A: B {\n  func m() {\n    self.a\n    super.b()\n"
        "    f().c\n    x?.d\n    y!.e\n    .g\n    A.B.h()\n  }\n}\n",
        None,
        "a@3 of THIS; b@4 of SUPER; c@5 of EXPRESSION; d@6 of x; e@7 of y; B@9 of A; h@9 of B",
    ),
    Case(
        "implied members and labels of arguments",
        "func f() {\n  g(name: .red)\n  let c = .blue\n}\n",
        None,
        "name@2 of KEYWORD; red@2 of KEYWORD; blue@3 of KEYWORD",
    ),
    Case(
        "loops, catches and switches",
        "func f(xs: [Int]) {\n  for x in xs { print(x) }\n  do { } catch let e { print(e) }\n"
        "  switch xs { case let (a, b): print(a)\n default: break }\n}\n",
        "function f; parameter f.xs; variable f.x; variable f.e; variable f.a; variable f.b",
        "x@2.2 -> 2; e@3.2 -> 3; a@4.2 -> 4",
    ),
    Case(
        "overloads are doubtful",
        "func f(a: Int) {}\nfunc f(b: String) {}\n",
        "function f; parameter f.a; function f; parameter f.b",
        "f@1 -> 1?",
    ),
    Case(
        "type parameters",
        "struct Box<T> {\n  let v: T\n  func map<U>(_ f: (T) -> U) -> U { f(v) }\n}\n",
        "struct Box; type Box.T; property Box.v; method Box.map; type Box.map.U; parameter Box.map.f",
        "T@2 -> 1; U@3.3 -> 3; f@3.2 -> 3",
    ),
    Case(
        "subscript, deinit and computed properties",
        "class A {\n  deinit {}\n  subscript(i: Int) -> Int { return i }\n"
        "  var p: Int { get { 1 } set { q = newValue } }\n}\n",
        "class A; method A.deinit; method A.subscript; parameter A.subscript.i; property A.p",
        "i@3.2 -> 3",
    ),
    Case(
        "top-level variables",
        "let a = 1\nvar b = a\n",
        "variable a; variable b",
    ),
)
