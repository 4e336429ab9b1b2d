"""`lint_check`: what the project's own linters, type checkers and formatters say, what is new first."""

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted, printable_name
from codeplane.edit.images import FileImage
from codeplane.edit.planning import plan_whole
from codeplane.edit.records import Change
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.lint.discovery import Project, assigned_files, check_jobs, find_tools, fix_jobs
from codeplane.lint.last_findings import LastFindings
from codeplane.lint.model import Configured, Finding, Job, Ran
from codeplane.lint.running import findings_of, format_finding, in_order, run_check, run_fix
from codeplane.operations.edit_recovery import recover_edit
from codeplane.operations.file_changes import FilePlan, note_changes, touched_definitions
from codeplane.operations.lint_files import ChosenFiles, choose_files, project_of
from codeplane.operations.models import PATH_ALIASES, ListOfOne, Pagination, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.operations.write_access import check_not_ignored, writable, write_refused

NAME = "lint_check"
_PAGE: Final = 20
_MAX_KEPT: Final = 1_000
# Formatters and repairs take a process per file.
_MAX_ONE_BY_ONE: Final = 200
_MAX_WORKERS: Final = 4
_SHOWN_PROBLEMS: Final = 5


class LintCheckRequest(Request):
    """What to look at."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "paths": ("path", "files", "targets", *PATH_ALIASES),
        "fix": ("apply_fixes", "autofix"),
    }
    paths: Annotated[list[PathText], ListOfOne, Field(max_length=500)] = Field(
        default_factory=list, description="Files, directories or globs. Default: the files that differ from HEAD."
    )
    fix: bool = Field(False, description="Repair what the tools can, in one batch with one undo.")
    cursor: str | None = None


class LintFinding(Result):
    """One finding; `new` if its line differs from HEAD or the last call did not have it.

    Lines and columns count from 1; 0 is the whole file.
    """

    path: str
    line: int
    column: int
    rule: str
    message: str
    severity: Literal["error", "warning", "note"]
    fixable: bool
    tool: str
    new: bool


class ToolOutcome(Result):
    """How one tool did: clean, findings, failed or missing."""

    tool: str
    folder: str
    status: Literal["clean", "findings", "failed", "missing"]
    findings: int
    problem: str | None = None


class FixedFile(Result):
    """A file that was repaired."""

    path: str
    insertions: int
    deletions: int


class LintCheckResult(Result):
    """What was found; the pages together are the whole."""

    summary: str
    files: int
    total: int
    new: int
    fixable: int
    findings: list[LintFinding]
    tools: list[ToolOutcome]
    fixed: list[FixedFile] = Field(default_factory=list)
    mutation_id: str | None = Field(None, description="What undo takes back, when files were repaired.")
    pagination: Pagination


def plan_linting(context: CallContext, request: LintCheckRequest) -> Plan[LintCheckResult]:
    """Plan which tools look at which files."""
    if context.position is not None:
        return Plan(lambda: _next_page(context))
    project = project_of(context.workspace)
    chosen = choose_files(context, project, request.paths)
    assigned = [_bounded(context, *one) for one in assigned_files(find_tools(project), chosen.paths)]
    linting = _Linting(context, request, project, chosen, assigned)
    return Plan(linting.work, linting.effects())


def _bounded(
    context: CallContext, configured: Configured, paths: tuple[str, ...]
) -> tuple[Configured, tuple[str, ...]]:
    n_left = len(paths) - _MAX_ONE_BY_ONE
    if configured.tool.parse is not None or n_left <= 0:
        return configured, paths
    left = counted(n_left, "file")
    context.incomplete.append(
        f"{configured.tool.name}: {left} not checked, {_MAX_ONE_BY_ONE} at once; name fewer paths"
    )
    return configured, paths[:_MAX_ONE_BY_ONE]


@dataclass(slots=True)
class _Linting:
    """One call: the tools with their files, what they reported and what went wrong."""

    context: CallContext
    request: LintCheckRequest
    project: Project
    chosen: ChosenFiles
    assigned: list[tuple[Configured, tuple[str, ...]]]
    findings: list[Finding] = field(default_factory=list)
    outcomes: list[ToolOutcome] = field(default_factory=list)
    plans: list[FilePlan] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)

    def _fixing(self) -> list[tuple[int, Job]]:
        """Return the jobs that repair files, with the number of their tool."""
        jobs = [
            (number, job)
            for number, (configured, paths) in enumerate(self.assigned)
            if self.request.fix and configured.program is not None
            for job in fix_jobs(self.project, configured, paths)
        ]
        if len({job.stdin_path for _, job in jobs}) > _MAX_ONE_BY_ONE:
            message = f"More than {_MAX_ONE_BY_ONE} files would be repaired at once."
            raise CodePlaneError("INVALID_ARGUMENTS", message, hint="Name fewer paths.")
        return jobs

    def _checking(self, number: int) -> list[Job]:
        configured, paths = self.assigned[number]
        return check_jobs(self.project, configured, paths) if configured.program is not None else []

    def effects(self) -> Effects:
        """Return the files that are read or repaired, and every command."""
        jobs = [job for number in range(len(self.assigned)) for job in self._checking(number)]
        fixing = [job for _, job in self._fixing()]
        paths = sorted({path for job in fixing for path in job.paths})
        written = tuple(writable(self.context.workspace, path, follow=False).real for path in paths)
        commands = dict.fromkeys(_shown(job) for job in (*fixing, *jobs))
        return Effects(
            reads=tuple(RepoPath.known(path) for path in self.chosen.paths),
            writes=written,
            commands=tuple(commands),
            anchored=written,
            verifies=True,
        )

    def work(self) -> LintCheckResult:
        """Repair what is asked for, then check."""
        self._fix()
        for number in range(len(self.assigned)):
            self._check(number)
        return self._result()

    def _fix(self) -> None:
        workspace = self.context.workspace
        texts: dict[str, bytes] = {}
        images: dict[str, FileImage] = {}
        for number, job in self._fixing():
            path = job.paths[0]
            if path not in images:
                found = workspace.editor.look(RepoPath.known(path))
                if found is None or found.image.is_link or found.n_links > 1:
                    continue
                images[path], texts[path] = found.image, found.image.data
            ran = run_fix(self.project, job, texts[path], self.context.is_cancelled)
            if ran.problem:
                self.problems.setdefault(number, f"{path} was not repaired: {ran.problem}")
            elif ran.text is not None:
                texts[path] = ran.text
        changed = [path for path, image in images.items() if texts[path] != image.data]
        self.plans = [one for path in changed if (one := self._repaired(path, images[path], texts[path])) is not None]
        self._apply()

    def _repaired(self, path: str, before: FileImage, text: bytes) -> FilePlan | None:
        """Return the change of a file; None when the repaired text would no longer parse."""
        workspace = self.context.workspace
        where = writable(workspace, path, follow=False)
        planned = replace(plan_whole(before.data, text.decode("utf-8", "surrogateescape")), data=text)
        plan = FilePlan(where, "update", Change(where.real, before, replace(before, data=text)), planned)
        touched = touched_definitions(workspace, plan)
        if touched.error_lines:
            self.context.warnings.append(f"{path} was not repaired: line {touched.error_lines[0]} would not parse")
            return None
        return replace(plan, touched=touched)

    def _apply(self) -> None:
        if not self.plans:
            return
        self.context.check_cancelled()
        check_not_ignored(self.context.workspace, [one.where.real for one in self.plans], allow_ignored=False)
        try:
            self.context.workspace.editor.apply(self.context.call_id, [one.change for one in self.plans])
        except OSError as error:
            raise write_refused(error) from error
        note_changes(self.context, self.plans)
        # The lines moved.
        self.chosen = choose_files(self.context, self.project, self.chosen.paths)

    def _check(self, number: int) -> None:
        configured, _ = self.assigned[number]
        found: list[Finding] = []
        problem = self.problems.get(number, "")
        self.context.check_cancelled()
        self.context.report_progress(number, len(self.assigned), configured.tool.name)
        given = [(job, self._text(job)) for job in self._checking(number)]
        # A file that was deleted meanwhile has no text.
        given = [(job, text) for job, text in given if job.stdin_path is None or text is not None]
        for ran, text in self._run_all(given):
            problem = problem or ran.problem
            found += self._found(ran, text)
        self.findings += found
        self.outcomes.append(_outcome(configured, len(found), problem))

    def _run_all(self, given: Sequence[tuple[Job, bytes | None]]) -> list[tuple[Ran, bytes | None]]:
        """Run the processes of one tool, some at once: a formatter is started for every file."""

        def run(one: tuple[Job, bytes | None]) -> tuple[Ran, bytes | None]:
            return run_check(self.project, one[0], one[1], self.context.is_cancelled), one[1]

        if len(given) < 2:
            return [run(one) for one in given]
        with ThreadPoolExecutor(min(_MAX_WORKERS, os.cpu_count() or 1)) as pool:
            return list(pool.map(run, given))

    def _text(self, job: Job) -> bytes | None:
        if job.stdin_path is None:
            return None
        found = self.context.workspace.editor.look(RepoPath.known(job.stdin_path))
        return found.image.data if found is not None and not found.image.is_link else None

    def _found(self, ran: Ran, text: bytes | None) -> list[Finding]:
        new = self.chosen.new_lines
        if ran.job.stdin_path is not None:
            one = format_finding(ran, text or b"", new)
            return [one] if one is not None else []
        found, n_other = findings_of(self.project, ran, frozenset(self.chosen.paths), new)
        if n_other:
            name = ran.job.configured.tool.name
            self.context.warnings.append(f"{name}: {counted(n_other, 'finding')} in files that were not asked for")
        return found

    def _result(self) -> LintCheckResult:
        ordered = in_order(self._since_last())
        rows = [_row(one) for one in ordered]
        if len(rows) > _PAGE + _MAX_KEPT:
            n_left = len(rows) - _PAGE - _MAX_KEPT
            self.context.incomplete.append(f"{counted(n_left, 'finding')} counted but not listed; name fewer paths")
        head = LintCheckResult(
            summary=self._summary(ordered),
            files=self._n_files,
            total=len(ordered),
            new=sum(one.is_new for one in ordered),
            fixable=sum(one.fixable for one in ordered),
            findings=[],
            tools=self.outcomes,
            fixed=[
                FixedFile(path=one.where.real.text, insertions=one.text.insertions, deletions=one.text.deletions)
                for one in self.plans
            ],
            mutation_id=self.context.call_id if self.plans else None,
            pagination=Pagination(total_estimate=len(ordered)),
        )
        return _page(self.context, head, rows[: _PAGE + _MAX_KEPT])

    def _since_last(self) -> list[Finding]:
        """Return the findings with those marked that the last call did not have, and remember all of them."""
        last = LastFindings(self.context.workspace.places.private / "results" / "lint.json")
        marked = last.marked(self.findings)
        whole = [
            (path, configured.tool.name)
            for (configured, paths), outcome in zip(self.assigned, self.outcomes, strict=True)
            for path in paths
            if outcome.problem is None
        ]
        try:
            last.record(whole, self.findings)
        except OSError as error:
            self.context.warnings.append(f"the findings were not kept: {error.strerror or error}")
        return marked

    @property
    def _n_files(self) -> int:
        return len({path for _, paths in self.assigned for path in paths})

    def _summary(self, found: Sequence[Finding]) -> str:
        if not self.chosen.paths:
            return "no files to check: nothing differs from HEAD"
        if not self.assigned:
            n_files = counted(len(self.chosen.paths), "file")
            return f"no configured tool looks at {n_files} (lint_tools or `cpl lint --tools` lists them)"
        repaired = f"{counted(len(self.plans), 'file')} repaired; " if self.plans else ""
        where = f"in {counted(self._n_files, 'file')}"
        if found:
            n_new, n_fixable = sum(one.is_new for one in found), sum(one.fixable for one in found)
            by_tool = ", ".join(f"{tool} {number}" for tool, number in Counter(one.tool for one in found).items())
            return f"{repaired}{counted(len(found), 'finding')} ({n_new} new, {n_fixable} fixable) {where}: {by_tool}"
        ran = dict.fromkeys(one.tool for one in self.outcomes if one.status == "clean")
        return f"{repaired}no findings {where}: {', '.join(ran) or 'no tool ran'}"


def _shown(job: Job) -> tuple[str, ...]:
    """Return a command as the gate judges it; in a folder it is a whole line that goes there first."""
    folder = job.configured.folder
    return (f"cd {shlex.quote(folder)} && {shlex.join(job.argv)}",) if folder else job.argv


def _outcome(configured: Configured, n_found: int, problem: str) -> ToolOutcome:
    status: Literal["clean", "findings", "failed", "missing"] = "findings" if n_found else "clean"
    if configured.program is None:
        status, problem = "missing", f"`{configured.tool.program}` was not found in {', '.join(configured.looked_in)}"
    elif problem:
        status = "failed"
    return ToolOutcome(
        tool=configured.tool.name,
        folder=configured.folder or ".",
        status=status,
        findings=n_found,
        problem=problem or None,
    )


def _row(one: Finding) -> dict[str, Any]:
    row = asdict(one)
    row["new"] = row.pop("is_new")
    return row


def _page(context: CallContext, head: LintCheckResult, rows: Sequence[Mapping[str, Any]]) -> LintCheckResult:
    """Return a result with the first findings; the rest waits in the cursor, so that no tool runs again for it."""
    cursor = None
    if len(rows) > _PAGE:
        told = head.model_dump(mode="json", exclude={"findings", "pagination"})
        cursor = context.next_page({"head": [told], "rest": list(rows[_PAGE:])})
    pagination = Pagination(next_cursor=cursor, total_estimate=head.total)
    findings = [LintFinding.model_validate(row) for row in rows[:_PAGE]]
    return head.model_copy(update={"findings": findings, "pagination": pagination})


def _next_page(context: CallContext) -> LintCheckResult:
    position = context.position
    if position is None:
        raise CodePlaneError("CURSOR_INVALID")
    try:
        told = {**position.items("head")[0], "findings": [], "pagination": {}}
        return _page(context, LintCheckResult.model_validate(told), position.items("rest"))
    except (ValueError, TypeError, IndexError) as error:
        raise CodePlaneError("CURSOR_INVALID") from error


def _render(result: LintCheckResult) -> str:
    lines = [result.summary]
    lines += [f" {one.path} repaired +{one.insertions} -{one.deletions}" for one in result.fixed]
    lines += map(finding_line, result.findings)
    troubled = [one for one in result.tools if one.problem]
    lines += [f" {one.tool} {one.status}: {one.problem}" for one in troubled[:_SHOWN_PROBLEMS]]
    if len(troubled) > _SHOWN_PROBLEMS:
        lines.append(f" {len(troubled) - _SHOWN_PROBLEMS} more tools failed or are missing; see lint_tools")
    if result.pagination.next_cursor is not None:
        lines.append(f"more: cursor={result.pagination.next_cursor}")
    if result.mutation_id is not None:
        lines.append(f" undo: {result.mutation_id}")
    return "\n".join(lines)


def finding_line(one: LintFinding) -> str:
    """Return a finding in one line."""
    place = f"{printable_name(one.path)}:{one.line}" + (f":{one.column}" if one.column else "")
    marks = ", ".join([one.tool, *(["fixable"] if one.fixable else [])])
    return f" {'new ' if one.new else ''}{place} {one.rule} {one.message} [{marks}]".replace("  ", " ")


LINT_CHECK = Operation(
    name=NAME,
    family="lint",
    summary="Run the project's own linters, type checkers and formatters; findings on changed lines come first.",
    request_type=LintCheckRequest,
    result_type=LintCheckResult,
    effect=EffectClass.EXECUTE,
    plan=plan_linting,
    render=_render,
    recover=recover_edit,
    when_to_use=("You have changed files and want to know what the project's checks say.",),
    when_not_to_use=("To see which tools are configured and found: lint_tools.",),
    examples=(
        Example("The files that differ from HEAD", {}),
        Example("Some files, repaired where the tools can", {"paths": ["src/**/*.py"], "fix": True}),
    ),
)
