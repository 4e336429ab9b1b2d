"""Run tools and turn what they print into findings of the repository."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.line_matching import matching_blocks
from codeplane.core.printable import counted, printable_name
from codeplane.core.processes import ProcessRequest, ProcessResult, run_process
from codeplane.core.redaction import redact
from codeplane.lint.catalog import TOOLS
from codeplane.lint.discovery import Project, environment_of
from codeplane.lint.model import WARNING, Configured, Finding, Job, Ran, Reported, UnreadableOutputError
from codeplane.lint.parsers import lines

_MAX_OUTPUT: Final = 16 * 1024 * 1024
_SHOWN_LINES: Final = 3
_SHOWN_CHARACTERS: Final = 300
_LAST: Final = 2_000

# The lines of a file that HEAD does not have like this; None when the whole file is new.
NewLines = Mapping[str, frozenset[int] | None]


def run_check(project: Project, job: Job, text: bytes | None, cancelled: Callable[[], bool]) -> Ran:
    """Run a check; a formatter gets the text of its file and is asked how it should be."""
    if job.configured.tool.parse is None:
        return run_fix(project, job, text or b"", cancelled)
    result = _run(project, job, None, cancelled)
    if isinstance(result, str):
        return Ran(job, problem=result)
    try:
        reported = job.configured.tool.parse(result.stdout_text, result.stderr_text)
    except UnreadableOutputError:
        return Ran(job, problem=_failure(result))
    is_done = result.returncode == 0 or (bool(reported) and result.returncode in job.configured.tool.done)
    return Ran(job, tuple(reported), problem="" if is_done else _failure(result))


def read_findings(argv: Sequence[str], result: ProcessResult) -> tuple[Reported, ...]:
    """Return what a command of somebody else's reported, by the parser of its program or as lines with places."""
    program = PurePath(argv[0]).name
    parsers = [one.parse for one in TOOLS if one.program == program and one.parse is not None]
    for parse in (*parsers, lines):
        try:
            found = parse(result.stdout_text, result.stderr_text)
        except UnreadableOutputError:
            continue
        if found:
            return tuple(found)
    return ()


def run_fix(project: Project, job: Job, text: bytes, cancelled: Callable[[], bool]) -> Ran:
    """Give a tool a text and return the repaired one; without a problem and a text nothing has to change."""
    result = _run(project, job, text, cancelled)
    if isinstance(result, str):
        return Ran(job, problem=result)
    tool = job.configured.tool
    # A linter ends with other codes when something is left that it cannot repair.
    if result.returncode not in (tool.done if tool.parse is not None else (0,)):
        return Ran(job, problem=_failure(result))
    try:
        fixed = result.stdout if tool.fixed is None else _taken(tool.fixed, result)
    except (ValueError, IndexError, AttributeError, RecursionError):
        return Ran(job, problem=_failure(result))
    if fixed is not None and text.strip() and not fixed.strip():
        return Ran(job, problem="it printed nothing in place of the text")
    return Ran(job, text=fixed if fixed != text else None)


def _taken(take: Callable[[str], str | None], result: ProcessResult) -> bytes | None:
    text = take(result.stdout_text)
    return text.encode("utf-8") if text is not None else None


def _run(project: Project, job: Job, text: bytes | None, cancelled: Callable[[], bool]) -> ProcessResult | str:
    """Run the process of a job; return the reason in words when it could not be run to its end."""
    program = job.configured.program
    if program is None:
        return "it was not found"
    request = ProcessRequest(
        (str(program), *job.argv[1:]), project.root / job.configured.folder, project.settings.timeout_sec, stdin=text,
        extra_environment=environment_of(project, job.configured), output_limit_bytes=_MAX_OUTPUT,
        cancelled=cancelled,
    )  # fmt: skip
    try:
        result = run_process(request)
    except CodePlaneError as error:
        return error.message
    if result.was_cancelled:
        raise CodePlaneError("CANCELLED")
    if result.timed_out:
        return f"it did not end within {project.settings.timeout_sec} s"
    if result.stdout_dropped or result.stderr_dropped:
        return f"it printed more than {_MAX_OUTPUT // 2**20} MB"
    return result


