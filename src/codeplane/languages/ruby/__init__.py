"""Ruby.

Decisions about what counts, besides those of `languages.tables`:

- Methods at the top of a file are FUNCTION. Symbols after `attr_accessor` and the like are PROPERTY, the first ones
  after `define_method`, `alias_method` and `alias` METHOD.
- All assignments to one local name in one scope are one variable. Blocks see the locals around them, methods and
  classes do not. A name with arguments is a call, and so is one that is read before it is assigned.
- Constants and classes are looked up in the scopes around; beyond a class or a module they stay unbound, because any
  of them can be opened again elsewhere.
- `@x` is a member of THIS; `@@x` and `$x` are names that are not bound. `super` is a call, no receiver.
- `require`, `require_relative` and `load` with a plain text are imports.
"""
