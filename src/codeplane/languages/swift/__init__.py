"""Swift.

Decisions about what counts, besides those of `languages.tables`:

- Protocols are INTERFACE, actors CLASS, cases CONSTANT, variables in types PROPERTY. An extension is no definition;
  what it adds has the path and the owner of its type.
- `init`, `deinit` and `subscript` are methods under these words, bound to nothing. Operators have no name.
- Every type may have members that are not written there, because extensions can add them anywhere.
- A variable is seen after its declaration, one of `if let` in the block, one of `guard let` after the statement.
- `.name` with nothing before it is KEYWORD, as are labels of arguments.
- `import A` imports everything (`*`); `import struct A.B` one name.
- What stands between `#if` and `#endif` is UNCERTAIN.
"""
