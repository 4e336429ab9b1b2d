"""What the extraction of block-scoped languages (Go, Rust, Java) has in common.

A file is read twice, both times in the order of the source: a language's `structure` goes over the nodes that open
scopes and bind names and fills `tables`; its `names` goes over the identifiers, and `visibility` tells what each means.
A name is bound either everywhere in its scope (functions, types, members) or from some offset on (local variables);
a later bind of the second kind hides an earlier one of the same scope.

Nothing here knows a language, and nothing reads other files.
"""
