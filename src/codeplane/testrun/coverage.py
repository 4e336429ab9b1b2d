"""Which lines tests ran: what runners leave, merged, and kept by target for later selections.

`CoverageBook.targets_covering` answers which targets ran a file or some of its lines. It is a hint that can add tests
to a selection and never removes one: lines are those of the file at the time of the run.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from codeplane.core.kept_results import read_json, write_json

_MAX_TARGETS: Final = 5_000
_MAX_READ: Final = 64_000_000
_MAX_FILES: Final = 20_000


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """The lines of a file that ran and those that did not; `by_test` has those that single test files ran."""

    covered: frozenset[int] = frozenset()
    missed: frozenset[int] = frozenset()
    by_test: Mapping[str, frozenset[int]] = field(default_factory=dict)


# Files as the runner names them: absolute, or from the directory of the run.
Measured = dict[str, FileCoverage]


class NoCoverageError(Exception):
    """The runner measured nothing; the text says why."""


def parse_probe(directory: Path, _run_in: Path) -> Measured:
    """Read what the probe of pytest and unittest wrote.

    Raises:
        NoCoverageError: it could not measure.
    """
    document = json.loads(_text(directory / "probe.json"))
    if document.get("problem"):
        raise NoCoverageError(str(document["problem"]))
    return {
        str(path): FileCoverage(
            frozenset(one["covered"]),
            frozenset(one["missed"]),
            {str(test): frozenset(lines) for test, lines in one["by_test"].items()},
        )
        for path, one in document["files"].items()
    }


def parse_lcov(directory: Path, _run_in: Path) -> Measured:
    """Read `lcov.info`, which Node.js, jest and vitest write."""
    found: Measured = {}
    path, hits = "", dict[int, int]()
    for line in _text(directory / "lcov.info").splitlines():
        if line.startswith("SF:"):
            path, hits = line[3:], {}
        elif line.startswith("DA:"):
            number, count = line[3:].split(",")[:2]
            hits[int(number)] = int(count)
        elif line == "end_of_record" and path:
            found[path] = _from_hits(hits)
    return found


def parse_go_profile(directory: Path, run_in: Path) -> Measured:
    """Read a profile of `go test`; its files begin with the name of the module."""
    module = next((line.split()[1] for line in _text(run_in / "go.mod").splitlines() if line.startswith("module ")), "")
    hits: dict[str, dict[int, int]] = {}
    for line in _text(directory / "go.out").splitlines()[1:]:
        name, _, rest = line.rpartition(":")
        span, _, count = rest.split(" ")
        first, last = (int(place.split(".")[0]) for place in span.split(","))
        of_file = hits.setdefault(name.removeprefix(f"{module.strip(chr(34))}/"), {})
        for number in range(first, last + 1):
            of_file[number] = max(of_file.get(number, 0), int(count))
    return {path: _from_hits(one) for path, one in hits.items()}


def _from_hits(hits: Mapping[int, int]) -> FileCoverage:
    covered = frozenset(number for number, count in hits.items() if count)
    return FileCoverage(covered, frozenset(hits) - covered)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_READ).decode("utf-8", "replace")
    except OSError as error:
        raise NoCoverageError("the runner wrote no coverage") from error


@dataclass(slots=True)
class Coverage:
    """What a whole run covered, by path of the repository, and why parts of it were not measured."""

    files: dict[str, FileCoverage] = field(default_factory=dict)
    by_target: dict[str, dict[str, frozenset[int]]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, root: Path, run_in: Path, measured: Measured, targets: Mapping[str, str]) -> None:
        """Add what one process measured; `targets` are its targets by path."""
        only = next(iter(targets.values())) if len(targets) == 1 else None
        for name, one in measured.items():
            path = _inside(root, run_in, name)
            if path is None:
                continue
            before = self.files.get(path, FileCoverage())
            covered = before.covered | one.covered
            self.files[path] = FileCoverage(covered, (before.missed | one.missed) - covered)
            if only is not None:
                self._note(only, path, one.covered)
            for test, lines in one.by_test.items():
                target = targets.get(_inside(root, run_in, test) or "")
                if target is not None:
                    self._note(target, path, lines)

    def _note(self, target: str, path: str, lines: frozenset[int]) -> None:
        of_target = self.by_target.setdefault(target, {})
        of_target[path] = of_target.get(path, frozenset()) | lines


def _inside(root: Path, run_in: Path, name: str) -> str | None:
    place = os.path.realpath(run_in / name.removeprefix("file://"))
    base = os.path.realpath(root)
    return place[len(base) + 1 :] if place.startswith(f"{base}{os.sep}") else None


class CoverageBook:
    """The coverage of each target in its last measured run, kept in a file; damaged, it is empty."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def record(self, by_target: Mapping[str, Mapping[str, Iterable[int]]]) -> None:
        """Replace what is known of these targets; of two runs at once the later one wins.

        Raises:
            OSError: it cannot be written.
        """
        known = self._load()
        for target, files in by_target.items():
            known.pop(target, None)
            known[target] = {path: ranges_of(lines) for path, lines in list(files.items())[:_MAX_FILES]}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_json(self._path, {"targets": dict(list(known.items())[-_MAX_TARGETS:])})

    def targets_covering(self, path: str, lines: Iterable[int] | None = None) -> tuple[str, ...]:
        """Return the targets that ran a file, or at least one of the given lines of it."""
        wanted = frozenset(lines) if lines is not None else None
        return tuple(
            sorted(
                target
                for target, files in self._load().items()
                if path in files and (wanted is None or not wanted.isdisjoint(_lines_of(files[path])))
            )
        )

    def lines(self) -> dict[str, dict[str, frozenset[int]]]:
        """Return the lines of every file that each target ran."""
        return {
            target: {path: _lines_of(ranges) for path, ranges in files.items()}
            for target, files in self._load().items()
        }

    def _load(self) -> dict[str, dict[str, list[list[int]]]]:
        document = read_json(self._path)
        targets = document.get("targets") if document is not None else None
        return targets if isinstance(targets, dict) else {}


def ranges_of(lines: Iterable[int]) -> list[list[int]]:
    """Return lines as ranges, each with its first and last line."""
    found: list[list[int]] = []
    for line in sorted(lines):
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return found


def _lines_of(ranges: Sequence[Sequence[int]]) -> frozenset[int]:
    return frozenset(line for first, last in ranges for line in range(first, last + 1))
