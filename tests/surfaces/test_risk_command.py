"""`cpl risk`: verdicts as text, as JSON and line by line, inside and outside of a repository."""

import json
from pathlib import Path
from typing import Any

import pytest

from codeplane.govern.policy_document import POLICY_FILE
from codeplane.surfaces.cli.main import main
from codeplane.workspace.workspace import Workspace
from support.repositories import make_repository, write


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("LD_PRELOAD", "BASH_ENV", "ENV", "GIT_DIR", "CDPATH"):
        monkeypatch.delenv(name, raising=False)


def _told(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["risk", "--json", *arguments]) == 0
    told: dict[str, Any] = json.loads(capfd.readouterr().out)
    return told


def test_a_verdict_is_told_as_json_with_exit_code_zero(capfd: pytest.CaptureFixture[str]) -> None:
    told = _told(capfd, "--", "ls -la && rm x")
    assert told["verdict"] == "DESTRUCTIVE"
    assert [one["verdict"] for one in told["segments"]] == ["SAFE", "DESTRUCTIVE"]
    assert told["segments"][1]["text"] == "rm x"
    assert told["reasons"] == told["segments"][1]["reasons"]


def test_shell_and_directory_count(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = make_repository(tmp_path / "repo", {"src/a.py": "1\n"})
    assert _told(capfd, "--shell", "zsh", "--", "ls")["verdict"] == "DESTRUCTIVE"
    assert _told(capfd, "--cwd", str(root), "--", "ls ..")["verdict"] == "DESTRUCTIVE"
    assert _told(capfd, "--cwd", str(root / "src"), "--", "ls ..")["verdict"] == "SAFE"
    assert _told(capfd, "--cwd", str(root), "--", f"cat {root}/src/a.py")["verdict"] == "SAFE"
    assert _told(capfd, "--cwd", str(tmp_path / "none"), "--", "ls")["verdict"] == "SAFE"


def test_plain_output_names_every_segment(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["risk", "--", "cat a | rm x"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "DESTRUCTIVE"
    assert lines[1] == "  SAFE  cat a"
    assert lines[2].startswith("  DESTRUCTIVE  rm x: ")


@pytest.mark.parametrize("arguments", [[], ["--", "ls", "-la"]])
def test_a_command_that_is_not_one_argument_is_refused(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["risk", *arguments]) == 2
    assert "one argument" in capfd.readouterr().err


class _Stream:
    def __init__(self, data: bytes) -> None:
        import io  # noqa: PLC0415 - beside its only use.

        self.buffer = io.BytesIO(data)


def test_lines_are_answered_one_by_one_and_bad_ones_too(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        b'{"command": "ls"}',
        b"{broken",
        b"[]",
        b'{"command": 1}',
        b'{"command": "ls", "shell": []}',
        b'{"command": "ls", "cwd": {}}',
        b"\xff\xfe",
        b'{"command": "ls\\ud800"}',
        b'{"command": "ls", "cwd": "a\\u0000b"}',
        b"[" * 100_000,
        b'{"command": "' + b"a" * 5_000_000 + b'"}',
        b"",
        b'{"command": "npm test", "shell": "sh"}',
    ]
    monkeypatch.setattr("sys.stdin", _Stream(b"\n".join(lines)))
    assert main(["risk", "--stdin"]) == 0
    answers = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    kinds = [answer.get("verdict") or answer["error"]["error"] for answer in answers]
    invalid = "INVALID_ARGUMENTS"
    assert kinds[0] == "SAFE"
    assert kinds[1:7] == [invalid] * 6
    assert kinds[7:9] == ["DESTRUCTIVE"] * 2
    assert kinds[9:] == [invalid, invalid, "VERIFICATION"]


def test_accepted_policy_files_widen_what_only_reads(
    workspace: Workspace, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace.root)
    write(workspace.root, {POLICY_FILE: 'read_only: {commands: ["make -n *"]}\n'})
    assert main(["risk", "--", "make -n all"]) == 0
    workspace.gate.sources.accept()
    assert main(["risk", "--", "make -n all"]) == 0
    assert [line for line in capfd.readouterr().out.splitlines() if line.isupper()] == ["DESTRUCTIVE", "SAFE"]
