"""MCP: the same tools over streamable HTTP, the Unix socket and stdio.

Invariant: protocol types stay in this package; every tool call ends in `operations.dispatch`.
"""
