"""`git_diff` through the door."""

import re
from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.git_diff import GIT_DIFF
from codeplane.operations.git_inspect import GIT_INSPECT
from codeplane.operations.perform import Door
from support.doors import call, door_with, error_of, open_test_workspace, result_of
from support.histories import make_history
from support.repositories import git, write

KEY = "-----BEGIN OPENSSH " + "PRIVATE KEY-----\n" + "".join(f"{'A' * 69}{i}\n" for i in range(30)) + "-----END\n"


@pytest.fixture
def git_door(door: Door) -> Door:
    return door_with(door.workspace, GIT_DIFF, GIT_INSPECT)


def _diff(door: Door, **arguments: Any) -> dict[str, Any]:
    return result_of(call(door, "git_diff", arguments))


def _text_pages(door: Door, **arguments: Any) -> list[str]:
    pages = [call(door, "git_diff", arguments).text()]
    while cursor := re.search(r"^more: cursor=(\S+)$", pages[-1], re.MULTILINE):
        pages.append(call(door, "git_diff", {"cursor": cursor[1]}).text())
    return pages


def test_the_text_is_a_unified_diff(git_door: Door) -> None:
    write(git_door.workspace.root, {"docs/guide.md": "one\n2\nthree"})
    assert call(git_door, "git_diff").text() == (
        "index -> working tree: 1 file, +2 -2\n"
        "diff --git a/docs/guide.md b/docs/guide.md\n--- a/docs/guide.md\n+++ b/docs/guide.md\n"
        "@@ -1,3 +1,3 @@\n one\n-two\n-three\n+2\n+three\n\\ No newline at end of file"
    )


def test_lines_have_numbers_on_their_side(git_door: Door) -> None:
    write(git_door.workspace.root, {"docs/guide.md": "one\n2\nthree\n"})
    (file,) = _diff(git_door, context_lines=0)["files"]
    assert file == {
        "path": "docs/guide.md", "status": "modified", "binary": False, "insertions": 1, "deletions": 1,
        "hunks": [{
            "old_start": 2, "old_lines": 1, "new_start": 2, "new_lines": 1, "header": "one", "lines": [
                {"origin": "-", "content": "two", "old_lineno": 2},
                {"origin": "+", "content": "2", "new_lineno": 2},
            ],
        }],
    }  # fmt: skip


def test_what_the_comparison_leaves_out_is_said(git_door: Door) -> None:
    root = git_door.workspace.root
    write(root, {"README.md": "staged\n", "new.txt": "x\n"})
    git(root, "add", "README.md")
    assert call(git_door, "git_diff").text() == (
        "index -> working tree: no differences\n"
        "staged but not shown: 1 (use staged=true, or base=HEAD for both)\nuntracked: new.txt"
    )
    assert [file["path"] for file in _diff(git_door, staged=True)["files"]] == ["README.md"]
    assert [file["path"] for file in _diff(git_door, base="HEAD")["files"]] == ["README.md"]
    assert (
        "staged_not_shown" not in _diff(git_door, base="HEAD") or not _diff(git_door, base="HEAD")["staged_not_shown"]
    )


