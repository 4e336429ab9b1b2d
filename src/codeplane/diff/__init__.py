"""Semantic diff: what a change means for definitions and for those who use them.

Two states of some files go in as texts, changed definitions come out. Nothing is written and nothing is remembered.

Invariants: the answer depends on the two texts of each file alone, except `blast_radius.py`, which asks the index;
comparing a state with itself gives nothing; exchanging the states exchanges added and removed.
Texts are compared by tokens of their grammar, never by lines. It does not judge whether a change is right.
"""
