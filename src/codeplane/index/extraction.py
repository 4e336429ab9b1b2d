"""Extract facts from texts of the pack, and other work that can be done apart, in processes when there is much to do.

Parsing holds the interpreter's lock, so that only processes run in parallel; starting them costs 0.2 s, which a few
files do not repay. A file whose parser crashes or hangs ends its process, not this one, and is named.
"""

import marshal
import queue
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from codeplane.core.errors import CodePlaneError
from codeplane.core.processes import WorkerGoneError, WorkerProcess
from codeplane.index.facts.encoded import EncodedFacts, encode_facts, encoded
from codeplane.languages.facts import FileFacts, no_facts
from codeplane.languages.parsing import TIME_LIMIT_S

# Below so many bytes of source this process does the work itself.
MANY_BYTES = 600_000
CRASHED = "the parser failed on it"
_ERRAND_SECONDS = 600.0
_N_WORKERS = 2
_BATCH_BYTES = 100_000
_BATCH_FILES = 30
_Batch = list["ExtractionJob"]
OfferedFacts = Mapping[tuple[str, bytes], FileFacts]
"""Facts that somebody has at hand, by dialect and text."""


class ExtractionJob(NamedTuple):
    """A text to extract facts from: where it lies in the pack, and whose it is."""

    key: int
    offset: int
    length: int
    dialect: str


class ExtractionPool:
    """Two processes that extract facts while this one goes on.

    They start with their first jobs; where `expected` languages are given, at once, and load these.
    Invariant: every job that is submitted is answered exactly once by `results`, whatever becomes of the processes.
    """

    def __init__(self, pack: Path, expected: Iterable[str] = ()) -> None:
        self.pack = pack
        self._expected = tuple(expected)
        self._jobs: queue.Queue[_Batch | None] = queue.Queue()
        self._answers: queue.Queue[tuple[_Batch, list[EncodedFacts | None]] | BaseException] = queue.Queue()
        self._waiting: _Batch = []
        self._waiting_bytes = 0
        self._n_batches = 0
        self._is_cancelled = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(_N_WORKERS)]
        for thread in self._threads:
            thread.start()

    def submit(self, job: ExtractionJob) -> bool:
        """Take a job; true when a batch went out, so that the text of all jobs up to here must be on disk before."""
        self._waiting.append(job)
        self._waiting_bytes += job.length
        return self._waiting_bytes >= _BATCH_BYTES or len(self._waiting) >= _BATCH_FILES

    def send(self) -> None:
        """Hand out the jobs that wait."""
        if self._waiting:
            self._n_batches += 1
            self._jobs.put(self._waiting)
            self._waiting, self._waiting_bytes = [], 0

    def results(self) -> Iterator[tuple[ExtractionJob, EncodedFacts | None]]:
        """Hand out what waits and yield the facts of every job, in the order in which they come."""
        self.send()
        for _ in self._threads:
            self._jobs.put(None)
        for _ in range(self._n_batches):
            answer = self._answers.get()
            if isinstance(answer, BaseException):
                raise answer
            yield from zip(*answer, strict=True)

    def close(self) -> None:
        """Let the processes end; a second time does nothing."""
        self._is_cancelled = True
        with suppress(queue.Empty):
            while True:
                self._jobs.get_nowait()
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        worker = self._expecting() if self._expected else None
        try:
            while (batch := self._jobs.get()) is not None:
                worker, answer = self._answered(worker, batch)
                self._answers.put((batch, answer))
        except BaseException as error:
            # Whoever waits for this batch would wait for ever.
            self._answers.put(error)
            raise
        finally:
            if worker is not None:
                worker.close()

    def _expecting(self) -> WorkerProcess | None:
        """Start a process before there is anything to do; None when it failed, so that the first job starts one."""
        with suppress(WorkerGoneError, CodePlaneError):
            worker = _start(self.pack)
            worker.ask(marshal.dumps(("load", self._expected)), 4 * TIME_LIMIT_S)
            return worker
        return None

    def _answered(
        self, worker: WorkerProcess | None, batch: _Batch
    ) -> tuple[WorkerProcess | None, list[EncodedFacts | None]]:
        """Ask for a batch; when its process fails, ask for each job alone, so that only the culprit has no facts."""
        try:
            worker = worker or _start(self.pack)
            return worker, _ask(worker, batch)
        except (WorkerGoneError, CodePlaneError):
            worker = None
        answers: list[EncodedFacts | None] = []
        for job in batch:
            if self._is_cancelled:
                answers.append(None)
                continue
            try:
                worker = worker or _start(self.pack)
                answers.extend(_ask(worker, [job]))
            except (WorkerGoneError, CodePlaneError):
                worker = None
                answers.append(encoded(no_facts(b"", CRASHED), b""))
        return worker, answers


class BackgroundTask:
    """One question to a process of its own, answered while this one goes on."""

    def __init__(self, pack: Path, name: str, *values: Any) -> None:
        self._answer: bytes | None = None
        self._worker: WorkerProcess | None = None
        try:
            self._worker = _start(pack)
        except CodePlaneError:
            return
        message = marshal.dumps((name, *values))
        self._thread = threading.Thread(target=self._run, args=(self._worker, message), daemon=True)
        self._thread.start()

    def hurry(self) -> None:
        """Let the process know that its answer is waited for."""
        if self._worker is not None:
            self._worker.end_questions()

    @property
    def is_over(self) -> bool:
        """Tell whether there is an answer, or will be none."""
        return self._worker is None or not self._thread.is_alive()

    def answer(self, seconds: float | None = None) -> bytes | None:
        """Wait for the answer; None when the process failed or takes longer, so that whoever asks does it himself."""
        if self._worker is not None:
            self._thread.join(seconds)
        return self._answer

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._worker is not None:
            self._worker.end()
            self._thread.join()

    def _run(self, worker: WorkerProcess, message: bytes) -> None:
        with suppress(WorkerGoneError):
            self._answer = worker.ask(message, _ERRAND_SECONDS)
            worker.close()


def _start(pack: Path) -> WorkerProcess:
    argv = (sys.executable, "-P", "-m", "codeplane.index.extraction_worker", str(pack))
    return WorkerProcess(argv, pack.parent)


def extract_here(
    job: ExtractionJob, source: bytes, offered: OfferedFacts = MappingProxyType({})
) -> EncodedFacts | None:
    """Extract facts in this process, unless somebody has just done so."""
    return encode_facts(source, job.dialect, offered.get((job.dialect, source)))


def _ask(worker: WorkerProcess, batch: _Batch) -> list[EncodedFacts | None]:
    message = marshal.dumps(("extract", [(job.offset, job.length, job.dialect) for job in batch]))
    answer = worker.ask(message, (1 + len(batch)) * 4 * TIME_LIMIT_S)
    return [EncodedFacts(*one) if one is not None else None for one in marshal.loads(answer)]  # noqa: S302 - our own
