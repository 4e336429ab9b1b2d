"""Storage engines without tables of their own: opening, locking and migrating SQLite files.

Invariant: every database is opened here, in WAL mode, with writers queued on an operating-system lock.
It deliberately knows no schema; each package brings its own migrations.
"""
