"""Connect an agent: write our entries into its settings, and take exactly these out again.

Everything is planned before anything is written. A file that is not what its format says stays as it is.
"""

import difflib
import json
import os
import re
import shlex
import stat
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import codeplane
from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_bytes
from codeplane.core.json_edits import parse_json, with_item, with_member, without
from codeplane.core.paths import RepoPath
from codeplane.edit.images import FileImage
from codeplane.edit.managed_block import block_in, with_block
from codeplane.edit.records import Change
from codeplane.ledger.evidence import Evidence
from codeplane.operations.agent_files import AGENT_FILES, SERVER_NAME, AgentFile, Entry, Installation, Level, is_ours
from codeplane.operations.local_excludes import (
    EXCLUDE,
    exclude_file,
    names_this_machine,
    not_ignored,
    with_places,
    without_places,
)
from codeplane.operations.opencode_plugin import PLUGIN_EVENTS
from codeplane.workspace.workspace import Workspace

CONNECTED, DISCONNECTED = "agent_connected", "agent_disconnected"
_SOURCE: Final = Path(codeplane.__file__).parent


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file before and after; None means no file."""

    place: str
    path: Path
    before: bytes | None
    after: bytes | None
    is_executable: bool = False

    @property
    def is_inside(self) -> bool:
        """Tell whether it is a file of the working tree, which the editor writes."""
        return self.place != EXCLUDE and not self.place.startswith("~/")

    @property
    def diff(self) -> str:
        """Return what changes, as a diff."""
        old, new = ((one or b"").decode("utf-8", "replace").splitlines() for one in (self.before, self.after))
        return "\n".join(difflib.unified_diff(old, new, f"a/{self.place}", f"b/{self.place}", lineterm=""))


@dataclass(frozen=True, slots=True)
class Connection:
    """An agent that is connected, as the ledger has it; `digests` are those of our entries in each file."""

    agent: str
    level: Level
    profile: str
    digests: Mapping[str, str]
    before: Mapping[str, str | None]
    after: Mapping[str, str]


def installation_of(workspace: Workspace, level: Level, profile: str = "") -> Installation:
    """Return what the entries of this installation start."""
    return Installation(
        sys.executable,
        str(_SOURCE / "surfaces/agent_hooks/client.py"),
        str(_SOURCE / "surfaces/bridge.py"),
        str(workspace.root) if level == "project" else "",
        profile,
    )


def files_of(workspace: Workspace, agent: str, level: Level, profile: str) -> tuple[AgentFile, ...]:
    """Return what connecting an agent writes; with the controller also a block in the file that it reads first."""
    row = AGENT_FILES[agent]
    files = row.files(installation_of(workspace, level, profile), level)
    if profile == "controller" and row.instructions and level == "project":
        files += (AgentFile(row.instructions, block=_CONTROLLER),)
    return files


_CONTROLLER: Final = (
    "CodePlane offers one tool here, `controller_turn`: read, submit a plan, carry it out.\n"
    "A task is over with the verb `signal_task_complete`; before it, the plan's acceptance criteria have to be met."
)


def plan_connecting(
    workspace: Workspace, agent: str, level: Level, profile: str, planned: Mapping[str, bytes | None]
) -> list[FileChange]:
    """Return the changes that connect an agent; none where everything is in place.

    `planned` are files as changes that were planned before will leave them.

    Raises:
        CodePlaneError: INVALID_FORMAT when a file cannot be read as what it is; nothing is written then.
    """
    files = files_of(workspace, agent, level, profile)
    found = [one for file in files if (one := _connected(workspace, file, planned)).before != one.after]
    made = [one.place for one in found if one.before is None and one.is_inside and names_this_machine(one.after)]
    before = planned[EXCLUDE] if EXCLUDE in planned else _read(exclude_file(workspace))
    return found + _excluding(workspace, before, with_places(before, not_ignored(workspace, made)))


def plan_disconnecting(
    workspace: Workspace, connection: Connection, others: Iterable[Connection], planned: Mapping[str, bytes | None]
) -> list[FileChange]:
    """Return the changes that take our entries out again, but for those that another connected agent uses.

    `planned` is as for `plan_connecting`.

    Raises:
        CodePlaneError: as `plan_connecting`.
    """
    shared = {file.place: file.entries for one in others for file in _files_of(workspace, one)}
    found = []
    for file in _files_of(workspace, connection):
        path = path_of(workspace, file.place)
        before = planned[file.place] if file.place in planned else _read(path)
        if before is None:
            continue
        kept = [entry for entry in shared.get(file.place, ()) if entry in file.entries]
        after = _disconnected(workspace, file, before, connection, kept)
        if after != before:
            found.append(FileChange(file.place, path, before, after, file.is_executable))
    gone = [one.place for one in found if one.after is None and one.is_inside]
    excluded = planned[EXCLUDE] if EXCLUDE in planned else _read(exclude_file(workspace))
    return found + _excluding(workspace, excluded, without_places(workspace, excluded, gone))


def _excluding(workspace: Workspace, before: bytes | None, after: bytes | None) -> list[FileChange]:
    return [FileChange(EXCLUDE, exclude_file(workspace), before, after)] if before != after else []


def apply(workspace: Workspace, call_id: str, changes: Sequence[FileChange]) -> None:
    """Write all changes or none: those outside of the working tree, then those inside in one batch.

    Raises:
        CodePlaneError: STALE_FILE when a file was changed since it was planned.
        OSError: the system refuses; what was written before is taken back.
    """
    inside = [one for one in changes if one.is_inside]
    outside = [one for one in changes if not one.is_inside]
    _keep_backups(workspace, call_id, changes)
    done: list[FileChange] = []
    try:
        for one in outside:
            _check_unchanged(one, _read(one.path))
            done.append(one)
            _write(one.path, one.after, is_executable=one.is_executable)
        workspace.editor.apply(call_id, [_edit(workspace, one) for one in inside])
    except BaseException:
        for one in reversed(done):
            with suppress(OSError):
                _write(one.path, one.before, is_executable=one.is_executable)
        raise


def record(workspace: Workspace, agent: str, level: Level, profile: str, changes: Sequence[FileChange]) -> None:
    """Note in the ledger what was written, so that a change of it is noticed."""
    files = files_of(workspace, agent, level, profile)
    before = {one.place: sha256_bytes(one.before) if one.before is not None else None for one in changes}
    after = {one.place: sha256_bytes(one.after) for one in changes if one.after is not None}
    all_known = connections(workspace)
    known = all_known.get(agent)
    if known is not None:
        before, after = {**before, **known.before}, {**known.after, **after}
    for one in all_known.values():
        # A file that another agent's connection has made or changed goes back to how it was before that.
        shared = {file.place for file in files} & one.before.keys() - before.keys()
        before |= {place: one.before[place] for place in shared}
        after |= {place: one.after[place] for place in shared if place in one.after}
    body: dict[str, object] = {
        "agent": agent,
        "level": level,
        "profile": profile,
        "digests": {file.place: _own_digest(workspace, file) for file in files},
        "before": before,
        "after": after,
    }
    workspace.record(CONNECTED, body)


_FIELDS: Final = ("agent", "level", "profile", "digests", "before", "after")


def connections(workspace: Workspace) -> dict[str, Connection]:
    """Return the agents that are connected, by name, as sealed rows tell."""
    found: dict[str, Connection] = {}
    with workspace.chain.database.read() as database:
        condition = f"kind IN ('{CONNECTED}', '{DISCONNECTED}') ORDER BY seq"
        for proven in Evidence(workspace.chain, database).rows(condition, ()):
            body = proven.row.body
            if not proven.is_ours or proven.row.worktree != workspace.repository.worktree_id:
                continue
            if proven.row.kind == DISCONNECTED:
                found.pop(str(body.get("agent")), None)
            elif body.get("agent") in AGENT_FILES:
                with suppress(KeyError):
                    found[body["agent"]] = Connection(*(body[name] for name in _FIELDS))
    return found


def problems(workspace: Workspace, connection: Connection) -> list[str]:
    """Return which of our entries are missing or changed."""
    found = []
    for place, known in connection.digests.items():
        file = next((one for one in _files_of(workspace, connection) if one.place == place), None)
        try:
            now = _own_digest(workspace, file) if file is not None else known
        except CodePlaneError as error:
            found.append(f"{place}: {error.message}")
            continue
        if now != known:
            found.append(f"{place}: an entry of CodePlane is missing or was changed")
        elif file is not None and _names_other_server(workspace, file):
            found.append(f"{place}: the server that is called {SERVER_NAME} there is another program")
    return found


# The program of a server, however people start ours.
_STARTS_OURS: Final = re.compile(
    r"codeplane[/\\]surfaces[/\\]bridge\.py|(?:^|[\s/\\])(?:cpl|codeplane) mcp\b|^http://(?:127\.0\.0\.1|localhost):"
)


def _names_other_server(workspace: Workspace, file: AgentFile) -> bool:
    """Tell whether a file names a program with our server's name that is not ours: agents would take it for ours."""
    text = (_read(path_of(workspace, file.place)) or b"").decode("utf-8", "surrogateescape")
    if file.claims:
        try:
            there = [_value_at(tomllib.loads(text), file.claims.split("."))]
        except tomllib.TOMLDecodeError:
            return False
    else:
        document = parse_json(text).value if text.strip() and file.entries else {}
        there = [_value_at(document, one.path) for one in file.entries if one.path[-1] == SERVER_NAME]
    return any(one is not None and not is_ours(one) and not _STARTS_OURS.search(_started_by(one)) for one in there)


