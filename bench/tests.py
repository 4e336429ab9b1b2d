"""Test selection on a real project: how many mutants the selected tests kill, and how much of the suite they are.

    python bench/tests.py --repo DIRECTORY --suite python|go|typescript [--mutants N] [--seed N] [--program WORDS]

A mutant is one function whose body throws at once, or whose first condition is negated, alone in the working tree of a
clone. Which test files run a function is measured once by coverage, one file at a time; only those are run for its
mutants. A mutant counts when some test fails. Beside the whole selection (`all`) the same mutants measure the first
quarter of the test files in the order of the answer (`nearest`), the tiers `direct` and `references` (`surest`), and
selection by imports of whole files (`imports`).

`--program` starts the tests (default: `python -m pytest`, `go test`, `npx vitest`). What the project needs must be
installed; directories named by `--link` (such as `node_modules`) are linked into the clone. A target of Go is a
package, so a test file is measured as the `-run` names of its tests.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from codeplane.core.callers import Caller, CallerKind
from codeplane.index.facts.outline import LAST_LINE, PATH
from codeplane.index.file_order import is_test_file, is_test_path
from codeplane.languages.facts import DefinitionKind
from codeplane.operations.dispatch import dispatch
from codeplane.operations.inspect_affected_tests import INSPECT_AFFECTED_TESTS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

CALLER: Final = Caller(CallerKind.AGENT, "bench", "bench", "bench")
CALLED: Final = {DefinitionKind.FUNCTION, DefinitionKind.METHOD}
TIME_LIMIT_S: Final = 60
WAYS: Final = ("all", "nearest", "surest", "imports")
SHARE: Final = 0.25
TIERS: Final = ("direct", "references", "imports")


class Function(NamedTuple):
    """A function by its lines, counted from 1."""

    path: str
    name: str
    first: int
    last: int


@dataclass
class Suite:
    """How the tests of a project are run; one subclass per language."""

    root: Path
    program: list[str]
    ending: str
    negation: tuple[str, str]
    throw: str

    def run(self, files: Iterable[str], *more: str) -> bool:
        """Run test files until one fails and tell whether all passed; running on for too long is a failure."""
        wanted = sorted(files)
        if not wanted:
            return True
        command = [*self.program, *more, *self.selectors(wanted)]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command, cwd=self.root, check=False, capture_output=True, timeout=TIME_LIMIT_S, env=environment
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def selectors(self, files: list[str]) -> list[str]:
        """Return the arguments that name test files."""
        return files

    def covered(self, test: str, scratch: Path) -> dict[str, set[int]]:
        """Run one test file and return the lines that it runs, by source file; empty when it fails."""
        raise NotImplementedError


class Python(Suite):
    """pytest, measured by coverage.py of the same interpreter."""

    def covered(self, test: str, scratch: Path) -> dict[str, set[int]]:
        """Return the lines that a test file runs."""
        data = scratch / "coverage"
        measured = [self.program[0], "-m", "coverage", "run", f"--data-file={data}", "--source=.", *self.program[1:]]
        done = subprocess.run([*measured, test], cwd=self.root, check=False, capture_output=True, timeout=600)
        report = [self.program[0], "-m", "coverage", "json", f"--data-file={data}", "-q", "-o", f"{data}.json"]
        if done.returncode or subprocess.run(report, cwd=self.root, check=False, capture_output=True).returncode:
            return {}
        files = json.loads(Path(f"{data}.json").read_text(encoding="utf-8"))["files"]
        return {path: set(one["executed_lines"]) for path, one in files.items()}


class Go(Suite):
    """`go test`, one package at a time; a test file is the names of its tests."""

    def selectors(self, files: list[str]) -> list[str]:
        """Return the package and the names of the tests; the files are of one package."""
        names = [name for one in files for name in re.findall(r"^func (Test\w+)\(", self._text(one), re.MULTILINE)]
        return ["-run", f"^({'|'.join(names)})$", f"./{Path(files[0]).parent}"]

    def _text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def run(self, files: Iterable[str], *more: str) -> bool:
        """Run test files package by package."""
        packages: dict[Path, list[str]] = {}
        for one in sorted(files):
            packages.setdefault(Path(one).parent, []).append(one)
        return all(super(Go, self).run(part, *more) for part in packages.values())

    def covered(self, test: str, scratch: Path) -> dict[str, set[int]]:
        """Return the lines that a test file runs."""
        profile = scratch / "coverage"
        profile.unlink(missing_ok=True)
        if not self.run([test], f"-coverprofile={profile}", "-coverpkg=./..."):
            return {}
        module = re.search(r"^module (\S+)", self._text("go.mod"), re.MULTILINE)
        found: dict[str, set[int]] = {}
        row = re.compile(rf"^{re.escape(module[1] if module else '')}/(\S+):(\d+)\.\d+,(\d+)\.\d+ \d+ (\d+)$")
        for line in profile.read_text(encoding="utf-8").splitlines():
            hit = row.match(line)
            if hit and hit[4] != "0":
                found.setdefault(hit[1], set()).update(range(int(hit[2]), int(hit[3]) + 1))
        return found


class TypeScript(Suite):
    """vitest, measured by its own coverage."""

    def covered(self, test: str, scratch: Path) -> dict[str, set[int]]:
        """Return the lines that a test file runs."""
        options = ["--coverage.enabled", "--coverage.reporter=json", f"--coverage.reportsDirectory={scratch}/cov"]
        if not self.run([test], *options, "--coverage.thresholds.lines=0"):
            return {}
        report = json.loads((scratch / "cov" / "coverage-final.json").read_text(encoding="utf-8"))
        found = {}
        for path, one in report.items():
            ran = {number for number, count in one["s"].items() if count}
            places = [place for number, place in one["statementMap"].items() if number in ran]
            lines = {line for place in places for line in range(place["start"]["line"], place["end"]["line"] + 1)}
            found[os.path.relpath(path, self.root.resolve())] = lines
        return found


def suite_for(kind: str, root: Path, program: list[str]) -> Suite:
    """Return how the tests of a language are run."""
    if kind == "python":
        given = program or [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        return Python(root, given, ".py", (r"^(\s*(?:el)?if )(.+):$", r"\1not (\2):"), 'raise RuntimeError("mutant")')
    if kind == "go":
        negated = (r"^(\s*(?:\} else )?if )([^;{]+) \{$", r"\1!(\2) {")
        return Go(root, program or ["go", "test", "-failfast"], ".go", negated, 'panic("mutant")')
    negated = (r"^(\s*(?:\} else )?if \()(.+)(\) \{)$", r"\1!(\2)\3")
    given = program or ["npx", "vitest", "--run", "--bail=1"]
    return TypeScript(root, given, ".ts", negated, 'throw new Error("mutant")')


def functions_of(door: Door, ending: str) -> list[Function]:
    """Return the functions and methods of the sources that others can name."""
    found = []
    with door.workspace.index.facts() as reader:
        for file in reader.files_with_facts(lambda _language: True):
            if not file.path.endswith(ending) or is_test_file(file.path) or is_test_path(file.path):
                continue
            outline = reader.outline(file.facts_id or 0)
            names = outline.definition_rows.column(PATH)
            last = outline.lines.column(LAST_LINE)
            first = outline.lines.column(0)
            found += [
                Function(file.path, names[number], first[number], last[number])
                for number in range(outline.n_visible)
                if outline.kinds[number] in CALLED
            ]
    return found


def mutants_of(suite: Suite, text: str, function: Function) -> Iterator[str]:
    """Yield the text with the body of a function that throws, and with its first condition negated."""
    lines = text.split("\n")
    body = lines[function.first - 1 : function.last]
    opening = re.compile(r":\s*(?:#.*)?$" if suite.ending == ".py" else r"\{$")
    head = next((number for number, line in enumerate(body) if opening.search(line)), None)
    if head is None or head + 1 >= len(body):
        return
    first = body[head + 1]
    indent = first[: len(first) - len(first.lstrip())]
    is_documented = first.lstrip().startswith(('"""', 'r"""', "'''"))
    thrown = f"{indent}{suite.throw}" if suite.ending != ".ts" else f"{indent}if (1) {suite.throw}"
    if first.strip() and not is_documented:
        yield "\n".join([*lines[: function.first + head], thrown, *lines[function.first + head :]])
    for number, line in enumerate(body[head + 1 :], head + 1):
        changed = re.sub(*suite.negation, line)
        if changed != line:
            yield "\n".join([*lines[: function.first - 1 + number], changed, *lines[function.first + number :]])
            return


def selections(door: Door, path: str, tests: Collection[str]) -> dict[str, set[str]]:
    """Return the test files that each way selects for what differs from HEAD."""
    answer = dispatch(door, INSPECT_AFFECTED_TESTS.name, {"limit": 500}, CALLER)
    if answer.error is not None:
        raise RuntimeError(answer.error.message)
    rows: list[dict[str, Any]] = answer.envelope()["result"]["matches"]
    listed = [file for tier in TIERS for one in rows for file in one["test_files"] if file["tier"] == tier]
    tiers = {file["path"]: file["tier"] for file in listed if file["path"] in tests}
    by_files = door.workspace.index.affected_tests([path])
    return {
        "all": set(tiers),
        "nearest": set(list(tiers)[: int(len(tests) * SHARE)]),
        "surest": {file for file, tier in tiers.items() if tier != "imports"},
        "imports": {one.path for one in by_files.matches} & set(tests),
    }


@dataclass
class Score:
    """What was measured: shares of the suite and missed mutants, by way."""

    n_killed: int = 0
    n_survived: int = 0
    shares: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})
    missed: dict[str, list[str]] = field(default_factory=lambda: {way: [] for way in WAYS})


def judge(suite: Suite, score: Score, name: str, covering: set[str], chosen: dict[str, set[str]], n_tests: int) -> None:
    """Run the tests of a mutant, the nearest first, and note which ways kill it."""
    parts = [chosen["nearest"], chosen["all"], covering]
    known: dict[frozenset[str], bool] = {}

    def is_killed_by(files: set[str]) -> bool:
        wanted = frozenset(files & covering)
        if wanted not in known:
            # What some tests kill, more tests kill too.
            known[wanted] = any(killed and some <= wanted for some, killed in known.items()) or not suite.run(wanted)
        return known[wanted]

    if not any(is_killed_by(part) for part in parts):
        score.n_survived += 1
        return
    score.n_killed += 1
    for way in WAYS:
        score.shares[way].append(len(chosen[way]) / n_tests)
        if not is_killed_by(chosen[way]):
            score.missed[way].append(name)


def measure(door: Door, suite: Suite, wanted: int, rng: random.Random, scratch: Path) -> Score:
    """Mutate functions in a random order until enough mutants were killed."""
    tests = [path for path in sorted(door.workspace.index.state().files) if is_test_file(path)]
    lines = {test: found for test in tests if path_of(test, suite) and (found := suite.covered(test, scratch))}
    print(f"{len(lines)} of {len(tests)} test files pass and are measured", flush=True)
    functions = functions_of(door, suite.ending)
    rng.shuffle(functions)
    score = Score()
    for function in functions:
        inside = set(range(function.first + 1, function.last + 1))
        covering = {test for test, found in lines.items() if inside & found.get(function.path, set())}
        place = suite.root / function.path
        text = place.read_text(encoding="utf-8")
        mutants = list(mutants_of(suite, text, function)) if covering else []
        if mutants:
            place.write_text(rng.choice(mutants), encoding="utf-8")
            name = f"{function.path}::{function.name}"
            chosen = selections(door, function.path, lines.keys())
            judge(suite, score, name, covering, chosen, len(lines))
            place.write_text(text, encoding="utf-8")
        if score.n_killed >= wanted:
            break
    return score


def path_of(test: str, suite: Suite) -> bool:
    """Tell whether a test file is of the measured language."""
    return test.endswith((suite.ending, ".tsx")) if suite.ending == ".ts" else test.endswith(suite.ending)


def report(score: Score) -> None:
    """Print recall and size of each way."""
    print(f"{score.n_killed} mutants killed by some test, {score.n_survived} by none")
    for way in WAYS:
        missed, shares = score.missed[way], score.shares[way]
        recall = 1 - len(missed) / max(1, score.n_killed)
        middle, mean = statistics.median(shares or [0]), statistics.fmean(shares or [0])
        print(f"{way:8} kills {recall:6.1%}, test files: median {middle:5.1%}, mean {mean:5.1%}")
    for way in ("all", "nearest"):
        print(*(f"missed by {way}: {name}" for name in score.missed[way]), sep="\n")


def main() -> None:
    """Measure one project."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--suite", choices=("python", "go", "typescript"), default="python")
    parser.add_argument("--mutants", type=int, default=70)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default="")
    parser.add_argument("--link", action="append", default=[])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "repo"
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(given.repo), str(root)], check=True)
        for one in given.link:
            (root / one).symlink_to((given.repo / one).resolve())
        suite = suite_for(given.suite, root, given.program.split())
        with open_workspace(WorkspaceRequest(root)) as workspace:
            door = Door(workspace, {INSPECT_AFFECTED_TESTS.name: INSPECT_AFFECTED_TESTS})
            dispatch(door, INSPECT_AFFECTED_TESTS.name, {}, CALLER)
            report(measure(door, suite, given.mutants, random.Random(given.seed), Path(scratch)))


if __name__ == "__main__":
    main()
