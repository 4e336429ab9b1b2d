"""`run`: a short program in one call, each of whose calls passes the door."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from codeplane.edit.records import State
from codeplane.ledger.chain import RowFilter
from codeplane.operations.call_record import CallControls
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.workspace.rollback import plan_rollback
from support.doors import call, caller, error_of, open_test_workspace, result_of
from support.effort import repeated
from support.repositories import git, write

FILES: dict[str, str | bytes] = {
    "a.py": "def old_name():\n    return 1\n",
    "b.py": "from a import old_name\n\nprint(old_name())\n",
    "notes.md": "old_name is old\n",
}


@pytest.fixture
def shop(repo: Path) -> Iterator[Door]:
    write(repo, FILES)
    for name, value in (("user.name", "Someone"), ("user.email", "someone@example.org")):
        git(repo, "config", name, value)
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
    assert len(answer.error.details["mutations"]) == 1
    assert f"1 change made before that; undo: {answer.error.details['mutation_id']}" in answer.text()
    result_of(call(shop, "undo", {"operation": answer.error.details["mutation_id"]}))
    assert (shop.workspace.root / "a.py").read_text() == FILES["a.py"]


RENAME = (
    "for path in ['a.py', 'b.py']: edit(path, old='old_name', new='new_name', all=True)\n"
    "call('write_source', edits=[{'path': 'new/c.py', 'action': 'create', 'content': 'x'}])\n"
    "edit('a.py', old='return 1', new='return 2')\n"
)
TRACKED = ("a.py", "b.py", "notes.md")


def state(door: Door) -> dict[str, str | None]:
    files = {name: door.workspace.root / name for name in (*TRACKED, "new/c.py", "new")}
    return {name: path.read_text() if path.is_file() else str(path.exists()) for name, path in files.items()}


def test_one_undo_takes_back_all_that_a_program_changed(shop: Door) -> None:
    before = state(shop)
    answer = call(shop, "run", {"program": RENAME})
    program = result_of(answer)["mutation_id"]
    assert answer.text().endswith(f"4 changes; undo: {program}")
    after = state(shop)
    undone = result_of(call(shop, "undo", {"operation": program}))
    assert state(shop) == before
    assert len(undone["undone"]) == 4
    assert error_of(call(shop, "undo", {"operation": program})) == "NOTHING_TO_UNDO"
    # An undo can be undone, and the program then again.
    redone = result_of(call(shop, "undo", {"operation": undone["mutation_id"]}))
    assert (state(shop), len(redone["undone"])) == (after, 1)
    result_of(call(shop, "undo", {"operation": program}))
    assert state(shop) == before


def test_a_preview_of_a_program_s_undo_changes_nothing(shop: Door) -> None:
    program = run(shop, RENAME)["mutation_id"]
    after = state(shop)
    found = result_of(call(shop, "undo", {"operation": program, "dry_run": True}))
    assert {one["path"] for one in found["files"]} == {"a.py", "b.py", "new/c.py"}
    assert state(shop) == after


def test_a_program_is_taken_back_as_a_whole_or_not_at_all(shop: Door) -> None:
    program = run(shop, RENAME)["mutation_id"]
    write(shop.workspace.root, {"b.py": "something else\n"})
    after = state(shop)
    answer = call(shop, "undo", {"operation": program})
    assert error_of(answer) == "UNDO_CONFLICT"
    assert "b.py" in answer.text()
    assert state(shop) == after


def test_a_program_whose_record_is_partly_gone_is_not_taken_back_by_half(shop: Door) -> None:
    found = run(shop, RENAME)
    after = state(shop)
    shop.workspace.editor.records.drop(found["mutations"][1], State.DONE)
    answer = call(shop, "undo", {"operation": found["mutation_id"]})
    assert error_of(answer) == "NOTHING_TO_UNDO"
    assert found["mutations"][1] in answer.text()
    assert state(shop) == after


def test_what_was_taken_back_before_is_left_out(shop: Door) -> None:
    before = state(shop)
    found = run(shop, RENAME)
    result_of(call(shop, "undo", {"operation": found["mutations"][1]}))
    assert len(result_of(call(shop, "undo", {"operation": found["mutation_id"]}))["undone"]) == 3
    assert state(shop) == before


def test_a_program_that_undoes_its_own_change_is_taken_back_to_where_it_began(shop: Door) -> None:
    before = state(shop)
    program = (
        "done = edit('a.py', old='old_name', new='x')\n"
        "call('undo', operation=done['delta']['mutation_id'])\n"
        "edit('b.py', old='print', new='x')\n"
    )
    found = run(shop, program)
    assert state(shop)["a.py"] == before["a.py"]
    undone = result_of(call(shop, "undo", {"operation": found["mutation_id"]}))
    assert undone["undone"] == [found["mutations"][-1]]
    assert state(shop) == before


def test_a_commit_that_a_program_made_is_taken_back_too(shop: Door) -> None:
    head, before = shop.workspace.head().commit, state(shop)
    program = "edit('a.py', old='old_name', new='x')\ngit('stage_and_commit', message='m', paths=['a.py'])"
    found = run(shop, program)
    assert shop.workspace.head().commit != head
    assert len(found["mutations"]) == 2
    result_of(call(shop, "undo", {"operation": found["mutation_id"]}))
    assert (shop.workspace.head().commit, state(shop)) == (head, before)


def test_a_failed_atomic_program_takes_its_commit_back(shop: Door) -> None:
    head, before = shop.workspace.head().commit, state(shop)
    program = "edit('a.py', old='old_name', new='x')\ngit('stage_and_commit', message='m', paths=['a.py'])\n1 / 0"
    answer = call(shop, "run", {"program": program, "atomic": True})
    assert "Taken back: 2 changes." in answer.text()
    assert (shop.workspace.head().commit, state(shop)) == (head, before)
    assert answer.error is not None
    assert answer.error.details["mutations"] == []
    assert error_of(call(shop, "undo", {"operation": answer.meta.request_id})) == "NOTHING_TO_UNDO"
    assert answer.meta.request_id not in [one["operation"] for one in result_of(call(shop, "undo"))["candidates"]]


def test_an_atomic_program_that_cannot_be_taken_back_says_so(shop: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed_before(*arguments: Any) -> Any:
        write(shop.workspace.root, {"a.py": "something else\n"})
        return plan_rollback(*arguments)

    monkeypatch.setattr("codeplane.operations.undo.plan_rollback", changed_before)
    program = "edit('a.py', old='old_name', new='x')\nedit('b.py', old='print', new='x')\n1 / 0"
    answer = call(shop, "run", {"program": program, "atomic": True})
    assert "2 changes could not be rolled back: Nothing was undone. a.py" in answer.text()
    assert state(shop)["b.py"] == "from a import old_name\n\nx(old_name())\n"
    assert answer.error is not None
    assert len(answer.error.details["mutations"]) == 2


def test_a_program_is_one_of_the_changes_that_can_be_undone(shop: Door) -> None:
    single = call(
        shop, "write_source", {"edits": [{"path": "notes.md", "expected_content": "is old", "new_content": "o"}]}
    )
    program = run(shop, RENAME)["mutation_id"]
    candidates = result_of(call(shop, "undo"))["candidates"]
    assert [(one["operation"], one["name"]) for one in candidates] == [
        (program, "run"),
        (single.meta.request_id, "write_source"),
    ]
    assert sorted(candidates[0]["files"]) == ["a.py", "b.py", "new/c.py"]


def test_a_program_that_changed_nothing_has_nothing_to_undo(shop: Door) -> None:
    answer = call(shop, "run", {"program": "len(search('old_name'))"})
    assert result_of(answer)["mutations"] == []
    assert "undo" not in answer.text()
    assert error_of(call(shop, "undo", {"operation": answer.meta.request_id})) == "NOTHING_TO_UNDO"


def test_a_program_compares_the_tree_once_and_sees_its_own_changes(shop: Door) -> None:
    write(shop.workspace.root, {"late.py": "old_name = 2\n"})
    shop.workspace.refresh_index()
    write(shop.workspace.root, {"later.py": "old_name = 3\n"})
    before = shop.workspace.index.n_refreshes
    found = run(shop, "[len(search('old_name', mode=m)) for m in ('lexical', 'references', 'definitions') * 5]")
    assert shop.workspace.index.n_refreshes - before == 1
    assert found["returned"] == [6, 2, 3] * 5
    program = (
        "found = [len(search('old_name'))]\n"
        "edit('late.py', old='old_name', new='other')\nfound.append(len(search('old_name')))\n"
        "git('checkout', paths=['late.py'])\nfound.append(len(search('old_name')))\nfound"
    )
    git(shop.workspace.root, "add", "late.py")
    assert run(shop, program)["returned"] == [6, 5, 6]


def test_the_next_program_compares_the_tree_again(shop: Door) -> None:
    assert run(shop, "len(search('old_name'))")["returned"] == 4
    write(shop.workspace.root, {"late.py": "old_name = 2\n"})
    assert run(shop, "len(search('old_name'))")["returned"] == 5


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
    assert answer.error.details["mutation_id"] == answer.meta.request_id
    assert (shop.workspace.root / "b.py").read_text() == FILES["b.py"]


@pytest.mark.parametrize("name", ["run", "call"])
def test_a_program_does_not_run_programs(shop: Door, name: str) -> None:
    assert error_of(call(shop, "run", {"program": f"call({name!r}, program='1')"})) == "PROGRAM_FAILED"


_ENDLESS = """
for i in range(10000):
    try:
        call('nothing')
    except RuntimeError as error:
        if 'There is no operation' not in str(error):
            raise
