; The blocks and keys of HCL files, the language of Terraform.
;
; Decisions about what counts:
;
; - A block is a BLOCK named by its last label, or by its type where it has none; its path has the type and all labels,
;   as in `resource.aws_instance.web`. Blocks in it are under that path.
; - Attributes, and the keys of objects, are KEY. Keys below six others are left out, and keys that are computed.

(config_file) @file
[(ERROR) (template_expr) (string_lit) (heredoc_template)] @skip
(block) @call.declare_block
(attribute (identifier) @name) @key
(object_elem) @call.declare_element
(expression) @element
((tuple) @list (#set! needs "{") (#set! without "comment tuple_start tuple_end"))
