"""Linters, type checkers and formatters that a project configures, run on its own terms.

`catalog` has one row per tool: its markers, its files, its commands, and the parser of its output. `discovery` finds
which tools a tree configures and where their programs are; `running` runs them and returns findings.

Invariants: a tool never writes into the working tree: checks only read, fixes go through standard input and output;
what a tool printed decides, not its exit code alone; a tool that is missing or breaks is reported with the reason.
It chooses no files and applies no fixes: the operations do.
"""
