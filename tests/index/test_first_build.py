"""A large first build answers what rests on texts and definitions before it has made its links."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.index import update
from codeplane.index.reconcile import Reconciler
from codeplane.index.sweep import Sweeper
from codeplane.index.update import IndexUpdate
from codeplane.ledger.callers import Caller
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.call_command import cli_caller
from codeplane.workspace.workspace import Workspace
from index.facts_dump import dump_facts
from support.doors import open_test_workspace
from support.repositories import make_repository, write

FILES: dict[str, str | bytes] = {
    "p/__init__.py": "",
    "p/a.py": "class Base:\n    def m(self): pass\n",
    "p/b.py": "from p.a import Base\n\n\nclass Child(Base):\n    pass\n",
}
_SECONDS = 30


class _Build:
    """A first build that stands still before its links until it is told to go on."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.reached = threading.Event()
        self.go_on = threading.Event()
        self.door = Door(workspace, OPERATIONS)
        self.caller: Caller = cli_caller(workspace)
        self.answers: dict[str, str] = {}

    def ask(self, query: str, mode: str, **more: Any) -> str:
        arguments = {"query": query, "mode": mode, **more}
        self.answers[query] = dispatch(self.door, "search", arguments, self.caller).text()
        return self.answers[query]

    def started(self, target: Callable[..., object], *arguments: object) -> threading.Thread:
        thread = threading.Thread(target=target, args=arguments)
        thread.start()
        return thread


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo", dict(FILES))


