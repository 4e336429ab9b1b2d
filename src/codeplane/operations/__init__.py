"""Everything that can be done: one file per operation, the catalog, and the one door that runs them.

Invariant: `perform.py` is the only module that calls an operation's handler.
"""
