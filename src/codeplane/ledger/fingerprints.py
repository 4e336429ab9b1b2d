"""Fingerprints of changes and failures: the same deed or the same failure again gives the same fingerprint."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from codeplane.core.canonical_json import digest
from codeplane.core.redaction import redact

_LISTED_PATHS = 200
_LISTED_TESTS = 100
_MAX_NAME = 500
# What a stack is compared by is bounded, because a runaway recursion prints megabytes.
_MAX_STACK = 64_000

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_ADDRESS = re.compile(r"\b0[xX][0-9a-fA-F]+\b")
# A directory part ends with a separator; a drive letter may precede it. Names are bounded, here and below,
# because otherwise a line of 60,000 letters would be read once for each of them.
_DIRECTORIES = re.compile(r"(?:\b[A-Za-z]:(?=[\\/]))?(?:[^\s\"'()<>,;:|\\/=]{0,255}[\\/])+")
_LONG_HEX = re.compile(r"\b(?=[0-9a-fA-F-]{0,64}[0-9])[0-9a-fA-F]{7,64}(?:-[0-9a-fA-F]{4,12}){0,4}\b")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass(frozen=True, slots=True)
class FileChange:
    """What one call did to one file; a hash is None where there was or is no file."""

    path: str
    old_hash: str | None
    new_hash: str | None
    insertions: int
    deletions: int
    symbols: tuple[str, ...] = ()

    @property
    def is_change(self) -> bool:
        """Tell whether the file differs from before."""
        return self.old_hash != self.new_hash


@dataclass(frozen=True, slots=True)
class Failure:
    """A deterministic failure as a runner told it; `stack` is the text that was printed."""

    failing_tests: tuple[str, ...] = ()
    exception_type: str = ""
    stack: str = ""
    exit_code: int | None = None
    failure_class: str = ""


@dataclass(frozen=True, slots=True)
class DiffStats:
    """How much a call changed."""

    files_changed: int
    insertions: int
    deletions: int

    def as_dict(self) -> dict[str, int]:
        """Return the ledger form."""
        return {"files_changed": self.files_changed, "insertions": self.insertions, "deletions": self.deletions}


@dataclass(frozen=True, slots=True)
class MutationFingerprint:
    """What a mutation left behind: equal for two mutations that ended in the same files by the same amount of change.

    Files are told by path and new content, not by what they were before: a change that is made again after somebody
    took it back is the same deed.
    """

    files_changed_hash: str
    diff_stats: DiffStats
    symbol_changes: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Tell whether no file differs from before."""
        return self.diff_stats.files_changed == 0

    @property
    def text(self) -> str:
        """Return the fingerprint itself."""
        return digest(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """Return the three parts."""
        return {
            "files_changed_hash": self.files_changed_hash,
            "diff_stats": self.diff_stats.as_dict(),
            "symbol_changes": list(self.symbol_changes),
        }


def mutation_fingerprint(changes: Iterable[FileChange]) -> MutationFingerprint:
    """Return the fingerprint of a mutation; neither order nor files that stayed as they were count."""
    real = sorted(_joined(changes), key=lambda change: change.path)
    return MutationFingerprint(
        files_changed_hash=digest([[_written(change.path), change.new_hash] for change in real]),
        diff_stats=DiffStats(
            len(real), sum(change.insertions for change in real), sum(change.deletions for change in real)
        ),
        symbol_changes=tuple(sorted({_written(symbol) for change in real for symbol in change.symbols})),
    )


def changes_between(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> tuple[FileChange, ...]:
    """Return what happened to files by their states around a call; how many lines changed cannot be told from them."""
    return tuple(
        FileChange(path, before.get(path), after.get(path), 0, 0)
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    )


def change_summary(changes: Iterable[FileChange]) -> dict[str, Any]:
    """Return what a ledger row says about changed files: paths, numbers and one mark per file, no content."""
    real = sorted(_joined(changes), key=lambda change: change.path)
    shown = [(_mark(change), redact(_written(change.path))) for change in real[:_LISTED_PATHS]]
    summary: dict[str, Any] = {
        "changed_paths": [path for _, path in shown],
        "diff_stats": mutation_fingerprint(real).diff_stats.as_dict(),
        "short_diff": "\n".join(f"{mark} {path}" for mark, path in shown),
    }
    if len(real) > len(shown):
        summary["changed_paths_left_out"] = len(real) - len(shown)
    return summary


def failure_fingerprint(failure: Failure) -> str:
    """Return the fingerprint of a failure, the same wherever, whenever and on whatever line it happens again."""
    return digest(
        {
            "failing_tests": sorted({normalised_test_name(name) for name in failure.failing_tests}),
            "exception_type": normalised_exception_type(failure.exception_type),
            "stack": list(normalised_stack(failure.stack)),
            "exit_code": failure.exit_code,
        }
    )


def failure_summary(failure: Failure) -> dict[str, Any]:
    """Return what a ledger row says about a failure; its output is not kept."""
    names = sorted({redact(_written(name)[:_MAX_NAME]) for name in failure.failing_tests})
    summary: dict[str, Any] = {
        "failure_fingerprint": failure_fingerprint(failure),
        "failure_class": redact(_written(failure.failure_class)[:_MAX_NAME]) or None,
        "failing_tests": names[:_LISTED_TESTS],
    }
    if len(names) > _LISTED_TESTS:
        summary["failing_tests_left_out"] = len(names) - _LISTED_TESTS
    return summary


def normalised_test_name(name: str) -> str:
    """Return a test's name without addresses, as in the id of a parameter that has no name of its own."""
    return _ADDRESS.sub("0x", _written(name)).strip()


def normalised_exception_type(name: str) -> str:
    """Return the type alone: without message, addresses and numbers."""
    first_line = _written(name).strip().partition("\n")[0]
    kind = re.split(r":(?!:)(?<!::)|\s", first_line, maxsplit=1)[0]
    return _normalised_line(kind).removeprefix("builtins.")


def normalised_stack(text: str) -> tuple[str, ...]:
    """Return the lines of a stack without directories, line numbers, addresses, other numbers and colours."""
    cut = text if len(text) <= _MAX_STACK else text[: _MAX_STACK // 2] + "\n" + text[-_MAX_STACK // 2 :]
    lines = (_normalised_line(line) for line in _written(cut).splitlines())
    return tuple(line for line in lines if line)


def _normalised_line(line: str) -> str:
    text = _ESCAPES.sub("", line)
    text = _ADDRESS.sub("0x", text)
    text = _DIRECTORIES.sub("", text)
    text = _LONG_HEX.sub("#", text)
    text = _NUMBER.sub("#", text)
    return " ".join(text.split())


def _joined(changes: Iterable[FileChange]) -> list[FileChange]:
    """Return one change per path, from the first state to the last; what ends as it began is left out."""
    by_path: dict[str, FileChange] = {}
    for change in changes:
        earlier = by_path.get(change.path)
        if earlier is not None:
            change = FileChange(  # noqa: PLW2901 - the same change, seen from its beginning.
                change.path,
                earlier.old_hash,
                change.new_hash,
                earlier.insertions + change.insertions,
                earlier.deletions + change.deletions,
                (*earlier.symbols, *change.symbols),
            )
        by_path[change.path] = change
    return [change for change in by_path.values() if change.is_change]


def _mark(change: FileChange) -> str:
    if change.old_hash is None:
        return "+"
    return "-" if change.new_hash is None else "~"


def _written(text: str) -> str:
    """Return text that can be written: half a surrogate pair, as in an undecodable file name, is spelt out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
