def go_edits(tree): return iter(())
