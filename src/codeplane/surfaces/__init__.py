"""How the world reaches CodePlane: command line, MCP over stdio and HTTP, REST.

Invariant: a surface translates; it reaches the repository only through the door in `operations`.
"""
