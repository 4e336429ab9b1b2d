"""No way of writing a path leads out of an intent's scope."""

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.operations.answer import Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, open_test_workspace
from support.governed import FILES, approve, write_intents
from support.repositories import make_repository, write

# Everything outside of `src/json/**` and `tests/test_json.py`.
OUT_OF_SCOPE = [
    "src/payments/index.py", "README.md", "new.py", "src/new.py", "src/jsonx/a.py", "src/json.py", "src/json",
    "src/JSON/a.py", "SRC/json/a.py", "Src/Json/a.py", "tests/test_json.pyc", "tests/test_json.py/x", "tests/",
    "tests/test_jsonx.py", "xtests/test_json.py", "src", ".", "", "/", "./", "src/json/../payments/index.py",
    "src/json/../../README.md", "src/json/../../../outside.txt", "../repo/README.md", "../outside.txt", "..",
    "src/json/..", "src/json/./../payments/index.py", "src//payments//index.py", "./src/payments/index.py",
    "src/payments/./index.py", "src/json/../json/../payments/index.py", "~/x", "~root/x", "$HOME/x", "${HOME}/x",
    "/etc/passwd", "//etc/passwd", "/proc/self/cwd/README.md", "/dev/null", "C:/Windows/x", "C:\\Windows\\x",
    "src\\payments\\index.py", "src/json\\..\\payments\\index.py", "\\\\server\\share\\x", "file:///etc/passwd",
    "src/json/\u2024\u2024/payments/index.py", "src/json/%2e%2e/%2e%2e/payments/index.py", "src/json/..%2fx/index.py",
    "src/payments/index.py\0", "src/json/a\0/../../README.md", "src/payments/index.py ", " src/payments/index.py",
    "src/payments/index.py\n", "src/json/\r\n", "src/payments/*.py", "src/*/index.py", "src/{json,payments}/index.py",
    "src/[p]ayments/index.py", "**", "*", "src/json*/../payments/x", ".git/config", ".git/hooks/pre-commit",
    ".GIT/config", ".git/../.git/config", "src/json/../../.git/config", ".codeplane/config.yaml", ".codeplane/x",
    ".orchestration/active_intents.yaml", ".orchestration/hook_policy.yaml", ".orchestration/x", ".intentignore",
    ".cplignore", "src/json/.cplignore", ".mcp.json", ".claude/settings.json", ".claude/hooks/x", ".codex/config.toml",
    ".cursor/mcp.json", ".cursor/hooks.json", ".gemini/settings.json", ".vscode/mcp.json", "opencode.json",
    ".github/hooks/x", "src/json/.git/config", "src/json/.mcp.json", "src/json/link-out/x.py", "src/json/link-file.py",
    "src/json/link-payments/index.py", "src/json/abs-link", "src/json/loop/x", "src/json/hard.py",
    "src/payments/cafe\u0301.py", "src/json/\u202e/../../README.md",
]  # fmt: skip


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    root = make_repository(tmp_path / "repo", FILES)
    write(tmp_path, {"outside/x.py": "out\n", "outside.txt": "out\n"})
    json = root / "src/json"
    (json / "link-out").symlink_to(tmp_path / "outside", target_is_directory=True)
    (json / "link-payments").symlink_to(root / "src/payments", target_is_directory=True)
    (json / "link-file.py").symlink_to(root / "src/payments/index.py")
    (json / "abs-link").symlink_to("/etc/hostname")
    (json / "loop").symlink_to(json / "loop")
    os.link(root / "src/payments/index.py", json / "hard.py")
    write_intents(root)
    with open_test_workspace(root) as workspace:
        opened = Door(workspace, OPERATIONS)
        call(opened, "select_active_intent", {"intent_id": "INT-001"})
        yield opened


def _state(tmp_path: Path) -> dict[str, bytes]:
    files = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    return {
        path.relative_to(tmp_path).as_posix(): path.read_bytes()
        for path in files
        if (".codeplane" not in path.parts or path.name == "config.yaml")
        # The trace of what was written inside the scope.
        and path.name not in {"agent_trace.jsonl", "intent_map.md"}
        and not path.is_relative_to(tmp_path / "repo/src/json")
    }


def test_there_are_enough_forms() -> None:
    assert len(set(OUT_OF_SCOPE)) >= 80


@pytest.mark.parametrize("path", OUT_OF_SCOPE, ids=ascii)
def test_no_form_of_a_path_leads_out_of_scope(door: Door, tmp_path: Path, path: str) -> None:
    before = _state(tmp_path)
    attempts = [
        {"path": path, "action": "create", "content": "escaped\n"},
        {"path": path, "expected_content": "", "new_content": "escaped\n"},
        {"path": path, "expected_content": "2", "new_content": "escaped"},
        {"path": path, "expected_content": "out", "new_content": "escaped"},
        {"path": path, "action": "delete"},
    ]
    for attempt in attempts:
        answer = call(door, "write_source", {"edits": [attempt]})
        if answer.outcome is Outcome.HELD and answer.error is not None:
            # Even a person's approval of what was shown does not let a call out of its scope.
            approve(door.workspace, answer.error.details["hold_id"])
            answer = call(door, "write_source", {"edits": [attempt]})
        # Some forms are nothing but odd names below `src/json`, where they may be.
        assert answer.outcome is not Outcome.HELD
    assert _state(tmp_path) == before


def test_a_decomposed_name_is_judged_by_what_it_is(door: Door) -> None:
    name = unicodedata.normalize("NFD", "src/json/caf\u00e9.py")
    answer = call(door, "write_source", {"edits": [{"path": name, "action": "create", "content": "x\n"}]})
    assert answer.outcome is Outcome.FINISHED
    assert (door.workspace.root / "src/json/caf\u00e9.py").exists()


def test_a_batch_with_one_file_out_of_scope_changes_nothing(door: Door, tmp_path: Path) -> None:
    before = _state(tmp_path)
    inside = {"path": "src/json/provider.py", "expected_content": "str", "new_content": "repr"}
    outside = {"path": "README.md", "expected_content": "# Sample", "new_content": "# X"}
    answer = call(door, "write_source", {"edits": [inside, outside]})
    assert answer.error is not None
    assert (answer.error.error, answer.error.details["paths"]) == ("SCOPE_VIOLATION", ["README.md"])
    assert answer.error.details["correct_call"]["operation"] == "request_scope_expansion"
    assert _state(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("git_stage", {"action": "discard", "paths": ["README.md"]}),
        ("git_checkout", {"paths": ["README.md"]}),
        ("git_reset", {"mode": "hard"}),
        ("git_stash", {"action": "push"}),
    ],
)
def test_git_does_not_lead_out_of_scope_either(door: Door, name: str, arguments: dict[str, object]) -> None:
    write(door.workspace.root, {"README.md": "changed by a person\n"})
    answer = call(door, name, arguments)
    assert answer.error is not None
    assert answer.error.error == "SCOPE_VIOLATION"
    assert (door.workspace.root / "README.md").read_text(encoding="utf-8") == "changed by a person\n"
