"""Extraction in other processes: everything is answered, whatever becomes of them."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from codeplane.core.processes import WorkerGoneError, WorkerProcess
from codeplane.index import extraction, update
from codeplane.index.extraction import CRASHED, ExtractionJob, ExtractionPool
from codeplane.index.facts.encoded import EncodedFacts, encode_facts
from index.facts_dump import dump_facts
from support.doors import open_test_workspace
from support.repositories import make_repository


def packed(tmp_path: Path, texts: list[bytes]) -> tuple[Path, list[ExtractionJob]]:
    """Return a pack of texts and a job for each."""
    pack = tmp_path / "pack"
    pack.write_bytes(b"".join(texts))
    jobs, offset = [], 0
    for number, text in enumerate(texts):
        jobs.append(ExtractionJob(number, "python", offset, len(text)))
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
    assert found == {job: encode_facts(texts[job.text_id], job.dialect) for job in jobs}


def test_a_text_that_ends_its_process_is_named_and_the_others_have_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack, jobs = packed(tmp_path, [b"a = 1\n", b"boom\n", b"c = 2\n"])
    real = extraction._ask

    def ask(worker: WorkerProcess, batch: list[ExtractionJob]) -> list[EncodedFacts | None]:
        if any(job.text_id == 1 for job in batch):
            worker.close()
            raise WorkerGoneError
        return real(worker, batch)

    monkeypatch.setattr(extraction, "_ask", ask)
    with closing(ExtractionPool(pack)) as pool:
        for job in jobs:
            pool.submit(job)
        found = {job.text_id: facts for job, facts in pool.results()}
    assert [facts.problem for _, facts in sorted(found.items()) if facts is not None] == ["", CRASHED, ""]


def test_a_companion_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    companion = WorkerProcess((sys.executable, "-c", "import time; time.sleep(60)"), tmp_path)
    with pytest.raises(WorkerGoneError):
        companion.ask(b"x", 0.2)


def test_a_build_with_workers_gives_the_same_facts_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: dict[str, str | bytes] = {f"p/m{number}.py": f"def needle_{number}(a): return a\n" for number in range(30)}
    root = make_repository(tmp_path / "repo", {"p/__init__.py": "", **files, "p/copy.py": files["p/m1.py"]})
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        expected = dump_facts(workspace)
    (root / ".codeplane").rename(tmp_path / "old")
    started: list[WorkerProcess] = []
    real = extraction._start

    def start(pack: Path) -> WorkerProcess:
        started.append(real(pack))
        return started[-1]

    monkeypatch.setattr(extraction, "_start", start)
    monkeypatch.setattr(update, "MANY_BYTES", 1)
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        assert dump_facts(workspace) == expected
    assert started
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
    body = "".join(f"def f{number}(a):\n    return a + {number}\n" for number in range(30))
    files: dict[str, str | bytes] = {f"p/m{number}.py": f"import p.m0\n{body}# {number}\n" for number in range(40)}
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
        assert len(workspace.index.lexical_search("f29", 300)) == 40
    (root / ".codeplane").rename(tmp_path / "old")
    with open_test_workspace(root) as workspace:
        workspace.index.refresh()
        assert dump_facts(workspace)["p/m7.py"] == survived