def _started_by(server: Any) -> str:
    """Return the words or the address that an entry of an MCP server has."""
    fields = [server.get(name) for name in ("command", "args", "url")] if isinstance(server, dict) else []
    words = [word for one in fields for word in (one if isinstance(one, list) else [one])]
    return " ".join(word for word in words if isinstance(word, str))


def path_of(workspace: Workspace, place: str) -> Path:
    """Return where a file of an agent is; links are followed, for people keep their settings elsewhere."""
    path = Path(place).expanduser() if place.startswith("~/") else workspace.root / place
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def hook_commands(workspace: Workspace, connection: Connection) -> dict[str, str]:
    """Return the shell commands of our hooks by event, as they are in the agent's files now."""
    found: dict[str, str] = {}
    for file in _files_of(workspace, connection):
        path = path_of(workspace, file.place)
        text = (_read(path) or b"").decode("utf-8", "replace")
        words = _PLUGIN_WORDS.search(text)
        if words is not None:
            found |= {event: shlex.join(_event_words(words[1], event)) for event in PLUGIN_EVENTS}
        elif file.is_executable and is_ours(text):
            found[path.name] = shlex.quote(str(path))
        elif text.lstrip().startswith("{"):
            with suppress(CodePlaneError):
                found |= _commands_in(parse_json(text).value)
    return found