"""


def test_ten_thousand_calls_are_too_many(shop: Door) -> None:
    answer = call(shop, "run", {"program": _ENDLESS})
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


BOMB = "x = ('a', 'a')\nfor i in range(60): x = (x, x)\n"


# A tuple that doubles sixty times: small in the program, endless to whoever walks through it or takes its hash.
BOMBS = [
    f"{BOMB}{end}"
    for end in (
        "{x: 1}", "call(x)", "search({x})", "x", "class A: pass\na = A()\na.x = x\na", "{x}", "{1: x}", "[x] * 10**6",
        "ValueError(x)", "raise ValueError({x: 1})", "call('list_files', path=x)", "search(x)", "edit(x, old=x)",
        "call('list_files', path={x: 1})", "read(x)", "git(x)", "search(**{'a': {x: 1}})",
        "repr = lambda v: {x: 1}\nx.nothing", "_shown = lambda v: {x: 1}\n5", "_value = {x: 1}\n_shown = 1\n5",
        "_call({x: 1})", "eval('_call({1: 2})', {})", "str = dict = lambda *v: {x: 1}\nsearch(x)",
    )
]  # fmt: skip
ODD_VALUES = [
    "x = []\nfor i in range(5000): x = [x]\nx", "10**5000", "-10**5000", "{10**5000: 1}", "git(1)", "read(None)",
    "[['x' * 1000] * 1000] * 1000", "call(['x'])", "search()", "edit(1, 2, 3, 4, 5)", "x = {}\nx['x'] = x\nx",
    "float('nan')", "[float('inf')]", "'\\ud800'", "print('\\ud800')", "b'\\xff'", "search", "range(10**18)", "...",
    "call('list_files', limit=10**5000)", "search(10**5000)", "ValueError", "_call('[]')", "_shown(1)", "_prepare()",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("program", [*BOMBS[: repeated(3)], *ODD_VALUES])
def test_a_small_program_does_not_make_a_large_answer(shop: Door, program: str) -> None:
    answer = call(shop, "run", {"program": program})
    assert answer.error is None or answer.error.error == "PROGRAM_FAILED"
    assert len(json.dumps(answer.envelope(), allow_nan=False)) < 2_000_000


def test_what_a_program_returns_is_told_as_json_has_it(shop: Door) -> None:
    assert run(shop, "{'a': (1, 2.5, None, True), 4: float('nan')}")["returned"] == {
        "a": [1, 2.5, None, True],
        "4": "NaN",
    }
    assert run(shop, "{(1, 'x'): {2}}")["returned"] == "{(1, 'x'): {2}}"


def test_what_is_answered_is_bounded_and_says_so(shop: Door) -> None:
    text = call(shop, "run", {"program": "for i in range(1000): print('x' * 100)"}).text()
    assert len(text) < 21_000
    assert "characters left out here; print less" in text


def test_a_search_in_a_program_gives_every_hit(door: Door) -> None:
    write(door.workspace.root, {"many.py": "".join(f"name_{number} = 1\n" for number in range(250))})
    program = "print(len(search('name_')), len(search('name_', limit=130)), len(search('name_', limit=3)))"
    assert result_of(call(door, "run", {"program": program}))["printed"].strip() == "250 130 3"


def test_a_range_is_read_whole_however_long_it_is(door: Door) -> None:
    write(door.workspace.root, {"long.py": "".join(f"x_{number} = {'1' * 60}\n" for number in range(2000))})
    program = "print(len(read('long.py', 1, 2000).splitlines()))"
    assert result_of(call(door, "run", {"program": program}))["printed"].strip() == "2000"


def test_of_a_long_output_the_beginning_and_the_end_are_shown(door: Door) -> None:
    shown = call(door, "run", {"program": "for n in range(5000): print(n)"}).text()
    assert shown.startswith("0\n1\n")
    assert shown.rstrip().endswith("4999")
    assert "characters left out here" in shown
