"""C#: what is defined, what names mean, what is imported."""

from languages.symbols.labels import Case

CASES = (
    Case(
        "a namespace with a class",
        "namespace A.B {\n  public class Foo : Bar, IBaz {\n    private int _x;\n    public string Name { get; set; }\n"
        "    public Foo(int x) { _x = x; }\n    public int Twice(int y) => y * 2;\n  }\n}\n",
        "module A.B; class A.B.Foo; field A.B.Foo._x; property A.B.Foo.Name; method A.B.Foo.Foo; "
        "parameter A.B.Foo.Foo.x; method A.B.Foo.Twice; parameter A.B.Foo.Twice.y",
        "x@5.2 -> 5; y@6.2 -> 6; _x@5 -> -",
    ),
    Case(
        "a file-scoped namespace",
        "namespace A.B;\nclass C { void M() { } }\nclass D { }\n",
        "module A.B; class A.B.C; method A.B.C.M; class A.B.D",
    ),
    Case(
        "usings",
        "using System;\nusing static System.Math;\nusing P = System.IO.Path;\nglobal using A.B;\n",
        "",
        imports="csharp_using System : *; csharp_using_static System.Math : *; csharp_using System.IO.Path as P; "
        "csharp_using A.B : *",
    ),
    Case(
        "locals and members",
        "class C {\n  void M(Foo p) {\n    var a = p.B.C();\n"
        "    a.D = this.E;\n    base.F(a);\n    G()?.H(p);\n  }\n}\n",
        "class C; method C.M; parameter C.M.p; variable C.M.a",
        "B@3 of p; C@3 of B; D@4 of a; E@4 of THIS; F@5 of SUPER; H@6 of EXPRESSION; a@4 -> 3; p@6 -> 2; a@5 -> 3",
    ),
    Case(
        "interface, struct, enum, record, delegate",
        "interface I { void M(); }\nstruct S { public int X; }\nenum E { A, B = 2 }\nrecord R(int Q);\n"
        "delegate int D(int x);\n",
        "interface I; method I.M; struct S; field S.X; enum E; constant E.A; constant E.B; class R; parameter R.Q; "
        "type D; parameter D.x",
    ),
    Case(
        "overloads are doubtful",
        "class C {\n  void M(int a) { }\n  void M(string b) { }\n}\n",
        "class C; method C.M; parameter C.M.a; method C.M; parameter C.M.b",
        "M@2 -> 2?; M@3 -> 3?",
    ),
    Case(
        "generics and constraints",
        "class Box<T> where T : IThing {\n  T value;\n  U Get<U>(T t) { return default(U); }\n}\n",
        "class Box; type Box.T; field Box.value; method Box.Get; type Box.Get.U; parameter Box.Get.t",
        "T@2 -> 1; T@3 -> 1; U@3.3 -> 3",
    ),
    Case(
        "lambdas, local functions, loops",
        "class C {\n  int M(int[] xs) {\n    int Sum(int n) => n + 1;\n    foreach (var x in xs) Use(x, y => y + x);\n"
        "    return Sum(xs.Length);\n  }\n}\n",
        "class C; method C.M; parameter C.M.xs; function C.M.Sum; parameter C.M.Sum.n; variable C.M.x; parameter C.M.y",
        "n@3.2 -> 3; x@4.2 -> 4; y@4.2 -> 4; xs@5 -> 2; Length@5 of xs; Sum@5 -> 3; x@4.3 -> 4",
    ),
    Case(
        "patterns and out variables",
        "class C {\n  void M(object o) {\n    if (o is Foo f) f.X();\n"
        "    if (T.TryParse(o, out var n)) Use(n);\n  }\n}\n",
        "class C; method C.M; parameter C.M.o; variable C.M.f; variable C.M.n",
        "f@3.2 -> 3; X@3 of f.2; n@4.2 -> 4; o@4 -> 2; TryParse@4 of T",
    ),
    Case(
        "argument names and initialisers",
        "class C {\n  void M() {\n    var p = new Foo { A = 1, B = 2 };\n    Call(name: p);\n  }\n}\n",
        None,
        "A@3 of KEYWORD; B@3 of KEYWORD; name@4 of KEYWORD; p@4 -> 3",
    ),
    Case(
        "a type named like a member",
        "class C {\n  Color Color;\n  void M(Color Color) { Color.X(); Color c = null; }\n}\n",
        "class C; field C.Color; method C.M; parameter C.M.Color; variable C.M.c",
        "Color@2 -> -; Color@3 -> -; Color@3.3 -> 3; Color@3.4 -> -",
    ),
    Case(
        "constants, events, properties with bodies",
        "class C {\n  const int Max = 3;\n  event Action Done;\n  int P => Max;\n  int Q { get { return 1; } }\n"
        "  static readonly int R = 1;\n}\n",
        "class C; constant C.Max; field C.Done; property C.P; property C.Q; field C.R",
    ),
    Case(
        "types of the same file",
        "namespace N {\n  class A { }\n  class B {\n    A a;\n"
        "    A Make() { return new A(); }\n  }\n  class D : X { A a; }\n}\n",
        None,
        "A@4 -> 2; A@5 -> 2; A@5.2 -> 2; A@7 -> -",
    ),
)
