"""C#.

Decisions about what counts, besides those of `languages.tables`:

- A namespace is a MODULE; one without braces lasts to the end of the file. The first one is the package.
- Records are CLASS or STRUCT, delegates TYPE, events FIELD or PROPERTY, constants CONSTANT. The parameters of a record
  or a class are PARAMETER. Operators and indexers have no name.
- A name is a type where the syntax says so, so that `Color Color` means two things. A generic type is UNCERTAIN,
  because one without parameters may be elsewhere.
- A class with bases or the word `partial` may have members that are not written there.
- `using N` imports everything (`*`) of `N`; `using static T` has a kind of its own.
- Variables of patterns and `out` arguments belong to the block around the statement.
"""
