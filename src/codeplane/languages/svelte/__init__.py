"""The parts of Svelte components.

Decisions about what counts:

- Scripts and styles are BLOCK named `script` and `style`; what is written in them is text. Snippets are BLOCK.
- Components, custom elements, `svelte:` elements and elements with an id are BLOCK, headings HEADING, as in HTML.
- Conditions and loops have no name; what is in them is under what is around them.
"""
