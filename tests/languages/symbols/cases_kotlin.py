"""Kotlin: what is defined, what names mean, what is imported."""

from languages.symbols.labels import Case

CASES = (
    Case(
        "a class with a primary constructor",
        "package a.b\nclass User(val name: String, age: Int) : Base(age), Thing {\n  private var x = 1\n"
        "  fun greet(who: String): String = who\n}\n",
        "class User; property User.name; parameter User.age; property User.x; method User.greet; "
        "parameter User.greet.who",
        "who@4.2 -> 4; age@2.2 -> 2",
    ),
    Case(
        "interface, object, enum, companion",
        "interface I {\n  fun m()\n}\nobject O {\n  val a = 1\n}\nenum class E {\n  A, B;\n  fun f() {}\n}\n"
        "class C {\n  companion object {\n    const val X = 1\n  }\n}\n",
        "interface I; method I.m; class O; property O.a; enum E; constant E.A; constant E.B; method E.f; class C; "
        "class C.Companion; constant C.Companion.X",
    ),
    Case(
        "imports",
        "import a.b.C\nimport a.b.*\nimport a.b.D as E\n",
        "",
        imports="kotlin_import a.b : C; kotlin_import a.b : *; kotlin_import a.b : D as E",
    ),
    Case(
        "top-level functions and values",
        "val x = 1\nvar y: Int = 2\nconst val Z = 3\nfun f(a: Int) = a + 1\n",
        "variable x; variable y; constant Z; function f; parameter f.a",
        "a@4.2 -> 4",
    ),
    Case(
        "locals",
        "fun f(p: Foo) {\n  val a = p.b.c()\n  var d = a?.e\n  println(d)\n}\n",
        "function f; parameter f.p; variable f.a; variable f.d",
        "p@2 -> 1; b@2 of p; c@2 of b; a@3 -> 2; e@3 of a; d@4 -> 3",
    ),
    Case(
        "a variable is not seen in its own initialiser",
        "fun f(x: Int?) {\n  if (true) {\n    val x = x ?: return\n    println(x)\n  }\n}\n",
        None,
        "x@3.2 -> 1; x@4 -> 3",
    ),
    Case(
        "lambdas",
        "fun f(xs: List<Int>) {\n  xs.map { x -> x + 1 }\n"
        "  xs.fold(0) { a, b -> a + b }\n  xs.forEach { print(it) }\n}\n",
        "function f; parameter f.xs; parameter f.x; parameter f.a; parameter f.b",
        "x@2.2 -> 2; b@3.2 -> 3; map@2 of xs; it@4 -> -",
    ),
    Case(
        "destructuring and loops",
        "fun f(m: Map<Int, Int>) {\n  for ((k, v) in m) print(k + v)\n"
        "  val (a, b) = m\n  print(a)\n  for (i in 1..2) print(i)\n}\n",
        "function f; parameter f.m; variable f.k; variable f.v; variable f.a; variable f.b; variable f.i",
        "k@2.2 -> 2; a@4 -> 3; i@5.2 -> 5",
    ),
    Case(
        "an extension belongs to its type",
        "fun Foo.bar(n: Int) = this.x + n\n",
        "function Foo.bar; parameter Foo.bar.n",
        "x@1 of THIS; n@1.2 -> 1",
    ),
    Case(
        "receivers",
        "class A : B() {\n  fun m() {\n    this.a\n    super.b()\n"
        "    f().c\n    x!!.d\n    A::e\n    a.b<Int>().g\n  }\n}\n",
        None,
        "a@3 of THIS; b@4 of SUPER; c@5 of EXPRESSION; d@6 of x; e@7 of A; g@8 of EXPRESSION",
    ),
    Case(
        "overloads are doubtful",
        "fun f(a: Int) {}\nfun f(b: String) {}\n",
        "function f; parameter f.a; function f; parameter f.b",
        "f@1 -> 1?; f@2 -> 2?",
    ),
    Case(
        "argument names",
        "fun f() {\n  g(name = 1, other = h)\n}\n",
        None,
        "name@2 of KEYWORD; other@2 of KEYWORD; h@2 of NOTHING",
    ),
    Case(
        "type parameters and aliases",
        "typealias Handler = (Int) -> Unit\nclass Box<T>(val v: T) {\n  fun <U> map(f: (T) -> U): U = f(v)\n}\n",
        "type Handler; class Box; type Box.T; property Box.v; type Box.map.U; method Box.map; parameter Box.map.f",
        "T@2.2 -> 2; T@3 -> 2; U@3.2 -> 3; f@3.2 -> 3",
    ),
    Case(
        "an imported name",
        "import a.b.C\nimport a.d as e\nfun f(c: C) {\n  e()\n}\n",
        None,
        "C@3 -> 1; e@4 -> 2; C@1 -> 1",
    ),
    Case(
        "catch and when",
        "fun f() {\n  try { } catch (e: E) { print(e) }\n  when (val n = g()) { else -> print(n) }\n}\n",
        "function f; variable f.e; variable f.n",
        "e@2.2 -> 2; n@3.2 -> 3",
    ),
)
