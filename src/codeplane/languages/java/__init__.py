"""Java: what a file says about itself (`extract`), and how files are linked (`linking`).

`structure` goes over the nodes that declare imports, types and members, `statements` over those inside of methods,
`hierarchy` settles which classes of the file extend which, `names` goes over the identifiers; all are told by the query
in `syntax`. `overloads` chooses between methods across files.

Invariants: the facts depend on the bytes alone, nothing recurses on the depth of the source, nothing raises on any
input.

Decisions about what counts:

- Types, variables, methods and labels have name spaces of their own. A plain name before a dot is a variable if there
  is one, else a type, else the start of a package.
- Named imports are bound in a scope `imports` inside of the file's own, because the rest of the package sees the types
  of the file but not its imports. An import of a type has its package as source, a static one its class.
- Members are bound in the whole body of their class, and those of classes of this file are inherited. A member that is
  found outside of a class which inherits from another file, or from something that is not a plain name, is left open:
  the other file may have the name as well (UNKNOWN). Types of the file and imports are not left open for that.
- A call by plain name means the methods of the innermost class that has the name. It is CERTAIN if the number of
  arguments leaves one of them, UNCERTAIN if it leaves several, UNKNOWN if it leaves none. A method marked `@Override`
  in a class that inherits from another file is open, because it may have overloads there.
- A name bound nowhere inside of an anonymous class is UNKNOWN, unless it is a type: the class around is not what it
  inherits from. `this` and `super` in it have the receiver EXPRESSION.
- Constructors are METHOD definitions that belong to no scope but their own, so that no name means them; `new T()` is a
  reference to the class. Components of records are PROPERTY. Fields that are `static final` are CONSTANT, and so are
  the constants of enums, whose type is the enum and whose bodies extend it.
- Variables of patterns are seen from their name to the end of the block; where a variable of that name is around, both
  are UNCERTAIN, because the real extent depends on the flow of control.
- Plain names in `case` labels have the receiver KEYWORD: they may belong to the type that is switched over. Keys of
  annotations are members of the annotation's type.
- `usages` says of members and of names that this file does not bind whether they are called, with how many arguments,
  read, or used as types; `overloads` chooses among the methods of one name by it.
- `type_ref` is given by declared types that are not arrays, and by `new T(…)` for `var`; never by calls.
- The names of packages in `package` and of modules in `module-info` are not references.

It deliberately does not choose between overloads by the types of arguments.
"""
