"""The rules of style sheets.

Decisions about what counts:

- A rule is a BLOCK named by its selectors as written, an at-rule with a block one named by all that stands before the
  block, `@keyframes spin` one named `spin`. Nested rules have the rules around them as their dotted path.
- A custom property is a VARIABLE at each place that sets it. Other properties, imports and the steps of keyframes are
  left out.
- The dialects SCSS and Less are read as CSS; what the grammar cannot understand is left out.
"""
