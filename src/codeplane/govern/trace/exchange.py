"""Exchange with other programs: Agent Trace 0.1.0 records and git-ai 3.0.0 notes."""

import json
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from codeplane.core.hashing import sha256_text
from codeplane.govern.trace.records import VENDOR, ReadRecord

NOTES_REF: Final = "refs/notes/ai"
TRAILER: Final = "Intent"
_SCHEMA_VERSION: Final = "authorship/3.0.0"
_VERSION: Final = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_VCS: Final = frozenset({"git", "jj", "hg", "svn"})
_TYPES: Final = frozenset({"human", "ai", "mixed", "unknown"})
_MAX_MODEL: Final = 250
_KEY: Final = re.compile(r"(?:s_[0-9a-f]{14}::t_[0-9a-f]{14}|h_[0-9a-f]{14}|[0-9a-f]{16})")
_RANGES: Final = re.compile(r"[1-9][0-9]*(?:-[1-9][0-9]*)?(?:,[1-9][0-9]*(?:-[1-9][0-9]*)?)*")


def schema_problem(text: str) -> str | None:
    """Return why a text is not an Agent Trace 0.1.0 record, None when it is one."""
    try:
        value = json.loads(text)
    except ValueError as error:
        return f"it is not JSON: {error}"
    return record_problem(value)


def record_problem(value: Any) -> str | None:
    """Return why a value does not fit the README schema of Agent Trace, None when it does."""
    if not isinstance(value, dict):
        return "a record is an object"
    checks = (
        ("version", isinstance(value.get("version"), str) and _VERSION.fullmatch(value["version"]) is not None),
        ("id", _is_uuid(value.get("id"))),
        ("timestamp", _is_time(value.get("timestamp"))),
        ("vcs", "vcs" not in value or _is_vcs(value["vcs"])),
        ("tool", "tool" not in value or _has_texts(value["tool"], "name", "version")),
        ("metadata", isinstance(value.get("metadata", {}), dict)),
        ("files", isinstance(value.get("files"), list)),
    )
    wrong = next((name for name, is_right in checks if not is_right), None)
    if wrong is not None:
        return f"`{wrong}` is missing or does not fit"
    return next((problem for one in value["files"] if (problem := _file_problem(one)) is not None), None)


def _file_problem(file: Any) -> str | None:
    if not isinstance(file, dict) or not isinstance(file.get("path"), str):
        return "a file needs a `path`"
    if not isinstance(file.get("conversations"), list):
        return "a file needs `conversations`"
    return next((problem for one in file["conversations"] if (problem := _conversation_problem(one)) is not None), None)


def _conversation_problem(value: Any) -> str | None:
    if not isinstance(value, dict) or not isinstance(value.get("ranges"), list):
        return "a conversation needs `ranges`"
    related = value.get("related", [])
    checks = (
        ("url", "url" not in value or _is_url(value["url"])),
        ("contributor", _is_contributor(value.get("contributor"))),
        ("ranges", all(_is_range(part) for part in value["ranges"])),
        ("related", isinstance(related, list) and all(_is_related(part) for part in related)),
    )
    wrong = next((name for name, is_right in checks if not is_right), None)
    return f"`{wrong}` of a conversation does not fit" if wrong is not None else None


def _is_related(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type"), str) and _is_url(value.get("url"))


def _is_uuid(value: Any) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _is_vcs(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in _VCS and isinstance(value.get("revision"), str)


def _has_texts(value: Any, *names: str) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name, ""), str) for name in names)


def _is_url(value: Any) -> bool:
    return isinstance(value, str) and bool(urlsplit(value).scheme) and " " not in value


def _is_contributor(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, dict) or value.get("type") not in _TYPES:
        return False
    model = value.get("model_id", "")
    return isinstance(model, str) and len(model) <= _MAX_MODEL


