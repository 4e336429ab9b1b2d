"""What to send instead of an edit whose file was changed meanwhile, when the two changes do not overlap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from codeplane.core.hashing import sha256_bytes
from codeplane.core.paths import RepoPath
from codeplane.edit.merging import moved_lines
from codeplane.edit.records import RecordStore


@dataclass(frozen=True, slots=True)
class LineEdit:
    """Lines of the file as the caller knew it, and their replacement."""

    start_line: int
    end_line: int
    new_content: str


def merge_suggestion(
    records: RecordStore, other: str, path: RepoPath, expected: str | None, now: bytes, edits: Sequence[LineEdit]
) -> dict[str, Any] | None:
    """Return the same edits for the file as it is now; None when they overlap or the old text is not kept.

    `other` is the call that changed the file; undo keeps what was there before it.
    """
    base = _kept(records, other, path, expected) if expected is not None and edits else None
    if base is None:
        return None
    found = []
    for edit in edits:
        lines = moved_lines(base, now, edit.start_line, edit.end_line)
        if lines is None:
            return None
        found.append(
            {
                "path": path.text,
                "start_line": lines[0],
                "end_line": lines[1],
                "expected_file_sha256": sha256_bytes(now),
                "new_content": edit.new_content,
            }
        )
    return {"edits": found}


def _kept(records: RecordStore, call_id: str, path: RepoPath, sha256: str) -> bytes | None:
    found = records.find(call_id)
    images = [one.before for one in found[0].changes if one.path == path] if found is not None else []
    return next((image.data for image in images if image is not None and image.sha256 == sha256), None)
