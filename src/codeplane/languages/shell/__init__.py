"""Bash, and the shells that are written alike.

Decisions about what counts, besides those of `languages.tables`:

- Every command is a reference, if its name is a plain word. Functions are looked up apart from variables.
- A variable is defined where it is first set; outside of functions, and in functions without `local`, `declare` or
  `typeset`, it belongs to the file. What is set before a command is not defined.
- In a function only its own locals are bound: whoever calls it may have others. `readonly` variables are CONSTANT.
- `source` and `.` are imports, with the path as written and without its quotes.
- Positional and special parameters are no names. Variables that `read` and the like set are text.
"""
