; The tables and keys of TOML files.
;
; Decisions about what counts:
;
; - A table is a BLOCK, a pair a KEY; the dotted path of a key begins with that of its table. A dotted key is one key
;   under its whole name, without the quotes of its parts. Keys below six others are left out.
; - The tables of a list of tables have their index in the path: `[[package]]` is `package.0`, then `package.1`, and
;   `[package.source]` after it `package.1.source`. So have the elements of lists with inline tables.

(document) @file
[(ERROR) (string)] @skip
[(table) (table_array_element)] @call.declare_table
(pair) @call.declare_pair
((array) @list (#set! needs "{") (#set! nested))
(inline_table) @element
