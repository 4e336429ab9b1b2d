; Haskell.
;
; Decisions about what counts, besides those of `languages.queries`:
;
; - The signature and all equations of one name are one definition: a FUNCTION, or a VARIABLE if it takes nothing.
; - Data types, newtypes and synonyms are TYPE, their constructors CONSTANT and their fields FIELD, both names of the
;   module; classes are TRAIT with METHOD, also names of the module. What an instance defines is a METHOD with the type
;   as its owner, bound to nothing.
; - Types, values and modules are looked up apart; a small name in a type is a type variable and stays unbound.
; - Operators are names only where they are defined. `a.b` is a composition unless the file asks for record dots.
; - The module is a definition and the package; paths do not begin with it.

((haskell) @file
  (#set! ordered "block")
  (#set! closed-to-values "types")
  (#set! types-apart))

[(ERROR) (comment) (haddock)] @skip

(header module: (_) @module) @call.declare_module
(module) @call.chain_module
(qualified module: (_) @module id: (_) @name) @call.chain_qualified
(projection expression: (variable) @value field: (_) @field) @call.chain_projection
(import module: (_) @module alias: (_)? @alias names: (_)? @names) @call.import_names

(signature) @call.declare_signature
(function) @call.declare_equation
(bind) @call.declare_bind
[(generator pattern: (_) @pattern) (pattern_guard pattern: (_) @pattern)] @call.bind_guard
[(match) (do)] @scope.block
(let) @call.note_let
((let_in) @scope.lambda (#set! always))
(list_comprehension expression: (_)? @expression) @call.open_comprehension
(alternative pattern: (_)? @pattern) @call.open_alternative
(lambda patterns: (_)? @patterns) @call.open_alternative

[(data_type name: (name) @name) (newtype name: (name) @name) (type_synonym name: (name) @name)
 (type_family name: (name) @name) (data_family name: (name) @name)] @call.declare_type
[(data_constructor) (gadt_constructor) (newtype_constructor)] @call.declare_constructor
(field) @call.declare_field
(class name: (name) @name declarations: (_)? @body) @call.declare_class
(instance patterns: (_)? @patterns declarations: (_)? @body) @call.open_instance

[(operator) (constructor_operator)] @marked
[(variable) (constructor)] @take.value
(name) @take.type
(module_id) @take.tag
