"""Agents that work on the same files: nothing is lost, and every refusal names the other."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, open_test_workspace, result_of
from support.effort import repeated
from support.governed import write_intents
from support.repositories import make_repository

INTENTS = "active_intents: [{id: INT-1, name: n, status: active, owned_scope: ['**']}]\n"
AGENTS = ("a", "b", "c", "d")
FILES = ("one.py", "two.py")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = "".join(f"line_{number} = 0\n" for number in range(12))
    root = make_repository(tmp_path_factory.mktemp("agents") / "repo", dict.fromkeys(FILES, text))
    write_intents(root, INTENTS)
    return root


@pytest.fixture
def door(template: Path, tmp_path: Path) -> Iterator[Door]:
    with open_test_workspace(Path(shutil.copytree(template, tmp_path / "repo"))) as workspace:
        opened = Door(workspace, OPERATIONS)
        for agent in AGENTS:
            call(opened, "select_active_intent", {"intent_id": "INT-1"}, agent)
        yield opened


def _read(door: Door, agent: str, path: str) -> tuple[str, list[str]]:
    found = result_of(call(door, "read_source", {"targets": path}, agent))["files"][0]
    return found["file_sha256"], found["content"].splitlines()


def _write(
    door: Door, agent: str, path: str, known: tuple[str, list[str]], choice: random.Random
) -> tuple[Answer, str]:
    number = choice.randrange(len(known[1]))
    new = f"{known[1][number].split('=')[0].strip()} = {choice.randrange(10**9)}"
    edit: dict[str, object] = {"path": path, "new_content": f"{new}\n", "expected_content": f"{known[1][number]}\n"}
    if choice.random() < 0.5:
        edit = {"path": path, "start_line": number + 1, "new_content": f"{new}\n", "expected_file_sha256": known[0]}
    return call(door, "write_source", {"edits": [edit]}, agent), new


@pytest.mark.parametrize("block", range(repeated(4)))
def test_no_update_is_lost_in_any_order(door: Door, block: int) -> None:
    """Twenty-five interleavings each; a line that was written stands until somebody who saw it writes it anew."""
    choice = random.Random(block)
    sessions = {agent: call(door, "describe", {}, agent).meta.session for agent in AGENTS}
    for _ in range(25):
        known: dict[tuple[str, str], tuple[str, list[str]]] = {}
        expected = {path: (door.workspace.root / path).read_text(encoding="utf-8").splitlines() for path in FILES}
        for _step in range(12):
            agent, path = choice.choice(AGENTS), choice.choice(FILES)
            if (agent, path) not in known or choice.random() < 0.4:
                known[agent, path] = _read(door, agent, path)
                continue
            answer, new = _write(door, agent, path, known[agent, path], choice)
            if answer.outcome is Outcome.FINISHED:
                name = new.split(" = ")[0]
                expected[path] = [new if line.startswith(f"{name} =") else line for line in expected[path]]
                known[agent, path] = _read(door, agent, path)
                continue
            assert answer.error is not None
            assert answer.error.error in {"STALE_FILE", "CONTENT_NOT_FOUND", "CIRCUIT_OPEN"}, answer.error
            if answer.error.error != "CIRCUIT_OPEN":
                who = answer.error.details["changed_by"]
                assert who["session"] in set(sessions.values()) - {sessions[agent]}
                assert who["intent"] == "INT-1"
            known[agent, path] = _read(door, agent, path)
        for path in FILES:
            assert (door.workspace.root / path).read_text(encoding="utf-8").splitlines() == expected[path]


def test_an_edit_that_still_fits_names_the_other_change(door: Door) -> None:
    known = _read(door, "a", "one.py")
    other = call(door, "write_source", {"edits": [{"path": "one.py", "start_line": 1, "expected_file_sha256": known[0],
                                                   "new_content": "line_0 = 77\n"}]}, "b")  # fmt: skip
    assert other.outcome is Outcome.FINISHED
    mine = {"edits": [{"path": "one.py", "expected_content": f"{known[1][5]}\n", "new_content": "line_5 = 55\n"}]}
    answer = call(door, "write_source", mine, "a")
    assert answer.outcome is Outcome.FINISHED
    assert any(f"was changed by session {other.meta.session} under INT-1" in one for one in answer.meta.warnings)


def test_a_stale_hash_comes_with_the_merge_where_hunks_do_not_overlap(door: Door) -> None:
    known = _read(door, "a", "two.py")
    above = {
        "path": "two.py",
        "start_line": 1,
        "expected_file_sha256": known[0],
        "new_content": "new = 1\nline_0 = 1\n",
    }
    assert call(door, "write_source", {"edits": [above]}, "b").outcome is Outcome.FINISHED
    mine = {"path": "two.py", "start_line": 6, "expected_file_sha256": known[0], "new_content": "line_5 = 9\n"}
    refused = call(door, "write_source", {"edits": [mine]}, "a")
    assert refused.error is not None
    details = refused.error.details
    assert (refused.error.error, details["expected_sha256"]) == ("STALE_FILE", known[0])
    assert (details["changed_by"]["intent"], details["current_sha256"]) == ("INT-1", details["file_sha256"])
    assert call(door, "write_source", details["merge"], "a").outcome is Outcome.FINISHED
    text = (door.workspace.root / "two.py").read_text(encoding="utf-8")
    assert text.startswith("new = 1\nline_0 = 1\n")
    assert "\nline_5 = 9\nline_6" in text
