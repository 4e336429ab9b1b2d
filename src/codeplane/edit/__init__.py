"""Changes to the working tree: planned, applied wholly or not at all, and undone.

`planning` turns what a caller asks into the bytes a file shall have (`texts` keeps encoding, byte order mark and line
endings as they are), `images` say what a file is, `editor` puts a batch of images in place, `records` keep what a batch
found and left, `undo` plans the way back. `snapshot` makes the same record of what others do to files.

Invariants: nothing is written in place; a batch whose record is `pending` is completed by whoever comes next, one that
is `staging` or `aborting` is taken back; what somebody else wrote meanwhile is never overwritten; only bare bytes are
compared, never times.
"""
