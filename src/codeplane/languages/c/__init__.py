"""C: `language.LANGUAGE`; `declaring` reads declarations, for C++ as well.

Decisions about what counts, besides those of `languages.tables`:

- Structs and unions are STRUCT, typedefs TYPE, enumerators CONSTANT, `#define` MACRO. Tags are looked up apart from
  all other names; typedefs and values are not. The members of `typedef struct {…} T` are those of `T`.
- A prototype and an `extern` variable are definitions beside which the one with a body comes first.
- Enumerators and tags belong to the scope around the outermost struct, macros to the file. The fields of an unnamed
  member belong to the struct around it.
- What stands in a branch of the preprocessor is UNCERTAIN, unless the branch only guards a header.
- Parameters of macros and the bodies of macros are text.
- The type of a variable is given for plain names, structs and one pointer; not for arrays and functions.
- The source of an include keeps its angle brackets and loses its quotes.
"""
