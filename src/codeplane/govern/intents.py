"""`.orchestration/active_intents.yaml`: what is to be done, where, and under which conditions."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from codeplane.core.clock import ms_from_iso
from codeplane.core.setting_sources import (
    ListValue,
    MappingValue,
    Place,
    Problem,
    ScalarValue,
    TextSource,
    layers,
    raise_if_any,
)
from codeplane.core.settings import load_settings, setting
from codeplane.index.ignore_rules import matcher_for

INTENTS_FILE: Final = ".orchestration/active_intents.yaml"
INTENT_IGNORE_FILE: Final = ".intentignore"
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_WILD: Final = re.compile(r"[*?\[\]\\!]")

Status = Literal["draft", "active", "paused", "done", "abandoned"]


@dataclass(frozen=True, slots=True)
class Intent:
    """One thing a team wants done.

    `owned_scope` are globs from the root of the repository; a path is in scope when one of them fits and, for a child,
    when it is in the scope of every intent above as well.
    """

    id: str = setting(doc="A short name such as INT-001.")
    name: str = setting(doc="What is to be done, in a few words.")
    status: Status = setting("draft", doc="Only an active intent allows changes.")
    owned_scope: tuple[str, ...] = setting((), doc="Globs of the files that may be changed.")
    constraints: tuple[str, ...] = setting((), doc="What has to stay true.")
    acceptance_criteria: tuple[str, ...] = setting((), doc="When it is done.")
    requirements: tuple[str, ...] = setting((), doc="Ids of requirements or specifications.")
    parent: str | None = setting(None, doc="The intent that this one is a part of.")
    expires: str | None = setting(None, doc="A time, such as 2026-12-31T00:00:00Z, after which it is not active.")

    def __post_init__(self) -> None:
        """Check what the types cannot say."""
        if not _ID.fullmatch(self.id):
            raise ValueError(f"the id {self.id!r} may have letters, digits, dots, dashes and underscores only")
        if not self.name.strip():
            raise ValueError("the name is empty")
        for pattern in self.owned_scope:
            check_pattern(pattern)
        if self.expires is not None:
            self.expires_ms()

    def expires_ms(self) -> int | None:
        """Return when it ends, None for never."""
        return ms_from_iso(self.expires) if self.expires is not None else None

    def owns(self, path: str) -> bool:
        """Tell whether a path fits this intent's own globs."""
        return matches(self.owned_scope, path)


@dataclass(frozen=True, slots=True)
class IntentsDocument:
    """All intents of a repository, whatever their status."""

    active_intents: tuple[Intent, ...] = setting((), doc="The intents of this repository.")

    def find(self, intent_id: str) -> Intent | None:
        """Return an intent by its id."""
        return next((one for one in self.active_intents if one.id == intent_id), None)

    def lineage(self, intent_id: str) -> tuple[Intent, ...]:
        """Return an intent and all above it, the nearest first; an empty tuple when one is missing."""
        found: list[Intent] = []
        wanted: str | None = intent_id
        while wanted is not None:
            one = self.find(wanted)
            if one is None:
                return ()
            found.append(one)
            wanted = one.parent
        return tuple(found)

    def active_ids(self, now_ms: int) -> tuple[str, ...]:
        """Return the intents under which something may be changed now."""
        return tuple(one.id for one in self.active_intents if self.why_not_active(one.id, now_ms) is None)

    def why_not_active(self, intent_id: str, now_ms: int) -> str | None:
        """Return why nothing may be changed under an intent, None when something may."""
        lineage = self.lineage(intent_id)
        if not lineage:
            return "does not exist"
        for one in lineage:
            of = "" if one.id == intent_id else f" because {one.id} above it"
            if one.status != "active":
                return f"is not active{of} is {one.status}" if of else f"is {one.status}"
            end = one.expires_ms()
            if end is not None and now_ms >= end:
                return f"is not active{of} has expired" if of else f"has expired ({one.expires})"
        return None

    def owns(self, intent_id: str, path: str) -> bool:
        """Tell whether a path is in the scope of an intent and of all above it."""
        lineage = self.lineage(intent_id)
        return bool(lineage) and all(one.owns(path) for one in lineage)


@lru_cache(maxsize=64)  # A memo of a pure function: the same few texts are looked at with every call.
def parse_intents(text: str) -> IntentsDocument:
    """Return the intents of a file's text.

    Raises:
        CodePlaneError: CONFIG_INVALID with every problem and its line.
    """
    source = TextSource(text, INTENTS_FILE)
    document = load_settings(IntentsDocument, (source,)).values
    raise_if_any(_contradictions(document, source))
    return document


