"""The truth about files: which exist, which are left out and by which rule, and what they contain.

Invariants: nothing is left out without a rule that can be named; secrets are never read unless a person let them in.
It deliberately never writes into the working tree.
"""
