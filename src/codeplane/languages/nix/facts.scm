; The bindings of Nix files.
;
; Decisions about what counts:
;
; - Every binding of an attribute set or a `let` is a KEY, named by its whole attribute path as written; the bindings
;   around it are its dotted path, and an element of a list has its index there. Each name of an `inherit` is a KEY.
; - Bindings below six others are left out. Parameters of functions are left out.

(source_code) @file
[(ERROR) (string_fragment) (formals)] @skip
(binding attrpath: (_) @path) @call.declare_binding
[(inherit (inherited_attrs (_) @name @key)) (inherit_from (inherited_attrs (_) @name @key))]
(list_expression) @list
[(attrset_expression) (rec_attrset_expression)] @element
