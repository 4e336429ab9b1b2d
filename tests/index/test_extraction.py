"""Extraction in other processes: everything is answered, whatever becomes of them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.core.processes import WorkerGoneError, WorkerProcess
from codeplane.index import extraction, sweep, update
from codeplane.index.extraction import CRASHED, BackgroundTask, ExtractionJob, ExtractionPool, extract_here
from codeplane.index.facts.encoded import EncodedFacts
from index.facts_dump import dump_facts
from support.doors import open_test_workspace
from support.repositories import make_repository


def packed(tmp_path: Path, texts: list[bytes]) -> tuple[Path, list[ExtractionJob]]:
    """Return a pack of texts and a job for each."""
    pack = tmp_path / "pack"
    pack.write_bytes(b"".join(texts))
    jobs, offset = [], 0
    for number, text in enumerate(texts):
        jobs.append(ExtractionJob(number, offset, len(text), "python"))
        offset += len(text)
    return pack, jobs


def test_other_processes_give_the_same_facts(tmp_path: Path) -> None:
    texts = [f"def f{number}(a): return a\n".encode() for number in range(200)]
    pack, jobs = packed(tmp_path, texts)
    with closing(ExtractionPool(pack)) as pool:
        for job in jobs:
            if pool.submit(job):
                pool.send()
        found = dict(pool.results())
    assert found == {job: extract_here(job, texts[job.key]) for job in jobs}


@pytest.mark.parametrize("fate", ["well", "not started", "ended", "of a language that is none"])
def test_processes_that_are_started_in_advance_give_the_same_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fate: str
) -> None:
    texts = [f"def f{number}(a): return a\n".encode() for number in range(80)]
    pack, jobs = packed(tmp_path, texts)
    real = extraction._start
    n_starts = 0

    def start(pack: Path) -> WorkerProcess:
        nonlocal n_starts
        n_starts += 1
        if n_starts <= 2 and fate == "not started":
            raise CodePlaneError("FILE_NOT_FOUND", "no program")
        companion = real(pack)
        if n_starts <= 2 and fate == "ended":
            companion.end()
        return companion

    monkeypatch.setattr(extraction, "_start", start)
    expected = ["python", "unheard of"] if fate == "of a language that is none" else ["python"]
    with closing(ExtractionPool(pack, expected)) as pool:
        for job in jobs:
            if pool.submit(job):
                pool.send()
        found = dict(pool.results())
    assert found == {job: extract_here(job, texts[job.key]) for job in jobs}


def test_a_text_that_ends_its_process_is_named_and_the_others_have_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack, jobs = packed(tmp_path, [b"a = 1\n", b"boom\n", b"c = 2\n"])
    real = extraction._ask

    def ask(worker: WorkerProcess, batch: list[ExtractionJob]) -> list[EncodedFacts | None]:
        if any(job.key == 1 for job in batch):
            worker.close()
            raise WorkerGoneError
        return real(worker, batch)

    monkeypatch.setattr(extraction, "_ask", ask)
    with closing(ExtractionPool(pack)) as pool:
        for job in jobs:
            pool.submit(job)
        found = {job.key: facts for job, facts in pool.results()}
    assert [facts.problem for _, facts in sorted(found.items()) if facts is not None] == ["", CRASHED, ""]


def test_a_companion_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    companion = WorkerProcess((sys.executable, "-c", "import time; time.sleep(60)"), tmp_path)
    with pytest.raises(WorkerGoneError):
        companion.ask(b"x", 0.2)


@pytest.mark.parametrize("fate", ["well", "not started", "ended", "in the middle"])
def test_what_is_done_apart_is_the_same_whatever_becomes_of_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fate: str
) -> None:
    files: dict[str, str | bytes] = {f"p/m{number}.py": f"def needle_{number}(a): return a\n" for number in range(30)}
    root = make_repository(tmp_path / "repo", {"p/__init__.py": "", **files})
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        expected = dump_facts(workspace)
    (root / ".codeplane").rename(tmp_path / "old")
    begun: list[str] = []

    class Fated(BackgroundTask):
        def __init__(self, pack: Path, name: str, *values: object) -> None:
            begun.append(name)
            super().__init__(pack, name, *values)
            if fate == "in the middle" and self._worker is not None:
                self._worker.end()

        def _run(self, worker: WorkerProcess, message: bytes) -> None:
            if fate == "ended":
                worker.end()
            super()._run(worker, message)

    def not_started(pack: Path) -> WorkerProcess:
        raise CodePlaneError("INTERNAL_ERROR", f"no process for {pack}")

    monkeypatch.setattr(update, "MANY_BYTES", 1)
    monkeypatch.setattr(update, "BackgroundTask", Fated)
    if fate == "not started":
        monkeypatch.setattr(extraction, "_start", not_started)
        monkeypatch.setattr(update._Intake, "read_with_others", update._Intake.read_here)
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        assert dump_facts(workspace) == expected
        assert [hit.path for hit in workspace.index.lexical_search("needle_7", 5)] == ["p/m7.py"]
        assert len(list((workspace.places.private / "tantivy").glob("gen-*"))) == 1
    assert begun == ["rank"]


@pytest.mark.parametrize("many_bytes", [1, 1_000_000], ids=["much to do", "little to do"])
def test_a_first_build_of_many_files_prepares_during_its_sweep_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many_bytes: int
) -> None:
    files: dict[str, str | bytes] = {f"p/m{number}.py": f"def needle_{number}(a): return a\n" for number in range(30)}
    root = make_repository(tmp_path / "repo", files)
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        expected = dump_facts(workspace)
    (root / ".codeplane").rename(tmp_path / "old")
    pools: list[ExtractionPool] = []
    started: list[WorkerProcess] = []
    real_start, real_init = extraction._start, ExtractionPool.__init__

    def start(pack: Path) -> WorkerProcess:
        started.append(real_start(pack))
        return started[-1]

    def init(self: ExtractionPool, pack: Path, expected: Iterable[str] = ()) -> None:
        pools.append(self)
        real_init(self, pack, expected)

    monkeypatch.setattr(extraction, "_start", start)
    monkeypatch.setattr(ExtractionPool, "__init__", init)
    monkeypatch.setattr(update, "MANY_BYTES", many_bytes)
    monkeypatch.setattr(sweep, "MANY_FILES", 20)
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        assert dump_facts(workspace) == expected
        assert len(pools) == 1
        assert all(one._process.returncode is not None for one in started)


_BUILD = """
import sys
from pathlib import Path
from codeplane.index import update
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace
update.MANY_BYTES = 1
print("go", flush=True)
open_workspace(WorkspaceRequest(Path(sys.argv[1]))).index.refresh()
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.2, 0.5, 0.8])
def test_a_build_with_workers_killed_at_some_moment_is_right_next_time(tmp_path: Path, after: float) -> None:
    body = "".join(f"def f{number}(a):\n    return a + {number}\n" for number in range(60))
    files: dict[str, str | bytes] = {f"p/m{number}.py": f"import p.m0\n{body}# {number}\n" for number in range(80)}
    root = make_repository(tmp_path / "repo", {"p/__init__.py": "", **files})
    argv = [sys.executable, "-c", _BUILD, str(root)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        # The moment is what is tried; nothing depends on how far the build came.
        time.sleep(after)
        os.killpg(child.pid, signal.SIGKILL)
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        survived = dump_facts(workspace)["p/m7.py"]
        assert len(workspace.index.lexical_search("f59", 300)) == 80
    (root / ".codeplane").rename(tmp_path / "old")
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        assert dump_facts(workspace)["p/m7.py"] == survived
