; The keys of YAML files.
;
; Decisions about what counts:
;
; - Every key that is a plain or quoted scalar is a KEY with the keys around it as its dotted path; an element of a list
;   has its index there, as in `jobs.build.steps.0.run`. Keys below six others are left out; indexes do not count.
; - A key that is a list or a mapping itself has no name, and nothing in its value is listed.
; - The documents of one file share one space of paths. Anchors and tags are not part of a name; aliases are not
;   followed.

(stream) @file
[(ERROR) (block_scalar)] @skip
([(block_sequence) (flow_sequence)] @list (#set! without "anchor tag comment"))
[(block_sequence_item) (flow_node)] @element
[(block_mapping_pair key: (_)? @key) (flow_pair key: (_)? @key)] @call.declare_pair
