; The keys of JSON files, with comments as well.
;
; Decisions about what counts:
;
; - Every key of an object is a KEY with the keys around it as its dotted path; an element of a list has its index there,
;   as in `scripts.0.name`. Keys below six others are left out; indexes do not count as a level.
; - A key keeps its escapes as written and loses its quotes. Its span is the pair.
; - Comments are understood; where a trailing comma or other liberty confuses the grammar, the rest of the file is kept.

(document) @file
(ERROR) @skip
((array) @list (#set! needs "{") (#set! nested))
(object) @element
(pair key: (_) @name) @key
