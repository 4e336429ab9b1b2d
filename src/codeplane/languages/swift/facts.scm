; Swift.
;
; Decisions about what counts, besides those of `languages.queries`:
;
; - Protocols are INTERFACE, actors CLASS, cases CONSTANT, variables in types PROPERTY. An extension is not a
;   definition; what it adds has the path and the owner of its type.
; - `init`, `deinit` and `subscript` are methods under these words, bound to nothing. Operators have no name.
; - Every type may have members that are not written there, because extensions can add them anywhere.
; - A variable is seen after its declaration, one of `if let` in the block, one of `guard let` after the statement.
; - `.name` with nothing before it is KEYWORD, as are labels of arguments.
; - `import A` imports everything (`*`); `import struct A.B` one name.
; - What is between `#if` and `#endif` is UNCERTAIN.

((source_file) @file
  (#set! ordered "function lambda block")
  (#set! doubtful "function")
  (#set! separators ".")
  (#set! suffixes "?!")
  (#set! leading ". keyword")
  (#set! receivers "self this Self this")
  (#set! type.type_identifier "here")
  (#set! type.user_type "last type_identifier")
  (#set! type.inheritance_specifier "field inherits_from")
  (#set! type.optional_type "field wrapped")
  (#set! type.type_annotation "field name")
  (#set! type.opaque_type "last")
  (#set! type.existential_type "last"))

[(ERROR) (comment) (multiline_comment)] @skip
(directive) @call.open_directive

(statements) @scope.block
(import_declaration) @call.import_names
(class_declaration name: (_) @name body: (_) @body) @call.declare_class
(protocol_declaration name: (_) @name body: (_)? @body) @call.declare_class
((enum_entry name: (simple_identifier) @name) @define.constant (#set! each))
((function_declaration name: (simple_identifier) @name body: (_)? @end) @function (#set! visible file))
((protocol_function_declaration name: (simple_identifier) @name body: (_)? @end) @function (#set! visible file))
; An operator has no name.
[(function_declaration name: (_) @operator) (protocol_function_declaration name: (_) @operator)] @call.open_operator
((init_declaration "init" @name body: (_)? @end) @function.method (#set! unbound))
((deinit_declaration "deinit" @name body: (_)? @end) @function.method (#set! unbound))
((subscript_declaration "subscript" @name (computed_property)? @end) @function.method (#set! unbound))
[(property_declaration) (protocol_property_declaration)] @call.declare_properties
[(typealias_declaration name: (_) @name) (associatedtype_declaration name: (_) @name)] @define.type
(type_parameter (type_identifier) @name) @bind.type
[(parameter) (lambda_parameter)] @call.declare_parameter
(lambda_literal) @scope.lambda
((capture_list_item name: (_) @name value: (_) @until) @bind.variable (#text-not? @name "self"))
([(computed_setter) (willset_clause) (didset_clause)] @scope.function (#set! always))
(([(computed_setter (simple_identifier) @name) (willset_clause (simple_identifier) @name)
   (didset_clause (simple_identifier) @name)]) @bind.parameter
  (#set! span name))
[(if_statement) (while_statement)] @call.open_condition
(guard_statement) @call.bind_condition
((for_statement) @scope.block (#set! always))
(for_statement item: (_) @item collection: (_) @until) @call.declare_loop
[(switch_entry) (catch_block)] @scope.block
(pattern) @call.bind_pattern

(enum_type_parameters (simple_identifier) @mark.keyword)
(value_argument_label . (_) @mark.keyword)
(tuple_expression name: (simple_identifier) @mark.keyword)
(tuple_type_item name: (simple_identifier) @mark.keyword)
(call_suffix name: (simple_identifier) @mark.keyword)
(self_expression) @this
(super_expression) @super
(simple_identifier) @take.value
(type_identifier) @take.type
