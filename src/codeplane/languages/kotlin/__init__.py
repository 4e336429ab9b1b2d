"""Kotlin.

Decisions about what counts, besides those of `languages.tables`:

- Objects are CLASS, an unnamed companion `Companion`. Members declared with `val` and `var` are PROPERTY, `const`
  ones CONSTANT, as are the entries of an enum.
- A parameter of a primary constructor is a PROPERTY if it is declared as one; otherwise it is seen in the header only.
- An extension has the path and the owner of its receiver's type and is bound to nothing. In it, and in lambdas, names
  of the file stay unbound: members of a receiver may come first. So they do in a class with a companion.
- A local variable is seen after its declaration.
- The source of an import is the path before its last name. Names in `"$name"` are text, those in `"${name}"` are not.
"""
