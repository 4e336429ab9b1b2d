"""Codemods: small changes of one file that work on parser tokens and keep all other bytes.

Each is one file with a `Codemod` and one line in the catalog. A codemod says how many places it changed; the caller
compares that with what the plan expects.
"""
