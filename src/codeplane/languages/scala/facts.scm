; Scala 2 and 3.
;
; Decisions about what counts, besides those of `languages.queries`:
;
; - Objects are CLASS among the values, classes and traits are types; `given` instances are VARIABLE.
; - Parameters of a class are seen in its whole body; those of a case class and those with `val` or `var` are PROPERTY.
; - In a pattern names with a small first letter are bound.
; - A word between two operands is a member of the first. Operators made of signs are names only where defined.
; - Each selector of an import is an import; hidden ones (`=> _`) are left out.

((compilation_unit) @file
  (#set! ordered "function lambda block")
  (#set! doubtful "function")
  (#set! separators "# .")
  (#set! receivers "this this super super")
  (#set! type.type_identifier "here")
  (#set! type.generic_type "field type")
  (#set! type.stable_type_identifier "last"))

[(ERROR) (comment) (block_comment) (string)] @skip

(function_definition body: [(block) (indented_block)] @merge)
[(block) (indented_block)] @scope.block

(package_clause name: (_) @name body: (_)? @body) @call.declare_package
(import_declaration) @call.import_names

(([(class_definition "case"? @case name: (_) @name extend: (_)? @bases @unseen body: (_ (self_type)? @unseen)? @body)
   (trait_definition "case"? @case name: (_) @name extend: (_)? @bases @unseen body: (_ (self_type)? @unseen)? @body)
   (enum_definition "case"? @case name: (_) @name extend: (_)? @bases @unseen body: (_ (self_type)? @unseen)? @body)])
  @call.declare_class
  (#set! bases type))
(([(object_definition name: (_) @name extend: (_)? @bases @unseen body: (_)? @body)
   (package_object name: (_) @name extend: (_)? @bases @unseen body: (_)? @body)]) @class.class
  (#set! bases type) (#set! space value))
[(simple_enum_case name: (_) @name) (full_enum_case name: (_) @name)] @call.declare_enum_case
((class_parameter name: (_) @name) @bind.parameter (#set! weak))
([(template_body) (with_template_body)] @scope.class (#set! unseen))
(self_type . (identifier) @mark.unbound)

; `this` is a constructor.
([(function_definition name: (_) @name body: (_)? @end) (function_declaration name: (_) @name)] @function
  (#set! visible file) (#set! unbound-name this))
(given_definition name: (_)? @name return_type: (_)? @type body: (_)? @body) @call.declare_given
[(val_definition pattern: (_) @pattern type: (_)? @type)
 (var_definition pattern: (_) @pattern type: (_)? @type)
 (val_declaration name: (_) @pattern type: (_)? @type)
 (var_declaration name: (_) @pattern type: (_)? @type)] @call.declare_values
(type_definition name: (_) @name) @define.type
((type_parameters name: [(identifier) (type_identifier)] @name) @bind.type (#set! each) (#set! span name))
[(parameter name: (identifier) @name type: (_)? @type) (binding name: (identifier) @name type: (_)? @type)] @bind.parameter
((lambda_expression) @scope.lambda (#set! always))
((lambda_expression parameters: (identifier) @name) @bind.parameter (#set! span name))
(extension_definition) @scope.header
((case_clause) @scope.block (#set! always))
(case_clause pattern: (_) @pattern) @call.declare_case
(for_expression) @scope.block
(enumerator . (_) @pattern . (_) @values) @call.declare_enumerator

(infix_expression left: (_) @left operator: (identifier) @operator) @call.chain_infix
(arguments (assignment_expression left: (identifier) @mark.keyword))
(interpolated_string_expression interpolator: (_) @mark.ignored)
[(operator_identifier)] @marked
(identifier) @take.value
(type_identifier) @take.type
