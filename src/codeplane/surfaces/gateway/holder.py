"""The gateway of a server, made when there is an upstream: a server without one pays nothing."""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codeplane.core.errors import CodePlaneError
from codeplane.operations.operation import AnyOperation
from codeplane.workspace.workspace import Workspace

if TYPE_CHECKING:
    from codeplane.surfaces.gateway.gateway import Gateway


@dataclass(frozen=True, slots=True)
class OfferedBesides:
    """What upstreams offer besides tools, in the form of the protocol."""

    resources: list[dict[str, Any]] = field(default_factory=list)
    templates: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[dict[str, Any]] = field(default_factory=list)


class GatewayHolder:
    """Holds the gateway, or nothing.

    Invariant: once there is a gateway it stays until `stop`.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._gateway: Gateway | None = None
        self._is_stopped = False
        self._stamps = self._stamps_now()
        self.on_change: Callable[[], None] = lambda: None

    @property
    def gateway(self) -> "Gateway | None":
        """Return the gateway, if there is anything for one."""
        if self._gateway is None and self._workspace.settings.gateway.servers:
            return self._made()
        return self._gateway

    def operations(self) -> Mapping[str, AnyOperation]:
        """Return the tools of upstreams as they are now."""
        gateway = self.gateway
        return gateway.operations() if gateway is not None else {}

    def offered(self) -> OfferedBesides:
        """Return what upstreams offer besides tools."""
        return self._gateway.offered() if self._gateway is not None else OfferedBesides()

    def listing(self) -> str:
        """Return what differs when other tools are offered than before."""
        return self._gateway.listing() if self._gateway is not None else ""

    def why_missing(self, name: str) -> CodePlaneError | None:
        """Return why a tool of a configured upstream is not there."""
        gateway = self.gateway
        return gateway.why_missing(name) if gateway is not None else None

    def refresh(self) -> None:
        """Start what was accepted and end what is not any more; a settings file may have brought the first upstream."""
        gateway = self.gateway
        if gateway is None:
            stamps = self._stamps_now()
            if stamps == self._stamps:
                return
            self._stamps = stamps
            gateway = self._made()
        gateway.refresh()

    def status(self) -> list[dict[str, Any]]:
        """Return how each upstream is."""
        return self._gateway.status() if self._gateway is not None else []

    def stop(self) -> None:
        """End all upstreams."""
        with self._lock:
            self._is_stopped = True
        if self._gateway is not None:
            self._gateway.stop()

    def _made(self) -> "Gateway":
        # 30 ms that a server without upstreams need not spend.
        from codeplane.surfaces.gateway.gateway import Gateway  # noqa: PLC0415

        with self._lock:
            if self._gateway is None:
                self._gateway = Gateway(self._workspace)
                self._gateway.on_change = self._tell
            return self._gateway

    def _tell(self) -> None:
        self.on_change()

    def _stamps_now(self) -> tuple[int, ...]:
        places = self._workspace.places
        return tuple(map(_changed_at, (places.user.config_file, places.config_file)))


def _changed_at(path: Path) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - half the time of Path.stat, and asked every second.
    except OSError:
        return 0
