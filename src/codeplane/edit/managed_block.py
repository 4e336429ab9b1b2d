"""A block of lines between two markers in a file that people own; nothing outside of it is touched."""

from collections.abc import Mapping
from typing import Final

LESSONS: Final = ("<!-- BEGIN CodePlane lessons (managed) -->", "<!-- END CodePlane lessons (managed) -->")
ATTRIBUTES: Final = ("# BEGIN CodePlane (managed)", "# END CodePlane (managed)")
CONNECTION: Final = ("<!-- BEGIN codeplane-hook (managed) -->", "<!-- END codeplane-hook (managed) -->")
# The files that may have blocks, with their markers. Agents change such a file, never a block.
MANAGED: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    **dict.fromkeys(("AGENTS.md", "CLAUDE.md", "AGENT.md", "GEMINI.md"), (LESSONS, CONNECTION)),
    ".gitattributes": (ATTRIBUTES,),
}


def changes_block(path: str, before: bytes | None, after: bytes | None) -> bool:
    """Tell whether a change of a file touches its managed block."""
    texts = [(one or b"").decode("utf-8", "replace") for one in (before, after)]
    return any(block_in(texts[0], *one) != block_in(texts[1], *one) for one in MANAGED.get(path, ()))


def with_block(text: str, begin: str, end: str, lines: tuple[str, ...]) -> str:
    """Return the text with these lines as its block; no lines remove it. A new block goes to the end.

    Only the first block counts; a begin without an end is not one, so that nothing of people's text is lost.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join((begin, *lines, end)) + newline if lines else ""
    start, stop = _place(text, begin, end)
    if start >= 0:
        return text[:start] + block + text[stop:]
    if not block:
        return text
    gap = "" if not text or text.endswith("\n") else newline
    return f"{text}{gap}{block}"


def block_in(text: str, begin: str, end: str) -> tuple[str, ...] | None:
    """Return the lines of the block, None when there is none."""
    start, stop = _place(text, begin, end)
    return tuple(text[start:stop].splitlines()[1:-1]) if start >= 0 else None


def _place(text: str, begin: str, end: str) -> tuple[int, int]:
    """Return where the block starts and stops, -1 when there is none; markers stand on lines of their own."""
    at, start = 0, -1
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if bare == begin and start < 0:
            start = at
        at += len(line)
        if bare == end and start >= 0:
            return start, at
    return -1, -1
