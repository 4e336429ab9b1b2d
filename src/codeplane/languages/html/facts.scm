; The headings and the named elements of HTML files.
;
; Decisions about what counts:
;
; - `h1` to `h6` are HEADING with their text as the name; other elements with an id are BLOCK with the id as the name;
;   custom elements without an id are BLOCK with the tag as the name. All other elements are left out.
; - The dotted path is that of the listed elements around it; headings do not nest each other. Elements nested below 24
;   listed ones are left out. The signature is the tag with its id.
; - An id with an unfinished template in it (`{`, `<`, `$`) does not count. Scripts and styles inside are text.

(document) @file
(ERROR) @skip
; A name with a hyphen is a custom element.
([(element . (_) @tag) (script_element . (_) @tag) (style_element . (_) @tag)] @call.declare_element
  (#set! own "[A-Za-z][^\\s/>]*-"))
[(start_tag) (self_closing_tag) (end_tag)] @skip.last
