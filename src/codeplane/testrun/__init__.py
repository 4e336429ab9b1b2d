"""Tests of the repository: which there are, which a change affects, how they are run, and what they said.

Each runner is a file in `runners/` with its markers, its command and the parser of its report.

Invariants: only `core/processes.py` starts programs, by argument lists; a report that shows a failure is believed
whatever the exit code says; every asked target is either reported or named with the reason why it was not run.

It writes nothing into the working tree besides `.codeplane/`, installs no runner, and decides no call.
"""
