"""`refactor_apply` through the door: whole batches, exact bytes, choices, decisions, files that changed meanwhile."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.hashing import sha256_text
from codeplane.core.ids import RandomIds
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace, result_of
from support.repositories import make_repository

FILES: dict[str, str | bytes] = {
    "a.py": b"\xef\xbb\xbfdef load_all():\r\n    return 1\r\n",
    "b.py": b"from a import load_all\n\nx = 'load_all'\r\nload_all()  # \xc3\xbc load_all\n",
    "script.py": "#!/usr/bin/env python\nimport a\n\na.load_all()\n",
    "docs.md": "Use `load_all`. A load_all too.\n",
    "q.py": "def f(thing):\n    return thing.a.load_all()\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository with endings, a byte order mark and a mode to keep."""
    found = make_repository(tmp_path / "repo", FILES)
    (found / "script.py").chmod(0o755)
    return found


@pytest.fixture
def door(root: Path) -> Iterator[Door]:
    """Return the door of the repository."""
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        yield Door(workspace, OPERATIONS)


def planned(door: Door, symbol: str = "a.py::load_all", new: str = "fetch", **more: object) -> dict[str, Any]:
    """Plan a rename."""
    return result_of(call(door, "refactor_rename", {"symbol": symbol, "new_name": new, **more}))


def applied(door: Door, plan: dict[str, Any], **more: object) -> dict[str, Any]:
    """Apply a plan."""
    return result_of(call(door, "refactor_apply", {"refactor_id": plan["refactor_id"], **more}))


def contents(root: Path) -> dict[str, tuple[bytes, int]]:
    """Return every file outside of private directories with its mode."""
    paths = [
        path
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.relative_to(root).parts[0].startswith(".")
    ]
    return {path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o777) for path in paths}


def test_endings_marks_encodings_and_modes_stay(door: Door, root: Path) -> None:
    result = applied(door, planned(door))

    assert contents(root) == {
        "a.py": (b"\xef\xbb\xbfdef fetch():\r\n    return 1\r\n", 0o644),
        "b.py": (b"from a import fetch\n\nx = 'load_all'\r\nfetch()  # \xc3\xbc load_all\n", 0o644),
        "script.py": (b"#!/usr/bin/env python\nimport a\n\na.fetch()\n", 0o755),
        "docs.md": (FILES["docs.md"].encode(), 0o644),  # type: ignore[union-attr]
        "q.py": (FILES["q.py"].encode(), 0o644),  # type: ignore[union-attr]
    }
    assert (result["edits"], result["delta"]["files_changed"]) == (4, 3)


def test_one_undo_gives_back_every_byte(door: Door, root: Path) -> None:
    before = contents(root)
    result = applied(door, planned(door), include=["docs", "questions"])
    assert contents(root) != before

    result_of(call(door, "undo", {"operation": result["delta"]["mutation_id"]}))

    assert contents(root) == before


def test_planning_and_a_dry_run_change_nothing(door: Door, root: Path) -> None:
    before = contents(root)
    result = applied(door, planned(door), dry_run=True)

    assert (result["applied"], contents(root)) == (False, before)


def test_a_plan_is_applied_once(door: Door) -> None:
    plan = planned(door)
    applied(door, plan)

    assert error_of(call(door, "refactor_apply", {"refactor_id": plan["refactor_id"]})) == "REFACTOR_CONFLICT"


def test_a_file_that_changed_elsewhere_is_planned_again_and_told(door: Door, root: Path) -> None:
    plan = planned(door)
    (root / "b.py").write_text("# new\nfrom a import load_all\nload_all(load_all)\n")
    result = applied(door, plan)

    assert (root / "b.py").read_text() == "# new\nfrom a import fetch\nfetch(fetch)\n"
    assert result["replanned"][0] == "b.py has changed since it was planned"


def test_a_change_that_makes_the_name_clash_refuses_the_plan(door: Door, root: Path) -> None:
    plan = planned(door)
    (root / "a.py").write_text("def load_all(): pass\n\n\ndef fetch(): pass\n")
    before = contents(root)

    assert error_of(call(door, "refactor_apply", {"refactor_id": plan["refactor_id"]})) == "REFACTOR_CONFLICT"
    assert contents(root) == before


