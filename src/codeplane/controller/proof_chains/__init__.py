"""Proof chains: from a place that a plan changes to the place it depends on, link by link, read from the code.

A kind of chain is a list of link types, each with a matcher, in a file of its own and one line of `catalog.py`.
Invariants: chains are pure functions of the files; each link is an entity that exists, and each pair of neighbours is
joined by a stated relation; a match by name alone counts only if it is the only one; a hint only chooses among what was
found. Nothing is parsed before a cheap look at the text says that it may matter.
"""
