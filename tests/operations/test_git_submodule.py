"""git_submodule: nested repositories."""

from pathlib import Path
from typing import Any

import pytest

from support.git_twins import Twins, comparable, make_twins
from support.repositories import git, make_repository, write


@pytest.fixture
def twins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Twins:
    """Each has a library beside it, and a submodule `lib` that is not initialised in a fresh clone."""
    configuration = tmp_path / "gitconfig"
    configuration.write_text('[protocol "file"]\n\tallow = always\n', encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text(configuration.read_text(encoding="utf-8"), encoding="utf-8")

    def prepare(root: Path) -> None:
        make_repository(root.parent / "library", {"l.py": "L = 1\n"})
        make_repository(root.parent / "origin", {"a.txt": "a\n"})
        git(root.parent / "origin", "submodule", "add", "-q", "../library", "lib")
        git(root.parent / "origin", "commit", "-q", "-m", "with library")
        git(root.parent, "clone", "-q", "origin", root.name)

    return make_twins(tmp_path, prepare)


def inner(root: Path) -> str:
    """Return what git says of the submodules."""
    return git(root, "submodule", "status")


ACTIONS: dict[str, tuple[list[dict[str, Any]], list[list[str]]]] = {
    "init": ([{"action": "init"}], [["submodule", "init"]]),
    "update": ([{"action": "update"}], [["submodule", "update", "--init"]]),
    "sync": ([{"action": "init"}, {"action": "sync"}], [["submodule", "init"], ["submodule", "sync"]]),
    "deinit": (
        [{"action": "update"}, {"action": "deinit", "paths": "lib"}],
        [["submodule", "update", "--init"], ["submodule", "deinit", "lib"]],
    ),
    "add": (
        [{"action": "add", "url": "../library", "paths": "more/lib"}],
        [["submodule", "add", "../library", "more/lib"]],
    ),
    "remove": (
        [{"action": "update"}, {"action": "remove", "paths": ["lib"]}],
        [["submodule", "update", "--init"], ["submodule", "deinit", "-f", "lib"], ["rm", "-q", "-f", "lib"]],
    ),
}


@pytest.mark.parametrize("what", ACTIONS)
def test_each_action_does_what_git_does(twins: Twins, what: str) -> None:
    calls, by_hand = ACTIONS[what]
    for arguments in calls:
        twins.call("git_submodule", arguments)
    for command in by_hand:
        git(twins.theirs, *command)
    assert inner(twins.ours) == inner(twins.theirs)
    ours, theirs = comparable(twins.ours), comparable(twins.theirs)
    for part in ours:
        assert ours[part] == theirs[part], part


def test_states_are_told_apart(twins: Twins) -> None:
    def state() -> str:
        return str(twins.call("git_submodule", {"action": "status"})["submodules"][0]["state"])

    assert state() == "uninitialized"
    twins.call("git_submodule", {"action": "update"})
    assert state() == "clean"
    git(twins.ours / "lib", "commit", "-q", "--allow-empty", "-m", "inside")
    assert state() == "moved"
    write(twins.ours / "lib", {"l.py": "L = 2\n"})
    assert state() == "dirty"


def test_changes_inside_are_not_thrown_away_without_force_and_kept_with_it(twins: Twins) -> None:
    twins.call("git_submodule", {"action": "update"})
    write(twins.ours / "lib", {"l.py": "mine\n", "new.py": "new\n"})
    for action in ("deinit", "remove"):
        twins.check_refused("git_submodule", {"action": action, "paths": "lib"}, "GIT_WOULD_OVERWRITE")
    result = twins.call("git_submodule", {"action": "deinit", "paths": "lib", "force": True})
    modules = twins.ours / ".git" / "modules" / "lib"
    assert git(modules, "--git-dir=.", "show", f"{result['kept'][0]}:l.py") == "mine\n"
    assert git(modules, "--git-dir=.", "show", f"{result['kept'][0]}:new.py") == "new\n"


def test_removing_can_be_undone_and_the_files_come_back_with_an_update(twins: Twins) -> None:
    twins.call("git_submodule", {"action": "update"})
    before = comparable(twins.ours)
    result = twins.call("git_submodule", {"action": "remove", "paths": "lib"})
    assert not (twins.ours / "lib").exists()
    twins.undo(result)
    twins.call("git_submodule", {"action": "update"})
    after = comparable(twins.ours)
    for part in before:
        assert before[part] == after[part], part


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": ({"action": "update", "paths": "nope"}, "GIT_SUBMODULE_UNUSABLE"),
    "no path": ({"action": "remove"}, "INVALID_ARGUMENTS"),
    "add without a path": ({"action": "add", "url": "x"}, "INVALID_ARGUMENTS"),
    "add an option": ({"action": "add", "url": "--upload-pack=x", "paths": "x"}, "INVALID_FORMAT"),
    "add into git's directory": ({"action": "add", "url": "../library", "paths": ".git/x"}, "PROTECTED_PATH"),
    "add outside": ({"action": "add", "url": "../library", "paths": "../x"}, "PATH_OUTSIDE_REPOSITORY"),
    "add twice": ({"action": "add", "url": "../library", "paths": "lib"}, "GIT_REF_EXISTS"),
    "add from nowhere": ({"action": "add", "url": "../nowhere", "paths": "x"}, "GIT_REMOTE_UNKNOWN"),
    "a name like an option": ({"action": "add", "url": "../library", "paths": "x", "name": "--x"}, "GIT_REF_INVALID"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_and_changes_nothing(twins: Twins, what: str) -> None:
    arguments, code = BAD[what]
    before = inner(twins.ours)
    twins.check_refused("git_submodule", arguments, code)
    assert inner(twins.ours) == before
