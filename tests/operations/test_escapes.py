"""No spelling of a path leads out of the repository or to a secret, whatever operation is asked."""

from pathlib import Path
from typing import Any

import pytest

from codeplane.core.error_registry import find_entry
from codeplane.operations.answer import Answer
from codeplane.operations.catalog import TOOLS
from codeplane.operations.perform import Door
from support.doors import call, error_of, result_of
from support.repositories import git, write

ESCAPES = (
    "..", "../outside.txt", "../../etc/passwd", "src/../../outside.txt", "src/..", "./../outside.txt", "src/../..",
    "/etc/passwd", "/", "//etc/passwd", "///etc/passwd", "/proc/self/environ", "{root}/../outside.txt", "{root}x/file",
    "..\\outside.txt", "src\\..\\..\\outside.txt", "\\etc\\passwd", "\\\\server\\share\\file", "//server/share/file",
    "C:\\Windows\\win.ini", "C:/Windows/win.ini", "c:/x", "~", "~/.ssh/id_rsa", "~root/.bashrc", "~/",
    "src/app.py\0.txt", "\0", "src/\napp.py", "src/\rapp.py", "a" * 300, "a/" * 3000, "é" * 200, "\x7f", "\x85",
    "out_link", "out_dir/passwd", "up_link/outside.txt", "chain_link", "loop", "..%2f..%2fetc%2fpasswd",
    "%2e%2e/outside.txt", "..;/outside.txt", "....//outside.txt", ".../outside.txt", "file:///etc/passwd",
    "$HOME/.bashrc", "src/app.py/../../../outside.txt", "\uff0e\uff0e/outside.txt", "\u2025/outside.txt",
)  # fmt: skip


def _prepare(root: Path) -> None:
    (root.parent / "outside.txt").write_text("outside content", encoding="utf-8")
    (root / "out_link").symlink_to("/etc/passwd")
    (root / "out_dir").symlink_to("/etc")
    (root / "up_link").symlink_to("..")
    (root / "chain_link").symlink_to("out_link")
    (root / "loop").symlink_to("loop")


# Every tool that reads a file or directory which the caller names; those that ask the index read no file.
READERS = [
    "read_source",
    *(
        name
        for name, one in TOOLS.items()
        if "path" in one.request_type.model_fields and not one.effect.mutates and not one.reads_index
    ),
]


def _ask(door: Door, name: str, path: str) -> Answer:
    arguments: dict[str, Any] = {"targets": [{"path": path}]} if name == "read_source" else {"path": path}
    if name == "read_file_full":
        arguments["confirm"] = True
    return call(door, name, arguments)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("path", ESCAPES, ids=[str(i) for i in range(len(ESCAPES))])
def test_no_spelling_of_a_path_leads_out(door: Door, name: str, path: str) -> None:
    root = door.workspace.root
    _prepare(root)
    answer = _ask(door, name, path.replace("{root}", str(root)))
    assert find_entry(error_of(answer)) is not None
    assert error_of(answer) in {
        "PATH_INVALID", "PATH_OUTSIDE_REPOSITORY", "FILE_NOT_FOUND", "INVALID_ARGUMENTS", "NOT_A_FILE",
        "SECRET_FILE", "GIT_PATH_UNKNOWN",
    }  # fmt: skip
    for text in (answer.text(), answer.envelope_text()):
        assert "outside content" not in text
        assert "root:" not in text


SECRETS = {
    ".env": "SECRET_FILE",
    "config/.env.production": "SECRET_FILE",
    "keys/server.pem": "SECRET_FILE",
    "id_rsa": "SECRET_FILE",
    "build/.env": "SECRET_FILE",
    "node_modules/pkg/.env": "SECRET_FILE",
    ".git/config": "FILE_IGNORED",
    ".codeplane/ledger.db": "FILE_IGNORED",
    "build/.git/config": "FILE_IGNORED",
    "private/plan.md": "FILE_IGNORED",
    "link_to_env": "SECRET_FILE",
    "link_to_git/config": "FILE_IGNORED",
    "link_to_private/plan.md": "FILE_IGNORED",
}


def _hide(root: Path) -> None:
    names = [name for name in SECRETS if not name.startswith(("link_", ".git/", ".codeplane/"))]
    write(root, dict.fromkeys(names, "hidden content"))
    write(root, {".cplignore": "private/\n"})
    git(root, "add", "--force", ".env", "id_rsa", "private/plan.md")
    (root / "link_to_env").symlink_to(".env")
    (root / "link_to_git").symlink_to(".git")
    (root / "link_to_private").symlink_to("private")


@pytest.mark.parametrize("name", ["read_source", "read_file_full"])
@pytest.mark.parametrize("path", SECRETS)
def test_a_hidden_file_is_refused_also_behind_links_and_in_noise_directories(door: Door, name: str, path: str) -> None:
    _hide(door.workspace.root)
    answer = _ask(door, name, path)
    assert error_of(answer) == SECRETS[path]
    assert "hidden content" not in answer.envelope_text()
    assert answer.error is not None
    assert answer.error.details["rule"]
    assert answer.error.details["source"]


@pytest.mark.parametrize("path", [".git", ".codeplane", "private", "link_to_git", "link_to_private", ".git/refs"])
def test_a_hidden_directory_is_not_listed(door: Door, path: str) -> None:
    _hide(door.workspace.root)
    assert error_of(_ask(door, "list_files", path)) == "FILE_IGNORED"


def test_a_listing_names_secrets_only_as_left_out(door: Door) -> None:
    _hide(door.workspace.root)
    result = result_of(call(door, "list_files", {}))
    listed = {entry["path"] for entry in result["entries"]}
    left_out = {item["path"] for item in result["left_out"]}
    assert {".env", "id_rsa", ".git", "private"} <= left_out
    assert not listed & left_out


def test_a_persons_line_lets_a_secret_be_read(door: Door) -> None:
    write(door.workspace.root, {".env": "open content", ".cplignore": "!.env\n"})
    assert result_of(_ask(door, "read_source", ".env"))["files"][0]["content"] == "open content"


def test_noise_that_is_not_listed_can_still_be_read(door: Door) -> None:
    write(door.workspace.root, {"build/out.py": "made\n"})
    assert result_of(_ask(door, "read_source", "build/out.py"))["files"][0]["content"] == "made\n"
    assert [entry["path"] for entry in result_of(_ask(door, "list_files", "build"))["entries"]] == ["build/out.py"]
