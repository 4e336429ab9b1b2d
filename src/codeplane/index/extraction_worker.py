"""A process that works for another one: reads questions from standard input, writes answers to standard output.

Started as `python -m codeplane.index.extraction_worker PACK`. A question is a marshalled tuple that begins with one of
the names in `_ANSWERS`. It ends when its input does.
"""

import gc
import marshal
import os
import select
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from codeplane.core.messages import serve
from codeplane.index.facts.encoded import encode_facts
from codeplane.languages.catalog import load_language


def main(pack: str) -> None:
    """Serve until the input ends."""
    # Collecting costs a tenth of the time; the little that is in cycles is collected rarely.
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    serve(sys.stdin.buffer, sys.stdout.buffer, partial(_answer, Path(pack)))


def _answer(pack: Path, message: bytes) -> bytes:
    question = marshal.loads(message)  # noqa: S302 - from the process that started this one
    return _ANSWERS[question[0]](pack, *question[1:])


def _extracted(pack: Path, jobs: list[tuple[int, int, str]]) -> bytes:
    """Return the facts of texts, each as a tuple or None."""
    answer = []
    with pack.open("rb") as texts:
        for offset, length, dialect in jobs:
            facts = encode_facts(os.pread(texts.fileno(), length, offset), dialect)
            answer.append(tuple(facts) if facts is not None else None)
    return marshal.dumps(answer)


def _ranked(pack: Path, directory: str, documents: list[tuple[str, str, int, int, str]], epoch: int) -> bytes:
    """Fill a generation of the ranked text; return what went wrong, empty for nothing."""
    # Only one process is ever asked for it.
    from codeplane.index.lexical_index import LexicalDocument, fill_generation  # noqa: PLC0415

    try:
        fill_generation(Path(directory), pack, map(LexicalDocument._make, documents), epoch)
    except (ValueError, OSError) as error:
        return (str(error) or type(error).__name__).encode("utf-8", "replace")
    return b""


def _ahead(_pack: Path, root: str, max_seconds: float) -> bytes:
    """Return facts of files that will be asked for, extracted while whoever asks has other things to do."""
    # Only the process of a head start is ever asked for it.
    from codeplane.index.head_start import extract_ahead  # noqa: PLC0415

    end = time.monotonic() + max_seconds
    # Nothing follows this question, so that there is something to read only where the questions end.
    return extract_ahead(Path(root), lambda: time.monotonic() > end or bool(select.select([sys.stdin], [], [], 0)[0]))


def _loaded(_pack: Path, dialects: tuple[str, ...]) -> bytes:
    """Load languages before their first file comes."""
    for dialect in dialects:
        load_language(dialect)
    return b""


_ANSWERS: dict[str, Callable[..., bytes]] = {"ahead": _ahead, "extract": _extracted, "load": _loaded, "rank": _ranked}

if __name__ == "__main__":
    main(sys.argv[1])
