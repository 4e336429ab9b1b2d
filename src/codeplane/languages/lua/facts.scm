; Lua.
;
; Decisions about what counts, besides those of `languages.queries`:
;
; - A local variable that is set to a function is a FUNCTION, one that is set to `require("…")` an import.
; - `function M.f` and `M.f = function` are FUNCTION with the owner `M`, `function M:f` is a METHOD; both are bound to
;   nothing. `self` is THIS everywhere.
; - Global names are UNCERTAIN: other files set them as well.
; - A local variable is seen after its statement, a local function in itself as well.
; - Functions in the fields of a table are not definitions.

((chunk) @file
  (#set! ordered "file function block")
  (#set! separators ": .")
  (#set! receivers "self this"))

[(ERROR) (attribute) (comment) (string)] @skip

(block) @scope.block
(variable_declaration) @call.declare_locals
(assignment_statement) @call.assign
(function_declaration name: (_) @name) @call.declare_function
(function_definition) @call.open_anonymous_function
((function_call name: (_) @function arguments: (arguments . (string content: (_) @source) .)) @import
  (#text? @function "require") (#set! kind lua_require) (#set! weak))
((parameters name: (_) @name) @bind.parameter (#set! each) (#set! span name))
((for_statement body: (_)? @body) @scope.block (#set! always))
((for_statement clause: [(for_generic_clause (variable_list name: (_) @name)) (for_numeric_clause name: (_) @name)]
  @until) @bind.variable
  (#set! each) (#set! span until))
; The condition after a loop sees what is local in it.
((repeat_statement body: (_)? @body) @scope.block (#set! always))

((field name: (identifier) @mark.keyword) @field (#text-fits? @field "^[^[]"))
(goto_statement (identifier) @mark.ignored)
(label_statement (identifier) @mark.ignored)
(identifier) @take.value
