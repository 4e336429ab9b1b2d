"""Facts that are extracted while a server starts are used where they fit, and change nothing else."""

import marshal
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from codeplane.core.hashing import sha256_bytes
from codeplane.index import head_start, update
from codeplane.index.extraction import ExtractionPool
from codeplane.index.facts.encoded import encode_facts
from codeplane.index.head_start import HeadStart, extract_ahead
from codeplane.surfaces import bridge
from codeplane.surfaces.server import embedded
from index.facts_dump import dump_facts
from support.doors import open_test_workspace
from support.repositories import git, make_repository, write

FILES: dict[str, str | bytes] = {
    "p/__init__.py": "",
    "p/a.py": "class Base:\n    def m(self): pass\n",
    "p/b.py": "from p.a import Base\n\n\nclass Child(Base):\n    pass\n",
    "p/binary.py": b"\xff\xfe",
    "notes.txt": "not source\n",
    "large.py": "x = 1\n" * 40_000,
    "hidden/c.py": "class Hidden: pass\n",
    ".cplignore": "hidden/\n",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(update, "MANY_BYTES", 1)
    root = make_repository(tmp_path / "repo", dict(FILES))
    git(root, "add", "-A", "-f")
    (root / "p" / "link.py").symlink_to(root / "p" / "a.py")
    git(root, "add", "-A")
    return root


def _indexed(root: Path, ahead: HeadStart | None, monkeypatch: pytest.MonkeyPatch) -> tuple[object, int]:
    """Return the facts of a first build, and of how many files they were extracted then."""
    n_jobs = 0
    submit = ExtractionPool.submit

    def counted(self: ExtractionPool, job: object) -> bool:
        nonlocal n_jobs
        n_jobs += 1
        return submit(self, job)  # type: ignore[arg-type]

    with monkeypatch.context() as during, open_test_workspace(root) as workspace:
        during.setattr(ExtractionPool, "submit", counted)
        workspace.head_start = ahead
        workspace.index.refresh()
        return dump_facts(workspace), n_jobs


def _ended(root: Path) -> HeadStart:
    """Return a head start that has done all there is to do."""
    begun = HeadStart(root)
    assert begun._background_task.answer(60) is not None
    return begun


def test_facts_are_those_of_readable_tracked_sources(root: Path) -> None:
    found = _ended(root).facts()
    texts = [(root / path).read_bytes() for path in ("p/__init__.py", "p/a.py", "p/b.py", "p/binary.py")]
    expected = {(sha256_bytes(text), "python"): encode_facts(text, "python") for text in texts}
    assert found == {key: facts for key, facts in expected.items() if facts is not None and not facts.problem}
    assert len(found) >= 3


@pytest.mark.parametrize("change", [lambda _root: None, lambda root: write(root, {"p/a.py": "class Other: pass\n"})])
def test_an_index_with_a_head_start_is_that_without(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    ahead = _ended(root)
    n_ahead = len(ahead.facts())
    change(root)
    helped, n_helped = _indexed(root, ahead, monkeypatch)
    alone = make_repository(tmp_path / "alone" / "repo", dict(FILES))
    git(alone, "add", "-A", "-f")
    (alone / "p" / "link.py").symlink_to(alone / "p" / "a.py")
    git(alone, "add", "-A")
    change(alone)
    unhelped, n_unhelped = _indexed(alone, None, monkeypatch)
    assert helped == unhelped
    assert 0 < n_unhelped - n_helped <= n_ahead


def test_a_head_start_that_failed_changes_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = HeadStart(root)
    ahead.close()
    facts, n_jobs = _indexed(root, ahead, monkeypatch)
    assert facts
    assert n_jobs


def test_it_ends_with_what_it_has_when_it_is_asked(root: Path) -> None:
    n_asked = 0

    def is_enough() -> bool:
        nonlocal n_asked
        n_asked += 1
        return n_asked > 4

    found = marshal.loads(extract_ahead(root, is_enough))
    assert 0 < len(found) < len(marshal.loads(extract_ahead(root, lambda: False)))


def test_the_process_sees_that_it_is_asked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_start, "_MAX_SECONDS", 600.0)
    n_files = 1000
    write(root, {f"many/m{number}.py": f"value_{number} = {list(range(3000))}\n" for number in range(n_files)})
    git(root, "add", "-A")
    begun = HeadStart(root)
    begun._background_task.hurry()
    answer = begun._background_task.answer(60)
    begun.close()
    # Asked before it was told what to do, it has nothing; it never has everything.
    assert answer is None or len(marshal.loads(answer)) < n_files


@pytest.mark.parametrize(
    ("n_bytes", "has_index", "expected"), [(300_000, False, True), (300_000, True, False), (1000, False, False)]
)
def test_only_a_large_repository_without_an_index_gets_one(
    tmp_path: Path, n_bytes: int, has_index: bool, expected: bool
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").write_bytes(b"x" * n_bytes)
    if has_index:
        (tmp_path / ".codeplane").mkdir()
        (tmp_path / ".codeplane" / "index.db").touch()
    begun = bridge._begin_head_start(str(tmp_path))
    assert isinstance(begun, HeadStart) is expected
    if isinstance(begun, HeadStart):
        # It is no repository, so nothing comes of it.
        assert begun.facts() == {}


def test_one_is_begun_however_often_this_process_tries_to_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    def begin(root: str) -> object:
        begun.append(root)
        return object()

    monkeypatch.setattr(bridge, "_begin_head_start", begin)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(embedded, "start_embedded", lambda *_: None)
    options = bridge._Options()
    options.start = str(tmp_path)
    one = bridge._Bridge(options)
    assert one._try_to_serve()
    assert one._try_to_serve()
    assert len(begun) == 1


def test_a_linked_working_tree_gets_none(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    assert bridge._begin_head_start(str(tmp_path)) is None
