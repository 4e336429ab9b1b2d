"""A process that turns texts of the pack into facts: reads jobs from standard input, writes facts to standard output.

Started as `python -m codeplane.index.extraction_worker PACK`. A message is four bytes of length and a marshalled value:
a job is a list of (offset, length, dialect), its answer a list of facts as tuples. It ends when its input does.
"""

import gc
import marshal
import os
import sys
from typing import BinaryIO

from codeplane.index.facts.encoded import encode_facts

LENGTH_BYTES = 4


def main(pack: str) -> None:
    """Serve until the input ends."""
    # Collecting costs a tenth of the time; the little that is in cycles is collected rarely.
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    descriptor = os.open(pack, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _serve(descriptor, sys.stdin.buffer, sys.stdout.buffer)
    finally:
        os.close(descriptor)


def _serve(descriptor: int, jobs: BinaryIO, answers: BinaryIO) -> None:
    while True:
        head = jobs.read(LENGTH_BYTES)
        if len(head) < LENGTH_BYTES:
            return
        job = marshal.loads(jobs.read(int.from_bytes(head)))  # noqa: S302 - from the process that started this one
        answer = []
        for offset, length, dialect in job:
            facts = encode_facts(os.pread(descriptor, length, offset), dialect)
            answer.append(tuple(facts) if facts is not None else None)
        data = marshal.dumps(answer)
        answers.write(len(data).to_bytes(LENGTH_BYTES))
        answers.write(data)
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
