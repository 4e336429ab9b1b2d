"""Two equal repositories: one is changed through the door, the other by git itself, and both must stay equal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeplane.core.ids import RandomIds
from codeplane.operations.perform import Door
from support.doors import call, door_with, error_of, open_test_workspace, result_of
from support.git_states import whole_state
from support.repositories import copied, git


@dataclass(frozen=True)
class Twins:
    """`ours` is changed through the door, `theirs` by hand."""

    ours: Path
    theirs: Path

    @contextmanager
    def door(self) -> Iterator[Door]:
        """Open the first one."""
        with open_test_workspace(self.ours, ids=RandomIds()) as workspace:
            yield door_with(workspace)

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool that must succeed."""
        given = {key: value for key, value in arguments.items() if value is not None}
        with self.door() as door:
            return result_of(call(door, name, given))

    def undo(self, result: dict[str, Any]) -> None:
        """Take a call back."""
        self.call("undo", {"operation": result["delta"]["mutation_id"]})

    def check(self, name: str, arguments: dict[str, Any], by_hand: list[list[str]]) -> dict[str, Any]:
        """Do the same in both; they must be equal then, and after an undo as before."""
        before = whole_state(self.ours)
        result = self.call(name, arguments)
        for command in by_hand:
            git(self.theirs, *command)
        after = whole_state(self.ours)
        ours, theirs = comparable(self.ours), comparable(self.theirs)
        for part, value in ours.items():
            assert value == theirs[part], part
        assert after != before, "nothing happened"
        git(self.ours, "fsck", "--strict")
        with self.door() as door:
            undone = result_of(call(door, "undo", {"operation": result["delta"]["mutation_id"]}))
            assert whole_state(self.ours) == before
            result_of(call(door, "undo", {"operation": undone["mutation_id"]}))
            assert whole_state(self.ours) == after
        return result

    def check_refused(self, name: str, arguments: dict[str, Any], code: str) -> Any:
        """Call a tool that must refuse and change nothing."""
        before = whole_state(self.ours)
        with self.door() as door:
            answer = call(door, name, arguments)
            assert error_of(answer) == code
            assert answer.error is not None
            assert answer.error.message
            assert answer.error.required_action
        assert whole_state(self.ours) == before
        return answer.error


def make_twins(directory: Path, prepare: Callable[[Path], None]) -> Twins:
    """Make both by the same steps; they have to have paths of the same form. `prepare` depends on its argument only."""
    assert prepare.__closure__ is None
    twins = Twins(directory / "ours" / "tree", directory / "theirs" / "tree")
    for root in (twins.ours, twins.theirs):
        copied(root.parent, prepare.__code__, lambda template: _prepare(template / "tree", prepare))
    return twins


def _prepare(root: Path, prepare: Callable[[Path], None]) -> None:
    prepare(root)
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@example.invalid")


def comparable(root: Path) -> dict[str, Any]:
    """Return everything about a repository that does not depend on when or where it was made."""
    state = whole_state(root)
    place = str(root.parent)
    contents = {
        line: git(root, "rev-parse", f"{line}^{{tree}}").strip()
        for line in git(root, "for-each-ref", "--format=%(refname)").split()
        if "refs/codeplane/" not in line
    }
    shapes = git(root, "log", "--exclude=refs/codeplane/*", "--all", "--format=%T %s")
    stashes = [line.partition(" ")[2] for line in state["stash"].splitlines()]
    status = [line for line in state["status"].splitlines() if not line.startswith("# branch.oid")]
    return {
        "trees": contents,
        "history": sorted(set(shapes.splitlines())),
        "head": state["head"] if state["head"].startswith("ref: ") else git(root, "rev-parse", "HEAD^{tree}"),
        "index": state["index"],
        "stash": stashes,
        "status": status,
        "progress": state["progress"],
        "config": state["config"].replace(place, "PLACE"),
        "files": state["files"],
    }
