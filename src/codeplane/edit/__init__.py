"""Changes to the working tree: planned, applied atomically, and undone.

`planning` turns a request into the new bytes of a file (`texts` keeps encoding, byte order mark and line endings).
`images` describe files, `editor` applies a batch of images, `records` store the state before and after a batch, and
`undo` plans the rollback. `snapshot` makes the same record of changes made by other programs.

Invariants: nothing is written in place; recovery completes a batch whose record is `pending` and rolls back one
that is `staging` or `aborting`; concurrent writes by others are never overwritten; only bytes are compared, never
times.
"""
