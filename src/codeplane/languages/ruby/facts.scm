; Ruby.
;
; Decisions about what counts, besides those of `languages.queries`:
;
; - Methods at the top of a file are FUNCTION. Symbols after `attr_accessor` and the like are PROPERTY, the first ones
;   after `define_method`, `alias_method` and `alias` METHOD.
; - All assignments to one local name in one scope are one variable. Blocks see the locals around them, methods and
;   classes do not. A name with arguments is a call, and so is one that is read before it is assigned.
; - Constants and classes are looked up in the scopes around; beyond a class or a module they stay unbound, because any
;   of them can be opened again elsewhere.
; - `@x` is a member of THIS; `@@x` and `$x` are names that are not bound. `super` is a call and not a receiver.
; - `require`, `require_relative` and `load` with a plain text are imports.

((program) @file
  (#set! ordered "file class function lambda")
  (#set! closed-to-values "class function")
  (#set! assigned-through "lambda")
  (#set! doubtful "function")
  (#set! types-apart)
  (#set! type-kinds "class module constant")
  (#set! separators "&. :: .")
  (#set! tight "::"))

[(ERROR) (comment)] @skip

([(class name: [(constant) @name @end (scope_resolution scope: (_)? @owner name: (_) @name @end)]
    superclass: (_)? @superclass @end body: (_)? @body)
  (module name: [(constant) @name @end (scope_resolution scope: (_)? @owner name: (_) @name @end)] body: (_)? @body)]
  @call.declare_class
  (#set! unseen))
((method name: (_) @name parameters: (_)? @parameters body: (_)? @body) @function
  (#set! visible file) (#set! signature parameters))
((singleton_method object: (_) @object name: (_) @name parameters: (_)? @parameters body: (_)? @body) @function
  (#text? @object "self") (#set! visible file) (#set! signature parameters))
((singleton_method object: (_) @object name: (_) @name parameters: (_)? @parameters body: (_)? @body) @function
  (#text-not? @object "self") (#set! visible file) (#set! signature parameters) (#set! unbound))
[(method_parameters) (block_parameters) (lambda_parameters)] @call.declare_parameters
[(optional_parameter name: (_) @name) (splat_parameter name: (_) @name) (keyword_parameter name: (_) @name)
 (hash_splat_parameter name: (_) @name) (block_parameter name: (_) @name)] @bind.parameter
[(block) (do_block)] @scope.lambda
((lambda body: (_)? @body) @scope.lambda (#set! always))

[(assignment left: (_) @target) (operator_assignment left: (_) @target)] @call.assign
(exception_variable) @call.assign_parts
(for pattern: (_) @pattern) @call.assign_pattern
(in_clause pattern: (_) @pattern) @call.assign_pattern
; With arguments or a block it is not a local variable, whatever its name.
(call !receiver method: (identifier) @mark.unbound)
((call !receiver method: (identifier) @method
  arguments: (argument_list . (string . (string_content) @source .) .)) @import
  (#text? @method "require" "require_relative" "load") (#set! kind ruby_require))
(call !receiver method: (identifier) @method arguments: (_) @arguments) @call.define_by_symbols
(alias name: (identifier) @name) @call.declare_alias

(self) @this
((simple_symbol) @marked (#set! offset 1))
(instance_variable) @call.take_instance_variable
(constant) @take.type
(hash_key_symbol) @take.member
[(identifier) (setter) (operator) (class_variable) (global_variable)] @take.value
