"""Scala 2 and 3.

Decisions about what counts, besides those of `languages.tables`:

- Objects are CLASS among the values, classes and traits are types; `given` instances are VARIABLE.
- Parameters of a class are seen in its whole body; those of a case class and those with `val` or `var` are PROPERTY.
- In a pattern names with a small first letter are bound.
- A word between two operands is a member of the first. Operators made of signs are no names, except where defined.
- Each selector of an import is one; hidden ones (`=> _`) are none.
"""
