; The rules of style sheets.
;
; Decisions about what counts:
;
; - A rule set is a BLOCK named by its selectors, an at-rule with a block a BLOCK named by all text before the block,
;   `@keyframes spin` one named `spin`. Nested rules have the rules around them as their dotted path.
; - A custom property is a VARIABLE at each place that sets it. Other properties, imports and the steps of keyframes are
;   left out.
; - The dialects SCSS and Less are read as CSS; what the grammar cannot understand is left out.

(stylesheet) @file
[(ERROR) (selectors) (comment)] @skip
[(rule_set (block) @head) (media_statement (block) @head) (supports_statement (block) @head) (at_rule (block) @head)
 (scope_statement (block) @head)] @part.block
((keyframes_statement (keyframes_name) @name) @part.block (#set! signature "@keyframes") (#set! leaf))
(keyframes_statement) @skip.last
(declaration . (_) @name) @call.declare_property
