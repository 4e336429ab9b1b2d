"""C++: as C, with classes, namespaces and templates.

Decisions about what counts, besides those of `languages.tables` and `languages.c`:

- A namespace is a MODULE; each time it is opened is a definition of its own. What is in one without a name belongs to
  the scope around it.
- `T::m` outside of its class is a METHOD with the path `T.m` and the owner `T`, bound to nothing; whether `T` is a
  class or a namespace the syntax does not say. Names in it that are not local stay unbound.
- The parameters of a template are TYPE, or PARAMETER, under the path of what they are for, whose span begins at the
  word `template`. A specialisation is a further definition of the name.
- A class after an export macro, which the grammar takes for a function, is a class. A declaration in a function that
  could be a prototype or a variable with arguments for its constructor is a variable, unless it names a built-in type.
- Constructors have the name of their class and are not bound to it. Macros that look like functions with a body
  (`TEST(a, b) {…}`) are functions.
- `using` declarations are references only.
"""