_PLUGIN_WORDS: Final = re.compile(r"^const WORDS = (\[.*\])$", re.MULTILINE)


def _event_words(listed: str, event: str) -> list[str]:
    return [event if word == "EVENT" else word for word in json.loads(listed)]


def _commands_in(document: Any) -> dict[str, str]:
    hooks = document.get("hooks") if isinstance(document, dict) else None
    found = {}
    for event, items in hooks.items() if isinstance(hooks, dict) else ():
        for item in items if isinstance(items, list) else ():
            command = _command_in(item)
            if command and is_ours(item):
                found[event] = command
    return found


# One file


def _connected(workspace: Workspace, file: AgentFile, planned: Mapping[str, bytes | None]) -> FileChange:
    path = path_of(workspace, file.place)
    before = planned[file.place] if file.place in planned else _read(path)
    text = (before or b"").decode("utf-8", "surrogateescape")
    if file.content:
        after = file.content
        if before is not None and not is_ours(text):
            raise CodePlaneError("INVALID_FORMAT", f"{file.place} is there already and is not CodePlane's.")
    elif file.block:
        after = _with_block(file, text)
    else:
        after = _with_entries(file, text)
    return FileChange(file.place, path, before, after.encode("utf-8", "surrogateescape"), file.is_executable)


def _with_block(file: AgentFile, text: str) -> str:
    marks = marks_of(file.place)
    if not file.claims:
        return with_block(text, *marks, tuple(file.block.splitlines()))
    theirs = with_block(text, *marks, ())
    try:
        if _value_at(tomllib.loads(theirs), file.claims.split(".")) is not None:
            return text
        after = with_block(text, *marks, tuple(file.block.splitlines()))
        tomllib.loads(after)
    except tomllib.TOMLDecodeError as error:
        raise CodePlaneError("INVALID_FORMAT", f"{file.place} is not TOML: {error}", hint=_REPAIR) from error
    return after


