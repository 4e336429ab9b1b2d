"""A worker process that extracts facts: reads batches of texts from standard input, writes facts to standard output.

Started as `python -m codeplane.index.extraction_worker PACK`. It ends when its input does.
"""

import gc
import marshal
import os
import sys
from functools import partial
from pathlib import Path

from codeplane.core.messages import serve
from codeplane.index.facts.encoded import encode_facts


def main(pack: str) -> None:
    """Serve until the input ends."""
    # Collecting garbage takes a tenth of the time; the little that is in cycles is collected rarely.
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    serve(sys.stdin.buffer, sys.stdout.buffer, partial(_extracted, Path(pack)))


def _extracted(pack: Path, message: bytes) -> bytes:
    """Return the facts of texts, each as a tuple or None."""
    answer = []
    with pack.open("rb") as texts:
        for offset, length, dialect in marshal.loads(message):  # noqa: S302 - from the process that started this one
            facts = encode_facts(os.pread(texts.fileno(), length, offset), dialect)
            answer.append(tuple(facts) if facts is not None else None)
    return marshal.dumps(answer)


if __name__ == "__main__":
    main(sys.argv[1])
