; The types and operations of GraphQL files.
;
; Decisions about what counts:
;
; - Object types, input types, unions and scalars are TYPE, interfaces INTERFACE, enums ENUM; fields are FIELD and the
;   values of an enum CONSTANT under them, with arguments and type as the signature. An extension counts like what it
;   extends.
; - Directives, fragments and named operations are BLOCK. Arguments, and the fields that an operation asks for, are left
;   out.

(source_file) @file
[(ERROR) (arguments_definition) (selection_set) (description)] @skip
[(object_type_definition (name) @name) (object_type_extension (name) @name)
 (input_object_type_definition (name) @name) (input_object_type_extension (name) @name)
 (scalar_type_definition (name) @name) (scalar_type_extension (name) @name)
 (union_type_definition (name) @name) (union_type_extension (name) @name)] @part.type
[(interface_type_definition (name) @name) (interface_type_extension (name) @name)] @part.interface
[(enum_type_definition (name) @name) (enum_type_extension (name) @name)] @part.enum
(enum_value_definition (enum_value (name) @name)) @part.constant
([(field_definition (name) @name) (input_value_definition (name) @name)] @part.field (#set! signature rest))
[(directive_definition (name) @name) (operation_definition (name) @name)
 (fragment_definition (fragment_name (name) @name))] @part.block
