"""Connecting an agent changes only what is ours, whatever its settings look like; removing it leaves no trace."""

import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.json_edits import parse_json
from codeplane.operations.agent_connections import connections, problems
from codeplane.operations.agent_files import AGENT_FILES, is_ours
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.surfaces.agent_hooks.agents.catalog import ADAPTERS
from codeplane.workspace.workspace import Workspace
from support.agents import PlayedAgent
from support.doors import call, error_of, open_test_workspace, person, result_of
from support.repositories import git, make_repository, write

AGENTS = sorted(AGENT_FILES)
FOREIGN = """\
// settings of mine
{
    "permissions": { "allow": ["Bash(ls)"] },   // keep
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "./mine.sh"}]},
        ],
        "Unknown": {"x": [1, 2 , 3]},
    },
    /* unknown keys */ "zzz": null,
}
"""
SHAPES = [FOREIGN, FOREIGN.replace("\n", "\r\n"), "{}", "{ }\n", '{"hooks":{}}', "", "\ufeff" + FOREIGN, '{\t"a":\t1}']


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    return place


@pytest.fixture
def workspace(tmp_path: Path, home: Path) -> Iterator[Workspace]:
    assert home.is_dir()
    root = make_repository(tmp_path / "repo", {"README.md": "# Sample\n"})
    with open_test_workspace(root) as opened:
        yield opened


@pytest.fixture
def door(workspace: Workspace) -> Door:
    return Door(workspace, OPERATIONS)


def connect(door: Door, **arguments: Any) -> dict[str, Any]:
    return result_of(call(door, "connect_agent", arguments, by=person()))


def place_of(door: Door, home: Path, name: str) -> Path:
    return home / name.removeprefix("~/") if name.startswith("~/") else door.workspace.root / name


def snapshot(*roots: Path) -> dict[str, bytes]:
    """Return every file of agents below these directories."""
    found = (path for root in roots for path in root.rglob("*") if path.is_file())
    return {
        str(path): path.read_bytes() for path in found if ".git/" not in str(path) and ".codeplane" not in str(path)
    }


@pytest.mark.parametrize("level", ["project", "user"])
@pytest.mark.parametrize("agent", AGENTS)
def test_after_connect_and_remove_everything_is_as_before(door: Door, home: Path, agent: str, level: str) -> None:
    before = snapshot(door.workspace.root, home)
    done = connect(door, agent=agent, level=level)
    assert done["files"]
    assert snapshot(door.workspace.root, home) != before
    assert connect(door, agent=agent, level=level)["files"] == []
    written = sorted({one["place"] for one in done["files"]} - {".git/info/exclude"})
    assert result_of(call(door, "list_agents"))["results"] == [
        {"agent": agent, "level": level, "files": written, "problems": []}
    ]
    connect(door, agent=agent, remove=True)
    assert snapshot(door.workspace.root, home) == before
    assert connections(door.workspace) == {}


@pytest.mark.parametrize("agent", AGENTS)
def test_paths_of_this_machine_are_not_committed_with_everything_else(door: Door, home: Path, agent: str) -> None:
    assert home.is_dir()
    root = door.workspace.root
    exclude = root / ".git/info/exclude"
    before = exclude.read_text("utf-8") if exclude.exists() else None
    connect(door, agent=agent)
    git(root, "add", "--all")
    staged = git(root, "diff", "--cached", "--name-only").split()
    assert [name for name in staged if sys.executable in (root / name).read_text("utf-8")] == []
    connect(door, agent=agent, remove=True)
    assert (exclude.read_text("utf-8") if exclude.exists() else None) == before


def test_all_agents_are_connected_and_removed_in_one_call(door: Door, home: Path) -> None:
    exclude = door.workspace.root / ".git/info/exclude"
    write(home, {".gemini/x": "", ".cursor/x": ""})
    before = snapshot(door.workspace.root, home)
    for agent in ("claude", "copilot"):
        connect(door, agent=agent)
    assert {"gemini", "cursor"} <= set(connect(door, is_all=True)["agents"])
    assert {"/.mcp.json", "/.gemini/settings.json"} <= set(exclude.read_text("utf-8").splitlines())
    connect(door, is_all=True, remove=True)
    assert snapshot(door.workspace.root, home) == before
    assert not exclude.exists() or "CodePlane" not in exclude.read_text("utf-8")


def test_an_agent_is_not_offered_to_undo_what_a_person_connected(door: Door, home: Path) -> None:
    assert home.is_dir()
    connect(door, agent="claude")
    offered = [result_of(call(door, "undo", {}, by=by))["candidates"] for by in (person(), None)]
    assert [[one["name"] for one in listed] for listed in offered] == [["connect_agent"], []]


