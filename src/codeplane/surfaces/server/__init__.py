"""The server of one working tree: HTTP on loopback, a Unix socket, and their life from start to shutdown.

Invariant: one server per working tree, told by a lock that the operating system drops when the process dies.
"""