def test_two_plans_on_one_file_both_apply(door: Door, root: Path) -> None:
    first, second = planned(door), planned(door, "q.py::f", "g")
    third = planned(door, "q.py:1:6", "it")
    for plan in (first, second, third):
        applied(door, plan)

    assert (root / "q.py").read_text() == "def g(it):\n    return it.a.load_all()\n"


@pytest.mark.parametrize(
    ("choice", "changed"),
    [
        ({}, {"a.py", "b.py", "script.py"}),
        ({"include": ["docs:high"]}, {"a.py", "b.py", "script.py", "docs.md"}),
        ({"include": ["questions"]}, {"a.py", "b.py", "script.py", "q.py"}),
        ({"include": ["*.py"], "exclude": ["script.py"]}, {"a.py", "b.py"}),
        ({"exclude": ["b.py", "script.py"]}, {"a.py"}),
        ({"include": ["a.py"]}, {"a.py"}),
    ],
)
def test_groups_files_and_single_edits_can_be_chosen(
    door: Door, root: Path, choice: dict[str, list[str]], changed: set[str]
) -> None:
    before = contents(root)
    applied(door, planned(door), **choice)
    after = contents(root)

    assert {path for path in before if before[path] != after[path]} == changed


def test_a_single_site_is_left_out_by_its_id(door: Door, root: Path) -> None:
    plan = planned(door)
    left_out = next(one for one in plan["edits"] if one["path"] == "script.py")
    applied(door, plan, exclude=[left_out["id"]])

    assert "load_all" in (root / "script.py").read_text()


def test_an_unknown_choice_is_refused(door: Door) -> None:
    answer = call(door, "refactor_apply", {"refactor_id": planned(door)["refactor_id"], "include": ["nothing.js"]})

    assert error_of(answer) == "INVALID_ARGUMENTS"


def test_questions_are_shown_with_the_lines_around_them(door: Door) -> None:
    plan = planned(door)
    found = result_of(call(door, "refactor_inspect", {"refactor_id": plan["refactor_id"], "context": 1}))

    assert [(one["site"]["path"], one["lines"]) for one in found["sites"]] == [
        ("q.py", ["def f(thing):", "    return thing.a.load_all()", ""])
    ]


def test_sites_come_page_by_page(door: Door) -> None:
    first = planned(door, limit=2)
    assert len(first["edits"]) == 2
    rest = result_of(call(door, "refactor_rename", {"cursor": first["pagination"]["next_cursor"]}))

    assert rest["refactor_id"] == first["refactor_id"]
    assert len(rest["edits"]) == 2


def test_a_cancelled_plan_is_gone(door: Door) -> None:
    plan = planned(door)
    result_of(call(door, "refactor_cancel", {"refactor_id": plan["refactor_id"]}))

    assert error_of(call(door, "refactor_apply", {"refactor_id": plan["refactor_id"]})) == "REFACTOR_NOT_FOUND"


@pytest.mark.parametrize("refactor_id", ["rf_unknown1", "../../etc/passwd", "", "rf_" + "x" * 90])
def test_an_unknown_plan_is_refused(door: Door, refactor_id: str) -> None:
    for name in ("refactor_apply", "refactor_inspect", "refactor_cancel"):
        assert error_of(call(door, name, {"refactor_id": refactor_id})) == "REFACTOR_NOT_FOUND"


def test_a_plan_survives_a_restart_until_it_expires(root: Path) -> None:
    clock = ManualClock()
    with open_test_workspace(root, clock=clock, ids=RandomIds()) as workspace:
        first, second = (planned(Door(workspace, OPERATIONS)) for _ in range(2))
    with open_test_workspace(root, clock=clock, ids=RandomIds()) as workspace:
        door = Door(workspace, OPERATIONS)
        assert applied(door, first)["applied"]
        clock.advance(3601)
        assert error_of(call(door, "refactor_apply", {"refactor_id": second["refactor_id"]})) == "REFACTOR_EXPIRED"


def test_one_of_several_candidates_is_applied(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {"a.py": "def f(): pass\n", "b.py": "def f(): pass\n"})
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        door = Door(workspace, OPERATIONS)
        plan = planned(door, "f", "g")
        assert error_of(call(door, "refactor_apply", {"refactor_id": plan["refactor_id"]})) == "REFACTOR_CONFLICT"
        applied(door, plan, candidate="group_1")

    assert [(root / name).read_text() for name in ("a.py", "b.py")] == ["def f(): pass\n", "def g(): pass\n"]


