"""Haskell.

Decisions about what counts, besides those of `languages.tables`:

- The signature and all equations of one name are one definition: a FUNCTION, or a VARIABLE if it takes nothing.
- Data types, newtypes and synonyms are TYPE, their constructors CONSTANT and their fields FIELD, both names of the
  module; classes are TRAIT with METHOD, also names of the module. What an instance defines is a METHOD with the type as
  its owner, bound to nothing.
- Types, values and modules are looked up apart; a small name in a type is a type variable and stays unbound.
- Operators are names only where they are defined. `a.b` is a composition unless the file asks for record dots.
- The module is a definition and the package; paths do not begin with it.
"""