def parse_ignored(text: str) -> tuple[str, ...]:
    """Return the ids in `.intentignore`: one per line, `#` begins a comment, `*` matches anything."""
    lines = (line.split("#", 1)[0].strip() for line in text.splitlines())
    return tuple(line for line in lines if line)


def is_ignored(ignored: Sequence[str], intent_id: str) -> bool:
    """Tell whether an id is listed in `.intentignore`."""
    return any(
        re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), intent_id) is not None for pattern in ignored
    )


def matches(patterns: Sequence[str], path: str) -> bool:
    """Tell whether one of the globs fits a path."""
    return any(_matcher(pattern)(path) for pattern in patterns)


def check_pattern(pattern: str) -> None:
    """Refuse a glob that cannot mean files inside of the repository.

    Raises:
        ValueError: why.
    """
    if pattern.startswith(("/", "~")) or "\\" in pattern or ".." in pattern.split("/"):
        raise ValueError(f"the glob {pattern!r} must be relative to the repository, without `..` and backslashes")
    try:
        _matcher(pattern)
    except ValueError as error:
        raise ValueError(f"the glob {pattern!r} selects nothing") from error


def is_inside(inner: str, outer: Sequence[str]) -> bool:
    """Tell whether everything that one glob fits is certainly fitted by one of others; in doubt it is not."""
    for pattern in outer:
        if pattern in {inner, "**", "**/*"}:
            return True
        if not _WILD.search(inner) and _matcher(pattern)(inner):
            return True
        prefix = pattern.removesuffix("/**").removesuffix("/")
        if pattern.endswith(("/**", "/")) and not _WILD.search(prefix) and inner.startswith(f"{prefix}/"):
            return True
    return False


def overlapping(first: Sequence[str], second: Sequence[str], paths: Sequence[str]) -> tuple[str, ...]:
    """Return files that two scopes share, and globs of theirs that share what does not exist yet."""
    shared = [path for path in paths if matches(first, path) and matches(second, path)]
    nested = [one for one in first if is_inside(one, second)] + [one for one in second if is_inside(one, first)]
    return tuple(dict.fromkeys([*shared, *nested]))


@lru_cache(maxsize=1024)  # A memo of a pure function, as above.
def _matcher(pattern: str) -> Callable[[str], bool]:
    # From the root: `app.py` is one file, not every file of that name.
    return matcher_for(pattern if "/" in pattern.rstrip("/") or pattern == "**" else f"/{pattern}")


def _contradictions(document: IntentsDocument, source: TextSource) -> list[Problem]:
    """Return what is wrong between intents, each with its line."""
    items = _items(source)
    problems: list[Problem] = []
    first_lines: dict[str, int | None] = {}
    for number, (intent, item) in enumerate(zip(document.active_intents, items, strict=True)):
        place, key = _place_of(item, "id"), f"active_intents[{number}]"
        if intent.id in first_lines:
            problems.append(
                Problem(place, f"{key}.id", f"{intent.id} is given twice, first on line {first_lines[intent.id]}")
            )
        first_lines.setdefault(intent.id, place.line)
        if intent.parent is not None:
            problems += [
                Problem(_place_of(item, "parent"), f"{key}.parent", text) for text in _family(document, intent)
            ]
    return problems


def _family(document: IntentsDocument, intent: Intent) -> list[str]:
    above = {intent.id}
    wanted = intent.parent
    while wanted is not None:
        if wanted in above:
            return [f"{intent.id} is above itself"]
        above.add(wanted)
        one = document.find(wanted)
        if one is None:
            return [f"there is no intent {wanted}"]
        wanted = one.parent
    parent = document.find(intent.parent or "")
    outside = [one for one in intent.owned_scope if parent is not None and not is_inside(one, parent.owned_scope)]
    return [f"{one} is not certainly inside of the scope of {intent.parent}" for one in outside]


def _items(source: TextSource) -> list[MappingValue]:
    for layer in layers(source, []):
        for entry in layer.entries:
            if entry.key == "active_intents" and isinstance(entry.value, ListValue):
                return [one for one in entry.value.items if isinstance(one, MappingValue)]
    return []


def _place_of(item: MappingValue, key: str) -> Place:
    return next(
        (entry.value.place for entry in item.entries if entry.key == key and isinstance(entry.value, ScalarValue)),
        item.place,
    )
