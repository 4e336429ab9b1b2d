"""What names mean across Java files: each case is a small repository and questions about places in it."""

from pathlib import Path

import pytest

from index.linking_cases import Case, check

CASES = (
    Case(
        "two stars that offer different things are open",
        {
            "a/X.java": "package a;\npublic class X {}\n",
            "b/X.java": "package b;\npublic class X {}\n",
            "b/Y.java": "package b;\npublic class Y {}\n",
            "c/C.java": "package c;\nimport a.*;\nimport b.*;\nclass C { X x; Y y; }\n",
        },
        "c/C.java:4 X -> -\nc/C.java:4 Y -> b/Y.java:2 STRONG",
    ),
    Case(
        "a star from outside hides nothing",
        {
            "b/Y.java": "package b;\npublic class Y {}\n",
            "c/C.java": "package c;\nimport b.*;\nimport java.util.*;\nclass C { Y y; }\n",
        },
        "c/C.java:4 Y -> b/Y.java:2 STRONG",
    ),
    Case(
        "the own package comes before stars",
        {
            "a/X.java": "package a;\npublic class X {}\n",
            "c/X.java": "package c;\npublic class X {}\n",
            "c/C.java": "package c;\nimport a.*;\nclass C { X x; }\n",
        },
        "c/C.java:3 X -> c/X.java:2 STRONG",
    ),
    Case(
        "a named import comes before the own package",
        {
            "a/X.java": "package a;\npublic class X {}\n",
            "c/X.java": "package c;\npublic class X {}\n",
            "c/C.java": "package c;\nimport a.X;\nclass C { X x; }\n",
        },
        "c/C.java:3 X#1 -> a/X.java:2 STRONG",
    ),
    Case(
        "the number of arguments chooses between a class and its base",
        {
            "a/A.java": "package a;\npublic class A {\n  public int f(int i) { return 1; }\n}\n",
            "a/B.java": "package a;\npublic class B extends A {\n  public int f(int i, int j) { return 1; }\n}\n",
            "a/C.java": "package a;\nclass C {\n  void m(B b) {\n    b.f(1);\n    b.f(1, 2);\n    b.f();\n  }\n}\n",
        },
        "a/C.java:4 f -> a/A.java:3 STRONG\na/C.java:5 f -> a/B.java:3 STRONG\na/C.java:6 f -> -",
    ),
    Case(
        "a base with another signature of the same length leaves it open",
        {
            "a/A.java": "package a;\npublic class A<T> {\n  public T f(T t) { return t; }\n}\n",
            "a/B.java": "package a;\npublic class B extends A<Integer> {\n  public int f(int i) { return 1; }\n}\n",
            "a/C.java": "package a;\nclass C {\n  void m(B b) { b.f(1); }\n}\n",
        },
        "a/C.java:3 f -> -",
    ),
    Case(
        "what overrides is meant",
        {
            "a/A.java": "package a;\npublic class A<T> {\n  public void f(T t) {}\n  public void g(String s) {}\n}\n",
            "a/B.java": "package a;\npublic class B extends A<String> {\n  @Override public void f(String s) {}\n"
            "  public void g(String other) {}\n}\n",
            "a/C.java": 'package a;\nclass C {\n  void m(B b) {\n    b.f("");\n    b.g("");\n  }\n}\n',
        },
        "a/C.java:4 f -> a/B.java:3 STRONG\na/C.java:5 g -> a/B.java:4 STRONG",
    ),
    Case(
        "overloads of one class",
        {
            "a/A.java": "package a;\npublic class A {\n  void f(int i) {}\n  void f(String s) {}\n"
            "  void f(int i, int j) {}\n"
            "  void g(int i) {}\n  void g(int... is) {}\n  void h(int... is) {}\n}\n",
            "a/C.java": "package a;\nclass C {\n  void m(A a) {\n    a.f(1);\n    a.f(1, 2);\n    a.g(1);\n"
            "    a.h(1, 2, 3);\n"
            "  }\n}\n",
        },
        "a/C.java:4 f -> -\na/C.java:5 f -> a/A.java:5 STRONG\na/C.java:6 g -> -\na/C.java:7 h -> a/A.java:8 STRONG",
    ),
    Case(
        "a base from outside may have an overload of what overrides it",
        {
            "a/W.java": "package a;\nimport java.io.Writer;\npublic class W extends Writer {\n"
            "  @Override public void write(int c) {}\n  @Override public void flush() {}\n}\n",
            "a/C.java": 'package a;\nclass C {\n  void m(W w) {\n    w.write("s");\n    w.flush();\n  }\n}\n',
        },
        "a/C.java:4 write -> -\na/C.java:5 flush -> a/W.java:5 STRONG",
    ),
    Case(
        "every class has equals of an object",
        {
            "a/A.java": "package a;\npublic class A {\n  public boolean equals(A other) { return true; }\n}\n",
            "a/B.java": "package a;\npublic class B {\n"
            "  @Override public boolean equals(Object other) { return true; }\n}\n",
            "a/C.java": "package a;\nclass C {\n  void m(A a, B b) {\n    a.equals(b);\n    b.equals(a);\n  }\n}\n",
        },
        "a/C.java:4 equals -> -\na/C.java:5 equals -> a/B.java:3 STRONG",
    ),
    Case(
        "fields and methods are apart",
        {
            "a/A.java": "package a;\npublic class A {\n  int size;\n  int size() { return size; }\n  int only;\n"
            "  int run() { return 1; }\n}\n",
            "a/C.java": "package a;\nclass C {\n  void m(A a) {\n    a.size();\n    int x = a.size;\n"
            "    a.only();\n    x = a.run;\n  }\n}\n",
        },
        "a/C.java:4 size -> a/A.java:4 STRONG\na/C.java:5 size -> a/A.java:3 STRONG\na/C.java:6 only -> -\n"
        "a/C.java:7 run -> -",
    ),
    Case(
        "a component of a record is read and called",
        {
            "a/P.java": "package a;\npublic record P(int x, int y) {}\n",
            "a/C.java": "package a;\nclass C {\n  int m(P p) { return p.x(); }\n}\n",
        },
        "a/C.java:3 x -> a/P.java:2 STRONG",
    ),
    Case(
        "a reference to a method with overloads is open",
        {
            "a/A.java": "package a;\npublic class A {\n  static void f(int i) {}\n  static void f(String s) {}\n"
            "  static void g(int i) {}\n}\n",
            "a/C.java": "package a;\nclass C {\n  Object m() { return new Object[] { (R) A::f, (R) A::g }; }\n}\n",
        },
        "a/C.java:3 f -> -\na/C.java:3 g -> a/A.java:5 STRONG",
    ),
    Case(
        "an inherited method called by its plain name",
        {
            "a/A.java": "package a;\npublic class A {\n  void f(int i) {}\n  void f(int i, int j) {}\n"
            "  void g(int i) {}\n  void g(String s) {}\n}\n",
            "a/B.java": "package a;\nclass B extends A {\n  void m() {\n    f(1, 2);\n    g(1);\n    this.f(1);\n"
            "    super.f(1);\n  }\n}\n",
        },
        "a/B.java:4 f -> a/A.java:4 STRONG\na/B.java:5 g -> -\na/B.java:6 f -> a/A.java:3 STRONG\n"
        "a/B.java:7 f -> a/A.java:3 STRONG",
    ),
    Case(
        "the number of arguments chooses what a static import means",
        {
            "a/A.java": "package a;\npublic class A {\n  public static void f(int i) {}\n"
            "  public static void f(int i, int j) {}\n}\n",
            "b/C.java": "package b;\nimport static a.A.f;\nclass C {\n  void m() { f(1, 2); }\n}\n",
        },
        "b/C.java:4 f -> a/A.java:4 STRONG\nb/C.java:2 f -> -",
    ),
    Case(
        "static members through a star of their class",
        {
            "a/A.java": "package a;\npublic class A {\n  public static void f(int i) {}\n"
            "  public static final int N = 1;\n}\n",
            "b/C.java": "package b;\nimport static a.A.*;\nclass C {\n  int m() { f(1); return N; }\n}\n",
            "b/D.java": "package b;\nimport static a.A.*;\nimport static ext.E.*;\nclass D {\n"
            "  void m() { f(1); }\n}\n",
        },
        "b/C.java:4 f -> a/A.java:3 STRONG\nb/C.java:4 N -> a/A.java:4 STRONG\nb/D.java:5 f -> -",
    ),
    Case(
        "a type parameter has the members of its bound",
        {
            "a/A.java": "package a;\npublic class A {\n  public void f() {}\n}\n",
            "a/C.java": "package a;\nclass C<T extends A> {\n  void m(T t) { t.f(); }\n}\n",
        },
        "a/C.java:3 f -> a/A.java:3 STRONG",
    ),
    Case(
        "a field of a type parameter may be more to whoever has the object",
        {
            "a/A.java": "package a;\npublic class A { public void f() {} }\n",
            "a/B.java": "package a;\npublic class B extends A { public void f() {} }\n",
            "a/G.java": "package a;\npublic class G<T extends A> { protected T it; }\n",
            "a/C.java": "package a;\nclass C extends G<B> {\n  void m(G<B> g) { it.f(); g.it.f(); }\n}\n",
        },
        "a/C.java:3 f#1 -> -\na/C.java:3 f#2 -> -",
    ),
    Case(
        "a type of the package used in a nested class",
        {
            "a/A.java": "package a;\npublic class A { public static void f() {} }\n",
            "a/C.java": "package a;\nclass C {\n  static class D extends Exception {\n    void m() { A.f(); }\n"
            "  }\n}\n",
        },
        "a/C.java:4 A -> a/A.java:2 STRONG\na/C.java:4 f -> a/A.java:2 STRONG",
    ),
    Case(
        "two interfaces with one method leave it open",
        {
            "a/I.java": "package a;\npublic interface I { void f(int i); }\n",
            "a/J.java": "package a;\npublic interface J { void f(int i); }\n",
            "a/K.java": "package a;\npublic interface K extends I, J {}\n",
            "a/C.java": "package a;\nclass C {\n  void m(K k) { k.f(1); }\n}\n",
        },
        "a/C.java:3 f -> -",
    ),
    Case(
        "an enum has a valueOf of its own",
        {
            "a/E.java": "package a;\npublic enum E {\n  ONE;\n  public static E valueOf(int i) { return ONE; }\n"
            "  public static E of(int i) { return ONE; }\n}\n",
            "a/C.java": 'package a;\nclass C {\n  void m() {\n    E.valueOf("ONE");\n    E.of(1);\n  }\n}\n',
        },
        "a/C.java:4 valueOf -> -\na/C.java:5 of -> a/E.java:5 STRONG",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_names_mean_what_the_case_says(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
