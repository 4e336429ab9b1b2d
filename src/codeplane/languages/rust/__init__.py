"""Rust: what a file says about itself (`extract`), and how files are linked (`linking`).

`structure` goes over the nodes that open scopes and bind names, `settling` decides what only the whole file can tell,
`names` goes over the identifiers; all are told by the query in `syntax`. `uses`, `patterns`, `macros` and `types` read
single constructs, `manifest` and `modules` what linking needs of `Cargo.toml` and of `mod x;`.

Invariants: the facts depend on the bytes alone, nothing recurses on the depth of the source, nothing raises on any
input.

Decisions about what counts:

- Types, values and macros have name spaces of their own; an import is in all of them, behind what is defined beside it.
  A name of the file that means different things in them has an UNKNOWN bind first, because others who ask for it do not
  say which they mean; references inside the file have the bind they mean.
- Items are seen in their whole scope, variables after their statement, each `let` hiding those above it. An inline
  module does not see what is around it, unless it has `use super::*`; macros are seen below their definition, in inner
  modules too.
- A name in upper case in a pattern that may fail is a constant or variant, everywhere else a variable. All alternatives
  of a pattern bind one variable.
- `mod x;` is an import of `self::x` (kind `rust_mod`). The source of a `use` is written from the point of view of the
  file: `use super::a` in an inline module has the source `self`, and a path that starts with a name of the same module
  starts with `self`. `crate`, `self` and `super` at the start of other paths are references bound to an import of their
  own (kind `rust_path`), so that paths can be followed. A glob of an enum or inline module of this file is followed
  here; other globs bind nothing, but those inside of a function hide what is outside: such names are UNKNOWN, those of
  a glob of a type only where they are in upper case.
- Members in an `impl` block have as `owner` the path of the type, where this file defines it, else the path that its
  name would have here, and no bind; types in it have none, because they are what the trait asks for. An `impl` for a
  type parameter, a tuple or a slice has no owner. The traits of an `impl` are not bases; the traits that a trait asks
  for are, and the bounds of type parameters and associated types. An alias has its target as base.
- `Self` is bound to the type of the `impl` block or to the trait; `self` is a PARAMETER with that type.
- A variant is a CONSTANT whose value is the enum, one with named fields a STRUCT with those members. Fields of tuples
  have no names.
- Fields in literals and patterns are members of the type before them; a shorthand field is only the variable.
- Labels are STATEMENT definitions. Lifetimes are not references, nor is anything in attributes and macro definitions.
- Arguments of macros say nothing, except of those of the standard library that take expressions, and then only if
  nothing among them may bind a name (closures, blocks, struct literals, `match` and the like). Names inside format
  strings are text.
- Variables and imports under `#[cfg]` beside another of the same name, and macros defined twice, are UNCERTAIN.
- `usages` says of members after a dot whether they are called; those that are not, keys of literals and patterns
  included, are fields.
- `type_ref` is given by declared types, through references, by `T { … }` and `&T { … }`, and by calls: then it is the
  function that is called, whose own `type_ref` is its result unless it is `async`. `Box` and `Rc` are what is named,
  because they have methods of their own.

It deliberately does not expand macros, look at features or infer types.
"""