def marks_of(place: str) -> tuple[str, str]:
    """Return the lines around our block in a file of this name."""
    begin, end = "BEGIN codeplane-hook (managed)", "END codeplane-hook (managed)"
    return (f"<!-- {begin} -->", f"<!-- {end} -->") if place.endswith(".md") else (f"# {begin}", f"# {end}")


def _with_entries(file: AgentFile, text: str) -> str:
    try:
        text = _without_own(file, text) if text.strip() else text
        for entry in file.entries:
            there = _value_at(parse_json(text).value, entry.path) if text.strip() else None
            if entry.is_item and entry.value in (there if isinstance(there, list) else []):
                continue
            if not entry.is_item and there is not None:
                # Somebody configured it by hand; that is respected.
                continue
            text = (with_item if entry.is_item else with_member)(text, entry.path, entry.value)
    except CodePlaneError as error:
        raise CodePlaneError(error.code, f"{file.place}: {error.message}", hint=_REPAIR) from error
    return text


_REPAIR: Final = "Repair the file, then connect again; nothing was changed."


def _without_own(file: AgentFile, text: str, kept: Sequence[Entry] = ()) -> str:
    """Return the text without entries of ours at the places where this file has them."""
    for entry in file.entries:
        if entry in kept:
            continue
        if not entry.is_item:
            there = _value_at(parse_json(text).value, entry.path)
            text = without(text, entry.path) if there is not None and is_ours(there) else text
            continue
        items = _value_at(parse_json(text).value, entry.path)
        for number in reversed(range(len(items) if isinstance(items, list) else 0)):
            if is_ours(items[number]):
                text = without(text, [*entry.path, number])
    return text


def _disconnected(
    workspace: Workspace, file: AgentFile, before: bytes, connection: Connection, kept: Sequence[Entry]
) -> bytes | None:
    """Return the file without ours: as it was before, byte for byte, if nobody has changed it since."""
    original = _backup(workspace, connection, file.place)
    if sha256_bytes(before) == connection.after.get(file.place) and not kept:
        if connection.before.get(file.place) is None:
            return None
        if original is not None:
            return original
    text = before.decode("utf-8", "surrogateescape")
    if file.content:
        return None if is_ours(text) else before
    if file.block:
        return with_block(text, *marks_of(file.place), ()).encode("utf-8", "surrogateescape")
    text = _without_own(file, text, kept)
    known = parse_json((original or b"{}").decode("utf-8", "surrogateescape")).value if original else {}
    for entry in file.entries:
        if entry not in kept:
            text = _without_remains(text, entry, known)
    return text.encode("utf-8", "surrogateescape")


