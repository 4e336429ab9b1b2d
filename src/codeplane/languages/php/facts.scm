; PHP.
;
; Decisions about what counts, besides those of `languages.queries`:
;
; - Variables have their dollar in the name, properties do not: `$this->x` and `self::$x` mean `x`. A parameter that is
;   promoted is a PARAMETER and a PROPERTY.
; - `$this`, `self` and `static` are THIS, `parent` is SUPER, and none is a reference.
; - All assignments to one variable in one function are one variable, seen in the whole function. Functions see nothing
;   of the file, closures what they use, arrow functions everything around.
; - A namespace is a MODULE under its own name as written; without braces it lasts to the next.
; - Classes, functions and variables are looked up apart. Names are compared as written, though PHP ignores the case of
;   some.

((program) @file
  (#set! closed-to-values "function class")
  (#set! types-apart)
  (#set! separators "?-> -> :: \\")
  (#set! type.name "here")
  (#set! type.qualified_name "last name")
  (#set! type.relative_name "last name")
  (#set! type.named_type "first")
  (#set! type.optional_type "first"))

[(ERROR) (comment) (text)] @skip

(program) @call.find_namespaces
(namespace_definition name: (_) @name body: (_)? @body) @call.declare_namespace
(namespace_use_declaration) @call.import_names

(class_declaration name: (_) @name (base_clause)? @bases (class_interface_clause)? @bases body: (_)? @body) @class.class
(interface_declaration name: (_) @name (base_clause)? @bases body: (_)? @body) @class.interface
(trait_declaration name: (_) @name body: (_)? @body) @class.trait
(enum_declaration name: (_) @name (class_interface_clause)? @bases body: (_)? @body) @class.enum
(anonymous_class body: (_) @region) @scope.class
(enum_case name: (_) @name) @define.constant
(const_element (name) @name) @define.constant
((property_declaration type: (_)? @type (property_element name: (_) @name)) @define.property
  (#set! each) (#set! offset 1))
((function_definition name: (_) @name body: (_)? @body) @function.function (#set! space tag))
(method_declaration name: (_) @name body: (_)? @body) @function
(anonymous_function) @call.open_closure
(arrow_function) @scope.lambda
[(simple_parameter type: (_)? @type name: (_) @name) (variadic_parameter type: (_)? @type name: (_) @name)
 (property_promotion_parameter type: (_)? @type name: (_) @name)] @bind.parameter
(property_promotion_parameter type: (_)? @type name: (variable_name) @name) @call.declare_promoted

[(assignment_expression left: [(variable_name) (list_literal)] @target)
 (augmented_assignment_expression left: [(variable_name) (list_literal)] @target)
 (reference_assignment_expression left: [(variable_name) (list_literal)] @target)] @call.assign
(foreach_statement) @call.assign_loop_variables
((global_declaration (variable_name) @name) @assign (#set! each) (#set! span name))
[(static_variable_declaration name: (_) @name) (catch_clause name: (_) @name)] @assign
((function_call_expression
  function: (name) @function
  arguments: (arguments . (argument . (string (string_content) @name)))) @define.constant
  (#text? @function "define") (#set! global))

(function_call_expression function: (name) @mark.tag)
(([(object_creation_expression . (name) @mark.ignored) (named_type . (name) @mark.ignored)])
  (#text? @mark.ignored "self" "static" "parent"))
(argument name: (_) @mark.keyword)
(goto_statement (name) @mark.ignored)
(named_label_statement (name) @mark.ignored)
(relative_scope) @call.take_relative_scope
(variable_name) @call.take_variable
(name) @take.type