def _is_range(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    lines = [value.get(name) for name in ("start_line", "end_line")]
    is_whole = all(type(line) is int and line >= 1 for line in lines)
    return is_whole and isinstance(value.get("content_hash", ""), str) and _is_contributor(value.get("contributor"))


@dataclass(frozen=True, slots=True)
class NoteSession:
    """One session of a note: who, and the attributes that hold the intent."""

    tool: str
    conversation: str
    model: str
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Note:
    """A git-ai note: by path, the lines of each key; and the sessions that keys name."""

    files: Mapping[str, Mapping[str, tuple[int, ...]]]
    sessions: Mapping[str, NoteSession]
    base: str = ""


def note_key(record: ReadRecord) -> tuple[str, NoteSession]:
    """Return the key and the session of a record's lines."""
    ours = record.ours
    tool = str(ours.get("agent") or ours.get("tool_name") or "unknown")
    conversation = str(ours.get("session") or "unknown")
    contributor = record.body["files"][0]["conversations"][0]["contributor"]
    names = {
        "intent_id": ours.get("intent_id"),
        "requirements": ",".join(ours.get("related_requirements", ())),
        "mutation_class": ours.get("mutation_class"),
        "call_id": ours.get("call_id"),
        "approval": ours.get("approval"),
        "record_id": record.id,
    }
    attributes = {name: str(value) for name, value in names.items() if value}
    session = f"s_{sha256_text(f'{tool}:{conversation}:{record.id}')[:14]}"
    key = f"{session}::t_{sha256_text(record.id)[:14]}"
    return key, NoteSession(tool, conversation, str(contributor.get("model_id") or "unknown"), attributes)


def note_text(note: Note) -> str:
    """Return a note in the form of git-ai 3.0.0."""
    lines = []
    for path, keys in sorted(note.files.items()):
        lines.append(f'"{path}"' if any(char.isspace() for char in path) else path)
        lines += [f"  {key} {_as_ranges(numbers)}" for key, numbers in sorted(keys.items())]
    sessions = {
        key.partition("::")[0]: {
            "agent_id": {"tool": one.tool, "id": one.conversation, "model": one.model},
            "custom_attributes": dict(sorted(one.attributes.items())),
        }
        for key, one in sorted(note.sessions.items())
    }
    metadata = {
        "schema_version": _SCHEMA_VERSION,
        "base_commit_sha": note.base,
        "prompts": {},
        "sessions": sessions,
    }
    return "\n".join([*lines, "---", json.dumps(metadata, indent=2, sort_keys=True)]) + "\n"


def parse_note(text: str) -> Note:
    """Return the note of a text.

    Raises:
        ValueError: it does not follow the grammar.
    """
    head, mark, tail = text.partition("---\n") if text.startswith("---\n") else text.partition("\n---\n")
    if not mark:
        raise ValueError("a note has a line `---` before its metadata")
    metadata = json.loads(tail)
    if not isinstance(metadata, dict) or not str(metadata.get("schema_version", "")).startswith("authorship/3."):
        raise ValueError("the note is not of the form authorship/3")
    files: dict[str, dict[str, tuple[int, ...]]] = {}
    path = ""
    for line in head.splitlines() if not text.startswith("---\n") else ():
        if not line.startswith("  "):
            path = line.removeprefix('"').removesuffix('"') if line.startswith('"') else line
            files[path] = {}
            continue
        key, _, ranges = line.strip().partition(" ")
        if not path or _KEY.fullmatch(key) is None or _RANGES.fullmatch(ranges) is None:
            raise ValueError(f"the entry {line.strip()[:60]!r} does not fit")
        files[path][key] = _from_ranges(ranges)
    sessions = {
        str(name): _session(value) for name, value in metadata.get("sessions", {}).items() if isinstance(value, dict)
    }
    return Note(files, sessions, str(metadata.get("base_commit_sha", "")))


def _session(value: Mapping[str, Any]) -> NoteSession:
    agent = value.get("agent_id", {})
    attributes = value.get("custom_attributes") or {}
    return NoteSession(
        str(agent.get("tool", "unknown")),
        str(agent.get("id", "")),
        str(agent.get("model", "unknown")),
        {str(name): str(one) for name, one in attributes.items()},
    )


def _as_ranges(numbers: Iterable[int]) -> str:
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


def _from_ranges(text: str) -> tuple[int, ...]:
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        end = int(last or first)
        if end - int(first) > 10_000_000:
            raise ValueError("a range is too long")
        found += range(int(first), end + 1)
    return tuple(found)


def exported(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record for other programs: as it is, since ours already are Agent Trace records."""
    return dict(body)


def intents_in(message: str) -> tuple[str, ...]:
    """Return the intents that a commit message names in its trailer."""
    return tuple(re.findall(rf"(?m)^{TRAILER}: *([A-Za-z0-9][A-Za-z0-9._-]{{0,63}})\s*$", message))


def is_ours(body: Mapping[str, Any]) -> bool:
    """Tell whether a record has our own fields."""
    metadata = body.get("metadata")
    return isinstance(metadata, dict) and VENDOR in metadata
