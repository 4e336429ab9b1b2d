"""`run`: a short program over all operations in one call."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import Field

from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.core.printable import counted
from codeplane.core.sandbox import ProgramError, ProgramOutcome, StopProgramError
from codeplane.ledger.effects import EffectClass
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.call_record import CallControls, RunningProgram
from codeplane.operations.dispatch import CALL, dispatch
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.operations.perform import Door

NAME = "run"
_MAX_SHOWN = 20_000
# A longer output is cut in the middle; this much of its beginning is shown.
_HEAD = 16_000
# The most hits of one search in a program, fetched page by page.
_PAGE = 100
_MAX_HITS = 1_000


class RunRequest(Request):
    """The program."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"program": ("code", "script", "source", "python")}
    program: str = Field(
        min_length=1,
        max_length=50_000,
        description="Python without imports; each function is a call:\n"
        "search(query, mode=…), references(symbol): hits with path, line, snippet\n"
        "read(path, start, end): text\n"
        "edit(path, old, new, all=True), git('log'), diff(), call(name, …): dicts\n"
        "rename(symbol, new_name): a plan; apply(plan)\n"
        "tests(): affected tests; tests('tests/a.py'); check(): lint and tests: dicts\n"
        "The answer is what it prints and its last value. Examples:\n"
        "for h in references('Store.get'): print(h['path'], read(h['path'], h['line'], h['line'] + 3))\n"
        "apply(rename('src/app.py::Store.get', 'fetch'))",
    )
    atomic: bool = Field(False, description="Undo everything on failure.")


class RunResult(Result):
    """What the program printed and returned, and what it changed."""

    printed: str
    returned: Any = None
    calls: int
    mutation_id: str | None = Field(None, description="Undo all changes of the program with this id.")
    mutations: list[str] = Field(default_factory=list, description="Calls that changed something.")


