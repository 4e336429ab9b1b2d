"""The contracts of browser automation. Nothing here drives a browser: the feature is switched off and says so."""

from dataclasses import dataclass, field
from typing import Any, Final, Protocol

FEATURE: Final = "browser_automation"
DISABLED: Final = "Browser automation is switched off: only its contracts exist."


@dataclass(frozen=True, slots=True)
class BrowserStep:
    """One step: open an address, click, type or read; `target` is an address or a selector."""

    action: str
    target: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class BrowserObservation:
    """What a step showed."""

    status: str
    message: str = ""
    data: dict[str, Any] = field(default_factory=dict)


class BrowserDriver(Protocol):
    """What a plug-in would implement."""

    def perform(self, step: BrowserStep) -> BrowserObservation:
        """Carry out one step."""
        ...


class DisabledBrowser:
    """The only driver that ships."""

    def perform(self, step: BrowserStep) -> BrowserObservation:
        """Answer that nothing was done."""
        return BrowserObservation("disabled", DISABLED, {"action": step.action})