LINE = "    def run(self): pass"
GOOD = {
    "symbol_identity": "A.run",
    "anchors": [{"file": "a.py", "line": 5, "anchor_before": "def ", "anchor_after": "(self"}],
}
PROOFS = [
    ("no proof", None, False),
    ("right anchor", GOOD, True),
    ("right line", {"symbol_identity": "run", "file_line_evidence": [{"file": "a.py", "line": 5, "content_hash": sha256_text(LINE)[:12]}]}, True),
    ("other symbol", {**GOOD, "symbol_identity": "B.run"}, False),
    ("nothing to check", {"symbol_identity": "A.run"}, False),
    ("wrong anchor", {"symbol_identity": "A.run", "anchors": [{"file": "a.py", "line": 5, "anchor_before": "async "}]}, False),
    ("wrong line", {"symbol_identity": "A.run", "anchors": [{"file": "a.py", "line": 4}]}, False),
    ("wrong hash", {"symbol_identity": "A.run", "file_line_evidence": [{"file": "a.py", "line": 5, "content_hash": "0" * 64}]}, False),
]  # fmt: skip


@pytest.mark.parametrize(("proof", "is_enough"), [one[1:] for one in PROOFS], ids=[one[0] for one in PROOFS])
def test_a_plan_that_needs_a_decision_takes_a_proof(
    tmp_path: Path, proof: dict[str, Any] | None, is_enough: bool
) -> None:
    root = make_repository(tmp_path / "repo", {"a.py": f"from lib import Base\n\n\nclass A(Base):\n{LINE}\n"})
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        door = Door(workspace, OPERATIONS)
        plan = planned(door, "a.py::A.run", "go")
        more = {"proof": proof} if proof is not None else {}
        answer = call(door, "refactor_apply", {"refactor_id": plan["refactor_id"], "candidate": "group_0", **more})

    assert (answer.error is None) is is_enough, answer.error
    assert ("def go" in (root / "a.py").read_text()) is is_enough


def test_a_java_file_follows_its_class_and_undo_brings_it_back(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "pom.xml": "<project/>",
        "A.java": "public class A { A() {} }\n",
        "U.java": "class U { A a; }\n",
    }
    root = make_repository(tmp_path / "repo", files)
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        door = Door(workspace, OPERATIONS)
        before = contents(root)
        result = applied(door, planned(door, "A.java::A", "Box"))
        assert (root / "Box.java").read_text() == "public class Box { Box() {} }\n"
        assert not (root / "A.java").exists()
        result_of(call(door, "undo", {"operation": result["delta"]["mutation_id"]}))
        assert contents(root) == before


def test_a_typescript_file_follows_its_class_with_its_imports(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "package.json": "{}", "src/Disc.ts": "export class Disc {}\n",
        "src/use.ts": "import { Disc } from './Disc'\nexport * from './Disc'\nnew Disc()\n",
    }  # fmt: skip
    root = make_repository(tmp_path / "repo", files)
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        door = Door(workspace, OPERATIONS)
        applied(door, planned(door, "src/Disc.ts::Disc", "Coin"))

    assert (root / "src/Coin.ts").read_text() == "export class Coin {}\n"
    assert (root / "src/use.ts").read_text() == "import { Coin } from './Coin'\nexport * from './Coin'\nnew Coin()\n"


def test_a_hard_linked_file_is_refused(door: Door, root: Path) -> None:
    os.link(root / "b.py", root / "other.txt")
    before = contents(root)

    assert error_of(call(door, "refactor_apply", {"refactor_id": planned(door)["refactor_id"]})) == "HARD_LINKED"
    assert contents(root) == before


def test_a_rename_of_ten_thousand_sites_is_one_batch(tmp_path: Path) -> None:
    text = "def f(): pass\n" + "f()\n" * 10_000
    root = make_repository(tmp_path / "repo", {"a.py": text})
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        door = Door(workspace, OPERATIONS)
        assert applied(door, planned(door, "a.py::f", "g"))["edits"] == 10_001

    assert (root / "a.py").read_text() == text.replace("f()", "g()")


def test_refactorings_can_be_switched_off(root: Path) -> None:
    with open_test_workspace(root, overrides=("refactor.enabled=false",)) as workspace:
        answer = call(Door(workspace, OPERATIONS), "refactor_rename", {"symbol": "a.py::load_all", "new_name": "x"})

    assert error_of(answer) == "REFACTOR_DISABLED"
