; Elixir.
;
; Decisions about what counts, besides those of `languages.queries`:
;
; - Clauses of one name with as many parameters in one module are one FUNCTION (or MACRO), from the first to the last;
;   others of that name are further definitions. `defprotocol` is an INTERFACE, `@name value` a CONSTANT.
; - `defstruct` is a STRUCT of that name, its keys are FIELD of the module.
; - A variable that is matched again in one scope is UNCERTAIN. Functions see no variables around them, quoted code only
;   what it unquotes.
; - A name with arguments is a call and not bound. `__MODULE__` is THIS.
; - The parts of `A.B.C` are names of their own. The alias of an `alias` is its last part unless it says otherwise.
; - The documentation of a function is the text of its `@doc`.

((source) @file
  (#set! ordered "file function lambda block")
  (#set! closed-to-values "function module")
  (#set! types-apart)
  (#set! type-kinds "module interface")
  (#set! separators ".")
  (#set! receivers "__MODULE__ this"))

[(ERROR) (comment)] @skip

(call target: (identifier) @word (arguments)? @arguments (do_block)? @body) @call.meet_call
(binary_operator left: (_) @pattern operator: ["=" "<-"]) @call.bind_match
(unary_operator operator: "@" operand: (call target: (identifier) @name (arguments . (_)? @value))) @call.set_attribute
(anonymous_function) @call.find_clauses
(stab_clause left: (_)? @pattern) @call.open_clause
[(do_block) (else_block) (after_block) (rescue_block) (catch_block)] @scope.block

(unary_operator operator: "@" operand: (identifier) @mark.tag)
(unary_operator operator: "&" operand: (binary_operator left: (identifier) @mark.unbound operator: "/"))
(alias) @call.take_alias
(keyword) @call.take_keyword
((atom) @marked (#set! offset 1))
(identifier) @take.value
