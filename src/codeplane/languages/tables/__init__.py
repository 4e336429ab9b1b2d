"""Reading files by tables: what a language says about its kinds of nodes, and the walks that follow it.

`outline` finds the named parts of files that are read for their structure, with `keys` and `markup` for what several
languages share. `symbols` finds definitions, references, scopes and imports: `walking` goes once over the tree and
writes rows, `scoping` decides what plain names mean, `actions` are what tables are made of, `rules` is what a table can
say, `comments` and `text` are about text alone.

Invariants: the result depends on the bytes alone, nothing here recurses on the depth of the source, and nothing raises
on any input.

Decisions about what counts, for all languages with symbols:

- Every name is one reference, in the order of the source. The receiver of a member is found from the text between it
  and the name before: exactly a separator, with white space, comments and the language's own marks (`?`, `!`) allowed.
  After a bracket, a literal or a word of the language it is EXPRESSION; a member with nothing before it is KEYWORD.
- Names of arguments, labels in calls, keys and fields of literals are KEYWORD. Labels of jumps are no names.
- Parameters, local variables, fields and type parameters are definitions. Their path has the named definitions around
  them; blocks, lambdas and unnamed types add nothing to it.
- The signature is what stands between the name and the body, with comments left out and white space folded, at most
  1,000 characters. The documentation is the first paragraph of the comment that ends on the line above.
- A definition binds its name in the scope around it, and the reference that is its name has that bind. Several of one
  name in one scope are UNCERTAIN, and a reference to them has the first of these binds. Where one of them has a body
  and the others are mere declarations, it is CERTAIN and first.
- A plain name is looked up from its scope outwards, in languages that ask for it only among what stands before. It
  stays unbound where a member of a class could come first: in a class with bases, or one that may have members which
  are not written there. A member of a class itself is not bound to a plain name, but for types.
- Values and types are looked up apart where the syntax tells them apart.
- Where the language allows overloads, functions of the file are UNCERTAIN: others may be elsewhere.
- Facts inside ERROR nodes are left out.

It deliberately does not follow imports, types or inheritance.
"""
