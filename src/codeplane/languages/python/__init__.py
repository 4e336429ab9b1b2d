"""What a Python file says about itself: `extract.extract` is the door.

The work is done in this order: `syntax` parses and asks one query, `walking` goes once over all identifiers and writes
raw rows and binding places, `scoping` decides what each name means, `building` makes the facts of `languages.facts`.

Invariants: the result depends on the bytes alone, nothing here recurses on the depth of the source, and nothing raises
on any input.

Decisions about what counts:

- Keyword-argument names at calls and in class patterns are references with the receiver `()`, never bound.
- Names inside string annotations are text. `print` and `exec` as Python 2 statements are keywords.
- Each identifier of an import is a reference of its own with the role IMPORT; in `from m import c as d` both `c` and
  `d` point to the bind of `d`; parts of module paths have the path before them as receiver.
- All assignments to one name in one scope are one variable with one bind, at its first binding; a reassigned parameter
  stays the parameter. A function, class or import beside anything else of the same name is UNCERTAIN, unless all are
  imports that say the same.
- A module-level name before a later star import is UNCERTAIN.
- A name that a class body or the module itself reads above its first binding is looked up outside that scope.
- `self.x = …` in a method defines `Class.x` once, unless the class body binds `x`; it binds no name.
- `type_ref` is given by the annotations of parameters and attributes that plainly name a class (`annotations`); not of
  a parameter that is assigned again or asked for its class, nor of other variables, whose value may be more special.
- Facts inside ERROR nodes are left out. Lines end at line feeds only.

It deliberately does not follow imports or infer types.
"""
