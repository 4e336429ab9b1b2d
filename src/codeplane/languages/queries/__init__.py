"""Reading files by queries: the patterns of a language, and the readers that follow them.

A language that is known inside files only is a tree-sitter query, `<language>/facts.scm`. `loading` compiles it,
`patterns` runs it and calls an action for every match, in the order of the source. For files that are read for their
structure the matches fill an `outline`. For others `walking` writes rows of definitions and names, with the `actions`
that captures name and the `rules` that the query sets for the whole language; `scoping` decides what plain names mean,
and `symbols` makes facts of it all. `comments` and `text` are about text alone.

Invariants: the result depends on the bytes alone, nothing here recurses on the depth of the source, and nothing raises
on any input.

Decisions about what counts, for all languages with symbols:

- Every name is one reference, in the order of the source. The receiver of a member is found from the text between it
  and the name before: exactly a separator, with white space, comments and the language's own marks (`?`, `!`) allowed.
  After a bracket, a literal or a word of the language it is EXPRESSION; a member with nothing before it is KEYWORD.
- Names of arguments, labels in calls, keys and fields of literals are KEYWORD. Labels of jumps are not names.
- Parameters, local variables, fields and type parameters are definitions. Their path has the named definitions around
  them; blocks, lambdas and unnamed types add nothing to it.
- The signature is the text between the name and the body, with comments left out and white space folded, at most
  1,000 characters. The documentation is the first paragraph of the comment that ends on the line above.
- A definition binds its name in the scope around it, and the reference that is its name has that bind. Several of one
  name in one scope are UNCERTAIN, and a reference to them has the first of these binds. Where one of them has a body
  and the others are mere declarations, it is CERTAIN and first.
- A plain name is looked up from its scope outwards, in languages that ask for it only among what comes before. It
  stays unbound where a member of a class could come first: in a class with bases, or one that may have members which
  are not written there. A member of a class itself is not bound to a plain name, but for types.
- Values and types are looked up apart where the syntax tells them apart.
- Where the language allows overloads, functions of the file are UNCERTAIN: others may be elsewhere.
- Facts inside ERROR nodes are left out.

It deliberately does not follow imports, types or inheritance.
"""
