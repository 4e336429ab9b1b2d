"""PHP.

Decisions about what counts, besides those of `languages.tables`:

- Variables have their dollar in the name, properties do not: `$this->x` and `self::$x` mean `x`. A parameter that is
  promoted is a PARAMETER and a PROPERTY.
- `$this`, `self` and `static` are THIS, `parent` is SUPER, and none is a reference.
- All assignments to one variable in one function are one variable, seen in the whole function. Functions see nothing
  of the file, closures what they use, arrow functions everything around.
- A namespace is a MODULE under its own name as written; without braces it lasts to the next.
- Classes, functions and variables are looked up apart. Names are compared as written, though PHP ignores the case of
  some.
"""
