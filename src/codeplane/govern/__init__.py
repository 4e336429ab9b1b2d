"""Governance: what may be done where, who must agree, and why a call was let through or not.

Invariants: policies are pure functions of a `GovernedCall` and a `Rulebook`, both of which are recorded, so that every
decision can be made again from the ledger; deny beats hold, hold beats allow, and no opinion is never allow; files that
arrive with the repository only tighten until a person has accepted them; nothing here executes a call or writes files.
"""