def test_a_file_that_is_shared_already_is_named_as_not_to_be_committed(door: Door, home: Path) -> None:
    assert home.is_dir()
    write(door.workspace.root, {".mcp.json": '{"mcpServers": {"other": {"command": "other"}}}\n'})
    git(door.workspace.root, "add", ".mcp.json")
    told = connect(door, agent="claude")["to_do"]
    assert told == ["Keep the entries in .mcp.json out of commits: they hold paths of this machine."]
    excluded = (door.workspace.root / ".git/info/exclude").read_text("utf-8").splitlines()
    assert ("/.mcp.json" in excluded, "/.claude/settings.local.json" in excluded) == (False, True)


@pytest.mark.parametrize("text", SHAPES, ids=range(len(SHAPES)))
@pytest.mark.parametrize("agent", AGENTS)
def test_settings_of_others_keep_every_byte(door: Door, home: Path, agent: str, text: str) -> None:
    places = {one["place"] for one in connect(door, agent=agent)["files"] if one["place"].endswith((".json", ".jsonc"))}
    owned = {
        place
        for place in places
        if is_ours(place_of(door, home, place).read_text("utf-8")) and "hooks/codeplane" in place
    }
    connect(door, agent=agent, remove=True)
    for place in places - owned:
        path = place_of(door, home, place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    before = snapshot(door.workspace.root, home)
    connect(door, agent=agent)
    for place in places - owned:
        after = place_of(door, home, place).read_bytes().decode()
        kept = parse_json(text).value if text.strip("\ufeff \n") else {}
        left = _without_ours(parse_json(after).value)
        if "version" not in kept:
            left.pop("version", None)
        assert left == _without_ours(kept)
    connect(door, agent=agent, remove=True)
    assert snapshot(door.workspace.root, home) == before


def _without_ours(value: Any) -> Any:
    """Return a document without entries of ours, and without containers that are empty then."""
    if isinstance(value, dict):
        found = {key: _without_ours(one) for key, one in value.items() if not (key == "codeplane" or _is_leaf(one))}
        return {key: one for key, one in found.items() if one not in ({}, [])}
    if isinstance(value, list):
        return [_without_ours(one) for one in value if not is_ours(one)]
    return value


def _is_leaf(value: Any) -> bool:
    return not isinstance(value, dict | list) and is_ours(value)


@pytest.mark.parametrize("agent", AGENTS)
def test_what_others_change_meanwhile_stays_when_ours_goes(door: Door, home: Path, agent: str) -> None:
    files = connect(door, agent=agent)["files"]
    changed = {}
    for one in files:
        path = place_of(door, home, one["place"])
        if path.suffix == ".json" and "hooks/codeplane" not in one["place"]:
            text = path.read_text("utf-8").rstrip().removesuffix("}").rstrip() + ',\n  "added_later": [1]\n}\n'
            path.write_text(text, "utf-8")
            changed[path] = json.loads('{"added_later": [1]}')
        elif path.suffix == ".toml":
            path.write_text(path.read_text("utf-8") + "\n[added]\nlater = 1\n", "utf-8")
    connect(door, agent=agent, remove=True)
    for path, kept in changed.items():
        assert parse_json(path.read_text("utf-8")).value == kept
    assert all("codeplane" not in data.decode() for data in snapshot(door.workspace.root, home).values())


@pytest.mark.parametrize(
    "text", ['{"hooks": ', "not json", '{"hooks": {}} trailing', '{"hooks": [], "mcpServers": 3}', "\x00"]
)
def test_broken_settings_are_never_overwritten(door: Door, text: str) -> None:
    write(door.workspace.root, {".claude/settings.local.json": text})
    answer = call(door, "connect_agent", {"agent": "claude"}, by=person())
    assert error_of(answer) == "INVALID_FORMAT"
    assert (door.workspace.root / ".claude/settings.local.json").read_text("utf-8") == text
    assert not (door.workspace.root / ".mcp.json").exists()


def test_only_a_person_connects(door: Door) -> None:
    assert error_of(call(door, "connect_agent", {"agent": "claude"})) == "OPERATOR_TOKEN_REQUIRED"
    shown = result_of(call(door, "show_connection", {"agent": "claude"}))
    assert "codeplane-hook" in "".join(one["diff"] for one in shown["files"])
    assert not (door.workspace.root / ".claude").exists()


def test_a_server_that_somebody_configured_stays_theirs(door: Door) -> None:
    theirs = '{"mcpServers": {"codeplane": {"command": "cpl", "args": ["mcp"]}}}\n'
    write(door.workspace.root, {".mcp.json": theirs})
    connect(door, agent="claude")
    assert (door.workspace.root / ".mcp.json").read_text("utf-8") == theirs
    assert problems(door.workspace, connections(door.workspace)["claude"]) == []
    connect(door, agent="claude", remove=True)
    assert (door.workspace.root / ".mcp.json").read_text("utf-8") == theirs


@pytest.mark.parametrize(
    ("agent", "place", "text"),
    [
        ("claude", ".mcp.json", '{"mcpServers": {"codeplane": {"command": "python", "args": ["evil.py", "cpl.mcp"]}}}'),
        ("claude", ".mcp.json", '{"mcpServers": {"codeplane": {"url": "https://example.com/cpl"}}}'),
        ("codex", ".codex/config.toml", '[mcp_servers.codeplane]\ncommand = "evil"\n'),
        ("opencode", "opencode.json", '{"mcp": {"codeplane": {"type": "local", "command": ["evil", "mcp"]}}}'),
    ],
)
def test_another_program_with_our_name_is_a_problem(door: Door, agent: str, place: str, text: str) -> None:
    write(door.workspace.root, {place: text})
    connect(door, agent=agent)
    (problem,) = problems(door.workspace, connections(door.workspace)[agent])
    assert problem == f"{place}: the server that is called codeplane there is another program"


def test_a_link_to_the_settings_stays_a_link_and_keeps_its_permissions(door: Door, home: Path) -> None:
    real = home / "dotfiles/settings.json"
    real.parent.mkdir()
    real.write_text("{}\n", "utf-8")
    real.chmod(0o640)
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").symlink_to(real)
    connect(door, agent="claude", level="user")
    assert (home / ".claude/settings.json").is_symlink()
    assert is_ours(real.read_text("utf-8"))
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_home_that_cannot_be_written_loses_nothing(door: Door, home: Path) -> None:
    (home / ".claude.json").write_text("{}", "utf-8")
    (home / ".claude").write_text("a file where a directory should be", "utf-8")
    before = snapshot(door.workspace.root, home)
    answer = call(door, "connect_agent", {"agent": "claude", "level": "user"}, by=person())
    assert error_of(answer) in {"PERMISSION_DENIED", "FILE_READ_FAILED"}
    assert snapshot(door.workspace.root, home) == before
    assert connections(door.workspace) == {}


def test_a_changed_or_missing_entry_is_a_problem_and_an_alarm(door: Door) -> None:
    connect(door, agent="claude")
    place = door.workspace.root / ".claude/settings.local.json"
    good = place.read_text("utf-8")
    (one,) = connections(door.workspace).values()
    assert problems(door.workspace, one) == []
    changed = ("PreToolUse /", "Stop /"), ('"onFailure": "block"', '"onFailure": "x"')
    off = good.rstrip().removesuffix("}") + ', "disableAllHooks": true}'
    for text in ("{}", "{", off, *(good.replace(*one) for one in changed)):
        place.write_text(text, "utf-8")
        assert problems(door.workspace, one), text
    agent = PlayedAgent(door)
    agent.tells(next(kind for kind in ADAPTERS["claude"].events.values() if kind.value == "session start"))
    with door.workspace.chain.database.read() as database:
        rows = database.execute("SELECT json_extract(body, '$.what') FROM events WHERE kind = 'gate_alarm'").fetchall()
    assert [tuple(row) for row in rows] == [("hooks changed",)]


@pytest.mark.parametrize("agent", AGENTS)
def test_every_event_that_is_connected_is_known_to_the_adapter(door: Door, agent: str) -> None:
    connect(door, agent=agent)
    diff = "".join(
        one["diff"] for one in result_of(call(door, "show_connection", {"agent": agent, "remove": True}))["files"]
    )
    named = [word for word in diff.replace('"', " ").split() if word in ADAPTERS[agent].events]
    assert len(set(named)) >= 3


def test_the_controller_gets_a_block_in_the_agents_instructions(door: Door) -> None:
    write(door.workspace.root, {"CLAUDE.md": "# Mine\n"})
    connect(door, agent="claude", profile="controller")
    text = (door.workspace.root / "CLAUDE.md").read_text("utf-8")
    assert text.startswith("# Mine\n")
    assert "signal_task_complete" in text
    connect(door, agent="claude", remove=True)
    assert (door.workspace.root / "CLAUDE.md").read_text("utf-8") == "# Mine\n"


def test_agents_that_share_a_file_do_not_take_each_others_entries(door: Door, home: Path) -> None:
    before = snapshot(door.workspace.root, home)
    for agent in AGENTS:
        connect(door, agent=agent)
    for agent in AGENTS[:-1]:
        connect(door, agent=agent, remove=True)
    (left,) = connections(door.workspace).values()
    assert problems(door.workspace, left) == []
    connect(door, is_all=True, remove=True)
    assert snapshot(door.workspace.root, home) == before