def _without_remains(text: str, entry: Entry, known: Any) -> str:
    """Return the text without what was made for an entry: a plain value without our mark, and empty containers."""
    if not entry.is_item and _value_at(known, entry.path) is None:
        is_as_written = _value_at(parse_json(text).value, entry.path) == entry.value
        text = without(text, entry.path) if is_as_written else text
    for end in range(len(entry.path), 0, -1):
        path = entry.path[:end]
        if _value_at(parse_json(text).value, path) in ([], {}) and _value_at(known, path) is None:
            text = without(text, path)
    return text


def _own_digest(workspace: Workspace, file: AgentFile) -> str:
    """Return a digest of what is ours in a file now."""
    data = _read(path_of(workspace, file.place))
    text = (data or b"").decode("utf-8", "surrogateescape")
    if file.content:
        return digest(text)
    if file.block:
        return digest(list(block_in(text, *marks_of(file.place)) or ()))
    document = parse_json(text).value if text.strip() else {}
    own = []
    for entry in file.entries:
        there = _value_at(document, entry.path)
        values = there if entry.is_item and isinstance(there, list) else [there]
        own.append([list(entry.path), [one for one in values if one is not None and is_ours(one)]])
    # What switches all hooks off is as good as removing ours.
    switches = [name for name in ("disableAllHooks",) if _value_at(document, (name,)) is True]
    return digest({"own": own, "switches": switches})


def _files_of(workspace: Workspace, connection: Connection) -> tuple[AgentFile, ...]:
    return files_of(workspace, connection.agent, connection.level, connection.profile)


def _value_at(document: Any, path: Sequence[str]) -> Any:
    for step in path:
        document = document.get(step) if isinstance(document, dict) else None
    return document


def _command_in(item: Any) -> str:
    """Return the command of a hook entry, wherever its agent's form has it."""
    values = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    if isinstance(item, dict):
        for name in ("command", "bash"):
            if isinstance(item.get(name), str):
                return str(item[name])
    return next((command for value in values if (command := _command_in(value))), "")


# Reading and writing


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CodePlaneError("FILE_READ_FAILED", f"{path} cannot be read: {error.strerror}.") from error


def _edit(workspace: Workspace, change: FileChange) -> Change:
    path = RepoPath.parse(change.path.relative_to(os.path.realpath(workspace.root)).as_posix())
    found = workspace.editor.look(path)
    mode = 0o755 if change.is_executable else found.image.mode if found is not None else None
    after = FileImage(change.after, mode) if change.after is not None else None
    _check_unchanged(change, found.image.data if found is not None else None)
    return Change(path, found.image if found is not None else None, after)


def _check_unchanged(change: FileChange, now: bytes | None) -> None:
    if now != change.before:
        raise CodePlaneError("STALE_FILE", f"{change.place} was changed meanwhile.", hint="Send the call again.")


def _write(path: Path, data: bytes | None, *, is_executable: bool) -> None:
    """Replace a file that is not of the working tree in one step, with the permissions it had."""
    if data is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o755 if is_executable else 0o600
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _keep_backups(workspace: Workspace, call_id: str, changes: Sequence[FileChange]) -> None:
    """Keep every file as it was, by its content."""
    directory = _backups(workspace)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for one in changes:
        if one.before is not None:
            (directory / sha256_bytes(one.before)).write_bytes(one.before)
    (directory / f"{call_id}.json").write_text(json.dumps([one.place for one in changes]), encoding="utf-8")


def _backup(workspace: Workspace, connection: Connection, place: str) -> bytes | None:
    sha256 = connection.before.get(place)
    data = _read(_backups(workspace) / sha256) if sha256 is not None else None
    return data if data is not None and sha256_bytes(data) == sha256 else None


def _backups(workspace: Workspace) -> Path:
    return workspace.places.private / "connect"
