"""Contexts: the packages and workspaces of a repository, and which of them owns a file, per language family.

Discovery goes through fixed phases: markers give candidates, workspace files detach what they do not list, every
candidate leaves to those inside it what is theirs, a probe parses a few files, and the router answers.

Invariants: a file has at most one context per family; the same files, texts and answers give the same contexts, in
whatever order the files are listed; a broken workspace file detaches nothing and is reported.
It deliberately touches neither disk nor git nor parser: callers pass a `TreeView`.
"""