@pytest.fixture(params=["long ago", "just now"])
def build(root: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[_Build]:
    monkeypatch.setattr(update, "MANY_BYTES", 1)
    with open_test_workspace(root) as workspace:
        one = _Build(workspace)
        # As if the files had been written long before they are read, or at the very moment.
        now_ns = 1 << 62 if request.param == "long ago" else 0
        workspace.index._reconciler._now_ns = lambda: now_ns
        link = IndexUpdate.link

        def waiting(self: IndexUpdate) -> None:
            one.reached.set()
            assert one.go_on.wait(_SECONDS)
            link(self)

        monkeypatch.setattr(IndexUpdate, "link", waiting)
        building = one.started(workspace.index.refresh)
        assert one.reached.wait(_SECONDS)
        yield one
        one.go_on.set()
        building.join(_SECONDS)
        assert not building.is_alive()


@pytest.mark.parametrize(
    ("query", "mode", "answer"),
    [
        ("Base", "definitions", "p/a.py:1-2 class Base"),
        ("base", "symbol", "p/a.py:1-2 class Base"),
        ("import Base", "lexical", "from p.a import Base"),
    ],
)
def test_definitions_and_lines_are_answered_while_links_are_made(
    build: _Build, query: str, mode: str, answer: str
) -> None:
    assert answer in build.ask(query, mode)


@pytest.mark.parametrize(
    ("query", "mode", "more", "answer"),
    [
        ("Base", "references", {}, "from p.a import Base"),
        ("Child.m", "definitions", {}, "p/a.py:2 method Base.m"),
        ("import Base", "lexical", {"enrichment": "minimal"}, "from p.a import Base"),
    ],
)
def test_what_rests_on_links_waits_for_them(
    build: _Build, query: str, mode: str, more: dict[str, Any], answer: str
) -> None:
    asking = build.started(lambda: build.ask(query, mode, **more))
    asking.join(0.2)
    assert not build.answers
    build.go_on.set()
    asking.join(_SECONDS)
    assert answer in build.answers[query]


@pytest.mark.parametrize("changed", [b"class Bass:", b"class Base;", b"\xffclass Base:", None])
def test_a_change_that_no_stamp_tells_is_waited_for(root: Path, build: _Build, changed: bytes | None) -> None:
    reconciler = build.workspace.index._reconciler
    file = root / "p/a.py"
    content = file.read_bytes()
    if changed is None:
        file.unlink()
    else:
        file.write_bytes(content.replace(b"class Base:", changed))
    unlinked = reconciler._unlinked
    assert unlinked is not None
    assert reconciler._holds_the_same(unlinked) is not bool(unlinked.racy)
    file.write_bytes(content)
    assert reconciler._holds_the_same(unlinked)


def test_a_file_that_was_read_again_later_is_not_read_a_third_time(build: _Build) -> None:
    reconciler = build.workspace.index._reconciler
    unlinked = reconciler._unlinked
    assert unlinked is not None
    assert "class Base" in build.ask("Base", "definitions")
    assert reconciler._unlinked is unlinked
    reconciler._now_ns = lambda: 1 << 62
    assert "class Base" in build.ask("Base", "definitions")
    assert reconciler._unlinked is not None
    assert not reconciler._unlinked.racy


@pytest.mark.parametrize("changed", [{"p/a.py": "class Other: pass\n"}, {"p/new.py": "class Other: pass\n"}])
def test_a_change_meanwhile_is_waited_for(build: _Build, root: Path, changed: dict[str, str | bytes]) -> None:
    write(root, changed)
    asking = build.started(build.ask, "Other", "definitions")
    asking.join(0.2)
    assert not build.answers
    build.go_on.set()
    asking.join(_SECONDS)
    assert "class Other" in build.answers["Other"]


@pytest.mark.parametrize(("where", "name"), [(Reconciler, "_stored"), (Sweeper, "sweep"), (IndexUpdate, "run")])
def test_a_question_that_comes_before_the_definitions_are_there_gets_them_when_they_are(
    root: Path, monkeypatch: pytest.MonkeyPatch, where: type, name: str
) -> None:
    monkeypatch.setattr(update, "MANY_BYTES", 1)
    with open_test_workspace(root) as workspace:
        one = _Build(workspace)
        workspace.index._reconciler._now_ns = lambda: 1 << 62
        is_reading = threading.Event()
        link = IndexUpdate.link
        begun = getattr(where, name)

        def slow(self: object, *arguments: Any) -> object:
            is_reading.set()
            assert one.go_on.wait(_SECONDS)
            return begun(self, *arguments)

        def waiting(self: IndexUpdate) -> None:
            assert one.reached.wait(_SECONDS)
            link(self)

        monkeypatch.setattr(where, name, slow)
        monkeypatch.setattr(IndexUpdate, "link", waiting)
        building = one.started(workspace.index.refresh)
        assert is_reading.wait(_SECONDS)
        asking = one.started(one.ask, "Base", "definitions")
        one.go_on.set()
        asking.join(_SECONDS)
        assert "class Base" in one.answers["Base"]
        assert building.is_alive()
        one.reached.set()
        building.join(_SECONDS)


def test_the_links_are_those_of_a_build_in_one_go(
    build: _Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.go_on.set()
    build.workspace.index.refresh()
    assert build.workspace.index.state().is_linked
    whole = make_repository(tmp_path / "whole" / "repo", dict(FILES))
    monkeypatch.setattr(update, "MANY_BYTES", 10**9)
    with open_test_workspace(whole) as other:
        other.index.refresh()
        assert dump_facts(other) == dump_facts(build.workspace)


class _NoRoomError(Exception):
    """What happens to a build at its worst moment."""


@pytest.fixture
def unlinked(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a tree whose first build ended before its links."""

    def fail(_self: IndexUpdate) -> None:
        raise _NoRoomError

    with monkeypatch.context() as during, open_test_workspace(root) as workspace:
        during.setattr(update, "MANY_BYTES", 1)
        during.setattr(IndexUpdate, "link", fail)
        with pytest.raises(_NoRoomError):
            workspace.index.refresh()
        assert not workspace.index.state().is_linked
    return root


@pytest.mark.parametrize("changed", [{}, {"p/b.py": "from p.a import Base\nBase\n"}, {"p/c.py": "import p.b\n"}])
def test_a_build_that_ended_before_its_links_gets_them_the_next_time(
    unlinked: Path, tmp_path: Path, changed: dict[str, str | bytes]
) -> None:
    write(unlinked, changed)
    with open_test_workspace(unlinked) as workspace:
        workspace.index.refresh()
        assert workspace.index.state().is_linked
        grown = dump_facts(workspace)
        assert workspace.index.lexical_search("Base", 5)
    whole = make_repository(tmp_path / "whole" / "repo", {**FILES, **changed})
    with open_test_workspace(whole) as other:
        other.index.refresh()
        assert dump_facts(other) == grown


def test_the_process_that_failed_to_link_does_so_at_the_next_question(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_test_workspace(root) as workspace:
        with monkeypatch.context() as during:
            during.setattr(update, "MANY_BYTES", 1)
            during.setattr(IndexUpdate, "link", lambda _self: (_ for _ in ()).throw(CodePlaneError("DISK_FULL", "x")))
            with pytest.raises(CodePlaneError):
                workspace.index.refresh()
        one = _Build(workspace)
        assert "from p.a import Base" in one.ask("Base", "references")


def test_another_process_that_comes_during_the_links_finds_them(build: _Build, root: Path) -> None:
    linked = threading.Event()

    def ask_elsewhere() -> None:
        with open_test_workspace(root) as other:
            other.index.refresh()
            assert other.index.state().is_linked
        linked.set()

    # It waits for the lock that the build holds.
    elsewhere = build.started(ask_elsewhere)
    build.go_on.set()
    elsewhere.join(_SECONDS)
    assert linked.is_set()
    assert "from p.a import Base" in build.ask("Base", "references")


@pytest.mark.parametrize("changed", [{}, {"p/a.py": "class Base:\n    x = 1\n"}])
def test_another_process_that_is_first_to_link_leaves_nothing_to_do(
    root: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, str | bytes]
) -> None:
    link = Reconciler._linked

    def overtaken(self: Reconciler, *arguments: Any) -> bool:
        monkeypatch.setattr(Reconciler, "_linked", link)
        write(root, changed)
        with open_test_workspace(root) as other:
            other.index.refresh()
        return link(self, *arguments)

    monkeypatch.setattr(update, "MANY_BYTES", 1)
    monkeypatch.setattr(Reconciler, "_linked", overtaken)
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        assert workspace.index.state().is_linked
        workspace.index.refresh()
        assert "from p.a import Base" in _Build(workspace).ask("Base", "references")
