"""`run`: a short program in one call, each of whose calls passes the door."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from codeplane.ledger.chain import RowFilter
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import CallControls, Door
from support.doors import call, caller, error_of, open_test_workspace, result_of
from support.repositories import write

FILES: dict[str, str | bytes] = {
    "a.py": "def old_name():\n    return 1\n",
    "b.py": "from a import old_name\n\nprint(old_name())\n",
    "notes.md": "old_name is old\n",
}


@pytest.fixture
def shop(repo: Path) -> Iterator[Door]:
    write(repo, FILES)
    with open_test_workspace(repo) as workspace:
        yield Door(workspace, OPERATIONS)


def run(door: Door, program: str, **more: Any) -> dict[str, Any]:
    return result_of(call(door, "run", {"program": program, **more}))


def test_a_loop_over_hits_costs_one_call(shop: Door) -> None:
    found = run(
        shop, "for hit in search('old_name'):\n    print(hit['path'], hit['line'])\nlen(references('old_name'))"
    )
    assert found["printed"].splitlines() == ["a.py 1", "b.py 1", "b.py 3", "notes.md 1"]
    assert (found["returned"], found["calls"]) == (2, 2)


def test_edits_by_rule_are_ordinary_calls_and_can_be_undone(shop: Door) -> None:
    program = (
        "for path in sorted({hit['path'] for hit in search('old_name')}):\n"
        "    if path.endswith('.py'):\n"
        "        edit(path, old='old_name', new='new_name', all=True)\n"
    )
    found = run(shop, program)
    root = shop.workspace.root
    assert "old_name" not in (root / "a.py").read_text() + (root / "b.py").read_text()
    assert len(found["mutations"]) == 2
    rows = shop.workspace.chain.rows(RowFilter(operation="write_source", kinds=("finished",)))
    assert len({row.body["part_of"] for row in rows}) == 1
    for mutation in reversed(found["mutations"]):
        result_of(call(shop, "undo", {"operation": mutation}))
    assert (root / "a.py").read_text() == FILES["a.py"]


def test_a_program_that_fails_atomically_leaves_nothing(shop: Door) -> None:
    program = "edit('a.py', old='old_name', new='x')\nedit('b.py', old='not there', new='x')"
    answer = call(shop, "run", {"program": program, "atomic": True})
    assert error_of(answer) == "PROGRAM_FAILED"
    assert "at line 2" in answer.text()
    assert "Taken back: 1 change." in answer.text()
    assert (shop.workspace.root / "a.py").read_text() == FILES["a.py"]


def test_a_program_that_fails_says_what_it_had_done(shop: Door) -> None:
    answer = call(shop, "run", {"program": "edit('a.py', old='old_name', new='x')\n1 / 0"})
    assert answer.error is not None
    (mutation,) = answer.error.details["mutations"]
    assert mutation in answer.text()
    result_of(call(shop, "undo", {"operation": mutation}))
    assert (shop.workspace.root / "a.py").read_text() == FILES["a.py"]


def test_a_refused_call_is_an_exception_that_the_program_may_catch(shop: Door) -> None:
    program = "try:\n    edit('.git/config', old='x', new='y')\nexcept Exception as e:\n    print(str(e)[:14])"
    assert run(shop, program)["printed"] == "PROTECTED_PATH\n"


def test_a_held_call_ends_the_program_with_what_was_done(shop: Door) -> None:
    program = (
        "edit('a.py', old='old_name', new='x')\n"
        "try:\n    git('worktree', action='add', path='../elsewhere', detach=True)\n"
        "except Exception:\n    print('caught')\n"
        "edit('b.py', old='print', new='x')"
    )
    answer = dispatch(shop, "run", {"program": program}, caller())
    assert answer.error is not None
    assert answer.error.error == "APPROVAL_PENDING"
    assert answer.error.details["hold_id"]
    assert len(answer.error.details["mutations"]) == 1
    assert (shop.workspace.root / "b.py").read_text() == FILES["b.py"]


@pytest.mark.parametrize("name", ["run", "call"])
def test_a_program_does_not_run_programs(shop: Door, name: str) -> None:
    assert error_of(call(shop, "run", {"program": f"call({name!r}, program='1')"})) == "PROGRAM_FAILED"


def test_ten_thousand_calls_are_too_many(shop: Door) -> None:
    answer = call(shop, "run", {"program": "for i in range(10000): call('describe')"})
    assert "a program may make 1000 calls" in answer.text()


def test_a_cancelled_program_stops_at_its_next_call(shop: Door) -> None:
    controls = CallControls(is_cancelled=lambda: True)
    answer = dispatch(shop, "run", {"program": "edit('a.py', old='old_name', new='x')"}, caller(), controls)
    assert error_of(answer) == "CANCELLED"
    assert (shop.workspace.root / "a.py").read_text() == FILES["a.py"]


def test_two_programs_that_edit_one_file_lose_nothing(shop: Door) -> None:
    write(shop.workspace.root, {"list.txt": "".join(f"line {number}\n" for number in range(20))})

    def half(first: int) -> None:
        program = f"for n in range({first}, 20, 2): edit('list.txt', old=f'line {{n}}\\n', new=f'done {{n}}\\n')"
        result_of(call(shop, "run", {"program": program}, f"client {first}"))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(half, [0, 1]))
    text = (shop.workspace.root / "list.txt").read_text()
    assert text == "".join(f"done {number}\n" for number in range(20))


def test_what_is_answered_is_bounded_and_says_so(shop: Door) -> None:
    text = call(shop, "run", {"program": "for i in range(1000): print('x' * 100)"}).text()
    assert len(text) < 9_000
    assert "more characters; print less" in text
