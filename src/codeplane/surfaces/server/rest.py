"""The REST addresses for people and monitoring."""

import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from codeplane.core.clock import iso_from_ms, ms_from_iso
from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.core.version import VERSION
from codeplane.govern.approvals import Hold, PersonsAnswer
from codeplane.ledger.callers import Caller, CallerKind
from codeplane.ledger.chain import FINAL_KINDS, LedgerRow, RowFilter
from codeplane.ledger.task_book import TaskFilter
from codeplane.ledger.tasks import Task
from codeplane.operations.answer import Outcome
from codeplane.surfaces.server.openapi import openapi_document
from codeplane.surfaces.server.operator_token import is_operator
from codeplane.surfaces.task_requests import any_state, close_task, open_task
from codeplane.workspace.approval_answers import answer_hold

if TYPE_CHECKING:
    from codeplane.surfaces.server.host import ServerHost

_MAX_BODY = 16 * 1024 * 1024
_LARGEST_NUMBER = 2**53
# What section 12.5 keeps of an operation, shown where a row has it.
_SHOWN_EVIDENCE = (
    "index_epoch", "repo_before", "repo_after", "changed_paths", "diff_stats", "short_diff", "mutation_fingerprint",
    "hold_id", "intent", "approval", "mutation_class",
    "is_no_op", "failure_fingerprint", "failure_class", "failing_tests", "non_progress", "limit_triggered",
)  # fmt: skip
_STATUS_OF = {Outcome.FINISHED: 200, Outcome.FAILED: 422, Outcome.DENIED: 403, Outcome.HELD: 202}


def routes(host: "ServerHost", metrics_text: Callable[[], bytes]) -> list[BaseRoute]:
    """Return the REST routes of one server."""
    rest = _Rest(host, metrics_text)
    return [
        Route("/health", rest.health),
        Route("/ready", rest.ready),
        Route("/status", rest.status),
        Route("/metrics", rest.metrics),
        Route("/operations", rest.operations),
        Route("/operations/{name}", rest.call_operation, methods=["POST"]),
        Route("/tasks", rest.tasks),
        Route("/tasks", rest.open_task, methods=["POST"]),
        Route("/tasks/{task_id}", rest.task),
        Route("/tasks/{task_id}/close", rest.close_task, methods=["POST"]),
        Route("/approvals", rest.approvals),
        Route("/approvals/{hold_id}", rest.approval),
        Route("/approvals/{hold_id}/{answer}", rest.answer_approval, methods=["POST"]),
        Route("/stream/events", rest.stream_events),
        Route("/openapi.json", rest.openapi),
    ]


def error_response(status: int, report: ErrorReport) -> JSONResponse:
    """Return the error object with an HTTP status."""
    return JSONResponse(report.as_dict(), status_code=status)


async def not_found(request: Request, _error: Exception) -> Response:
    """Answer an unknown address."""
    return error_response(404, ErrorReport("NOT_FOUND", f"There is nothing at {request.url.path[:200]}."))


async def wrong_method(request: Request, error: Exception) -> Response:
    """Answer a known address with the wrong method."""
    allowed = (error.headers or {}).get("Allow", "") if isinstance(error, HTTPException) else ""
    report = ErrorReport("METHOD_NOT_ALLOWED", f"{request.url.path[:200]} takes {allowed or 'another method'}.")
    return error_response(405, report)


async def refused(_request: Request, error: Exception) -> Response:
    """Answer a request that CodePlane refuses with an error from the registry."""
    report = error.report() if isinstance(error, CodePlaneError) else ErrorReport("INTERNAL_ERROR", "Unexpected.")
    return error_response(400, report)


async def broken(_request: Request, _error: Exception) -> Response:
    """Answer a request that met a bug; the guard around the application logs it."""
    return error_response(500, ErrorReport("INTERNAL_ERROR", "The server met an unexpected problem."))


