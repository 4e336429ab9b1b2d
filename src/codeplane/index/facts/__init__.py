"""The facts of one text, as they are stored: compiled once from what a language extracted, read many times.

`compiling` turns `FileFacts` into an outline (what the file defines, imports, exports and which expressions its names
are) and columns (every reference, bind and scope); `blobs` writes both as bytes; `outline` and `columns` read them.

Invariant: everything here follows from the bytes of one file and its language; nothing knows paths or other files.
"""
