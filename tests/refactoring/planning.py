"""Plan a move or deletion in a small repository, carry it out, and look at the files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.reader import FactReader
from codeplane.refactor.move import plan_move
from codeplane.refactor.plan import CODE, Draft, edited
from support.doors import open_test_workspace
from support.repositories import make_repository


@dataclass(frozen=True)
class MoveCase:
    """`after` has the files that differ afterwards, None for one that is gone; all others must be as before."""

    title: str
    files: dict[str, str]
    source: str
    target: str
    after: dict[str, str | None]


def planned(root: Path, plan: Callable[[FactReader], Draft]) -> Draft:
    """Return what a planner says about a repository."""
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        with workspace.index.facts() as reader:
            return plan(reader)


def move(root: Path, source: str, target: str) -> Draft:
    """Plan a move and carry it out."""
    draft = planned(root, lambda reader: plan_move(reader, source, target))
    carry_out(root, draft)
    return draft


def carry_out(root: Path, draft: Draft, groups: frozenset[str] = frozenset({CODE})) -> None:
    """Make the edits, moves and deletions of a draft."""
    new: dict[str, bytes] = {}
    targets = {one.source: one.target for one in draft.moves}
    for path in {one.path for one in draft.edits if one.group in groups} | targets.keys():
        file = root / path
        old = file.read_bytes() if file.exists() else b""
        edits = [one for one in draft.edits if one.path == path and one.group in groups]
        new[targets.get(path, path)] = edited(old, edits)
    for path in (*targets, *draft.deletes):
        (root / path).unlink()
    for path, text in new.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text)


def files_of(root: Path) -> dict[str, str]:
    """Return the files of a repository with their texts."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes().decode()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.relative_to(root).parts[0] not in {".git", ".codeplane"}
    }


def check_move(case: MoveCase, directory: Path) -> Draft:
    """Carry out the move of a case and compare all files."""
    root = make_repository(directory / "repo", dict(case.files))
    draft = move(root, case.source, case.target)
    expected = {path: text for path, text in {**case.files, **case.after}.items() if text is not None}
    assert files_of(root) == expected
    return draft


def refused(root: Path, plan: Callable[[FactReader], Draft]) -> CodePlaneError:
    """Return the error of a plan that is refused."""
    with pytest.raises(CodePlaneError) as caught:
        planned(root, plan)
    return caught.value
