"""Decide what names mean across files, once, while indexing, and keep the evidence.

`unit` knows the files and modules of one language in one context; `resolve` follows imports, re-exports, members and
bases through their outlines. What cannot be followed to exactly one definition is left open: there is no guessing by
bare names, and no answer depends on the order in which files are looked at.
"""
