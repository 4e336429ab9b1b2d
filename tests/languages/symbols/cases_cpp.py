"""C++: what is defined, what names mean, what is included."""

from languages.symbols.labels import Case

CASES = (
    Case(
        "a class with members",
        "class Account : public Base {\n public:\n  explicit Account(int id) : id_(id) {}\n  ~Account();\n"
        "  int id() const { return id_; }\n private:\n  int id_;\n  static const int kMax = 3;\n};\n",
        "class Account; method Account.Account; parameter Account.Account.id; method Account.~Account; "
        "method Account.id; field Account.id_; field Account.kMax",
        "Base@1 -> -; id@3.2 -> 3",
    ),
    Case(
        "a method outside of its class",
        "struct A { int m(int x); };\nint A::m(int x) { return x; }\n",
        "struct A; method A.m; parameter A.m.x; method A.m; parameter A.m.x",
        "m@2 of A; x@2.2 -> 2; A@2 -> 1",
    ),
    Case(
        "namespaces",
        "namespace a { namespace b { int f(); } }\nnamespace c::d { class E {}; }\nnamespace { int g; }\n",
        "module a; module a.b; function a.b.f; module c.d; class c.d.E; variable g",
    ),
    Case(
        "a template function and class",
        "template <typename T, int N>\nT first(const T (&xs)[N]) { return xs[0]; }\n"
        "template <class K> class Map { K key; };\n",
        "type first.T; parameter first.N; function first; parameter first.xs; type Map.K; class Map; field Map.key",
        "T@2 -> 1; T@2.2 -> 1; xs@2.2 -> 2; K@3.2 -> 3; N@2 -> 1",
    ),
    Case(
        "members through dot, arrow and scope",
        "void f(Foo* p, Foo& r) {\n  p->a.b();\n  r.c(); std::vector<int>::size_type n; a::b::c(n);\n  this->x;\n}\n",
        None,
        "a@2 of p; b@2 of a; c@3 of r; vector@3 of std; size_type@3 of EXPRESSION; b@3 of a; c@3.2 of b; x@4 of THIS; "
        "p@2 -> 1; r@3 -> 1; n@3.2 -> 3",
    ),
    Case(
        "overloads are doubtful",
        "void f(int a) {}\nvoid f(char b) {}\nvoid g() { f(1); }\n",
        "function f; parameter f.a; function f; parameter f.b; function g",
        "f@3 -> 1?; f@1 -> 1?; f@2 -> 2?",
    ),
    Case(
        "lambdas and captures",
        "int f(int x) {\n  auto g = [x](int y) { return x + y; };\n  return g(x);\n}\n",
        "function f; parameter f.x; variable f.g; parameter f.y",
        "y@2.2 -> 2; x@2.2 -> 1; g@3 -> 2; x@2 -> 1",
    ),
    Case(
        "structured bindings and range loops",
        "void f(M m) {\n  for (const auto& [k, v] : m) use(k, v);\n  for (auto i : m) use(i);\n}\n",
        "function f; parameter f.m; variable f.k; variable f.v; variable f.i",
        "k@2.2 -> 2; v@2.2 -> 2; i@3.2 -> 3; m@2 -> 1",
    ),
    Case(
        "scoped and plain enums, aliases and typedefs",
        "enum class Color { Red, Green };\nenum Old { A };\nusing Int = int;\ntypedef Int Number;\nNumber n = A;\n",
        "enum Color; constant Color.Red; constant Color.Green; enum Old; constant Old.A; type Int; type Number; "
        "variable n",
        "Number@5 -> 4; Int@4 -> 3; A@5 -> 2",
    ),
    Case(
        "includes",
        '#include <vector>\n#include "a/b.h"\nusing namespace std;\nusing std::string;\n',
        "",
        imports="cpp_include <vector> : *; cpp_include a/b.h : *",
    ),
    Case(
        "operators and conversions",
        "struct V {\n  V operator+(const V& o) const;\n"
        "  operator bool() const;\n  V& operator=(const V&) = default;\n};\n",
        "struct V; method V.operator+; parameter V.operator+.o; method V.operator bool; method V.operator=",
    ),
    Case(
        "a forward declaration and the class",
        "class A;\nA* make();\nclass A { int x; };\n",
        "class A; function make; class A; field A.x",
        "A@2 -> 3",
    ),
    Case(
        "a class after a macro",
        "class A_EXPORT C { int y; };\nC c;\n",
        "class C; field C.y; variable c",
        "C@2 -> 1",
    ),
    Case(
        "a namespace is told from a variable of its name",
        "namespace fmt { int f(); }\nvoid g(char* fmt) { fmt::f(fmt); }\n",
        None,
        "fmt@2.2 -> 1; fmt@2.3 -> 2",
    ),
    Case(
        "a trailing result type is no member",
        "auto f(int a) -> Result { return a; }\nint g(int n) { while (n --> 0) {} return n; }\n",
        "function f; parameter f.a; function g; parameter g.n",
        "Result@1 of NOTHING; a@1.2 -> 1; n@2.2 of NOTHING",
    ),
    Case(
        "what a base class may hide stays unbound",
        "int total;\nstruct A : B {\n  int m() { return total; }\n};\nstruct C {\n  int m() { return total; }\n};\n",
        None,
        "total@3 -> -; total@6 -> 1",
    ),
    Case(
        "a member hides what is outside",
        "int x;\nstruct C {\n  int x;\n  int m() { return x; }\n};\n",
        None,
        "x@4 -> -",
    ),
)
