; The stages and instructions of Dockerfiles.
;
; Decisions about what counts:
;
; - A stage is a BLOCK from its `FROM` to the next, named by what follows `AS`, or by its image.
; - An instruction is a STATEMENT named by its word, under its stage, with what it says as the signature. The names that
;   `ARG`, `ENV` and `LABEL` set are KEY under it.

(source_file) @call.list_stages
