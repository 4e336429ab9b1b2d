"""Facts that are extracted while a server starts: importing it takes one processor, and a first build needs them all.

What comes of it is a function of the files' bytes and is used for texts of the same hash only, so that it may be old,
incomplete or missing.
"""

import marshal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_bytes
from codeplane.core.paths import RepoPath
from codeplane.git.repository import find_repository, tracked_paths
from codeplane.index.extraction import BackgroundTask
from codeplane.index.facts.encoded import EncodedFacts, encode_facts
from codeplane.index.ignore_rules import IgnoreRules
from codeplane.index.tree_reader import TreeReader
from codeplane.languages.catalog import LANGUAGES, dialect_of

# Nobody may ever ask; a server reads its first file one or two seconds after it began to start.
_MAX_SECONDS: Final = 5.0
# Longer than this only a file takes whose parser is caught in it.
_PATIENCE_SECONDS: Final = 2.0
_MAX_BYTES: Final = 200_000

FactsByText = dict[tuple[str, str], EncodedFacts]
"""Facts by the hash of a text and its dialect."""


class HeadStart:
    """A process that extracts facts of tracked files until they are asked for."""

    def __init__(self, root: Path) -> None:
        self._background_task = BackgroundTask(root / ".codeplane", "ahead", str(root), _MAX_SECONDS)

    def end_soon(self) -> None:
        """Let the process answer with what it has."""
        self._background_task.hurry()

    @property
    def has_ended(self) -> bool:
        """Tell whether `facts` need not wait."""
        return self._background_task.is_over

    def facts(self) -> FactsByText:
        """Return what was extracted up to here; nothing when the process failed or hangs."""
        self.end_soon()
        answer = self._background_task.answer(_PATIENCE_SECONDS)
        self.close()
        found = marshal.loads(answer) if answer else []  # noqa: S302 - from a process of our own
        return {(sha256, dialect): EncodedFacts(*facts) for sha256, dialect, facts in found}

    def close(self) -> None:
        """End the process."""
        self._background_task.close()


def extract_ahead(root: Path, is_enough: Callable[[], bool]) -> bytes:
    """Return hash, dialect and facts of tracked files that an index would hold, as many as are done until enough."""
    found: list[tuple[str, str, tuple[object, ...]]] = []
    tracked = tracked_paths(find_repository(root))
    rules = IgnoreRules(root, lambda: tracked)
    with TreeReader(root, _MAX_BYTES) as reader:
        # A build reads from the other end, and takes these facts over when it has given others something to do.
        for text in sorted(tracked.files, reverse=True):
            dialect = dialect_of(text)
            if is_enough():
                break
            if dialect not in LANGUAGES or not _may_be_read(rules, text):
                continue
            data, _ = reader.read(text)
            facts = encode_facts(data, dialect) if data is not None and len(data) <= _MAX_BYTES else None
            # What has a problem, such as no time, is left to the build itself.
            if data is not None and facts is not None and not facts.problem:
                found.append((sha256_bytes(data), dialect, tuple(facts)))
    return marshal.dumps(found)


def _may_be_read(rules: IgnoreRules, text: str) -> bool:
    with suppress(CodePlaneError):
        return rules.exclusion(RepoPath.parse(text), is_directory=False) is None
    return False
