"""Which agent's session an MCP call belongs to.

The hook before a call of our own tool knows the session; the call itself arrives a moment later on another connection.
They are brought together by the id of the call where the agent sends it, else by tool and arguments, and by the process
of the agent.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from codeplane.core.canonical_json import digest, representable

_MOST: Final = 1_000
_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class _Announced:
    """A call of ours that a hook has told of."""

    connection: str
    call_id: str
    what: str
    process: str
    at: float


class Bindings:
    """Sessions of agents by connection and by call.

    Invariant: a call is bound only to a session whose hook told of it, or whose calls came over the same connection.
    `is_used_over_http` says that there are clients whose process is not known.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self.is_used_over_http = False
        self._announced: list[_Announced] = []
        self._bound: OrderedDict[str, str] = OrderedDict()

    def announce(self, connection: str, call_id: str, tool: str, arguments: Mapping[str, Any], process: str) -> None:
        """Note that an agent is about to call one of our tools."""
        with self._lock:
            oldest = self._now() - _SECONDS
            kept = [one for one in self._announced if one.at > oldest][-_MOST:]
            self._announced = [*kept, _Announced(connection, call_id, _what(tool, arguments), process, self._now())]

    def session_of(
        self,
        mcp_connection: str,
        tool: str,
        arguments: Mapping[str, Any],
        meta: Mapping[str, Any],
        processes: frozenset[str] = frozenset(),
    ) -> str | None:
        """Return the connection of the agent's session that makes a call, None when nobody knows."""
        told = {value for value in meta.values() if isinstance(value, str)}
        what = _what(tool, arguments)
        with self._lock:
            fitting = [one for one in self._announced if one.call_id and one.call_id in told]
            # The same words of another agent are another call; only of some callers the process is known.
            may_be = [one for one in self._announced if not (one.process and processes) or one.process in processes]
            fitting = fitting or [one for one in may_be if one.what == what]
            near = [one for one in fitting if one.process and one.process in processes]
            sessions = {one.connection for one in near or fitting}
            if len(sessions) == 1:
                used = (near or fitting)[0]
                self._announced.remove(used)
                self._bind(mcp_connection, used.connection)
            return self._bound.get(mcp_connection)

    def _bind(self, mcp_connection: str, connection: str) -> None:
        self._bound[mcp_connection] = connection
        self._bound.move_to_end(mcp_connection)
        while len(self._bound) > _MOST:
            self._bound.popitem(last=False)


def _what(tool: str, arguments: Mapping[str, Any]) -> str:
    return digest({"tool": tool, "arguments": representable(arguments)})
