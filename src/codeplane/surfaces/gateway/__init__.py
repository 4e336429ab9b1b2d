"""MCP servers of others behind CodePlane: their tools are listed with ours and every call of them passes the door.

Invariants: no upstream starts that a person has not accepted; what one upstream does or does not do delays no other
and no call of our own; secrets of an upstream reach that upstream alone.
It decides nothing: which call may be made is the door's business, which server is trusted a person's.
"""
