; The headings of Markdown files.
;
; Decisions about what counts:
;
; - A heading, of either style, is a HEADING whose span reaches to the next heading of its level or above; the headings
;   above it are its dotted path. Its name is the text as written, markup included, without closing hashes.
; - A heading in a quotation or a list item is under the section around it and ends with the quotation or item.
; - A heading without text ends the sections before it and is not listed. Front matter and code blocks have no headings.

(document) @file
(ERROR) @skip
[(block_quote) (list_item)] @call.open_container
[(atx_heading) (setext_heading)] @call.declare_heading
