"""Scala: what is defined, what names mean, what is imported."""

from languages.symbols.labels import Case

CASES = (
    Case(
        "class, trait, object",
        "package a.b\nclass C(x: Int, val y: String) extends D(x) with E {\n"
        "  val z = 1\n  def m(n: Int): Int = n + 1\n}\n"
        "trait T { def q: Int }\nobject O { type A = Int }\n",
        "class C; parameter C.x; property C.y; property C.z; method C.m; parameter C.m.n; trait T; method T.q; "
        "class O; "
        "type O.A",
        "n@4.2 -> 4; x@2.2 -> 2",
    ),
    Case(
        "imports",
        "import a.b.C\nimport a.b._\nimport a.{B, D => E, F => _}\nimport x.y, z.w\n",
        "",
        imports="scala_import a.b : C; scala_import a.b : *; scala_import a : B; scala_import a : D as E; "
        "scala_import x : y; scala_import z : w",
    ),
    Case(
        "locals and lambdas",
        "object O {\n  def f(xs: List[Int]) = {\n    val a = xs.map(x => x + 1)\n"
        "    var b = a\n    a.foldLeft(0)((p, q) => p + q)\n  }\n}\n",
        "class O; method O.f; parameter O.f.xs; variable O.f.a; parameter O.f.x; variable O.f.b; parameter O.f.p; "
        "parameter O.f.q",
        "xs@3 -> 2; map@3 of xs; x@3.2 -> 3; a@4 -> 3; q@5.2 -> 5; foldLeft@5 of a",
    ),
    Case(
        "case classes and pattern variables",
        "case class P(a: Int)\nobject O {\n  def f(x: Any) = x match {\n"
        "    case P(n) => n\n    case m: Int => m\n    case _ => 0\n  }\n}\n",
        "class P; property P.a; class O; method O.f; parameter O.f.x; variable O.f.n; variable O.f.m",
        "n@4.2 -> 4; m@5.2 -> 5; x@3.2 -> 3",
    ),
    Case(
        "for comprehensions",
        "object O {\n  def f(xs: List[Int]) = for { x <- xs; y = x + 1 if y > 1 } yield x + y\n}\n",
        "class O; method O.f; parameter O.f.xs; variable O.f.x; variable O.f.y",
        "xs@2.2 -> 2; x@2.3 -> 2; y@2.3 -> 2",
    ),
    Case(
        "receivers",
        "class C extends D {\n  def m = this.a + super.b + f(1).c + p.q.r\n}\n",
        None,
        "a@2 of THIS; b@2 of SUPER; c@2 of EXPRESSION; q@2 of p; r@2 of q",
    ),
    Case(
        "overloads are doubtful",
        "object O {\n  def f(a: Int) = 1\n  def f(b: String) = 2\n}\n",
        "class O; method O.f; parameter O.f.a; method O.f; parameter O.f.b",
        "f@2 -> 2?",
    ),
    Case(
        "type parameters",
        "class Box[T](v: T) {\n  def map[U](f: T => U): U = f(v)\n}\n",
        "class Box; type Box.T; parameter Box.v; method Box.map; type Box.map.U; parameter Box.map.f",
        "T@1.2 -> 1; T@2 -> 1; U@2.3 -> 2; f@2.2 -> 2",
    ),
    Case(
        "a companion has the name of its class",
        "class A\nobject A { def make = new A }\n",
        "class A; class A; method A.make",
    ),
    Case(
        "indentation instead of braces",
        "object O:\n  def f(a: Int): Int =\n    val b = a\n    b + 1\n",
        "class O; method O.f; parameter O.f.a; variable O.f.b",
        "a@3 -> 2; b@4 -> 3",
    ),
    Case(
        "enums and givens",
        "enum Color:\n  case Red, Green\ngiven ord: Ord[Int] = ???\n",
        "enum Color; constant Color.Red; constant Color.Green; variable ord",
    ),
    Case(
        "argument names",
        "object O { val x = f(name = 1) }\n",
        None,
        "name@1 of KEYWORD",
    ),
    Case(
        "implicit parameters and several lists",
        "object O {\n  def f(a: Int)(b: Int)(implicit c: Ctx): Int = a + b + c.d\n}\n",
        "class O; method O.f; parameter O.f.a; parameter O.f.b; parameter O.f.c",
        "a@2.2 -> 2; b@2.2 -> 2; c@2.2 -> 2; d@2 of c.2",
    ),
    Case(
        "an imported name",
        "import a.C\nobject O { def f(c: C) = c }\n",
        None,
        "C@2 -> 1; c@2.2 -> 2",
    ),
)
