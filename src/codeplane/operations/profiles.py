"""Tool profiles: which operations a client sees as separate tools."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from codeplane.core.errors import CodePlaneError
from codeplane.operations.cards import cards_of
from codeplane.operations.catalog import OfferedTools
from codeplane.operations.operation import AnyOperation
from codeplane.operations.tool_list import (
    CONTROLLER,
    CORE,
    FULL,
    NAMED,
    foreign_names,
    stored_cards,
    tool_documents,
)


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


def upstream_tools(profile: Profile, operations: Mapping[str, AnyOperation], in_core: Iterable[str]) -> list[Any]:
    """Return the tools of upstreams that a profile offers now: all in `full`, those that are named elsewhere.

    What was added since a person has accepted the server is not offered.
    """
    if not isinstance(operations, OfferedTools):
        return []
    cards = [one.card for one in operations.foreign().values() if one.card is not None]
    named = set(foreign_names(profile.name))
    patterns = tuple(in_core) if profile.name == CORE else ()
    return [
        card["tool"]
        for card in cards
        if card["upstream"]["state"] in {"pinned", "changed"}
        and (profile.name == FULL or card["name"] in named or any(fnmatchcase(card["name"], one) for one in patterns))
    ]


def profile_for(name: str, operations: Mapping[str, AnyOperation]) -> Profile:
    """Return the profile: `core`, `classic`, `memory`, `controller`, `full`, or operation names separated by commas.

    Raises:
        CodePlaneError: UNKNOWN_PROFILE.
    """
    wanted = name.strip() or CORE
    # Tools of upstreams come and go; they are added when the list is asked for.
    cards = stored_cards() if isinstance(operations, OfferedTools) else cards_of(operations)
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
