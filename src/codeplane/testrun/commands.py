"""The commands of a run: targets grouped into batches, and a batch as argument list and environment."""

import os
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codeplane.testrun.costs import packed
from codeplane.testrun.discovery import Discovered
from codeplane.testrun.model import Measuring, Runner, Target
from codeplane.testrun.runners.catalog import find_runner

if TYPE_CHECKING:
    from codeplane.testrun.running import RunRequest

PROBES: Final = Path(__file__).parent / "probes"
# The system refuses argument lists that are much longer.
_MAX_ARGUMENT_BYTES: Final = 100_000
_SHOWN_TARGETS: Final = 50
# What keeps programs from waiting for a person. Nothing about colours: a project may test how it reads NO_COLOR.
_UNATTENDED: Final = {"GIT_TERMINAL_PROMPT": "0"}


@dataclass(frozen=True, slots=True)
class Batch:
    """Targets that one process runs; `runner` is None for a command of the project's own whose report is not known."""

    runner: Runner | None
    program: tuple[str, ...]
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Invocation:
    """A batch, ready to start."""

    argv: tuple[str, ...]
    directory: Path
    environment: dict[str, str]
    report: Path
    timeout_sec: float
    startup_sec: float
    is_live: bool


def batches_of(targets: Sequence[Target], found: Discovered, n_workers: int) -> list[Batch]:
    """Group targets by runner and directory and pack each group for the workers, the most costly batches first."""
    groups: dict[tuple[str, str, bool], list[Target]] = {}
    for target in targets:
        groups.setdefault((target.runner, target.root, bool(target.command)), []).append(target)
    batches: list[Batch] = []
    for (name, _root, is_custom), members in groups.items():
        runner, use = find_runner(name), found.use_of(members[0])
        program = use.program.words if use is not None else ()
        batches += [
            Batch(runner, program, tuple(pack)) for pack in _packs(runner, members, n_workers, is_custom=is_custom)
        ]
    return sorted(batches, key=lambda batch: -sum(one.cost for one in batch.targets))


def _packs(runner: Runner | None, members: list[Target], n_workers: int, *, is_custom: bool) -> list[list[Target]]:
    if is_custom or runner is None or runner.takes_one:
        return [[one] for one in members]
    alone = [[one] for one in members if one.names and runner.is_alone]
    rest = [one for one in members if not (one.names and runner.is_alone)]
    # A process more costs its start; it is worth it for about a second of tests.
    n_useful = max(1, min(n_workers, round(sum(one.cost for one in rest)))) if not runner.is_alone else 1
    return [*alone, *(piece for pack in packed(rest, n_useful) for piece in _bounded(pack))]


def _bounded(pack: list[Target]) -> list[list[Target]]:
    """Split a pack whose arguments would be too long for one process."""
    pieces: list[list[Target]] = [[]]
    size = 0
    for target in pack:
        needed = sum(len(os.fsencode(text)) + 1 for text in (target.argument, *target.names))
        if pieces[-1] and size + needed > _MAX_ARGUMENT_BYTES:
            pieces.append([])
            size = 0
        pieces[-1].append(target)
        size += needed
    return pieces


def invocation_of(batch: Batch, request: "RunRequest", report: Path) -> Invocation:
    """Return how a batch is started."""
    directory = request.root / batch.targets[0].root
    limit = batch.targets[0].timeout_sec or request.timeout_sec
    texts = {"report": str(report), "probes": str(PROBES), "directory": str(directory), "timeout": f"{limit:g}"}
    runner = batch.runner
    measuring = runner.measuring if runner is not None and can_measure(batch, request) == "" else None
    if measuring is not None:
        texts |= {"coverage": str(coverage_directory(report)), "scope": _scope(measuring, batch, request)}
        coverage_directory(report).mkdir()
    extra = (*(measuring.words if measuring is not None else ()), *_early(runner, request))
    argv = _argv(batch, texts, extra)
    wanted = {**(runner.environment if runner else {}), **(measuring.environment if measuring is not None else {})}
    environment = {name: _filled(text, texts) for name, text in wanted.items()}
    if "PYTHONPATH" in environment and os.environ.get("PYTHONPATH"):
        environment["PYTHONPATH"] += os.pathsep + os.environ["PYTHONPATH"]
    is_live = runner is not None and runner.is_live
    startup = runner.startup_seconds if runner is not None else 0.0
    return Invocation(argv, directory, {**_UNATTENDED, **environment}, report, limit, startup, is_live)


