"""Elixir: `language.LANGUAGE`; `patterns` says which names a pattern binds.

Decisions about what counts, besides those of `languages.tables`:

- Clauses of one name with as many parameters in one module are one FUNCTION (or MACRO), from the first to the last;
  others of that name are further definitions. `defprotocol` is an INTERFACE, `@name value` a CONSTANT.
- `defstruct` is a STRUCT of that name, its keys are FIELD of the module.
- A variable that is matched again in one scope is UNCERTAIN. Functions see no variables around them, quoted code only
  what it unquotes.
- A name with arguments is a call and not bound. `__MODULE__` is THIS.
- The parts of `A.B.C` are names of their own. The alias of an `alias` is its last part unless it says otherwise.
- The documentation of a function is the text of its `@doc`.
"""
