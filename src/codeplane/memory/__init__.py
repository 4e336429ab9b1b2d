"""What was learned, kept so that it is at hand when it matters again: lessons, episodes, cells, friction, the cycle.

Invariants: every row of a protected table is written through `store.Writing`, which redacts secrets, seals the row and
names it for the ledger; the same store and the same request give the same answer, byte for byte; nothing is deleted
except by `forget`. The package starts no program, calls no model and makes no network connection.
It does not judge calls (that is `govern`) and does not write into the working tree (that is `edit`).
"""
