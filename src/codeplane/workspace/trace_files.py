"""The files that a repository needs so that git can merge its trace."""

from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.edit.appending import append_lines
from codeplane.edit.editor import Editor
from codeplane.edit.images import FileImage
from codeplane.edit.managed_block import ATTRIBUTES as MARKERS
from codeplane.edit.managed_block import with_block
from codeplane.edit.records import Change
from codeplane.govern.trace.files import MAP_FILE
from codeplane.govern.trace.projection import TRACE_PATH

ATTRIBUTES: Final = RepoPath.parse(".gitattributes")
_LINES: Final = (f"{TRACE_PATH.text} merge=union", f"{MAP_FILE} merge=union")


def ensure_attributes(editor: Editor, batch_id: str) -> bool:
    """Add the managed block to `.gitattributes`; return whether anything was written.

    Raises:
        CodePlaneError: VALIDATION_ERROR when the file is not text.
    """
    found = editor.look(ATTRIBUTES)
    before = found.image if found is not None else None
    try:
        text = before.data.decode("utf-8") if before is not None else ""
    except UnicodeDecodeError as error:
        message = ".gitattributes is not UTF-8 text."
        hint = f"Add `{_LINES[0]}` to it by hand."
        raise CodePlaneError("VALIDATION_ERROR", message, hint=hint) from error
    wanted = with_block(text, *MARKERS, _LINES)
    if wanted == text:
        return False
    mode = before.mode if before is not None else None
    editor.apply(batch_id, [Change(ATTRIBUTES, before, FileImage(wanted.encode(), mode))])
    return True


def ensure_trace_file(root: Path) -> bool:
    """Create the empty trace file where intents are kept: git can only merge what both sides have from the start."""
    place = root / TRACE_PATH.text
    if place.exists() or not place.parent.is_dir():
        return False
    append_lines(root, TRACE_PATH, [])
    return True
