def rust_edits(tree): return iter(())
