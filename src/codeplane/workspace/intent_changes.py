"""Change the intents file for a person: through the editor, recorded, and accepted at once."""

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.edit.images import FileImage
from codeplane.edit.records import Change
from codeplane.govern.intents import INTENTS_FILE, parse_intents
from codeplane.govern.trace.files import MAP_FILE
from codeplane.govern.trace.projection import TRACE_PATH
from codeplane.workspace.trace_files import ensure_trace_file
from codeplane.workspace.workspace import Workspace

INTENTS_PATH = RepoPath.parse(INTENTS_FILE)
MAP_PATH = RepoPath.parse(MAP_FILE)


def intents_text(workspace: Workspace) -> str | None:
    """Return the text of the intents file, None when there is none."""
    found = workspace.editor.look(INTENTS_PATH)
    if found is None:
        return None
    try:
        return found.image.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CodePlaneError("INTENTS_UNREADABLE", f"{INTENTS_FILE} is not UTF-8 text.") from error


def written_paths(workspace: Workspace) -> tuple[RepoPath, ...]:
    """Return what saving intents writes: the file, the empty trace file where there is none yet, and the map."""
    new_trace = () if (workspace.root / TRACE_PATH.text).exists() else (TRACE_PATH,)
    return (INTENTS_PATH, *new_trace, MAP_PATH)


def save_intents(workspace: Workspace, call_id: str, text: str) -> None:
    """Write the intents file for a call and accept it; the change can be undone like any other.

    Raises:
        CodePlaneError: CONFIG_INVALID, or an error from writing.
    """
    parse_intents(text)
    found = workspace.editor.look(INTENTS_PATH)
    before = found.image if found is not None else None
    workspace.editor.apply(call_id, [Change(INTENTS_PATH, before, FileImage(text.encode("utf-8")))])
    workspace.gate.sources.accept()
    ensure_trace_file(workspace.root)
    workspace.trace.update_map(parse_intents(text))
    workspace.record("intents_changed", {"call": call_id, "intents": list(_ids(text))})


def _ids(text: str) -> tuple[str, ...]:
    return tuple(one.id for one in parse_intents(text).active_intents)
