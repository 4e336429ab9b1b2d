"""Override files: memories and commands that people write as JSON.

A file alone changes nothing: the caller applies only what a person has accepted as it is.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.memory.records import (
    COMMANDS,
    NewRecord,
    add_record,
    command,
    record_of,
    replace_record,
    row_of,
)
from codeplane.memory.settings import FrictionSettings
from codeplane.memory.store import Writing

_MAX_BYTES: Final = 1_000_000
_MAX_CONDITION: Final = 500
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TRIGGERS: Final = ("rejection_pattern", "human_override", "retrospective", "rule_violation", "friction_signal")
_PHASES: Final = ("exploration", "planning", "execution", "retrospective")
_CONTENT: Final = {"few_shot": "fewShot", "plan_rule": "planRule", "strategy_signal": "strategySignal"}
# What a file may say although CodePlane decides it.
_IGNORED: Final = frozenset({"state", "createdAt", "updatedAt", "traceRef", "provisionalSince", "contestedBy"})


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _one_of(*choices: str) -> Callable[[object], bool]:
    return lambda value: value in choices


# The fields of a record: the name in NewRecord and what a value must be.
_FIELDS: Final[Mapping[str, tuple[str, Callable[[object], bool]]]] = {
    "id": ("id", lambda value: isinstance(value, str) and _ID.fullmatch(value) is not None),
    "trigger": ("trigger", _one_of(*_TRIGGERS)),
    "phase": ("phase", _one_of(*_PHASES)),
    "domainAnchorIds": (
        "domain_anchor_ids",
        lambda value: isinstance(value, list) and all(_is_text(one) and one.startswith("anchor:") for one in value),
    ),
    "graphNodeIds": ("graph_node_ids", _is_texts),
    "enforcementType": ("enforcement_type", _one_of(*_CONTENT, "informational")),
    "fewShot": ("few_shot", _is_object),
    "planRule": ("plan_rule", _is_object),
    "strategySignal": ("strategy_signal", _is_object),
    "rejectionCodes": ("rejection_codes", _is_texts),
    "originStrategyId": ("origin_strategy_id", _is_text),
    "note": ("note", _is_text),
}


@dataclass(frozen=True, slots=True)
class Override:
    """A file that can be used: a command about a memory, or fields of a record."""

    command: str = ""
    memory_id: str = ""
    by: str = ""
    fields: Mapping[str, Any] | None = None

    @property
    def summary(self) -> str:
        """Return what it asks for in a few words."""
        return f"{self.command} {self.memory_id}" if self.command else f"record {self.memory_id or 'without id'}"


def parse_override(data: bytes) -> Override:
    """Return what a file asks for.

    Raises:
        CodePlaneError: VALIDATION_ERROR with what is wrong.
    """
    document = _document(data)
    if "command" in document:
        return _parsed_command(document)
    unknown = sorted(document.keys() - _FIELDS.keys() - _IGNORED)
    if unknown:
        raise _bad(f"unknown fields: {', '.join(unknown)[:200]}")
    wrong = sorted(name for name, value in document.items() if name in _FIELDS and not _FIELDS[name][1](value))
    if wrong:
        raise _bad(f"these fields cannot have such a value: {', '.join(wrong)}")
    fields = {
        _FIELDS[name][0]: tuple(value) if isinstance(value, list) else value
        for name, value in document.items()
        if name in _FIELDS
    }
    return Override(memory_id=str(fields.get("id", "")), fields=fields)


def _document(data: bytes) -> dict[str, Any]:
    if len(data) > _MAX_BYTES:
        raise _bad(f"the file has more than {_MAX_BYTES} bytes")
    try:
        document = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _bad(f"it is not JSON in UTF-8: {error}"[:200]) from error
    if not isinstance(document, dict):
        raise _bad("it is not a JSON object")
    return document


def _parsed_command(document: dict[str, Any]) -> Override:
    name, memory_id, by = (document.get(one) for one in ("command", "memoryId", "by"))
    if document.keys() - {"command", "memoryId", "by"}:
        raise _bad("a command has the fields command, memoryId and by")
    if name not in COMMANDS:
        raise _bad(f"command is one of {', '.join(COMMANDS)}")
    if not _is_text(memory_id) or not (by is None or _is_text(by)):
        raise _bad("memoryId and by are texts")
    return Override(str(name), str(memory_id), str(by or ""))


def apply_override(writing: Writing, override: Override, settings: FrictionSettings, person: str) -> str:
    """Carry out an override for a person who has accepted it; return the memory it is about.

    Raises:
        CodePlaneError: VALIDATION_ERROR or NOT_FOUND; nothing was written then.
    """
    by = f"{person} ({override.by[:80]})" if override.by else person
    if override.command:
        command(writing, override.command, override.memory_id, by)
        return override.memory_id
    fields = dict(override.fields or {})
    existing = _existing(writing.connection, override.memory_id)
    base = existing or NewRecord(_kind_of(fields), "human_override", "planning")
    record = replace(base, **fields, state=settings.human_override_initial_state)
    _check(record)
    if existing is not None:
        replace_record(writing, record, by)
        return record.id
    return add_record(writing, record, by, "override")


def _existing(connection: sqlite3.Connection, memory_id: str) -> NewRecord | None:
    try:
        return record_of(row_of(connection, memory_id)) if memory_id else None
    except CodePlaneError:
        return None


def _kind_of(fields: Mapping[str, Any]) -> str:
    return next((kind for kind in _CONTENT if kind in fields), "informational")


def _check(record: NewRecord) -> None:
    """Refuse a record that says nothing."""
    kind = record.enforcement_type
    content: dict[str, Any] = getattr(record, kind) or {} if kind in _CONTENT else {}
    if kind == "informational" and not record.note:
        raise _bad("an informational memory needs a note")
    if kind in _CONTENT and not content:
        raise _bad(f"a {kind} needs {_CONTENT[kind]}")
    if kind == "plan_rule":
        condition = content.get("condition")
        if not _is_text(condition) or len(str(condition)) > _MAX_CONDITION:
            raise _bad(f"planRule.condition is a text of at most {_MAX_CONDITION} characters")
    if kind == "strategy_signal" and not _is_text(content.get("featureFlag")):
        raise _bad("strategySignal.featureFlag is missing")


def _bad(problem: str) -> CodePlaneError:
    return CodePlaneError("VALIDATION_ERROR", f"The override cannot be used: {problem}.")
