"""Hooks of coding agents: their JSON in, our decision out, for every agent that has hooks.

`client.py` is what agents start; it hands the event to the server (`hook_server.py`) or decides without one
(`offline.py`). `agents/` has one file per agent, which translates both ways; `operations/agent_files.py` says what is
written into its settings.
Invariants: a tool that may change something and could not be judged is refused; nothing an agent sends is trusted.
"""
