; C#.
;
; Decisions about what counts, besides those of `languages.queries`:
;
; - A namespace is a MODULE; one without braces lasts to the end of the file. The first one is the package.
; - Records are CLASS or STRUCT, delegates TYPE, events FIELD or PROPERTY, constants CONSTANT. The parameters of a record
;   or a class are PARAMETER. Operators and indexers have no name.
; - A name is a type where the syntax says so, so that `Color Color` means two things. A generic type is UNCERTAIN,
;   because one without parameters may be elsewhere.
; - A class with bases or the word `partial` may have members that are not written there.
; - `using N` imports everything (`*`) of `N`; `using static T` has a kind of its own.
; - Variables of patterns and `out` arguments belong to the block around the statement.

((compilation_unit) @file
  (#set! ordered "function lambda block")
  (#set! doubtful "function")
  (#set! separators "-> :: .")
  (#set! suffixes "?!")
  (#set! type.identifier "here")
  (#set! type.generic_name "first")
  (#set! type.qualified_name "field name")
  (#set! type.primary_constructor_base_type "field type"))

[(ERROR) (comment) (string_literal)] @skip
[(preproc_if) (preproc_elif) (preproc_else)] @condition

(using_directive) @call.import_names
(namespace_declaration name: (_) @name body: (_) @body) @call.declare_namespace
(file_scoped_namespace_declaration name: (_) @name) @call.declare_namespace
[(class_declaration name: (_) @name (type_parameter_list)? @doubt (base_list)? @bases @unseen body: (_)? @body)
 (record_declaration name: (_) @name (type_parameter_list)? @doubt (base_list)? @bases @unseen body: (_)? @body)
 (struct_declaration name: (_) @name (type_parameter_list)? @doubt (base_list)? @bases @unseen body: (_)? @body)
 (interface_declaration name: (_) @name (type_parameter_list)? @doubt (base_list)? @bases @unseen body: (_)? @body)
 (enum_declaration name: (_) @name (base_list)? @bases @unseen body: (_)? @body)] @call.declare_class
(delegate_declaration type: (_) @type name: (_) @name type_parameters: (_)? @doubt) @class.type
(enum_member_declaration name: (_) @name) @define.constant
[(method_declaration (explicit_interface_specifier)? @unbound name: (_) @name body: (_)? @body)
 (local_function_statement name: (_) @name body: (_)? @body)] @call.declare_method
; In a class its name is the class, not the constructor.
((constructor_declaration name: (_) @name body: (_)? @body) @function (#set! unbound))
((destructor_declaration name: (_) @name body: (_)? @body) @function (#set! unbound))
([(operator_declaration body: (_)? @body) (conversion_operator_declaration body: (_)? @body) (indexer_declaration)]
  @scope.function
  (#set! always))
[(property_declaration) (event_declaration)] @call.declare_property
[(field_declaration) (event_field_declaration) (local_declaration_statement)] @call.declare_fields
(variable_declaration) @call.declare_variables
(parameter type: (_)? @type name: (_) @name) @call.declare_parameter
; A `params` array has no node of its own.
(parameter_list name: (_) @name) @call.declare_params_array
(implicit_parameter) @call.take_implicit_parameter
(type_parameter name: (_) @name) @bind.type
[(declaration_expression) (declaration_pattern) (recursive_pattern) (catch_declaration) (from_clause)]
  @call.declare_variable
((foreach_statement) @scope.block (#set! always))
(foreach_statement left: (_) @left right: (_) @until) @call.declare_loop
(tuple_pattern) @call.declare_tuple
[(for_statement) (while_statement) (using_statement) (fixed_statement) (catch_clause) (switch_section)
 (switch_expression_arm) (query_expression) (block)] @scope.block
[(lambda_expression) (anonymous_method_expression)] @scope.lambda

[(object_creation_expression type: (_) @type) (array_creation_expression type: (_) @type)
 (cast_expression type: (_) @type) (as_expression right: (_) @type) (typeof_expression type: (_) @type)
 (default_expression type: (_) @type) (type_parameter_constraint type: (_) @type) (type_pattern type: (_) @type)
 (tuple_element type: (_) @type) (primary_constructor_base_type type: (_) @type) (attribute name: (_) @type)
 (delegate_declaration type: (_) @type) (operator_declaration type: (_) @type)
 (conversion_operator_declaration type: (_) @type) (indexer_declaration type: (_) @type)
 (foreach_statement type: (_) @type) (parameter_list type: (_) @type)] @call.mark_types
([(type_argument_list [(identifier) (generic_name) (qualified_name) (nullable_type) (array_type)] @type)
  (base_list [(identifier) (generic_name) (qualified_name) (nullable_type) (array_type)] @type)] @call.mark_types
  (#set! each))
(tuple_element name: (_) @mark.keyword)
(argument name: (_) @mark.keyword)
(attribute_argument name: (_) @mark.keyword)
(initializer_expression (assignment_expression left: (identifier) @mark.keyword))
; Names before an equals sign in `new { A = 1 }` and `with { A = 1 }` are those of members.
(anonymous_object_creation_expression (identifier) @mark.keyword . "=")
(with_initializer (identifier) @mark.keyword . "=")
(subpattern . (identifier) @mark.keyword . (_))
(labeled_statement . (identifier) @mark.ignored)
(goto_statement . (identifier) @mark.ignored)
["this"] @this
["base"] @super
(identifier) @take.value
