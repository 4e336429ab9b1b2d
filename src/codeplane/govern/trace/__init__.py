"""The trace: which call, under which intent, wrote which line.

The ledger holds the records; `.orchestration/agent_trace.jsonl` is their projection on the current branch.
Invariants: a record is never changed; a segment never forks; a line without sure evidence is told as unknown.
It does not keep file contents: hashes of lines and git's own objects are enough.
"""
