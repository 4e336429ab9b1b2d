; C++: as C, with classes, namespaces and templates.
;
; Decisions about what counts, besides those of `languages.queries` and of C:
;
; - A namespace is a MODULE; each time it is opened is a definition of its own. What is in one without a name belongs to
;   the scope around it.
; - `T::m` outside of its class is a METHOD with the path `T.m` and the owner `T`, bound to nothing; whether `T` is a
;   class or a namespace the syntax does not say. Names in it that are not local stay unbound.
; - The parameters of a template are TYPE, or PARAMETER, under the path of what they are for, whose span begins at the
;   word `template`. A specialisation is a further definition of the name.
; - A class after an export macro, which the grammar takes for a function, is a class. A declaration in a function that
;   could be a prototype or a variable with arguments for its constructor is a variable, unless it names a built-in type.
; - Constructors have the name of their class and are not bound to it. Macros that look like functions with a body
;   (`TEST(a, b) {…}`) are functions.
; - `using` declarations are references only.

((translation_unit) @file
  (#set! ordered "function lambda block")
  (#set! doubtful "function")
  (#set! type-kinds "class interface enum struct trait type module")
  (#set! separators "-> :: .")
  (#set! leading ". keyword")
  (#set! type.type_identifier "here")
  (#set! type.identifier "here")
  (#set! type.qualified_identifier "field name")
  (#set! type.template_type "field name")
  (#set! type.class_specifier "field name")
  (#set! type.struct_specifier "field name")
  (#set! type.union_specifier "field name")
  (#set! type.enum_specifier "field name"))

[(ERROR) (comment) (string_literal) (raw_string_literal) (preproc_params)] @skip

([(preproc_include path: [(system_lib_string) (string_literal)] @source)] @import
  (#set! kind cpp_include) (#set! imported "*") (#set! strip "\""))
[(preproc_def name: (_) @name) (preproc_function_def name: (_) @name parameters: (_) @parameters)] @call.c.declare_macro
[(preproc_if) (preproc_ifdef) (preproc_elif) (preproc_elifdef) (preproc_else)] @call.c.open_condition

(namespace_definition name: (_)? @name body: (_) @body) @call.declare_namespace
(template_declaration parameters: (_) @parameters) @call.open_template
(function_definition declarator: (_) @declarator body: (_)? @body) @call.declare_function
(declaration) @call.declare
[(parameter_declaration) (optional_parameter_declaration) (variadic_parameter_declaration)] @call.c.declare_parameter
(field_declaration) @call.c.declare_fields
((type_definition) @call.c.declare_type (#set! tags type))
[(class_specifier name: (_)? @name body: (_)? @body) (struct_specifier name: (_)? @name body: (_)? @body)
 (union_specifier name: (_)? @name body: (_)? @body) (enum_specifier name: (_)? @name body: (_)? @body)]
  @call.declare_class
(enumerator name: (_) @name) @define.constant
[(alias_declaration name: (_) @name) (concept_definition name: (_) @name)] @define.type
(namespace_alias_definition name: (_) @name) @define.module
[(type_parameter_declaration (type_identifier) @name) (optional_type_parameter_declaration (type_identifier) @name)
 (variadic_type_parameter_declaration (type_identifier) @name)] @bind.type
(lambda_expression body: (_) @body) @call.open_lambda
[(function_declarator parameters: (_) @parameters) (abstract_function_declarator parameters: (_) @parameters)]
  @call.c.open_parameters_alone
(compound_statement) @call.open_block
[(for_statement) (if_statement) (while_statement) (switch_statement) (catch_clause)] @scope.block
((for_range_loop) @scope.block (#set! always))
(for_range_loop right: (_)? @until) @call.declare_loop

((template_function name: (_) @mark.ignored)
  (#text? @mark.ignored "static_cast" "dynamic_cast" "reinterpret_cast" "const_cast"))
; A type after an arrow is not a member.
((trailing_return_type . (_) @mark.alone) (#set! weak))
(this) @this
[(operator_name) (destructor_name)] @take.value
(namespace_identifier) @take.type
(field_identifier) @take.member
[(identifier) (type_identifier)] @take.value
