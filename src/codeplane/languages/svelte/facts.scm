; The parts of Svelte components.
;
; Decisions about what counts:
;
; - Scripts and styles are BLOCK named `script` and `style`; what is written in them is text. Snippets are BLOCK.
; - Components, custom elements, `svelte:` elements and elements with an id are BLOCK, headings HEADING, as in HTML.
; - Conditions and loops have no name; what is in them is under what is around them.

(document) @file
[(ERROR) (expression)] @skip
; Components, `svelte:head` and the like, and custom elements.
((element . (_) @tag) @call.html.declare_element (#set! own "[A-Z]|svelte:|[a-z][^\\s/>]*-|[a-z]\\w*\\."))
[(script_element . (_ . (_) @name) @tag) (style_element . (_ . (_) @name) @tag)] @call.declare_raw
(snippet_statement (snippet_start (snippet_name) @name) @start) @call.declare_snippet
[(start_tag) (self_closing_tag) (end_tag)] @skip.last
