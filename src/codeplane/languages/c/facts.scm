; C.
;
; Decisions about what counts, besides those of `languages.queries`:
;
; - Structs and unions are STRUCT, typedefs TYPE, enumerators CONSTANT, `#define` MACRO. Tags are looked up apart from
;   all other names; typedefs and values are not. The members of `typedef struct {…} T` are those of `T`.
; - A prototype and an `extern` variable are definitions beside which the one with a body comes first.
; - Enumerators and tags belong to the scope around the outermost struct, macros to the file. The fields of an unnamed
;   member belong to the struct around it.
; - What is in a branch of the preprocessor is UNCERTAIN, unless the branch only guards a header.
; - Parameters of macros and the bodies of macros are text.
; - The type of a variable is given for plain names, structs and one pointer; not for arrays and functions.
; - The source of an include keeps its angle brackets and loses its quotes.

((translation_unit) @file
  (#set! ordered "function block")
  (#set! type-kinds "")
  (#set! separators "-> .")
  (#set! leading ". keyword")
  (#set! type.type_identifier "here")
  (#set! type.identifier "here")
  (#set! type.struct_specifier "field name")
  (#set! type.union_specifier "field name")
  (#set! type.enum_specifier "field name"))

[(ERROR) (comment) (string_literal) (preproc_params)] @skip

([(preproc_include path: [(system_lib_string) (string_literal)] @source)] @import
  (#set! kind c_include) (#set! imported "*") (#set! strip "\""))
[(preproc_def name: (_) @name) (preproc_function_def name: (_) @name parameters: (_) @parameters)] @call.declare_macro
[(preproc_if) (preproc_ifdef) (preproc_elif) (preproc_elifdef) (preproc_else)] @call.open_condition

(function_definition declarator: (_) @declarator body: (_) @body) @call.declare_function
(declaration) @call.declare
(parameter_declaration) @call.declare_parameter
(field_declaration) @call.declare_fields
((type_definition) @call.declare_type (#set! tags tag))
[(struct_specifier name: (_)? @name body: (_)? @body) (union_specifier name: (_)? @name body: (_)? @body)
 (enum_specifier name: (_)? @name body: (_)? @body)] @call.declare_composite
(enumerator name: (_) @name) @call.declare_enumerator
[(function_declarator parameters: (_) @parameters) (abstract_function_declarator parameters: (_) @parameters)]
  @call.open_parameters_alone
[(compound_statement) (for_statement)] @scope.block

(field_identifier) @take.member
[(identifier) (type_identifier)] @take.value
