; The statements of SQL files.
;
; Decisions about what counts:
;
; - What a `CREATE` statement creates is a BLOCK named as written, its schema included and its quotes left out, with the
;   words before the name as the signature; the columns of a table are FIELD under it.
; - `ALTER` and `DROP` statements are STATEMENT, named by what they change. A named query of a `WITH` is a BLOCK.
; - Other statements have no name and are left out. Dialects differ: where the grammar does not know one, only the
;   statements it cannot understand are left out.

(program) @file
[(ERROR) (list) (term)] @skip
(([(create_database) (create_extension) (create_function) (create_index) (create_materialized_view) (create_role)
   (create_schema) (create_sequence) (create_table) (create_trigger) (create_type) (create_view)]) @call.declare_created)
[(alter_database) (alter_index) (alter_role) (alter_schema) (alter_sequence) (alter_table) (alter_type) (alter_view)
 (drop_database) (drop_extension) (drop_function) (drop_index) (drop_role) (drop_schema) (drop_sequence) (drop_table)
 (drop_type) (drop_view)] @call.declare_changed
((cte (identifier) @name) @part.block (#set! signature "WITH") (#set! strip "\"`[]"))
((column_definition name: (_) @name) @part.field (#set! signature rest) (#set! strip "\"`[]") (#set! leaf))
(column_definition) @skip.last
