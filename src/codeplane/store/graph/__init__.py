"""The graph of what the team has written down: nodes and edges from committed seeds, and rows added since.

Invariants: a sync replaces the graph as a whole or not at all; every answer is of one generation; both backends give
the same answers in the same order. It knows no query language outside the backends, and no meaning of any label.
"""
