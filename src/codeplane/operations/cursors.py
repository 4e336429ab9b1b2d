"""Cursors: short ids for the place where an answer was cut.

An agent reads every cursor and writes it back, so the workspace keeps the rest: the operation, the request of the first
page, and the position of the next one. The door resolves a cursor before the arguments are validated; a handler sees
the whole request and `context.position`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.operations.models import Request
from codeplane.workspace.workspace import Workspace

FIELD: Final = "cursor"
_OID_LENGTHS: Final = frozenset({40, 64})
_MAX_NUMBER: Final = 10**12


@dataclass(frozen=True, slots=True)
class Position:
    """Where the previous page ended. A cursor's file can be forged, so every value is checked when it is read."""

    values: Mapping[str, Any]

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def number(self, name: str, default: int | None = None) -> int:
        """Return a number that is not negative."""
        value = self.values.get(name, default)
        if type(value) is not int or not 0 <= value < _MAX_NUMBER:
            raise CodePlaneError("CURSOR_INVALID")
        return value

    def text(self, name: str) -> str:
        """Return a text without control characters."""
        value = self.values.get(name)
        if not isinstance(value, str) or any(character < " " for character in value):
            raise CodePlaneError("CURSOR_INVALID")
        return value

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        value = self.values.get(name)
        if not isinstance(value, list):
            raise CodePlaneError("CURSOR_INVALID")
        return value

    def oid(self, name: str) -> str:
        """Return the full name of a git object."""
        return checked_oid(self.text(name))


def checked_oid(value: Any) -> str:
    """Return the full name of a git object, `^` allowed before it; nothing else may become an argument of git."""
    text = value.removeprefix("^") if isinstance(value, str) else ""
    if not (text.isalnum() and len(text) in _OID_LENGTHS):
        raise CodePlaneError("CURSOR_INVALID")
    return str(value)


def make_cursor(workspace: Workspace, operation: str, request: Request, position: Mapping[str, Any]) -> str:
    """Return a cursor for the next page of a request."""
    asked = request.model_dump(mode="json", exclude_unset=True, exclude={FIELD})
    return workspace.cursors.keep(json.dumps([operation, asked, dict(position)], separators=(",", ":")))


def read_cursor(workspace: Workspace, operation: str, cursor: str) -> tuple[dict[str, Any], Position]:
    """Return the arguments of the first page and the position of the next one.

    Raises:
        CodePlaneError: CURSOR_INVALID when it is not one of this operation's; CURSOR_EXPIRED when it is not stored.
    """
    if not workspace.cursors.is_id(cursor):
        raise CodePlaneError("CURSOR_INVALID", "Not a valid cursor; copy it from the cut answer.")
    text = workspace.cursors.find(cursor)
    if text is None:
        message = f"The cursor {cursor} is unknown: it is too old or from another working tree."
        raise CodePlaneError("CURSOR_EXPIRED", message)
    try:
        made_by, asked, position = json.loads(text)
        found = dict(asked), Position(dict(position))
    except (ValueError, TypeError, RecursionError) as error:
        raise CodePlaneError("CURSOR_INVALID") from error
    if made_by != operation:
        raise CodePlaneError("CURSOR_INVALID", f"The cursor was made by {made_by}, not by {operation}.")
    return found


def has_cursor(request_type: type[Request]) -> bool:
    """Tell whether pages of a request go on by a cursor of ours; lists of the ledger go on by a row's number."""
    field = request_type.model_fields.get(FIELD)
    return field is not None and field.annotation == (str | None)


def with_first_page(request_type: type[Request], first: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the first page for a cursor that comes alone or with the size of the page."""
    of_page = {FIELD, *request_type.PAGE_FIELDS}
    of_page.update(other for name in request_type.PAGE_FIELDS for other in request_type.ALIASES.get(name, ()))
    return {**first, **given} if of_page.issuperset(given) else dict(given)


def check_same_question(request: Request, first: Mapping[str, Any]) -> None:
    """Refuse a cursor sent with arguments of another request; the page size may change.

    Raises:
        CodePlaneError: CURSOR_INVALID.
    """
    left_out = {FIELD, *request.PAGE_FIELDS}
    before = type(request).model_validate(dict(first))
    if before.model_dump(exclude=left_out) != request.model_dump(exclude=left_out):
        hint = "Send the cursor alone, or with the arguments of the first page."
        raise CodePlaneError("CURSOR_INVALID", "The cursor belongs to a different request.", hint=hint)