@dataclass(slots=True)
class _Calls:
    """The calls of one program: each an ordinary call through the door."""

    context: CallContext
    program: RunningProgram
    n_calls: int = 0
    mutations: list[str] = field(default_factory=list)
    held: Answer | None = None

    def result(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Make one call and return its result; a refusal is an exception inside the program."""
        self.context.check_cancelled()
        if name in {NAME, CALL}:
            raise ValueError(f"`{name}` cannot be called from a program")
        self.n_calls += 1
        answer = self._dispatch(name, arguments)
        if self._has_changed(answer):
            self.mutations.append(answer.meta.request_id)
        if answer.outcome is Outcome.HELD:
            self.held = answer
            raise StopProgramError
        if answer.error is not None:
            raise RuntimeError(answer.error.as_text())
        payload: dict[str, Any] = answer.envelope()["result"]
        return payload

    def hits(self, arguments: dict[str, Any], limit: int) -> list[dict[str, Any]]:
        """Search page by page until there are enough hits."""
        found: list[dict[str, Any]] = []
        while True:
            page = self.result("search", {**arguments, "limit": max(1, min(_PAGE, limit - len(found)))})
            found += page["results"]
            cursor = page["pagination"].get("next_cursor")
            if cursor is None or len(found) >= limit:
                return found
            arguments = {**arguments, "cursor": cursor}

    def lines(self, target: dict[str, Any]) -> str:
        """Read lines of a file, all of them."""
        page = self.result("read_source", {"targets": [target]})
        pieces = list(page["files"])
        while page.get("cursor"):
            page = self.result("read_source", {"cursor": page["cursor"]})
            pieces += page["files"]
        return "".join(str(piece["content"]) for piece in pieces)

    def _dispatch(self, name: str, arguments: dict[str, Any]) -> Answer:
        context = self.context
        controls = CallControls(is_cancelled=context.is_cancelled, program=self.program)
        return dispatch(Door(context.workspace, context.operations), name, arguments, context.caller, controls)

    def _has_changed(self, answer: Answer) -> bool:
        """Tell whether a call, even a failed one, made changes that undo can revert."""
        operation = self.context.operations.get(answer.operation)
        if operation is None or not operation.effect.mutates:
            return False
        kept = self.context.workspace.editor.records.find(answer.meta.request_id)
        return kept is not None and bool(kept[0].changes or kept[0].git is not None)

    def roll_back(self) -> ErrorReport | None:
        """Undo all changes of the program together; on failure return the reason."""
        problem = self._dispatch("undo", {"operation": self.context.call_id}).error
        if problem is None:
            self.mutations.clear()
        return problem


def _functions(calls: _Calls) -> dict[str, Callable[..., Any]]:
    def search(query: str, limit: int = _MAX_HITS, **arguments: Any) -> list[dict[str, Any]]:
        return calls.hits({"query": query, **arguments}, limit)

    def references(symbol: str, **arguments: Any) -> list[dict[str, Any]]:
        return search(symbol, mode="references", **arguments)

    def read(path: str, start: int | None = None, end: int | None = None) -> str:
        if start is None:
            whole = calls.result("read_file_full", {"path": path, "confirm": True, "inline": True})
            return str(whole.get("content", ""))
        return calls.lines({"path": path, "start_line": start, "end_line": end or start})

    def edit(path: str, old: str | None = None, new: str | None = None, **arguments: Any) -> dict[str, Any]:
        given = {"path": path, "expected_content": old, "new_content": new, **arguments}
        change = {name: value for name, value in given.items() if value is not None}
        return calls.result("write_source", {"edits": [change]})

    def git(name: str, **arguments: Any) -> dict[str, Any]:
        return calls.result(f"git_{name.removeprefix('git_')}", arguments)

    def diff(**arguments: Any) -> dict[str, Any]:
        return calls.result("git_diff", arguments)

    def call(name: str, **arguments: Any) -> dict[str, Any]:
        return calls.result(name, arguments)

    plain: tuple[Callable[..., Any], ...] = (search, references, read, edit, git, diff, call)
    functions = (*plain, *_verifications(calls), *_refactorings(calls))
    return {function.__name__: function for function in functions}


def _verifications(calls: _Calls) -> tuple[Callable[..., Any], ...]:
    def tests(*targets: str, **arguments: Any) -> dict[str, Any]:
        given = {"target_filter": list(targets)} if targets else {}
        return calls.result("run_test_targets", {**given, **arguments})

    def check(*affected_by: str, **arguments: Any) -> dict[str, Any]:
        given = {"affected_by": list(affected_by)} if affected_by else {}
        return calls.result("check", {**given, **arguments})

    return tests, check


def _refactorings(calls: _Calls) -> tuple[Callable[..., Any], ...]:
    def rename(symbol: str, new_name: str, **arguments: Any) -> dict[str, Any]:
        return calls.result("refactor_rename", {"symbol": symbol, "new_name": new_name, **arguments})

    def apply(plan: Any, **arguments: Any) -> dict[str, Any]:
        refactor_id = plan["refactor_id"] if isinstance(plan, dict) else plan
        return calls.result("refactor_apply", {"refactor_id": refactor_id, **arguments})

    return rename, apply


def _handle(context: CallContext, request: RunRequest) -> RunResult:
    calls = _Calls(context, RunningProgram(context.call_id))
    try:
        outcome = context.workspace.sandbox.run(request.program, _functions(calls))
    except StopProgramError:
        raise _ended(calls, request, _held(calls)) from None
    except CodePlaneError as error:
        raise _ended(calls, request, error) from error
    if outcome.error is not None:
        raise _ended(calls, request, _failed(outcome, outcome.error))
    if outcome.is_cut:
        context.incomplete.append("the program printed more than 1,000,000 characters; the rest was dropped")
    return RunResult(
        printed=outcome.printed,
        returned=outcome.returned,
        calls=calls.n_calls,
        mutation_id=context.call_id if calls.mutations else None,
        mutations=list(calls.mutations),
    )


def _held(calls: _Calls) -> CodePlaneError:
    report = calls.held.error if calls.held is not None else None
    if report is None:
        return CodePlaneError("INTERNAL_ERROR", "The program stopped without a reason.")
    return CodePlaneError(report.error, report.message, hint=report.required_action, details=dict(report.details))


def _failed(outcome: ProgramOutcome, error: ProgramError) -> CodePlaneError:
    where = f" at line {error.line}: `{error.source}`" if error.line is not None else ""
    values = "; ".join(f"{name} = {value}" for name, value in error.values)
    parts = [f"{error.message}{where}.", f"Values: {values}." if values else "", _shown_print(outcome.printed)]
    return CodePlaneError("PROGRAM_FAILED", " ".join(part for part in parts if part), details={"line": error.line})


def _shown_print(printed: str) -> str:
    return f"Printed before: {printed[-500:].strip()}" if printed.strip() else ""


def _ended(calls: _Calls, request: RunRequest, error: CodePlaneError) -> CodePlaneError:
    """Return the failure of a program together with what it had done, or a note that it was rolled back."""
    if not calls.mutations:
        return error
    n_changes = counted(len(calls.mutations), "change")
    program = calls.context.call_id
    problem = calls.roll_back() if request.atomic else None
    if problem is not None:
        done = f"{n_changes} could not be rolled back: {problem.message} Try undo {program} later."
    elif request.atomic:
        done = f"Taken back: {n_changes}."
    else:
        done = f"{n_changes} made before that; undo: {program}"
    left = {"mutation_id": program} if calls.mutations else {}
    details = {**error.details, **left, "mutations": list(calls.mutations)}
    return CodePlaneError(error.code, f"{error.message} {done}", hint=error.hint, details=details)


def _render(result: RunResult) -> str:
    parts = [result.printed.rstrip("\n")]
    if result.returned is not None:
        returned = result.returned
        parts.append(returned if isinstance(returned, str) else json.dumps(returned, ensure_ascii=False))
    text = "\n".join(part for part in parts if part)
    if len(text) > _MAX_SHOWN:
        left_out = len(text) - _MAX_SHOWN
        text = f"{text[:_HEAD]}\n… {left_out} characters left out here; print less …\n{text[_HEAD - _MAX_SHOWN :]}"
    if result.mutations:
        text += f"\n{counted(len(result.mutations), 'change')}; undo: {result.mutation_id}"
    return text.strip() or f"The program ended after {counted(result.calls, 'call')} and printed nothing."


RUN = Operation(
    name=NAME,
    family="introspection",
    summary="Run a short program in one call: loops over hits, filters, edits by rule; one undo reverts it.",
    request_type=RunRequest,
    result_type=RunResult,
    effect=EffectClass.RECORD,
    plan=planned(_handle),
    render=_render,
    when_to_use=("Several searches, reads or edits by rule.",),
    when_not_to_use=("One search, one read or one edit: call it directly.",),
    examples=(
        Example(
            "Files that use a name and have no test",
            {"program": "for hit in references('Store.get'):\n    print(hit['path'], hit['line'])"},
        ),
        Example(
            "Replace a text in every file, or in none",
            {
                "program": "for path in {hit['path'] for hit in search('old_name', whole_word=True)}:\n"
                "    edit(path, old='old_name', new='new_name')",
                "atomic": True,
            },
        ),
    ),
    profiles=frozenset({"core"}),
    reaches_all=True,
)