def _failure(result: ProcessResult) -> str:
    """Return how a tool failed: its exit code and the last lines that it printed."""
    printed = (result.stdout_text[-_LAST:] + "\n" + result.stderr_text[-_LAST:]).split("\n")
    last = [plain(line) for line in printed if line.strip()][-_SHOWN_LINES:]
    said = f": {' | '.join(last)}" if last else " without a word"
    how = f"ended by signal {-result.returncode}" if result.returncode < 0 else f"exit code {result.returncode}"
    return f"{how}{said}"


def plain(text: str) -> str:
    """Return a text of a tool on one line, without secrets and control characters, and not too long."""
    line = printable_name(redact(" ".join(text[:_LAST].split())).encode("utf-8", "replace").decode("utf-8"))
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[: _SHOWN_CHARACTERS - 1]}…"


def findings_of(project: Project, ran: Ran, wanted: frozenset[str], new: NewLines) -> tuple[list[Finding], int]:
    """Return what a run found in the wanted files, and how many findings are in other ones."""
    found, n_other = [], 0
    for one in ran.reported:
        path = _repository_path(project, ran.job.configured, one.path)
        if path is None or path not in wanted:
            n_other += 1
            continue
        found.append(_finding(one, path, ran.job.configured.tool.name, is_new=_is_new(new, path, {one.line})))
    return found, n_other


def format_finding(ran: Ran, before: bytes, new: NewLines) -> Finding | None:
    """Return what a formatter would change in a file, at the first new line among those it would touch."""
    path = ran.job.stdin_path
    if ran.text is None or path is None:
        return None
    touched = _touched_lines(before, ran.text)
    in_new = {line for line in touched if _is_new(new, path, {line})}
    message = f"not formatted: {counted(len(touched), 'line')} would change"
    line = min(in_new or touched, default=1)
    tool = ran.job.configured.tool.name
    return Finding(path, line, 0, "format", message, WARNING, fixable=True, tool=tool, is_new=bool(in_new))


def changed_lines(old: bytes | None, new: bytes) -> frozenset[int]:
    """Return the lines of a text, from 1, that an older text does not have."""
    before, after = (old or b"").splitlines(), new.splitlines()
    changed = set(range(1, len(after) + 1))
    for block in matching_blocks(before, after):
        changed -= set(range(block.new + 1, block.new + block.size + 1))
    return frozenset(changed)


def _touched_lines(before: bytes, after: bytes) -> frozenset[int]:
    """Return the lines that a formatter changes, or, when it only adds some, those around the first addition."""
    found = changed_lines(after, before)
    if found:
        return found
    n_same = next(
        (n for n, pair in enumerate(zip(before.splitlines(), after.splitlines(), strict=False)) if len(set(pair)) > 1),
        0,
    )
    return frozenset({max(n_same, 1), n_same + 1})


def _is_new(new: NewLines, path: str, lines: Iterable[int]) -> bool:
    known = new.get(path, frozenset())
    return known is None or not known.isdisjoint(lines)


def _finding(one: Reported, path: str, tool: str, *, is_new: bool) -> Finding:
    return Finding(
        path, one.line, one.column, plain(one.rule), plain(one.message), one.severity, one.fixable, tool, is_new
    )


def _repository_path(project: Project, configured: Configured, printed: str) -> str | None:
    """Return a path that a tool printed as one of the repository; None for a place outside of it."""
    place = os.path.normpath(os.path.join(project.root, configured.folder, printed))  # noqa: PTH118 - printed text
    for root in (str(project.root), os.path.realpath(project.root)):
        if place.startswith(f"{root}/"):
            return place[len(root) + 1 :]
    return None


def in_order(found: Sequence[Finding]) -> list[Finding]:
    """Return findings with new ones first, then by place; what two runs both said comes once."""
    return sorted(dict.fromkeys(found), key=lambda one: (not one.is_new, one.path, one.line, one.column, one.tool))
