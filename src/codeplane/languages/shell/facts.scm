; Bash, and the shells that are written alike.
;
; Decisions about what counts, besides those of `languages.queries`:
;
; - Every command is a reference, if its name is a plain word. Functions are looked up apart from variables.
; - A variable is defined where it is first set; outside of functions, and in functions without `local`, `declare` or
;   `typeset`, it belongs to the file. What is set before a command is not defined.
; - In a function only its own locals are bound: a caller may have others. `readonly` variables are CONSTANT.
; - `source` and `.` are imports, with the path as written and without its quotes.
; - Positional and special parameters are not names. Variables that `read` and the like set are text.

((program) @file
  (#set! ordered "function")
  (#set! closed-to-values "function")
  (#set! types-apart)
  (#set! names "[A-Za-z_][\\w.:+-]*$"))

[(ERROR) (comment) (raw_string)] @skip

(function_definition name: (_) @name) @call.declare_function
; What is set before a command is set for that command alone.
(command (variable_assignment) @merge)
((command name: (_) @command . argument: (_) @source) @import
  (#text? @command "source" ".") (#set! kind shell_source) (#set! imported "*") (#set! strip "\"'"))
(declaration_command) @call.declare
(variable_assignment name: [(variable_name) @name (subscript name: (_) @name)]) @call.assign
(for_statement variable: (_) @name) @call.assign_loop_variable
(command_name . (word) @take.tag)
(variable_name) @take.value
