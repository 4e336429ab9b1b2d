; Kotlin.
;
; Decisions about what counts, besides those of `languages.queries`:
;
; - Objects are CLASS, an unnamed companion `Companion`. Members declared with `val` and `var` are PROPERTY, `const`
;   ones CONSTANT, as are the entries of an enum.
; - A parameter of a primary constructor is a PROPERTY if it is declared as one; otherwise only the header sees it.
; - An extension has the path and the owner of its receiver's type and is bound to nothing. In it, and in lambdas, names
;   of the file stay unbound: members of a receiver may come first. So they do in a class with a companion.
; - A local variable is seen after its declaration.
; - The source of an import is the path before its last name. Names in `"$name"` are text, those in `"${name}"` are not.
;
; The scanner of the grammar looks for the end of an annotation without asking whether the file has ended: in a file that
; ends with `@Name` it never returns, and does not ask for text either. Hence `needs-final-newline`.

((source_file) @file
  (#set! needs-final-newline)
  (#set! ordered "function lambda block")
  (#set! blocked-in "lambda")
  (#set! doubtful "function")
  (#set! separators ":: .")
  (#set! suffixes "?!")
  (#set! tight "::")
  (#set! type.identifier "here")
  (#set! type.user_type "last identifier")
  (#set! type.nullable_type "first user_type nullable_type non_nullable_type parenthesized_type")
  (#set! type.non_nullable_type "first user_type nullable_type non_nullable_type parenthesized_type")
  (#set! type.parenthesized_type "first user_type nullable_type non_nullable_type parenthesized_type")
  (#set! type.delegation_specifier "first")
  (#set! type.constructor_invocation "first user_type")
  (#set! type.explicit_delegation "first user_type"))

[(ERROR) (line_comment) (block_comment)] @skip

(package_header (qualified_identifier) @package)
(import) @call.import_names

(class_declaration
  name: (_) @name
  (primary_constructor)? @constructor
  (delegation_specifiers)? @bases @unseen
  [(class_body) (enum_class_body)]? @body) @call.declare_class
(object_declaration name: (_) @name (delegation_specifiers)? @bases @unseen (class_body)? @body) @class.class
(companion_object name: (_) @name (delegation_specifiers)? @bases @unseen (class_body)? @body) @class.class
(companion_object !name (delegation_specifiers)? @unseen (class_body)? @body) @call.declare_companion
((class_body) @scope.class (#set! unseen))
(enum_entry (identifier) @name) @define.constant

(function_declaration
  (type_parameters)? @begin
  [(user_type) (nullable_type) (non_nullable_type) (parenthesized_type)]? @owner
  name: (_) @name
  (function_body)? @body) @function
((secondary_constructor "constructor" @name (block)? @body) @function.method (#set! unbound))
(getter) @scope.function
(setter) @scope.function
((setter (identifier) @name) @bind.parameter (#set! span name))
(property_declaration) @call.declare_properties
(type_alias type: (_) @name) @class.type
(type_parameter (identifier) @name) @bind.type
(parameter
  (identifier) @name
  [(user_type) (nullable_type) (non_nullable_type) (parenthesized_type)]? @type) @bind.parameter

(lambda_literal) @scope.lambda
(anonymous_function) @scope.function
(lambda_parameters) @call.declare_lambda_parameters
(for_statement) @call.declare_loop
(variable_declaration) @call.declare_variable
(when_expression) @scope.block
(catch_block (block)? @body) @scope.block
((catch_block
  (identifier) @name
  [(user_type) (nullable_type) (non_nullable_type) (parenthesized_type)]? @type) @bind.variable
  (#set! span name))
(block) @scope.block

((user_type) @mark.type (#set! weak))
(value_argument . (identifier) @mark.keyword . "=")
((labeled_expression (label) @label (identifier) @mark.ignored) (#text? @label "break@" "continue@" "return@"))
(this_expression) @this
(super_expression) @super
(identifier) @take.value
