"""The files of the trace in the repository; on their own because the gate needs no more of it."""

from typing import Final

TRACE_FILE: Final = ".orchestration/agent_trace.jsonl"
MAP_FILE: Final = ".orchestration/intent_map.md"
