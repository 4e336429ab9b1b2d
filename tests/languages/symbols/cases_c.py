"""C: what is defined, what names mean, what is included."""

from languages.symbols.labels import Case

CASES = (
    Case(
        "a function with parameters and locals",
        "int add(int a, int b) {\n  int sum = a + b;\n  return sum;\n}\n",
        "function add; parameter add.a; parameter add.b; variable add.sum",
        "a@2 -> 1; b@2 -> 1; sum@3 -> 2; add@1 -> 1",
    ),
    Case(
        "a struct with fields, used through pointer and dot",
        "struct point { int x; int *y; };\nint f(struct point *p, struct point q) {\n  return p->x + *q.y;\n}\n",
        "struct point; field point.x; field point.y; function f; parameter f.p; parameter f.q",
        "x@3 of p; y@3 of q; p@3 -> 2; point@2 -> 1; point@2.2 -> 1; x@3 -> -",
    ),
    Case(
        "tag and typedef of one name are two definitions",
        "typedef struct node { struct node *next; } node;\nnode *head;\nstruct node *tail;\n",
        "struct node; field node.next; type node; variable head; variable tail",
        "node@1.2 -> 1; node@2 -> 1; node@3 -> 1; node@1.3 -> 1",
    ),
    Case(
        "an anonymous struct takes the name of its typedef",
        "typedef struct { int a; } T;\nT t;\nint f(void) { return t.a; }\n",
        "field T.a; type T; variable t; function f",
        "a@3 of t; t@3 -> 2; T@2 -> 1",
    ),
    Case(
        "enumerators are names of the scope around the enum",
        "enum color { RED, GREEN = 3 };\nint f(void) { return RED; }\n",
        "enum color; constant color.RED; constant color.GREEN; function f",
        "RED@2 -> 1",
    ),
    Case(
        "macros with and without parameters",
        "#define MAX 10\n#define SQ(x) ((x) * (x))\nint f(int n) { return SQ(n) + MAX; }\n",
        "macro MAX; macro SQ; function f; parameter f.n",
        "SQ@3 -> 2; MAX@3 -> 1; n@3.2 -> 3",
    ),
    Case(
        "the definition with a body is preferred to the prototype",
        "static int f(int a);\nint g(void) { return f(1); }\nstatic int f(int a) { return a; }\n",
        "function f; parameter f.a; function g; function f; parameter f.a",
        "f@2 -> 3; a@3.2 -> 3",
    ),
    Case(
        "branches of the preprocessor leave a doubt",
        "#ifdef A\nint f(void) { return 1; }\n#else\nint f(void) { return 2; }\n#endif\nint g(void) { return f(); }\n",
        "function f; function f; function g",
        "f@6 -> 2?",
    ),
    Case(
        "an include guard leaves no doubt",
        "#ifndef A_H\n#define A_H\nextern int count;\nstatic int get(void) { return count; }\n#endif\n",
        "macro A_H; variable count; function get",
        "count@4 -> 3",
    ),
    Case(
        "function pointers",
        "typedef int (*callback)(int code, void *data);\nstatic callback hook;\n"
        "int run(int (*f)(int), int x) { return f(x) + hook(x, 0); }\n",
        "type callback; parameter callback.code; parameter callback.data; variable hook; function run; "
        "parameter run.f; parameter run.x",
        "f@3 -> 3; x@3.2 -> 3; hook@3 -> 2; callback@2 -> 1",
    ),
    Case(
        "an inner block shadows from its declaration on",
        "int f(int x) {\n  {\n    x = 1;\n    int x = 2;\n    x++;\n  }\n  return x;\n}\n",
        "function f; parameter f.x; variable f.x",
        "x@3 -> 1; x@5 -> 4; x@7 -> 1",
    ),
    Case(
        "a loop variable ends with the loop",
        "int i;\nvoid f(void) {\n  for (int i = 0; i < 3; i++) g(i);\n  i = 1;\n}\n",
        "variable i; function f; variable f.i",
        "i@3.2 -> 3; i@3.4 -> 3; i@4 -> 1; g@3 -> -",
    ),
    Case(
        "includes",
        '#include <stdio.h>\n#include "dir/a.h"\n',
        "",
        imports="c_include <stdio.h> : *; c_include dir/a.h : *",
    ),
    Case(
        "several declarators in one declaration",
        "static const char *a, b[3], *const *c = 0;\nchar f(void) { return b[0]; }\n",
        "variable a; variable b; variable c; function f",
        "b@2 -> 1",
    ),
    Case(
        "fields of literals and of results",
        "struct s { int a; struct s *n; };\nstruct s *get(void);\n"
        "int f(struct s *p) {\n  struct s v = { .a = 1 };\n  return get()->a + p->n->a + (*p).a + v.a;\n}\n",
        None,
        "a@4 of KEYWORD; a@5 of EXPRESSION; n@5 of p; a@5.2 of n; a@5.3 of EXPRESSION; a@5.4 of v; v@5 -> 4",
    ),
    Case(
        "fields of an unnamed union belong to the struct around it",
        "struct v { int tag; union { int i; float f; }; struct { int k; } in; };\n",
        "struct v; field v.tag; field v.i; field v.f; field v.in.k; field v.in",
    ),
    Case(
        "two local variables of one name in one scope are doubtful",
        "int f(void) {\n#ifdef A\n  int x = 1;\n#else\n  int x = 2;\n#endif\n  return x;\n}\n",
        "function f; variable f.x; variable f.x",
        "x@7 -> 3?",
    ),
)
