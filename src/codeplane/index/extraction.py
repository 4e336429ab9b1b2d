"""Extract facts from texts of the pack in two processes, when an update has much to do.

Parsing holds the interpreter's lock, so only processes run in parallel; starting them costs 0.2 s, which a few files
do not repay. A text whose parser crashes or hangs ends its process, not this one, and is named.
"""

import marshal
import queue
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from codeplane.core.errors import CodePlaneError
from codeplane.core.processes import WorkerGoneError, WorkerProcess
from codeplane.index.facts.encoded import EncodedFacts, encoded
from codeplane.languages.facts import no_facts
from codeplane.languages.parsing import TIME_LIMIT_S

# Below this many bytes of source an update extracts the facts itself.
MANY_BYTES: Final = 600_000
CRASHED: Final = "the parser failed on it"
_N_WORKERS: Final = 2
_BATCH_BYTES: Final = 100_000
_BATCH_FILES: Final = 30
_Batch = list["ExtractionJob"]


class ExtractionJob(NamedTuple):
    """A text to extract facts from: its id and dialect, and its place in the pack."""

    text_id: int
    dialect: str
    offset: int
    length: int


class ExtractionPool:
    """Two worker processes that extract facts while this process reads on.

    Invariant: every submitted job is answered exactly once by `results`, even when workers die.
    """

    def __init__(self, pack: Path) -> None:
        self._pack = pack
        self._jobs: queue.Queue[_Batch | None] = queue.Queue()
        self._answers: queue.Queue[tuple[_Batch, list[EncodedFacts | None]] | BaseException] = queue.Queue()
        self._waiting: _Batch = []
        self._n_batches = 0
        self._is_cancelled = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(_N_WORKERS)]
        for thread in self._threads:
            thread.start()

    def submit(self, job: ExtractionJob) -> bool:
        """Take a job; true when enough wait for `send`, before which their texts must be on disk."""
        self._waiting.append(job)
        return len(self._waiting) >= _BATCH_FILES or sum(one.length for one in self._waiting) >= _BATCH_BYTES

    def send(self) -> None:
        """Hand out the jobs that wait."""
        if self._waiting:
            self._n_batches += 1
            self._jobs.put(self._waiting)
            self._waiting = []

    def results(self) -> Iterator[tuple[ExtractionJob, EncodedFacts | None]]:
        """Hand out the jobs that wait and yield the facts of every job, in the order of completion."""
        self.send()
        for _ in range(self._n_batches):
            answer = self._answers.get()
            if isinstance(answer, BaseException):
                raise answer
            yield from zip(*answer, strict=True)

    def close(self) -> None:
        """Let the processes end."""
        self._is_cancelled = True
        with suppress(queue.Empty):
            while True:
                self._jobs.get_nowait()
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        worker: WorkerProcess | None = None
        try:
            while (batch := self._jobs.get()) is not None:
                worker, answer = self._answered(worker, batch)
                self._answers.put((batch, answer))
        except BaseException as error:
            # Otherwise the caller would wait for this batch for ever.
            self._answers.put(error)
            raise
        finally:
            if worker is not None:
                worker.close()

    def _answered(
        self, worker: WorkerProcess | None, batch: _Batch
    ) -> tuple[WorkerProcess | None, list[EncodedFacts | None]]:
        """Ask for a batch; when its worker fails, ask for each job alone, so that only the culprit has no facts."""
        try:
            worker = worker or _start(self._pack)
            return worker, _ask(worker, batch)
        except (WorkerGoneError, CodePlaneError):
            worker = None
        answers: list[EncodedFacts | None] = []
        for job in batch:
            if self._is_cancelled:
                answers.append(None)
                continue
            try:
                worker = worker or _start(self._pack)
                answers.extend(_ask(worker, [job]))
            except (WorkerGoneError, CodePlaneError):
                worker = None
                answers.append(encoded(no_facts(b"", CRASHED), b""))
        return worker, answers


def _start(pack: Path) -> WorkerProcess:
    argv = (sys.executable, "-P", "-m", "codeplane.index.extraction_worker", str(pack))
    return WorkerProcess(argv, pack.parent)


def _ask(worker: WorkerProcess, batch: _Batch) -> list[EncodedFacts | None]:
    message = marshal.dumps([(job.offset, job.length, job.dialect) for job in batch])
    answer = worker.ask(message, (1 + len(batch)) * 4 * TIME_LIMIT_S)
    return [EncodedFacts(*one) if one is not None else None for one in marshal.loads(answer)]  # noqa: S302 - our own
