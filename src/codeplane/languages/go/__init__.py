"""Go: what a file says about itself (`extract`), and how files are linked (`linking`).

`structure` goes over the nodes that open scopes and bind names, `names` over the identifiers; both are told by the
query in `syntax`. `literals` and `types` read composite literals and plainly declared types.

Invariants: the facts depend on the bytes alone, nothing recurses on the depth of the source, nothing raises on any
input.

Decisions about what counts:

- Names of the package (functions, types, variables, constants) and imports are bound in the file's scope; a name of
  another file of the package is unbound here and found through `implicit_modules`. `init` defines functions that no
  name can mean. `_` is not a name: no definition, no reference.
- An import binds the last part of its path, a version at the end (`/v2`, `.v3`) left off; where that is not a name
  (`go-isatty`) it binds nothing, because the name is in the other package. The text of the path is not a reference.
- Parameters and named results are PARAMETER, seen in the body only; type parameters are TYPE, seen in the whole
  declaration, and have their constraint as base when it is one name. Names of parameters in types of functions and in
  methods of interfaces mean nothing: no facts.
- `:=` defines what its scope does not have yet; the others are references. The variable of a type switch is one
  definition without a type, whatever the clause. Labels are STATEMENT definitions of the innermost function.
- Methods are definitions of the file's scope with `owner`, without a bind. Fields and methods of interfaces are
  definitions in the scope of their type, without a bind. A field or variable whose type is a struct written in place
  has that struct's scope as `body_scope`.
- An embedded type is a base; its name is a reference to the type and at once the name of a FIELD definition.
  `type A B` and `type A = B` have B as base.
- A key in a literal of a named type is a member of that type's reference, unless something in the literal says that
  the type is not a struct: then keys are expressions. For a map type of another file the key may be an expression
  all the same; such a member is never found. Keys of literals whose type has no name have the receiver KEYWORD.
- `type_ref` is given by declared types, through at most one pointer, by values `T{}`, `&T{}`, `new(T)` and `x.(T)`, and
  by calls: then it is the function that is called, whose own `type_ref` is its first result; never by ranges.
- The grammar takes `nil`, `true`, `false` and `iota` for words of the language; a redefinition of them is not followed.
- `documentation` is the first paragraph of the comment that ends on the line above.

It deliberately does not look at build constraints: two files of a package that define the same name for different
platforms make it ambiguous.
"""
