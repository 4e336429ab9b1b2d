"""The REST addresses for people and monitoring."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.core.version import VERSION
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.catalog import OPERATIONS, ROUTED, TOOLS
from codeplane.operations.command import Route as Address
from codeplane.operations.operation import AnyOperation
from codeplane.surfaces.server.openapi import openapi_document
from codeplane.surfaces.server.operator_token import is_operator

if TYPE_CHECKING:
    from codeplane.surfaces.server.host import ServerHost

_MAX_BODY = 16 * 1024 * 1024
_LARGEST_NUMBER = 2**53
_STATUS_OF = {Outcome.FINISHED: 200, Outcome.FAILED: 422, Outcome.DENIED: 403, Outcome.HELD: 202}
# At the addresses of operations; every other error is 400.
_STATUS_OF_ERROR = {"APPROVAL_NOT_FOUND": 404, "NOT_FOUND": 404, "OPERATOR_TOKEN_REQUIRED": 401, "INTERNAL_ERROR": 500}


def routes(host: "ServerHost", metrics_text: Callable[[], bytes]) -> list[BaseRoute]:
    """Return the REST routes of one server."""
    rest = _Rest(host, metrics_text)
    return [
        Route("/health", rest.health),
        Route("/ready", rest.ready),
        Route("/status", rest.status),
        Route("/status/health", rest.status_health),
        Route("/metrics", rest.metrics),
        Route("/operations/{name}", rest.call_operation, methods=["POST"]),
        *rest.addresses(),
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

    async def status_health(self, _request: Request) -> Response:
        return JSONResponse(await anyio.to_thread.run_sync(self._host.health))

    def _status(self) -> dict[str, Any]:
        workspace = self._host.workspace
        now = workspace.clock.now_ms()
        return {**self._host.status(), "tasks": [task.as_document(now) for task in workspace.tasks.open_tasks()]}

    async def metrics(self, _request: Request) -> Response:
        text = await anyio.to_thread.run_sync(self._metrics_text)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def call_operation(self, request: Request) -> Response:
        name = request.path_params["name"]
        authorized = self._is_operator(request)
        refusal = None if authorized else _why_token(name)
        if refusal is not None:
            return error_response(401, ErrorReport("OPERATOR_TOKEN_REQUIRED", refusal))
        arguments = await _body(request)
        runner = self._host.runner_for_people if authorized and name not in TOOLS else self._host.runner
        answer = await runner.run(name, arguments, self._caller(request), None)
        if isinstance(answer, ErrorReport):
            return error_response(503, answer)
        is_bug = answer.error is not None and answer.error.error == "INTERNAL_ERROR"
        return JSONResponse(answer.envelope(), status_code=500 if is_bug else _STATUS_OF[answer.outcome])

    def addresses(self) -> list[Route]:
        """Return the routes that operations ask for."""
        return [
            Route(address.path, partial(self._run, operation, address), methods=[address.method])
            for operation, address in self._served()
        ]

    def _served(self) -> list[tuple[AnyOperation, Address]]:
        return [
            (operation, address)
            for operation in map(OPERATIONS.__getitem__, ROUTED)
            if not operation.name.startswith(self._host.workspace.switched_off)
            for address in operation.routes
            if self._is_served(address)
        ]

    def _is_served(self, address: Address) -> bool:
        value: Any = self._host.workspace.settings
        for name in address.setting.split(".") if address.setting else ():
            value = getattr(value, name)
        return bool(value)

    async def _run(self, operation: AnyOperation, address: Address, request: Request) -> Response:
        """Run an operation with the path, the query and the body as its arguments; answer with its bare result."""
        is_read = operation.effect.value == "read"
        if (address.needs_token or not is_read) and not self._is_operator(request):
            return error_response(
                401, ErrorReport("OPERATOR_TOKEN_REQUIRED", f"This needs the operator token: {address.summary}")
            )
        given = dict(request.query_params) if address.method == "GET" else await _body(request)
        arguments = {**given, **request.path_params}
        caller = self._caller(request)
        if address.as_agent:
            caller = replace(caller, kind=CallerKind.AGENT, proof="")
        answer = await self._host.runner_for_people.run(operation.name, arguments, caller, None)
        if isinstance(answer, Answer) and answer.result is not None:
            document = address.answer(answer.result.model_dump(mode="json"))
            return JSONResponse(document, status_code=address.status)
        if isinstance(answer, Answer):
            report = answer.error or ErrorReport("INTERNAL_ERROR", "There is no answer.")
            return error_response(_STATUS_OF_ERROR.get(report.error, 400), report)
        return error_response(503, answer)

    def _is_operator(self, request: Request) -> bool:
        return is_operator(request.headers.get("authorization"), self._host.token)

    def _caller(self, request: Request) -> Caller:
        is_person = self._is_operator(request)
        kind = CallerKind.PERSON if is_person else CallerKind.AGENT
        client = request.headers.get("user-agent", "rest")[:120]
        # One session per connection: anonymous callers must not use up each other's budget.
        peer = f"{request.client.host}:{request.client.port}" if request.client else "unknown"
        proof = "operator token over REST" if is_person else ""
        return Caller(kind, "rest", f"rest:{kind.value}:{peer}", client, proof=proof)

    async def openapi(self, _request: Request) -> Response:
        return JSONResponse(await anyio.to_thread.run_sync(lambda: openapi_document(self._served())))

    async def stream_events(self, request: Request) -> Response:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        stream = event_stream(self._host, start_of(request))
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


def _why_token(name: str) -> str | None:
    """Return why only a person can call an operation by its name; None when everybody can."""
    operation = TOOLS.get(name)
    if operation is None:
        return f"{name} is for people." if name in OPERATIONS else None
    if name == "call":
        return "`call` may change something."
    return f"{name} changes something." if operation.effect.value != "read" else None


def start_of(request: Request) -> int | None:
    """Return the row after which a client wants events, None for those from here on."""
    last = request.headers.get("last-event-id") or request.query_params.get("last_event_id")
    return _number(last, "Last-Event-ID", 0, _LARGEST_NUMBER)


async def event_stream(host: "ServerHost", start: int | None, *, is_live: bool = False) -> AsyncIterator[bytes]:
    """Yield the rows of the ledger as server-sent events; `is_live` for somebody who watches."""
    newest = await anyio.to_thread.run_sync(host.workspace.chain.last_seq)
    if start is not None and start > newest:
        # The ledger the client knew is gone; it goes on with what there is.
        yield b'event: reset\ndata: {"reason": "the ledger was replaced"}\n\n'
        start = newest
    async for rows in host.rows_from(start, is_live=is_live):
        yield b"".join(map(_event, rows)) or b": still here\n\n"
    yield b'event: shutdown\ndata: {"reason": "server stopping"}\n\n'


def _event(row: dict[str, Any]) -> bytes:
    document = json.dumps(row, ensure_ascii=False)
    return f"id: {row['seq']}\nevent: {row['kind']}\ndata: {document}\n\n".encode()


def _number(text: str | None, name: str, minimum: int, maximum: int) -> int | None:
    if text is None:
        return None
    # `isdigit` alone also accepts superscripts, and `int` refuses thousands of digits.
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(maximum))
    if not is_number or not minimum <= int(text) <= maximum:
        raise CodePlaneError("INVALID_ARGUMENTS", f"{name} must be an integer from {minimum} to {maximum}.")
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
