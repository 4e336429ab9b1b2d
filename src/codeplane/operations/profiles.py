"""Tool profiles: which operations a client sees as separate tools."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codeplane.core.errors import CodePlaneError
from codeplane.operations.cards import cards_of
from codeplane.operations.operation import AnyOperation
from codeplane.operations.tool_list import CONTROLLER, CORE, FULL, NAMED, tool_documents


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of tools; `compact` answers are short text, `plain` ones the result, others carry the envelope."""

    name: str
    tools: tuple[Mapping[str, Any], ...]
    compact: bool
    plain: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the tools."""
        return tuple(tool["name"] for tool in self.tools)


def profile_for(name: str, operations: Mapping[str, AnyOperation]) -> Profile:
    """Return the profile: `core`, `classic`, `memory`, `controller`, `full`, or operation names separated by commas.

    Raises:
        CodePlaneError: UNKNOWN_PROFILE.
    """
    wanted = name.strip() or CORE
    cards = cards_of(operations)
    tools = tool_documents(wanted, cards)
    if tools is None:
        names = sorted(card["name"] for card in cards)
        unknown = next((part.strip() for part in wanted.split(",") if part.strip() not in {*names, ""}), None)
        raise CodePlaneError(
            "UNKNOWN_PROFILE",
            f"`{wanted[:80]}` is not a profile" + (f": there is no operation `{unknown[:80]}`." if unknown else "."),
            details={"profiles": [*NAMED, FULL], "operations": names},
        )
    return Profile(wanted, tuple(tools), compact=wanted not in {FULL, CONTROLLER}, plain=wanted == CONTROLLER)