def test_kinds_of_change_are_named(git_door: Door) -> None:
    root = git_door.workspace.root
    write(root, {"blob.bin": b"\0\1\2", "was_file": "x\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "second")
    write(root, {"blob.bin": b"\0\3\4"})
    git(root, "mv", "src/app.py", "src/main.py")
    (root / "README.md").chmod(0o755)
    (root / "was_file").unlink()
    (root / "was_file").symlink_to("README.md")
    (root / "docs" / "guide.md").unlink()
    git(root, "add", "-A")
    files = {file["path"]: file for file in _diff(git_door, staged=True)["files"]}
    assert {path: file["status"] for path, file in files.items()} == {
        "README.md": "modified", "blob.bin": "modified", "docs/guide.md": "deleted", "src/main.py": "renamed",
        "was_file": "type-changed",
    }  # fmt: skip
    assert files["blob.bin"]["binary"]
    assert (files["README.md"]["old_mode"], files["README.md"]["new_mode"]) == ("100644", "100755")
    assert (files["src/main.py"]["old_path"], files["src/main.py"]["similarity"]) == ("src/app.py", 100)
    assert [line["origin"] for hunk in files["was_file"]["hunks"] for line in hunk["lines"]] == ["-", "+"]


def test_a_binary_file_that_is_only_renamed_is_called_binary_and_the_same(git_door: Door) -> None:
    root = git_door.workspace.root
    write(root, {"old.bin": b"\0\1\2"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "second")
    git(root, "mv", "old.bin", "new.bin")
    (file,) = _diff(git_door, staged=True)["files"]
    assert (file["status"], file["binary"], file["same_content"]) == ("renamed", True, True)
    text = call(git_door, "git_diff", {"staged": True}).text()
    assert "(binary, same content)" in text
    assert "differ" not in text.split("\n", 1)[1]


def test_a_submodule_says_its_commits(tmp_path: Path) -> None:
    history = make_history(tmp_path / "x", 1, "plain")
    old, new = "1" * 40, "2" * 40
    for oid in (old, new):
        history.git("update-index", "--add", "--cacheinfo", f"160000,{oid},gone")
        if oid == old:
            history.git("commit", "-qm", "module")
    with open_test_workspace(history.root) as workspace:
        result = _diff(door_with(workspace, GIT_DIFF), staged=True, paths=["gone"])
    assert result["files"][0]["submodule"] == {"old_commit": old, "new_commit": new, "is_dirty": False}


def test_pages_of_text_stay_small_and_hold_every_changed_line(git_door: Door) -> None:
    root = git_door.workspace.root
    write(root, {f"f{i}.txt": "".join(f"line {i} {n}\n" for n in range(200)) for i in range(10)})
    git(root, "add", "-A")
    pages = _text_pages(git_door, staged=True)
    assert len(pages) > 3
    assert max(map(len, pages)) < 9_000
    lines = [line for page in pages for line in page.split("\n") if line.startswith("+line")]
    assert lines == [f"+line {i} {n}" for i in range(10) for n in range(200)]


def test_a_working_tree_that_changes_between_pages_ends_the_cursor(git_door: Door) -> None:
    root = git_door.workspace.root
    write(root, {"src/app.py": "x\n" * 5000})
    cursor = _diff(git_door)["pagination"]["next_cursor"]
    write(root, {"src/app.py": "y\n" * 5000})
    assert error_of(call(git_door, "git_diff", {"cursor": cursor})) == "CURSOR_EXPIRED"


def test_a_branch_that_moves_between_pages_does_not_move_them(git_door: Door) -> None:
    root = git_door.workspace.root
    write(root, {"src/app.py": "x\n" * 5000})
    git(root, "commit", "-qam", "second")
    first = _diff(git_door, base="HEAD~1", target="main")
    git(root, "commit", "-q", "--allow-empty", "-m", "third")
    second = _diff(git_door, cursor=first["pagination"]["next_cursor"])
    assert second["compared"] == first["compared"]
    assert second["files"][0]["continued"]


def test_three_dots_compare_with_the_merge_base(git_door: Door) -> None:
    root = git_door.workspace.root
    git(root, "checkout", "-qb", "feature")
    write(root, {"feature.txt": "x\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "feature")
    git(root, "checkout", "-q", "main")
    write(root, {"main.txt": "other\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "main")
    assert [f["path"] for f in _diff(git_door, base="main...feature")["files"]] == ["feature.txt"]
    assert [f["path"] for f in _diff(git_door, base="main..feature")["files"]] == ["feature.txt", "main.txt"]
    assert [f["path"] for f in _diff(git_door, target="feature")["files"]] == ["feature.txt", "main.txt"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"base": "nowhere"}, "GIT_REF_UNKNOWN"),
        ({"base": "--output=x"}, "GIT_REF_INVALID"),
        ({"base": "HEAD", "target": "-R"}, "GIT_REF_INVALID"),
        ({"base": "a\nb"}, "GIT_REF_INVALID"),
        ({"staged": True, "target": "HEAD"}, "INVALID_ARGUMENTS"),
        ({"base": "a..b", "target": "c"}, "INVALID_ARGUMENTS"),
        ({"paths": ["missing"]}, "GIT_PATH_UNKNOWN"),
        ({"paths": ["../x"]}, "PATH_OUTSIDE_REPOSITORY"),
        ({"cursor": "rubbish"}, "CURSOR_INVALID"),
        ({"limit": 0}, "INVALID_ARGUMENTS"),
        ({"context_lines": -1}, "INVALID_ARGUMENTS"),
    ],
)
def test_what_cannot_be_compared_is_refused(git_door: Door, arguments: dict[str, Any], code: str) -> None:
    assert error_of(call(git_door, "git_diff", arguments)) == code


def test_an_ambiguous_name_is_refused_with_both_spellings(git_door: Door) -> None:
    root = git_door.workspace.root
    git(root, "branch", "both")
    git(root, "tag", "both")
    answer = call(git_door, "git_diff", {"base": "both"})
    assert error_of(answer) == "GIT_REF_AMBIGUOUS"
    assert "refs/heads/both" in answer.text()


def test_before_the_first_commit_staged_files_are_shown(tmp_path: Path) -> None:
    history = make_history(tmp_path / "x", 2, "unborn")
    write(history.root, {"a.txt": "new\n"})
    history.git("add", "a.txt")
    with open_test_workspace(history.root) as workspace:
        door = door_with(workspace, GIT_DIFF)
        assert "a.txt" in [file["path"] for file in _diff(door, staged=True)["files"]]
        assert error_of(call(door, "git_diff", {"base": "HEAD"})) == "GIT_NO_COMMITS"


@pytest.mark.parametrize("name", [".env", "deep/server.key", "id_rsa", ".env\n"])
def test_lines_of_a_secret_file_are_kept_back(git_door: Door, name: str) -> None:
    root = git_door.workspace.root
    write(root, {name: "PASSWORD=needle\n"})
    git(root, "add", "--force", "--", name)
    answer = call(git_door, "git_diff", {"staged": True})
    (file,) = result_of(answer)["files"]
    assert "withheld by the rule" in file["kept_back"]
    assert "needle" not in answer.envelope_text() + answer.text()
    assert file["insertions"] == 1


def test_a_secret_that_was_renamed_is_kept_back_too(git_door: Door) -> None:
    root = git_door.workspace.root
    write(root, {".env": "PASSWORD=needle\n" + "same\n" * 9})
    git(root, "add", "--force", ".env")
    git(root, "commit", "-qm", "secret")
    git(root, "mv", ".env", "plain.txt")
    write(root, {"plain.txt": "PASSWORD=none\n" + "same\n" * 9})
    git(root, "commit", "-qam", "renamed")
    answer = call(git_door, "git_diff", {"base": "HEAD~1", "target": "HEAD"})
    assert "needle" not in answer.envelope_text() + answer.text()


def test_a_private_key_is_kept_back_wherever_it_changed(git_door: Door) -> None:
    root = git_door.workspace.root
    write(root, {"harmless.txt": KEY})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "key")
    write(root, {"harmless.txt": KEY.replace(f"{'A' * 69}20\n"[-3:], "B\n")})
    for arguments in ({}, {"base": "HEAD~1", "target": "HEAD"}, {"base": "HEAD"}):
        answer = call(git_door, "git_diff", arguments)
        assert "AAAAA" not in answer.envelope_text() + answer.text(), arguments
        assert "it contains a private key" in answer.text()


def test_a_file_that_only_mentions_a_key_is_shown(git_door: Door) -> None:
    write(git_door.workspace.root, {"docs/guide.md": 'MARK = "-----BEGIN ' + 'PRIVATE KEY-----"\n'})
    assert "+MARK" in call(git_door, "git_diff").text()


def test_control_characters_and_line_ends_show_as_escapes(git_door: Door) -> None:
    write(git_door.workspace.root, {"docs/guide.md": "one\r\n\x1b[2Jtwo\nthree\n"})
    text = call(git_door, "git_diff").text()
    assert "+one\\x0d\n+\\x1b[2Jtwo" in text


def test_asking_changes_nothing_on_disk(git_door: Door) -> None:
    root = git_door.workspace.root
    write(root, {"src/app.py": "changed\n"})
    (root / ".git" / "index.lock").write_text("", encoding="utf-8")
    before = {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}
    call(git_door, "git_diff")
    call(git_door, "git_diff", {"base": "HEAD"})
    assert {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()} == before


def test_a_long_difference_begins_with_the_list_of_its_files(git_door: Door) -> None:
    write(git_door.workspace.root, {"docs/guide.md": "x\n" * 3_000, "src/app.py": "y\n"})
    first = _diff(git_door)
    assert [line.split()[0] for line in first["overview"]] == ["docs/guide.md", "src/app.py"]
    assert "docs/guide.md +3000 -3" in first["overview"][0]
    second = _diff(git_door, cursor=first["pagination"]["next_cursor"])
    assert second["overview"] == []
