"""The verbs of `controller_turn`: one file each, one line in the catalog.

A verb gets the turn at work and its arguments, whose types are checked, and answers a `Reply`; it raises `DeniedError`
or `FaultError`. It reads and changes the repository only by calling operations.
"""
