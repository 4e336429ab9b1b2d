"""Renames, moves and deletions, planned on facts.

A planner reads the index and returns a `Draft`: edits by byte offset with the proof of each, file moves and deletions,
and what could not be proved as questions. `checking` compares what every reference means before and after.
`plan_store` keeps plans between calls.

Invariants: only PROVEN and STRONG edits are in the default group; planning writes nothing into the working tree; a
draft whose edits would change the meaning of any reference is refused with the place.
"""
