"""Keep attributes for the items that follow them."""

from codeplane.languages.block_scopes.texts import BlockText


class Attributes:
    """The attributes that wait for an item.

    Invariant: those that wait are in the order of the source; who takes or drops them leaves none.
    """

    __slots__ = ("_text", "_waiting")

    def __init__(self, text: BlockText) -> None:
        self._text = text
        self._waiting: list[tuple[int, int]] = []

    def add(self, start: int, end: int) -> None:
        """Keep an attribute."""
        self._waiting.append((start, end))

    def drop(self) -> None:
        """Forget all that wait."""
        self._waiting.clear()

    def take(self, start: int) -> tuple[tuple[str, ...], int]:
        """Return the attributes before an item, and where the first of them starts."""
        texts = []
        while self._waiting:
            first, end = self._waiting.pop()
            if first > start or self._text.folded(end, start):
                break
            texts.append(self._text.folded(first, end).removeprefix("#[").removesuffix("]"))
            start = first
        self._waiting.clear()
        return tuple(reversed(texts)), start


def is_conditional(decorators: tuple[str, ...]) -> bool:
    """Say whether attributes make something depend on the platform or on features."""
    return any(decorator.startswith("cfg") for decorator in decorators)
