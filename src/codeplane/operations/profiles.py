"""Tool profiles: which operations a client sees as tools of their own."""

from collections.abc import Mapping
from dataclasses import dataclass

from codeplane.core.errors import CodePlaneError
from codeplane.operations.cards import Card, cards_of
from codeplane.operations.operation import AnyOperation

CORE = "core"
CLASSIC = "classic"
FULL = "full"
_SELECT = "select_active_intent"


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of tools; `compact` answers are short text, others carry the envelope with schemas."""

    name: str
    cards: tuple[Card, ...]
    compact: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the tools."""
        return tuple(card.name for card in self.cards)


def profile_for(name: str, operations: Mapping[str, AnyOperation]) -> Profile:
    """Return the profile: `core`, `classic`, `full`, or an explicit list of operation names separated by commas.

    Raises:
        CodePlaneError: UNKNOWN_PROFILE.
    """
    wanted = name.strip() or CORE
    cards = {card.name: card for card in cards_of(operations)}
    if wanted == FULL:
        return Profile(FULL, tuple(cards.values()), compact=False)
    if wanted in {CORE, CLASSIC}:
        return Profile(wanted, tuple(card for card in cards.values() if wanted in card.profiles), compact=True)
    names = [part.strip() for part in wanted.split(",") if part.strip()]
    unknown = [part for part in names if part not in cards]
    if unknown or not names:
        raise CodePlaneError(
            "UNKNOWN_PROFILE",
            f"`{wanted[:80]}` is no profile" + (f": there is no operation `{unknown[0][:80]}`." if unknown else "."),
            details={"profiles": [CORE, CLASSIC, FULL], "operations": sorted(cards)},
        )
    chosen = [cards[part] for part in names]
    select = cards.get(_SELECT)
    if select is not None and select not in chosen and any(card.effect.mutates for card in chosen):
        # Where intents are in force nothing could be changed without it.
        chosen.append(select)
    return Profile(wanted, tuple(chosen), compact=True)
