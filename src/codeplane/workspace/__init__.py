"""Wires one repository's parts together and composes its settings; the only place that does.

Invariant: whatever a workspace opens, it closes.
"""
