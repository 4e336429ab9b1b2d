"""The repository's history, index and working-tree commands.

Invariant: this is the only package that runs git, always with fixed configuration, no prompt and a timeout.
"""
