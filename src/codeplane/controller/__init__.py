"""The controller: plans that a program can refuse, and the rules of a run from plan to completion.

`validation.validate_plan` judges a plan in eight stages; one module holds one stage or one concept. What the controller
knows when a plan arrives (files, observed evidence, policies, memories) comes in as data, in a `World`.
Invariants: every decision is a pure function of its arguments; a refusal names codes of one closed table and where the
fault is; no plan, however malformed, raises an exception; conditions are parsed and interpreted, never executed.
The package reads no file, starts no program and keeps nothing between calls.
"""
