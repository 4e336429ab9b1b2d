"""What importing a `.mcp.json` writes: the configuration, and secrets beside it; nothing that was there is lost."""

import json
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.setting_sources import TextSource
from codeplane.core.settings import load_settings
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.surfaces.gateway.resolution import resolved
from codeplane.workspace.config import Settings, load_workspace_settings
from codeplane.workspace.upstream_import import with_servers
from support.doors import call, caller, error_of, open_test_workspace, person, result_of
from support.repositories import make_repository

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
SERVERS = {
    "git hub": {
        "command": "npx",
        "args": ["-y", "server", f"--token={TOKEN}"],
        "env": {"KEY": "plain text", "B": "${B}"},
    },
    "far": {
        "type": "streamable-http",
        "url": "https://example.invalid/mcp",
        "headers": {"Authorization": "Bearer abc"},
    },
    "codeplane": {"command": "cpl", "args": ["mcp"]},
    "odd": {"command": "x", "disabled": True},
}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    root = make_repository(tmp_path / "tree", {".mcp.json": json.dumps({"mcpServers": SERVERS})})
    with open_test_workspace(root) as workspace:
        yield Door(workspace, OPERATIONS)


def _import(door: Door) -> dict[str, Any]:
    return result_of(call(door, "import_upstreams", {}, by=person()))


def _servers(door: Door) -> Mapping[str, Any]:
    return load_workspace_settings(door.workspace.places, (), {}).values.gateway.servers


def test_servers_are_taken_over_and_accepted_and_secrets_stay_where_only_their_owner_reads(door: Door) -> None:
    done = _import(door)
    servers, places = _servers(door), door.workspace.places
    text = places.config_file.read_text(encoding="utf-8")
    assert set(servers) == set(done["servers"]) == {"git hub", "far", "odd"}
    assert door.workspace.upstream_pins.load()["far"].settings == servers["far"].digest
    assert not any(one in text + done["diff"] for one in (TOKEN, "plain text", "Bearer abc"))
    for path in door.workspace.upstream_secrets.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    secrets, environ = door.workspace.upstream_secrets, {"B": "b"}
    known = {name: resolved(one, door.workspace.root, secrets, environ) for name, one in servers.items()}
    assert known["git hub"].argv == ("npx", "-y", "server", f"--token={TOKEN}")
    assert known["git hub"].environment == {"KEY": "plain text", "B": "b"}
    assert known["far"].headers == {"Authorization": "Bearer abc"}
    assert servers["far"].kind == "http"
    assert done["notes"] == ["codeplane is CodePlane itself", "of odd these are not taken over: disabled"]


def test_the_preview_writes_nothing_and_shows_no_secret(door: Door) -> None:
    shown = result_of(call(door, "show_upstream_import", {}))
    assert "+    git hub:" in shown["diff"]
    assert not any(one in str(shown) for one in (TOKEN, "plain text", "Bearer abc"))
    assert not _servers(door)
    assert not door.workspace.upstream_secrets.exists()


def test_an_agent_imports_nothing(door: Door) -> None:
    assert error_of(call(door, "import_upstreams", {}, by=caller())) == "OPERATOR_TOKEN_REQUIRED"
    assert not _servers(door)


def test_a_second_import_keeps_what_is_configured(door: Door) -> None:
    _import(door)
    text = door.workspace.places.config_file.read_text(encoding="utf-8")
    door.workspace.loaded = load_workspace_settings(door.workspace.places, (), {})
    again = _import(door)
    assert again["servers"] == []
    assert "far is configured already and stays as it is" in again["notes"]
    assert door.workspace.places.config_file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# Ours.\nmcp:\n  profile: full  # all of it\n",
        "gateway:\n  # Seldom.\n  call_timeout_sec: 5\n  servers:\n    old: {command: x}\nmcp: {profile: full}\n",
        "gateway:\n    servers: # here\n        old: {command: x}",
    ],
)
def test_comments_and_settings_that_were_there_stay(before: str) -> None:
    after = with_servers(before, {"new one": {"command": "y", "args": ["a: b", "#c"], "env": {"N": "1"}}})
    settings = load_settings(Settings, (TextSource(after, "config.yaml"),)).values
    assert [line for line in before.splitlines() if line not in after.splitlines()] == []
    assert settings.gateway.servers["new one"].args == ("a: b", "#c")
    assert ("old" in settings.gateway.servers) == ("old" in before)


@pytest.mark.parametrize("text", ["not JSON", "{}", '{"mcpServers": []}', '{"mcpServers": {"a": {"args": ["x"]}}}'])
def test_a_file_that_is_something_else_is_refused(door: Door, text: str) -> None:
    (door.workspace.root / ".mcp.json").write_text(text, encoding="utf-8")
    assert error_of(call(door, "import_upstreams", {}, by=person())) == "INVALID_FORMAT"
