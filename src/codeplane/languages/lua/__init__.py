"""Lua.

Decisions about what counts, besides those of `languages.tables`:

- A local variable that is set to a function is a FUNCTION, one that is set to `require("…")` an import.
- `function M.f` and `M.f = function` are FUNCTION with the owner `M`, `function M:f` is a METHOD; both are bound to
  nothing. `self` is THIS everywhere.
- Global names are UNCERTAIN: other files set them as well.
- A local variable is seen after its statement, a local function in itself as well.
- Functions in the fields of a table are no definitions.
"""
