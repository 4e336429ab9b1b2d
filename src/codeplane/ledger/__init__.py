"""Who did what: sessions, budgets, effects, the policy protocol and one append-only event chain.

Invariants: rows are only appended, each row's hash covers all of its fields and the hash of the row before;
a mutation's row is durable before its answer leaves.
It deliberately decides nothing: policies live in the packages above.
"""
