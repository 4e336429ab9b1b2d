"""The bindings of Nix files.

Decisions about what counts:

- Every binding of an attribute set or a `let` is a KEY, named by its whole attribute path as written; the bindings
  around it are its dotted path, and an element of a list has its index there. Each name of an `inherit` is a KEY.
- Bindings below six others are left out. Parameters of functions are left out.
"""