class _Rest:
    def __init__(self, host: "ServerHost", metrics_text: Callable[[], bytes]) -> None:
        self._host = host
        self._metrics_text = metrics_text

    async def health(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": VERSION})

    async def ready(self, _request: Request) -> Response:
        if self._host.is_ready and not await anyio.to_thread.run_sync(self._host.can_answer):
            return error_response(503, ErrorReport("INDEX_BUILDING", "The first index is being built."))
        if self._host.is_ready and self._host.is_recording:
            return JSONResponse({"status": "ready"})
        if self._host.is_ready:
            return error_response(503, ErrorReport("DATABASE_UNAVAILABLE", "Calls cannot be recorded."))
        report = ErrorReport("SERVER_SHUTTING_DOWN", "The server is starting or stopping.")
        return error_response(503, report)

    async def status(self, _request: Request) -> Response:
        return JSONResponse(await anyio.to_thread.run_sync(self._status))

    def _status(self) -> dict[str, Any]:
        workspace = self._host.workspace
        now = workspace.clock.now_ms()
        return {**self._host.status(), "tasks": [task.as_document(now) for task in workspace.tasks.open_tasks()]}

    async def metrics(self, _request: Request) -> Response:
        text = await anyio.to_thread.run_sync(self._metrics_text)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def operations(self, request: Request) -> Response:
        wanted = _filter_of(request)
        rows = await anyio.to_thread.run_sync(self._host.workspace.chain.rows, wanted)
        cursor = str(rows[-1].seq) if len(rows) == wanted.limit else None
        return JSONResponse({"results": [_row_document(row) for row in rows], "pagination": {"next_cursor": cursor}})

    async def call_operation(self, request: Request) -> Response:
        name = request.path_params["name"]
        operation = self._host.door.operations.get(name)
        authorized = is_operator(request.headers.get("authorization"), self._host.token)
        if operation is not None and operation.effect.value != "read" and not authorized:
            return error_response(401, ErrorReport("OPERATOR_TOKEN_REQUIRED", f"{name} changes something."))
        # A call may name any operation, so only the token opens it.
        if name == "call" and not authorized:
            return error_response(401, ErrorReport("OPERATOR_TOKEN_REQUIRED", "`call` may change something."))
        arguments = await _body(request)
        kind = CallerKind.PERSON if authorized else CallerKind.AGENT
        client = request.headers.get("user-agent", "rest")[:120]
        # One session per connection: anonymous callers must not use up each other's budget.
        peer = f"{request.client.host}:{request.client.port}" if request.client else "unknown"
        caller = Caller(kind, "rest", f"rest:{kind.value}:{peer}", client)
        answer = await self._host.runner.run(name, arguments, caller, None)
        if isinstance(answer, ErrorReport):
            return error_response(503, answer)
        return JSONResponse(answer.envelope(), status_code=_STATUS_OF[answer.outcome])

    async def tasks(self, request: Request) -> Response:
        wanted = _task_filter_of(request)
        found = await anyio.to_thread.run_sync(self._host.workspace.tasks.tasks, wanted)
        now = self._host.workspace.clock.now_ms()
        cursor = str(found[-1].opened_seq) if len(found) == wanted.limit else None
        results = [task.as_document(now) for task in found]
        return JSONResponse({"results": results, "pagination": {"next_cursor": cursor}})

    async def task(self, request: Request) -> Response:
        return await self._task_answer(partial(self._host.workspace.tasks.find, request.path_params["task_id"]))

    async def open_task(self, request: Request) -> Response:
        if not self._is_operator(request):
            return error_response(401, ErrorReport("OPERATOR_TOKEN_REQUIRED", "Opening a task changes something."))
        return await self._task_answer(partial(self._open_task, await _body(request)), created=True)

    def _open_task(self, given: dict[str, Any]) -> Task:
        workspace = self._host.workspace
        # The task lives as long as this server does.
        workspace.ownership.claim()
        return open_task(workspace, given, {"surface": "rest", "caller": "person"}, workspace.ownership.owner)

    async def close_task(self, request: Request) -> Response:
        if not self._is_operator(request):
            return error_response(401, ErrorReport("OPERATOR_TOKEN_REQUIRED", "Closing a task changes something."))
        given = await _body(request)
        return await self._task_answer(partial(close_task, self._host.workspace, request.path_params["task_id"], given))

    async def approvals(self, request: Request) -> Response:
        if not self._is_operator(request):
            return error_response(401, ErrorReport("OPERATOR_TOKEN_REQUIRED", "Held calls are shown to people only."))
        _refuse_unknown_filters(set(request.query_params), {"state"})
        state = request.query_params.get("state")
        book, now = self._host.workspace.gate.approvals, self._host.workspace.clock.now_ms()
        found = await anyio.to_thread.run_sync(book.holds, state)
        return JSONResponse({"results": [one.as_document(now) for one in found]})

    async def approval(self, request: Request) -> Response:
        if not self._is_operator(request):
            return error_response(401, ErrorReport("OPERATOR_TOKEN_REQUIRED", "Held calls are shown to people only."))
        book = self._host.workspace.gate.approvals
        return await self._approval_answer(partial(book.find, request.path_params["hold_id"]))

    async def answer_approval(self, request: Request) -> Response:
        if not self._is_operator(request):
            return error_response(401, ErrorReport("OPERATOR_TOKEN_REQUIRED", "Only a person answers held calls."))
        given = await _body(request)
        workspace, hold_id = self._host.workspace, request.path_params["hold_id"]
        if request.path_params["answer"] == "revoke":
            return await self._approval_answer(partial(workspace.gate.approvals.revoke, hold_id, "rest"))
        answer = _persons_answer(request.path_params["answer"], given)
        return await self._approval_answer(partial(answer_hold, workspace, hold_id, answer))

    async def _approval_answer(self, action: Callable[[], Hold]) -> Response:
        try:
            hold = await anyio.to_thread.run_sync(action)
        except CodePlaneError as error:
            return error_response(404 if error.code == "APPROVAL_NOT_FOUND" else 400, error.report())
        return JSONResponse(hold.as_document(self._host.workspace.clock.now_ms()))

    def _is_operator(self, request: Request) -> bool:
        return is_operator(request.headers.get("authorization"), self._host.token)

    async def _task_answer(self, action: Callable[[], Task], *, created: bool = False) -> Response:
        try:
            task = await anyio.to_thread.run_sync(action)
        except CodePlaneError as error:
            return error_response(404 if error.code == "NOT_FOUND" else 400, error.report())
        document = task.as_document(self._host.workspace.clock.now_ms())
        return JSONResponse(document, status_code=201 if created else 200)

    async def openapi(self, _request: Request) -> Response:
        return JSONResponse(openapi_document(self._host.door.operations))

    async def stream_events(self, request: Request) -> Response:
        last = request.headers.get("last-event-id") or request.query_params.get("last_event_id")
        start = _number(last, "Last-Event-ID", 0, _LARGEST_NUMBER)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(self._events(start), media_type="text/event-stream", headers=headers)

    async def _events(self, start: int | None) -> AsyncIterator[bytes]:
        newest = await anyio.to_thread.run_sync(self._host.workspace.chain.last_seq)
        if start is not None and start > newest:
            # The ledger the client knew is gone; it goes on with what there is.
            yield b'event: reset\ndata: {"reason": "the ledger starts anew"}\n\n'
            start = newest
        async for row in self._host.rows_from(start):
            if row is None:
                yield b": still here\n\n"
            else:
                document = json.dumps(_row_document(row), ensure_ascii=False)
                yield f"id: {row.seq}\nevent: {row.kind}\ndata: {document}\n\n".encode()
        yield b'event: shutdown\ndata: {"reason": "server stopping"}\n\n'


def _row_document(row: LedgerRow) -> dict[str, Any]:
    body = row.body
    return {
        "seq": row.seq,
        "kind": row.kind,
        "call_id": row.call_id,
        "operation": row.operation,
        "session": row.session,
        "task_id": row.task_id,
        "worktree": row.worktree,
        "time": iso_from_ms(row.ts_ms),
        "duration_ms": body.get("duration_ms"),
        "error": body.get("error"),
        "message": body.get("message"),
        "effects": body.get("effects", {}),
        "policy": body.get("policy"),
        **{name: body[name] for name in _SHOWN_EVIDENCE if name in body},
        "hash": row.hash,
    }


def _persons_answer(word: str, given: dict[str, Any]) -> PersonsAnswer:
    """Read what a person says: comment, and for an approval scope and minutes."""
    if word not in {"approve", "deny"}:
        raise CodePlaneError("INVALID_ARGUMENTS", "The answer is approve, deny or revoke.")
    _refuse_unknown_filters(set(given), {"comment", "scope", "minutes"})
    comment, scope, minutes = given.get("comment", ""), given.get("scope", "once"), given.get("minutes", 60)
    if not isinstance(comment, str) or not isinstance(scope, str) or type(minutes) is not int:
        raise CodePlaneError("INVALID_ARGUMENTS", "comment and scope are texts, minutes is a whole number.")
    return PersonsAnswer(word == "approve", "operator token over REST", comment, scope, minutes)


def _task_filter_of(request: Request) -> TaskFilter:
    """Read the filters: state, session, cursor, limit."""
    query = request.query_params
    _refuse_unknown_filters(set(query), {"state", "session", "cursor", "limit"})
    state = query.get("state")
    return TaskFilter(
        state=any_state(state) if state is not None else None,
        session=query.get("session"),
        before_seq=_number(query.get("cursor"), "cursor", 1, _LARGEST_NUMBER),
        limit=_number(query.get("limit"), "limit", 1, 500) or 50,
    )


def _refuse_unknown_filters(given: set[str], known: set[str]) -> None:
    unknown = sorted(given - known)
    if unknown:
        raise CodePlaneError(
            "INVALID_ARGUMENTS",
            f"There is no filter `{unknown[0][:80]}`.",
            hint=f"Filters: {', '.join(sorted(known))}.",
        )


def _filter_of(request: Request) -> RowFilter:
    """Read the filters: task, type, outcome, session, since, until, cursor, limit."""
    query = request.query_params
    _refuse_unknown_filters(set(query), {"task", "type", "outcome", "session", "since", "until", "cursor", "limit"})
    outcome = query.get("outcome")
    if outcome is not None and outcome not in FINAL_KINDS:
        raise CodePlaneError("INVALID_ARGUMENTS", f"outcome is one of {', '.join(FINAL_KINDS)}.")
    return RowFilter(
        kinds=(outcome,) if outcome else FINAL_KINDS,
        operation=query.get("type"),
        task_id=query.get("task"),
        session=query.get("session"),
        since_ms=_time(query.get("since"), "since"),
        until_ms=_time(query.get("until"), "until"),
        before_seq=_number(query.get("cursor"), "cursor", 1, _LARGEST_NUMBER),
        limit=_number(query.get("limit"), "limit", 1, 500) or 50,
    )


def _time(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    try:
        return ms_from_iso(text)
    except ValueError as error:
        hint = "For example 2026-01-31T12:00:00Z."
        raise CodePlaneError("INVALID_ARGUMENTS", f"{name} is an ISO 8601 time.", hint=hint) from error


def _number(text: str | None, name: str, minimum: int, maximum: int) -> int | None:
    if text is None:
        return None
    # `isdigit` alone also accepts superscripts, and `int` refuses thousands of digits.
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(maximum))
    if not is_number or not minimum <= int(text) <= maximum:
        raise CodePlaneError("INVALID_ARGUMENTS", f"{name} is a whole number from {minimum} to {maximum}.")
    return int(text)


async def _body(request: Request) -> dict[str, Any]:
    size = 0
    parts: list[bytes] = []
    async for chunk in request.stream():
        size += len(chunk)
        if size > _MAX_BODY:
            raise CodePlaneError("PAYLOAD_TOO_LARGE", f"A body may have at most {_MAX_BODY} bytes.")
        parts.append(chunk)
    if not size:
        return {}
    try:
        document = json.loads(b"".join(parts))
    except (ValueError, RecursionError) as error:
        raise CodePlaneError("INVALID_FORMAT", "The body is not JSON.") from error
    if not isinstance(document, dict):
        raise CodePlaneError("INVALID_FORMAT", "The body is a JSON object with the operation's arguments.")
    return document
