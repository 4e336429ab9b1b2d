"""`semantic_diff` through the door, and its other surfaces: `git_diff view=structural` and `cpl diff`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.main import root as cli
from support.doors import call, error_of, open_test_workspace, result_of
from support.repositories import git, make_repository, write

CORE = """def load(path, mode="r"):
    return open(path, mode)


class Store:
    def get(self, key):
        return self.data[key]


def _hidden():
    return 1
"""
FILES: dict[str, str | bytes] = {
    "app/__init__.py": "",
    "app/core.py": CORE,
    "app/use.py": "from app.core import load, _hidden\n\n\ndef main():\n    _hidden()\n    return load('x')\n",
    "tests/test_core.py": "from app.core import load\n\n\ndef test_load():\n    assert load('x')\n",
    "README.md": "# App\n",
    "logo.bin": b"\0\1\2",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project", FILES)


@pytest.fixture
def project_door(project: Path) -> Iterator[Door]:
    with open_test_workspace(project) as workspace:
        yield Door(workspace, OPERATIONS)


def _diff(door: Door, **arguments: Any) -> dict[str, Any]:
    return result_of(call(door, "semantic_diff", arguments))


def _rows(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    changes = [row for one in result["structural_changes"] for row in (one, *one["nested_changes"])]
    kept = [row for row in changes if "members_changed" not in row["delta_tags"]]
    return [(row["change"], row["qualified_name"], row["structural_severity"]) for row in kept]


def test_a_changed_function_is_told_with_all_its_fields(project_door: Door) -> None:
    write(project_door.workspace.root, {"app/core.py": CORE.replace('mode="r"', 'mode="r", *, encoding')})
    result = _diff(project_door)
    (change,) = result["structural_changes"]
    impact = change.pop("impact")
    uid = change.pop("entity_id")
    assert len(uid) == 16
    assert change == {
        "path": "app/core.py", "kind": "function", "name": "load", "qualified_name": "load",
        "change": "signature_changed", "structural_severity": "breaking", "behavior_change_risk": "high",
        "old_signature": '(path, mode="r")', "new_signature": '(path, mode="r", *, encoding)',
        "start_line": 1, "start_col": 0, "end_line": 2, "end_col": 27, "lines_changed": 1,
        "delta_tags": ["signature_changed", "parameters_changed", "parameter_required", "minor_change"],
        "change_preview": '-def load(path, mode="r"):\n+def load(path, mode="r", *, encoding):',
        "nested_changes": [],
    }  # fmt: skip
    assert impact == {
        "reference_count": 4, "ref_tiers": {"proven": 0, "strong": 4, "anchored": 0, "unknown": 0},
        "reference_basis": "ref_facts_resolved", "referencing_files": ["app/use.py", "tests/test_core.py"],
        "importing_files": ["app/use.py", "tests/test_core.py"], "affected_test_files": ["tests/test_core.py"],
        "confidence": "high", "visibility": "public", "is_static": False,
    }  # fmt: skip
    assert (result["summary"], result["breaking_summary"]) == ("1 signature changed", "1 breaking change: load")
    assert (result["files_analyzed"], result["target"]) == (1, "working tree")
    assert result["base"].startswith("HEAD (")
    assert result["pagination"]["total_estimate"] == 1
    assert result["agentic_hint"].split("\n") == [
        "1. Check the callers of load: 4 references (4 strong) in 2 files.",
        "2. Run the affected tests: tests/test_core.py.",
    ]


def test_the_text_is_short_and_begins_with_what_breaks(project_door: Door) -> None:
    text = CORE.replace('mode="r"', "mode").replace("self.data[key]", "self.data[0]")
    write(project_door.workspace.root, {"app/core.py": text, "README.md": "# Other\n"})
    lines = call(project_door, "semantic_diff").text().split("\n")
    assert lines[1:] == [
        "1 breaking change: load",
        "!signature_changed load app/core.py:1 [parameters_changed, parameter_required] 4 references",
        " body_changed Store.get app/core.py:6 [body_logic_changed]",
        "other files: README.md (modified)",
        "1. Check the callers of load: 4 references (4 strong) in 2 files.",
        "2. Run the affected tests: tests/test_core.py.",
    ]


def test_two_refs_are_compared_and_say_that_impact_is_unknown_for_what_is_gone(project_door: Door) -> None:
    root = project_door.workspace.root
    write(root, {"app/core.py": CORE.replace("def load", "def read")})
    git(root, "commit", "-qam", "second")
    forth = _diff(project_door, base="HEAD~1", target="HEAD")
    assert ("renamed", "read", "breaking") in _rows(forth)
    back = _diff(project_door, base="HEAD", target="HEAD~1")
    assert ("renamed", "load", "breaking") in _rows(back)
    (change,) = back["structural_changes"]
    assert (change["impact"]["reference_basis"], change["impact"]["confidence"]) == ("unknown", "low")
    assert change["old_name"] == "read"
    assert _diff(project_door, base="HEAD~1..HEAD")["structural_changes"] == forth["structural_changes"]


def test_a_private_function_that_other_files_still_use_is_breaking(project_door: Door) -> None:
    write(project_door.workspace.root, {"app/core.py": CORE.replace("\n\ndef _hidden():\n    return 1\n", "")})
    result = _diff(project_door)
    assert ("removed", "_hidden", "breaking") in _rows(result)
    (change,) = result["structural_changes"]
    assert "references_remain" in change["delta_tags"]
    assert change["impact"]["referencing_files"] == ["app/use.py"]


def test_a_private_function_that_nobody_uses_is_not_breaking(project_door: Door) -> None:
    gone = CORE.replace("\n\ndef _hidden():\n    return 1\n", "")
    used = FILES["app/use.py"]
    assert isinstance(used, str)
    used = used.replace(", _hidden", "").replace("    _hidden()\n", "")
    write(project_door.workspace.root, {"app/core.py": gone, "app/use.py": used})
    assert ("removed", "_hidden", "non_breaking") in _rows(_diff(project_door))
    write(project_door.workspace.root, {"app/use.py": "from numpy import _hidden\n\n_hidden()\n"})
    assert ("removed", "_hidden", "non_breaking") in _rows(_diff(project_door))


def test_new_deleted_binary_and_linked_files_are_told(project_door: Door) -> None:
    root = project_door.workspace.root
    write(root, {"app/new.py": "def fresh(): pass\n", "logo.bin": b"\0\2", "setup.cfg": "[a]\n", "x.py": b"\0\0"})
    (root / "app/use.py").unlink()
    (root / "link.py").symlink_to("app/core.py")
    result = _diff(project_door)
    assert ("added", "fresh", "non_breaking") in _rows(result)
    assert ("removed", "main", "breaking") in _rows(result)
    files = {one["path"]: (one["status"], one["category"]) for one in result["non_structural_changes"]}
    assert files["logo.bin"] == ("modified", "prod")
    assert files["setup.cfg"] == ("added", "build")
    assert files["x.py"] == ("added", "prod")
    assert "link.py" not in {one["path"] for one in result["structural_changes"]}


def test_a_file_renamed_by_git_is_compared_with_itself(project_door: Door) -> None:
    root = project_door.workspace.root
    git(root, "mv", "app/core.py", "app/kernel.py")
    write(root, {"app/kernel.py": CORE.replace("return 1", "return 2")})
    result = _diff(project_door)
    assert _rows(result) == [("body_changed", "_hidden", "non_breaking")]
    git(root, "commit", "-qam", "moved")
    git(root, "mv", "app/kernel.py", "app/engine.py")
    (file,) = _diff(project_door)["non_structural_changes"]
    assert (file["path"], file["old_path"], file["status"]) == ("app/engine.py", "app/kernel.py", "renamed")


def test_pages_together_are_the_whole_and_every_hint_is_that_of_all(project_door: Door) -> None:
    root = project_door.workspace.root
    many = "".join(f"def f{number}(a):\n    return {number}\n\n\n" for number in range(60))
    write(root, {"app/many.py": many, "app/calls.py": "from app.many import f59\n\n\nf59(1)\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "many")
    write(root, {"app/many.py": many.replace("(a)", "(a, b)"), "notes.txt": "x\n"})
    first = page = _diff(project_door)
    names: list[str] = []
    files: list[str] = []
    while True:
        names += [one["name"] for one in page["structural_changes"]]
        files += [one["path"] for one in page["non_structural_changes"]]
        assert page["agentic_hint"] == first["agentic_hint"]
        assert page["pagination"]["total_estimate"] == 60
        if "next_cursor" not in page["pagination"]:
            break
        page = _diff(project_door, cursor=page["pagination"]["next_cursor"])
    assert names == [f"f{number}" for number in range(60)]
    assert files == ["notes.txt"]
    assert "f59" not in [one["name"] for one in first["structural_changes"]]
    assert "1. Check the callers of f59: 2 references (2 strong) in 1 file." in first["agentic_hint"]


def test_a_class_with_many_changes_is_continued_on_the_next_page(project_door: Door) -> None:
    root = project_door.workspace.root
    text = "class Big:\n" + "".join(f"    def m{number}(self):\n        return {number}\n" for number in range(60))
    write(root, {"app/big.py": text})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "big")
    write(root, {"app/big.py": text.replace("return", "yield")})
    page = _diff(project_door)
    names = [row[1] for row in _rows(page)]
    assert len(names) < 60
    while "next_cursor" in page["pagination"]:
        page = _diff(project_door, cursor=page["pagination"]["next_cursor"])
        names += [row[1] for row in _rows(page)]
    assert names == [f"Big.m{number}" for number in range(60)]


def test_a_cursor_is_refused_when_the_files_changed(project_door: Door) -> None:
    root = project_door.workspace.root
    many = "".join(f"def f{number}(a):\n    return {number}\n\n\n" for number in range(60))
    write(root, {"app/many.py": many})
    cursor = _diff(project_door)["pagination"]["next_cursor"]
    write(root, {"app/many.py": many.replace("f59", "g59")})
    assert error_of(call(project_door, "semantic_diff", {"cursor": cursor})) == "CURSOR_EXPIRED"


def test_epochs_of_the_index_are_compared(project_door: Door) -> None:
    root = project_door.workspace.root
    _diff(project_door)
    first = project_door.workspace.index.store.epoch()
    write(root, {"app/core.py": CORE.replace("return 1", "return 2"), "note.txt": "x\n"})
    _diff(project_door)
    write(root, {"app/core.py": CORE.replace("return 1", "return 3"), "app/more.py": "def more(): pass\n"})
    _diff(project_door)
    (root / "app/more.py").unlink()
    result = _diff(project_door, base=f"epoch:{first}", target=f"epoch:{first + 1}")
    assert _rows(result) == [("body_changed", "_hidden", "non_breaking")]
    assert [one["path"] for one in result["non_structural_changes"]] == ["note.txt"]
    assert (result["base"], result["target"]) == (f"epoch {first}", f"epoch {first + 1}")
    later = _diff(project_door, base=f"epoch:{first + 1}", target=f"epoch:{first + 2}")
    assert ("added", "more", "non_breaking") in _rows(later)
    assert _rows(_diff(project_door, base=f"epoch:{first}")) == [("body_changed", "_hidden", "non_breaking")]


def test_an_old_epoch_is_known_as_long_as_it_is_kept(project_door: Door) -> None:
    index, root = project_door.workspace.index, project_door.workspace.root
    index.refresh()
    first = index.store.epoch()
    for number in range(52):
        write(root, {"app/use.py": f"X = {number}\n"})
        index.refresh()
    assert error_of(call(project_door, "semantic_diff", {"base": f"epoch:{first}"})) == "EPOCH_NOT_KEPT"
    write(root, {"app/core.py": ""})
    index.refresh()
    removed = {name for kind, name, _ in _rows(_diff(project_door, base=f"epoch:{first + 10}")) if kind == "removed"}
    assert {"load", "Store", "_hidden"} <= removed


BAD = [
    ({"base": "nowhere"}, "GIT_REF_UNKNOWN"),
    ({"base": "-x"}, "GIT_REF_INVALID"),
    ({"base": "epoch:999"}, "EPOCH_NOT_KEPT"),
    ({"base": "epoch:1", "target": "HEAD"}, "INVALID_ARGUMENTS"),
    ({"paths": ["missing.py"]}, "GIT_PATH_UNKNOWN"),
    ({"base": "HEAD", "target": "HEAD", "paths": ["missing.py"]}, "GIT_PATH_UNKNOWN"),
    ({"paths": ["../x"]}, "PATH_OUTSIDE_REPOSITORY"),
]


@pytest.mark.parametrize(("arguments", "code"), BAD)
def test_bad_input_is_refused_with_a_reason(project_door: Door, arguments: dict[str, Any], code: str) -> None:
    assert error_of(call(project_door, "semantic_diff", arguments)) == code


def test_a_repository_without_commits_is_compared_with_nothing(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--template=")
    write(tmp_path, {"a.py": "def f(): pass\n"})
    with open_test_workspace(tmp_path) as workspace:
        result = _diff(Door(workspace, OPERATIONS))
    assert _rows(result) == [("added", "f", "non_breaking")]
    assert result["base"].startswith("nothing")


def test_secret_and_excluded_files_are_never_delivered(project_door: Door) -> None:
    root = project_door.workspace.root
    key = "-----BEGIN RSA " + "PRIVATE KEY-----\n"
    write(root, {".env.py": "PASSWORD = 'tiger'\n", "app/key.py": f"K = '''{key}tiger'''\n", ".cplignore": "hidden/\n"})
    write(root, {"hidden/a.py": "tiger = 1\n", ".env": "A=tiger\n"})
    git(root, "add", "-fA")
    git(root, "commit", "-qm", "secrets")
    for arguments in ({"base": "HEAD~1"}, {"base": "HEAD~1", "target": "HEAD"}):
        answer = call(project_door, "semantic_diff", arguments)
        assert "tiger" not in str(answer.envelope())
        assert answer.meta.incomplete


def test_a_submodule_is_a_file_without_structure(project_door: Door, tmp_path: Path) -> None:
    root = project_door.workspace.root
    other = make_repository(tmp_path / "other", {"a.py": "x = 1\n"})
    git(root, "submodule", "--quiet", "add", str(other), "vendor")
    paths = [one["path"] for one in _diff(project_door)["non_structural_changes"]]
    assert "vendor" in paths


def test_too_many_files_are_bounded_and_said(project_door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codeplane.operations.compared_states.MAX_FILES", 20)
    write(project_door.workspace.root, {f"many/m{number}.py": f"x{number} = 1\n" for number in range(50)})
    answer = call(project_door, "semantic_diff")
    assert result_of(answer)["files_analyzed"] == 20
    assert any("30 changed files not analysed" in one for one in answer.meta.incomplete)


@pytest.mark.slow
def test_five_thousand_changed_files_are_answered(project_door: Door) -> None:
    write(project_door.workspace.root, {f"many/m{number}.py": f"def f{number}(): pass\n" for number in range(5_000)})
    answer = call(project_door, "semantic_diff")
    result = result_of(answer)
    assert result["summary"].startswith("2000 added, ")
    assert any("3000 changed files not analysed" in one for one in answer.meta.incomplete)
    assert "next_cursor" in result["pagination"]


def test_git_diff_shows_the_structural_view(project_door: Door) -> None:
    root = project_door.workspace.root
    write(root, {"app/core.py": CORE.replace("return 1", "return 2")})
    git(root, "add", "-A")
    write(root, {"app/core.py": CORE.replace("return 1", "return 3").replace("[key]", "[0]")})
    result = result_of(call(project_door, "git_diff", {"view": "structural"}))
    assert _rows(result["structural"]) == [
        ("body_changed", "Store.get", "non_breaking"), ("body_changed", "_hidden", "non_breaking"),
    ]  # fmt: skip
    staged = result_of(call(project_door, "git_diff", {"view": "structural", "staged": True}))
    assert _rows(staged["structural"]) == [("body_changed", "_hidden", "non_breaking")]
    assert call(project_door, "git_diff", {"view": "structural"}).text() == call(project_door, "semantic_diff").text()


def test_the_command_shows_lines_or_definitions(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, {"app/core.py": CORE.replace("return 1", "return 2"), "README.md": "# B\n"})
    monkeypatch.chdir(project)
    lines = CliRunner().invoke(cli, ["diff", "app"]).output
    assert "+    return 2" in lines
    assert "README" not in lines
    shown = CliRunner().invoke(cli, ["diff", "--structural", "HEAD", "app"]).output
    assert " body_changed _hidden app/core.py:10" in shown
    assert '"summary": "1 body changed"' in CliRunner().invoke(cli, ["diff", "-s", "app", "--json"]).output
    refused = CliRunner().invoke(cli, ["diff", "-s", "nowhere"])
    assert "GIT_REF_UNKNOWN" in refused.output
