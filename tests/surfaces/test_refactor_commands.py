"""`cpl rename`, `cpl move`, `cpl delete`, and the REST addresses of refactorings."""

import json
from pathlib import Path

import pytest

from codeplane.surfaces.cli.main import FAILURE, FINDINGS, main
from support.repositories import git, make_repository
from surfaces.support_processes import Sandbox, make_repo, up


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with a function, its use, a place that is not sure, and documentation."""
    files: dict[str, str | bytes] = {
        "pkg/__init__.py": "",
        "pkg/a.py": "def load_all():\n    return 1\n\n\ndef unused():\n    return 2\n",
        "pkg/b.py": "from pkg.a import load_all\n\n\ndef use(thing):\n    return load_all(), thing.a.load_all()\n",
        "README.md": "Call `load_all`.\n",
    }
    root = make_repository(tmp_path / "tree", files)
    monkeypatch.chdir(root)
    return root


def test_a_rename_is_shown_and_changes_nothing_without_a_person_or_yes(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rename", "load_all", "fetch"]) == FAILURE

    shown = capsys.readouterr()
    assert "3 edits in 2 files, 1 question" in shown.out
    assert "Use --yes." in shown.err
    assert git(tree, "status", "--short") == ""


def test_a_rename_with_yes_is_applied(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rename", "pkg/a.py::load_all", "fetch", "--docs", "--yes", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["result"]["edits"] == 4
    assert git(tree, "diff", "--name-only").split() == ["README.md", "pkg/a.py", "pkg/b.py"]


def test_only_and_except_choose_files(tree: Path) -> None:
    assert main(["rename", "load_all", "fetch", "--except", "pkg/b.py", "--yes"]) == 0

    assert git(tree, "diff", "--name-only").split() == ["pkg/a.py"]


def test_a_name_that_fits_nothing_or_several_ends_with_a_code(tree: Path) -> None:
    assert main(["rename", "nothing_of_this_name", "x", "--yes"]) == FAILURE
    (tree / "pkg/c.py").write_text("def use(): pass\n")
    assert main(["rename", "use", "x", "--yes"]) == FINDINGS


def test_a_file_moves_in_gits_index_with_its_imports(tree: Path) -> None:
    assert main(["move", "pkg/a.py", "pkg/loading.py", "--yes"]) == 0

    assert git(tree, "status", "--short").split("\n")[:2] == [" M pkg/b.py", "R  pkg/a.py -> pkg/loading.py"]
    assert (tree / "pkg/b.py").read_text().startswith("from pkg.loading import load_all\n")


def test_what_is_used_is_not_deleted_and_what_is_not_goes(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["delete", "pkg/a.py::load_all", "--yes"]) == FINDINGS
    assert "pkg/b.py:1" in capsys.readouterr().out

    assert main(["delete", "pkg/a.py::unused", "--yes"]) == 0
    assert (tree / "pkg/a.py").read_text() == "def load_all():\n    return 1\n"


@pytest.mark.slow
def test_operators_plan_and_commit_over_rest(sandbox: Sandbox, tmp_path: Path) -> None:
    root = make_repo(sandbox, tmp_path / "sample")
    (root / "a.py").write_text("def load_all(): pass\n")
    with up(sandbox, root) as server:
        arguments = {"symbol": "a.py::load_all", "new_name": "fetch"}
        headers = {"Authorization": f"Bearer {sandbox.token}"}
        assert server.post("/refactor/rename", arguments).status == 401
        plan = server.post("/refactor/rename", arguments, headers).json
        done = server.post("/decisions/commit", {"plan_id": plan["plan_id"]}, headers)

    assert (plan["status"], done.status) == ("ready", 200)
    assert (root / "a.py").read_text() == "def fetch(): pass\n"


@pytest.mark.slow
def test_a_server_without_refactorings_offers_none(sandbox: Sandbox, tmp_path: Path) -> None:
    with up(sandbox, make_repo(sandbox, tmp_path / "sample"), "--no-refactor") as server:
        assert server.post("/refactor/rename", {"symbol": "x", "new_name": "y"}).status == 404
        reply = server.operate("refactor_rename", {"symbol": "x", "new_name": "y"}, sandbox.token)

    assert reply.json["error"] == "REFACTOR_DISABLED"
