"""How dangerous a shell command is, told from its text: SAFE, VERIFICATION or DESTRUCTIVE.

Invariants: SAFE is said only of commands that two parsers read alike and whose every word is known to be harmless;
whatever is unknown, dynamic, too long or broken is DESTRUCTIVE; the same text and context give the same report;
nothing here runs a program, and only `surroundings.py` looks at files.

It says what a DESTRUCTIVE command does only as far as its name tells, and it does not sandbox anything.
"""