def coverage_directory(report: Path) -> Path:
    """Return where a process leaves its coverage."""
    return report.with_suffix(".coverage")


def can_measure(batch: Batch, request: "RunRequest") -> str:
    """Return why the coverage of a batch cannot be measured; empty when it can."""
    if request.scope is None:
        return "it was not asked for"
    name = batch.targets[0].runner
    measuring = batch.runner.measuring if batch.runner is not None else None
    if measuring is None or batch.targets[0].command:
        return f"{name}: its coverage cannot be measured here"
    roots = (request.root / batch.targets[0].root, request.root)
    if measuring.needs and not any((root / measuring.needs).exists() for root in roots):
        return f"{name}: {measuring.lacking}"
    return ""


def _scope(measuring: Measuring, batch: Batch, request: "RunRequest") -> str:
    """Return the measured directories as the runner takes them: absolute, or from the directory that it runs in."""
    if not measuring.begins:
        return measuring.joins.join(str(request.root / path) for path in request.scope or (".",))
    inside = [posixpath.relpath(path, batch.targets[0].root) for path in request.scope or ()]
    named = [f"{measuring.begins}{path}" for path in inside if path != "." and not path.startswith("..")]
    is_whole = not named or "." in inside
    return measuring.whole if is_whole else measuring.joins.join(named)


def _early(runner: Runner | None, request: "RunRequest") -> tuple[str, ...]:
    return runner.stop_early if runner is not None and request.stops_early else ()


def shown_commands(batches: Sequence[Batch], root: Path) -> tuple[tuple[str, ...], ...]:
    """Return the commands as a person is shown them: without places of this machine, and not all targets of many."""
    found = []
    for batch in batches:
        argv = _argv(batch, {"report": "REPORT", "probes": "PROBES", "directory": ".", "timeout": "30"})
        words = [word.removeprefix(f"{root}/") for word in argv]
        n_more = len(words) - _SHOWN_TARGETS
        found.append((*words[:_SHOWN_TARGETS], f"and {n_more} more") if n_more > 0 else tuple(words))
    return tuple(dict.fromkeys(found))


def _argv(batch: Batch, texts: dict[str, str], extra: tuple[str, ...] = ()) -> tuple[str, ...]:
    runner, first = batch.runner, batch.targets[0]
    if first.command:
        own = tuple(word.replace("{path}", first.path) for word in first.command)
        return (*own, *(_filled(word, texts) for word in (runner.reporting if runner is not None else ())))
    if runner is None:
        return ()
    targets = tuple(word for one in batch.targets for word in _arguments(runner, one))
    many = {"{program}": batch.program, "{targets}": targets, "{reporting}": runner.reporting}
    joined = {**texts, "joined": ",".join(one.argument for one in batch.targets)}
    words: list[str] = []
    for word in runner.command:
        if word == "{targets}":
            words += [_filled(one, texts) for one in extra]
        words += (
            [_filled(part, joined) for part in many[word]]
            if word == "{reporting}"
            else many.get(word, (_filled(word, joined),))
        )
    return tuple(words)


def _arguments(runner: Runner, target: Target) -> tuple[str, ...]:
    if target.names and runner.choose is not None:
        return runner.choose(target.argument, target.names)
    return (*runner.each, target.argument)


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text
