"""The command line for people: one file per command.

Invariant: nothing heavy is imported until a command needs it.
"""
