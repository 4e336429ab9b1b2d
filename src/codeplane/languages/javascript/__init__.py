"""What a JavaScript, TypeScript or TSX file says about itself, and which file an import means.

`extract` has a door for each of the three grammars, `linking` the linker they share. The work is done in this order:
`walking` goes once over the syntax tree and calls a handler at each node that matters (`declarations`, `classes`,
`type_syntax`, `modules`, `loading`, `commonjs`, `dynamic`; the table is in `grammars`), which writes raw rows and
binding places (`tables`); `scoping` decides what each name means; `settling` makes references and exports of it.

Invariants: the result depends on the bytes alone, nothing here recurses on the depth of the source, and nothing raises
on any input.

Names and scopes:

- Values, types and namespaces are looked up apart, as TypeScript does; an import is all three. A name has one bind for
  each place that declares it; the bind of a reference is the one for the space it is in.
- `let`, `const`, `class` and functions in blocks belong to their block, before their declaration too. A sloppy script
  may see a function in a block from outside: there the name is UNCERTAIN. Names inside of `with` stay unbound.
- All `var`s of one name in a function, and a parameter of that name, are one variable. A function beside another
  function or a variable, and two `let`s of one name, are UNCERTAIN.
- Declarations that TypeScript merges are one thing: a class, function or enum leads, namespaces and interfaces add to
  it; each has a definition of its own with its body, and members of those that add have the leader's name as `owner`.
  Overload signatures make one definition together with the implementation that follows, else the first of them.
- A type and a value of one name are two things in their file, one when exported: the value speaks for the name.
- Private names (`#x`) are looked up like plain names, whatever their receiver, because that is how they work.
- Labels, tags in lower case, `undefined`, `this` as a parameter and names inside of `declare global` (outside of it)
  are not references. Names of tuple members, object keys and JSX attributes belong to something not written here.
- `this.x` has the receiver THIS only where `this` is an instance of a class that has a definition, or that class
  itself and it has `x`. In other functions and in objects nothing is said about `this`. `A.name` and other members that
  every function has are not looked for among the members of instances.

Definitions:

- `const f = () => …` and the like are functions; a `const` with a class expression is a class; one with an object
  literal has the object's keys as members of its `body_scope`, as an alias of an object type has its properties.
- `const` makes constants, `let` and `var` variables. Accessors are properties; a pair has two definitions.
- `static` is first among the decorators of a member of the class itself.
- In JavaScript the first `this.x = …` in a method defines the field, unless the class or a base has it; where a base
  is in another file the field belongs to that method, so that it is not found as a member. TypeScript declares its
  fields, parameter properties included.
- `A.b = function …` and `A.prototype.b = function …` at the top of a file are methods with A as `owner`; the
  first are `static`.
- `type_ref` is set for one plain type name (`A`, `n.A`, `A<T>`; null and undefined beside it do not count), for
  `new A()` and `x as A`; in JavaScript only if nothing else is assigned to the variable. In TypeScript a `const` may
  have the function whose result it is as `type_ref`, and a function without overloads the type of its result.

Imports and exports:

- `import d from` imports `default`; `import * as n`, `import n = require()`, `const n = require()` and
  `const n = await import()` import the module itself; patterns of plain names import those names. A `let` or `var` that
  is assigned again, and a `require` that the file binds itself, are UNCERTAIN.
- `export … from` imports into a scope of its own (`reexport`) and exports that import; `export * from` is an import of
  `*` that brings no name into the file.
- A class or function exported as default without a name is called `default`; any other expression is UNKNOWN.
- `module.exports = X` exports `default`, `exports.a = …` and the keys of an object exported as a whole export
  themselves, all with the evidence `commonjs`; see `linking` for what they mean to those who load the file.
- In a declaration file everything at the top is exported unless something there says otherwise. Whether a file is one
  is told by its name, which is not known here, so that only what says `export` is exported.

Facts inside ERROR nodes are left out. Before that, `repair` helps over some gaps of the grammar.

It deliberately does not infer types, follow assignments between objects, or read what bundlers are configured to do.
"""
