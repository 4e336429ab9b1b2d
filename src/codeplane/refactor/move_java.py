def java_edits(tree): return iter(())
