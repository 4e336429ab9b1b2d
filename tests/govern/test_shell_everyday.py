"""Holes of the parser stay closed, everyday reading is SAFE, checks are VERIFICATION, and reasons are plain words."""

import subprocess
from pathlib import Path

import pytest

from codeplane.govern.shell_risk.classifier import classify
from codeplane.govern.shell_risk.context import ShellContext
from codeplane.govern.shell_risk.surroundings import look_around
from support.shell_cases import cases_of, confirm, needs_place

CONTEXT = ShellContext(root="/repo", cwd="/repo")


def _repository(tmp_path: Path, *tracked: str) -> Path:
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", "--template=", str(root)], check=True)
    for name in tracked:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")
    subprocess.run(["git", "-C", str(root), "add", "--", "."], check=True)
    return root


def _verdict(command: str, root: Path, path: str = "/usr/bin") -> str:
    return classify(command, "bash", look_around(root, root, {"PATH": path}, command)).verdict.value


def _reason(command: str) -> str:
    return classify(command, "bash", CONTEXT).reasons[0]


@pytest.mark.parametrize("file", ["parser_holes", "everyday_reading", "near_reading", "everyday_checks"])
def test_commands_whose_text_alone_decides_get_their_verdict(file: str) -> None:
    cases = [case for case in cases_of(file) if not needs_place(case)]
    told = {confirm.command_text(one): classify(confirm.command_text(one), one["shell"], CONTEXT) for one in cases}
    wrong = [one["command"] for one in cases if told[confirm.command_text(one)].verdict.value != one["verdict"]]
    assert (len(cases) > 50, wrong) == (True, [])


def test_a_list_of_tracked_files_is_read_unless_a_name_harms(tmp_path: Path) -> None:
    root = _repository(tmp_path, "src/a.py", "b.md")
    assert _verdict("cat $(git ls-files)", root) == "SAFE"
    assert _verdict("sort $(git ls-files)", root) == "DESTRUCTIVE"
    assert _verdict("cat $(git ls-files | head)", root) == "DESTRUCTIVE"
    root = _repository(tmp_path / "secret", "src/a.py", "conf/.env")
    assert _verdict("wc -l $(git ls-files)", root) == "SAFE"
    assert _verdict("cat $(git ls-files)", root) == "DESTRUCTIVE"
    assert _verdict("cat $(git ls-files '*.py')", root) == "SAFE"
    root = _repository(tmp_path / "option", "a -x")
    assert _verdict("wc -l $(git ls-files)", root) == "DESTRUCTIVE"


def test_a_tracked_file_that_became_a_link_out_is_not_read(tmp_path: Path) -> None:
    root = _repository(tmp_path, "a.py")
    (root / "a.py").unlink()
    (root / "a.py").symlink_to("/etc/hostname")
    assert _verdict("cat $(git ls-files)", root) == "DESTRUCTIVE"


def test_links_are_followed_only_where_the_whole_directory_was_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _repository(tmp_path, "src/a.py", "big/a", "big/b", "big/c", "big/d")
    assert _verdict("grep -R x .", root) == "SAFE"
    monkeypatch.setattr("codeplane.govern.shell_risk.surroundings._MAX_BELOW", 4)
    assert _verdict("grep -R x src", root) == "SAFE"
    assert _verdict("grep -R x big", root) == "DESTRUCTIVE"
    assert _verdict("grep -R x .", root) == "DESTRUCTIVE"
    assert _verdict("grep -r x .", root) == "SAFE"


def test_a_program_of_any_name_that_the_command_uses_is_looked_for_on_path(tmp_path: Path) -> None:
    root = _repository(tmp_path, "bin/build", "bin/python3.12")
    assert _verdict("ls", root, f"{root}/bin:/usr/bin") == "SAFE"
    assert _verdict("python3.12 --version", root) == "SAFE"
    assert _verdict("python3.12 --version", root, f"{root}/bin:/usr/bin") == "DESTRUCTIVE"


def test_a_toolchain_of_the_tree_is_not_asked_for_its_version(tmp_path: Path) -> None:
    root = _repository(tmp_path, "a.rs")
    assert _verdict("cargo --version", root) == "SAFE"
    (root / "rust-toolchain.toml").write_text('[toolchain]\npath = "./evil"\n')
    assert _verdict("cargo --version", root) == "DESTRUCTIVE"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("rm -rf /", "deletes everything on this machine that the user may delete"),
        ("rm -rf /*", "deletes everything on this machine that the user may delete"),
        ("sudo rm -rf /", "as another user: deletes everything on this machine that the user may delete"),
        ("rm -rf ~", "deletes everything in the home directory"),
        ('rm -rf "$HOME"', "deletes everything in the home directory"),
        ("rm -r build dist", "deletes build dist"),
        ("git push --force", "git push sends commits to a remote"),
        ("echo $(rm x)", "uses an expansion whose result is only known when it runs"),
        ("cat {a,b}", "uses a brace expansion, which becomes several words"),
        ("ruff check --fix", "the option --fix is not on the list of options that only check"),
        ("frobnicate x", "frobnicate is not on the list of commands that only read"),
        ("cat .env", ".env usually holds secrets"),
    ],
)
def test_a_reason_says_what_the_command_does(command: str, reason: str) -> None:
    assert _reason(command) == reason


def test_a_reason_shows_no_control_characters_of_names(tmp_path: Path) -> None:
    root = _repository(tmp_path, "src/a.py")
    (root / "src/a\x1b[2J\nb").symlink_to("/etc")
    command = "grep -R x src"
    report = classify(command, "bash", look_around(root, root, {"PATH": "/usr/bin"}, command))
    assert report.verdict.value == "DESTRUCTIVE"
    assert report.reasons[0].isprintable()
    assert "<U+001B>" in report.reasons[0]
