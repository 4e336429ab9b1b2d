"""Turn records and notes of other programs into records of ours, with the lines that git has for them."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from codeplane.core.clock import ms_from_iso
from codeplane.core.hashing import sha256_text
from codeplane.core.redaction import redact
from codeplane.govern.trace.exchange import Note, is_ours, record_problem
from codeplane.govern.trace.records import UNKNOWN, VENDOR, Cause, TracedFile, make_record, read_record
from codeplane.govern.trace.segments import without_chain
from codeplane.workspace.trace_commits import content_at, without_lines

_TYPES: Final = frozenset({"human", "ai", "mixed", "unknown"})


@dataclass(slots=True)
class Imported:
    """Records that can be added, and what was refused with the reason."""

    bodies: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def import_record(root: Path, line: bytes, place: str, imported: Imported) -> None:
    """Read one Agent Trace record; ours are taken as they are, others get the lines of their ranges from git."""
    try:
        body = json.loads(line.decode("utf-8"))
    except ValueError:
        imported.refused.append(f"{place}: not JSON")
        return
    problem = record_problem(body)
    if problem is not None:
        imported.refused.append(f"{place}: {problem}")
    elif is_ours(body):
        bare = without_chain(body)
        if read_record(bare) is None:
            imported.refused.append(f"{place}: our own fields are of another version")
        else:
            imported.bodies.append(bare)
    else:
        _import_foreign(root, body, place, imported)


def _import_foreign(root: Path, body: dict[str, Any], place: str, imported: Imported) -> None:
    revision = body.get("vcs", {}).get("revision", "")
    for file in body["files"]:
        for conversation in file["conversations"]:
            numbers = [
                number for one in conversation["ranges"] for number in range(one["start_line"], one["end_line"] + 1)
            ]
            contributor = conversation.get("contributor") or {}
            cause = Cause(
                call_id="", session="", contributor=_type_of(contributor), tool_name=_tool_of(body),
                tool_origin=UNKNOWN, action="import", now_ms=ms_from_iso(body["timestamp"]), agent=_tool_of(body),
                model=contributor.get("model_id"), intent=_intent_of(conversation), revision=revision or None,
                ungated=True,
            )  # fmt: skip
            made = _made(root, revision, file["path"], numbers, cause, body["id"])
            if made is None:
                imported.refused.append(
                    f"{place}: git does not have {file['path'][:80]} at {revision[:12] or 'any commit'}"
                )
            else:
                imported.bodies.append(made)


def import_note(root: Path, commit: str, note: Note, imported: Imported) -> None:
    """Read one git-ai note; the intent is in the attributes of its session."""
    for path, keys in note.files.items():
        for key, numbers in keys.items():
            session = note.sessions.get(key.partition("::")[0])
            attributes = dict(session.attributes) if session is not None else {}
            cause = Cause(
                call_id=attributes.get("call_id", ""), session="",
                contributor="human" if key.startswith("h_") else "ai",
                tool_name=session.tool if session is not None else "unknown", tool_origin=UNKNOWN, action="import",
                now_ms=0, agent=session.tool if session is not None else "",
                model=session.model if session is not None and session.model != "unknown" else None,
                intent=attributes.get("intent_id"),
                requirements=tuple(one for one in attributes.get("requirements", "").split(",") if one),
                mutation_class=attributes.get("mutation_class"), approval=attributes.get("approval"),
                revision=commit, ungated=True,
            )  # fmt: skip
            made = _made(root, commit, path, numbers, cause, attributes.get("record_id") or f"{commit} {path} {key}")
            if made is None:
                imported.refused.append(f"the note on {commit[:12]}: git does not have {path[:80]} there")
            else:
                imported.bodies.append(made)


def _made(
    root: Path, revision: str, path: str, numbers: Sequence[int], cause: Cause, source: str
) -> dict[str, Any] | None:
    data = content_at(root, revision, path) if revision else None
    if data is None or (numbers and max(numbers) > len(data.splitlines())):
        return None
    record = make_record("", TracedFile(path, without_lines(data, numbers), data), cause, lambda _path, _data: ())
    record["id"] = str(uuid.UUID(hex=sha256_text(f"{source} {path} {min(numbers, default=0)}")[:32], version=4))
    record["metadata"][VENDOR]["imported_from"] = redact(source)[:200]
    return record


def _type_of(contributor: dict[str, Any]) -> str:
    found = contributor.get("type")
    return found if isinstance(found, str) and found in _TYPES else UNKNOWN


def _tool_of(body: dict[str, Any]) -> str:
    return redact(str(body.get("tool", {}).get("name") or "unknown"))[:120]


def _intent_of(conversation: dict[str, Any]) -> str | None:
    urls = [one["url"] for one in conversation.get("related", ()) if one.get("type") == "intent"]
    return urls[0].removeprefix("urn:intent:")[:64] if urls and urls[0].startswith("urn:intent:") else None
