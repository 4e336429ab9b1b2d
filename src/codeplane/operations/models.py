"""Base models of requests and results, and the lenient parsing that all requests share.

Unambiguous arguments are accepted, and the answer says how they were read; anything else is refused
with an error that shows a correct call.
"""

import json
import os
import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath, resolve_inside
from codeplane.operations.tool_list import RARE

_RANGE_SUFFIX = re.compile(r"^(?P<path>.+?)(?::|#L)(?P<first>\d{1,9})(?:\s*[-:,]\s*L?(?P<last>\d{1,9}))?$")
PATH_ALIASES = ("file", "file_path", "filepath", "filename", "relative_path", "absolute_path")


# For `json_schema_extra` of a field that small tool lists leave out; it is still accepted.
RARELY: dict[str, Any] = {RARE: True}


class Understanding:
    """Carries the repository root into validation and the notes out of it."""

    def __init__(self, root: Path | None) -> None:
        self.root = root
        self.notes: list[str] = []
        self.obvious: list[str] = []

    def note(self, text: str) -> None:
        """Record how an argument was read, once."""
        if text not in self.notes:
            self.notes.append(text)

    def note_obvious(self, text: str) -> None:
        """Record a reading that the result itself shows; short answers need not repeat it."""
        if text not in self.obvious:
            self.obvious.append(text)


def _understanding(info: ValidationInfo) -> Understanding:
    return info.context if isinstance(info.context, Understanding) else Understanding(None)


class Lenient(BaseModel):
    """A model that takes common other names for its fields and refuses unknown ones."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {}
    # Aliases that are equal to the real names: the answer does not mention them.
    PLAIN_ALIASES: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _accept_aliases(cls, data: Any, info: ValidationInfo) -> Any:
        """Rename a field given under a common other name, unless the real one is there too."""
        data = as_object(data, info)
        if not isinstance(data, dict):
            return data
        renamed = dict(data)
        for name, others in cls.ALIASES.items():
            for other in others:
                if other in renamed and name not in renamed:
                    renamed[name] = renamed.pop(other)
                    if other not in cls.PLAIN_ALIASES:
                        _understanding(info).note(f"`{other}` was read as `{name}`")
        kept = {key: value for key, value in renamed.items() if value is not None or key not in cls.model_fields}
        for key, value in kept.items():
            if isinstance(value, str) and key in cls.model_fields and _takes_no_text(cls.model_fields[key].annotation):
                _understanding(info).note(f"the text `{_short(value)}` was read as the value of `{key}`")
        return kept


def _takes_no_text(annotation: Any) -> bool:
    """Tell whether a field holds a number or a boolean, which pydantic also reads from text."""
    return {*get_args(annotation), annotation} <= {int, bool, type(None), int | None, bool | None}


def as_object(data: Any, info: ValidationInfo) -> Any:
    """Accept an object that was sent as JSON text."""
    return _parsed(data, "{", "JSON text was read as an object", info)


def _parsed(data: Any, opening: str, note: str, info: ValidationInfo) -> Any:
    if not isinstance(data, str) or not data.lstrip().startswith(opening):
        return data
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError):
        return data
    _understanding(info).note(note)
    return parsed


class Request(Lenient):
    """The arguments of an operation; `PAGE_FIELDS` may change from page to page of one answer.

    `FIELD_CODES` gives the error code for a bad value of a field and `MISSING_CODE` that for a missing one, where the
    specification names more than INVALID_ARGUMENTS.
    """

    PAGE_FIELDS: ClassVar[frozenset[str]] = frozenset({"limit"})
    FIELD_CODES: ClassVar[dict[str, str]] = {}
    MISSING_CODE: ClassVar[str] = ""


class Result(BaseModel):
    """What an operation answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Pagination(Result):
    """How to get the next page."""

    next_cursor: str | None = Field(None, description="Present when there is more.")
    total_estimate: int | None = Field(None, description="About how many there are in all.")


def _clean_path(value: Any, info: ValidationInfo) -> Any:
    """Turn an absolute path inside this repository into a relative one and drop a leading `./`."""
    if not isinstance(value, str):
        return value
    understanding = _understanding(info)
    text = value.strip() or value
    if text != value and understanding.root is not None and _exists(understanding.root, value):
        return value
    if understanding.root is not None and text.startswith("/"):
        for root in {str(understanding.root), str(understanding.root.resolve())}:
            if text == root or text.startswith(f"{root}/"):
                relative = text[len(root) :].lstrip("/") or "."
                understanding.note(f"`{_short(text)}` was read as `{relative}`")
                return relative
    if text.startswith("./") and text.lstrip("./"):
        relative = text[2:].lstrip("/")
        understanding.note(f"`{_short(text)}` was read as `{relative}`")
        return relative
    if text != value:
        understanding.note(f"`{_short(value)}` was read as `{text}`")
    return text


def split_range(value: str, info: ValidationInfo) -> dict[str, Any] | None:
    """Split `a.py:10-20`, `a.py:10` or `a.py#L10-L20` into path and lines; None when there is no such ending."""
    match = _RANGE_SUFFIX.match(value.strip())
    if match is None:
        return None
    understanding = _understanding(info)
    if understanding.root is not None and _exists(understanding.root, value):
        return None
    first = int(match["first"])
    last = int(match["last"]) if match["last"] else first
    understanding.note_obvious(f"`{_short(value)}` was read as lines {first}-{last} of `{_short(match['path'])}`")
    return {"path": match["path"], "start_line": first, "end_line": last}


def _exists(root: Path, text: str) -> bool:
    """Tell whether a file in the repository really has such a name."""
    try:
        return os.path.lexists(resolve_inside(root, RepoPath.parse(text)))
    except CodePlaneError:
        return False


def _as_list(value: Any, info: ValidationInfo) -> Any:
    """Accept a single item, or a list sent as JSON text, where a list is expected."""
    value = _parsed(value, "[", "JSON text was read as a list", info)
    if isinstance(value, list | tuple):
        return list(value)
    _understanding(info).note_obvious("a single value was read as a list of one")
    return [value]


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


PathText = Annotated[str, BeforeValidator(_clean_path)]
ListOfOne = BeforeValidator(_as_list)
