"""Serve one client that speaks JSON-RPC in lines over a stream pair, such as the Unix socket."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from codeplane.core.errors import ErrorReport

MAX_LINE_BYTES = 16 * 1024 * 1024
_CHUNK = 64 * 1024
_DRAIN_SECONDS = 60.0
_ENDS_BYTES = 4096


@dataclass(frozen=True, slots=True)
class _TooLong:
    """A line that was dropped, and the id found at one of its ends."""

    request_id: str | int | None


async def serve_lines(server: Server[Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve until the client closes its side; calls in flight then are still answered."""
    connection = _LineConnection(reader, writer)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](16)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.pump_in, to_server)
        tasks.start_soon(connection.pump_out, from_server)
        await server.run(from_client, to_client, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def refuse_lines(report: ErrorReport, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every request with the reason why this client is not served, so that it can show it, until it leaves."""
    await _LineConnection(reader, writer).refuse_all(report)


class _LineConnection:
    """Moves messages between lines and the SDK's streams.

    Invariant: `unanswered` holds the ids of requests that were passed on and not answered yet.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._write_lock = asyncio.Lock()
        self._answered = asyncio.Event()
        self.unanswered: set[str | int] = set()

    async def pump_in(self, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async with to_server:
            async for line in self._lines():
                if isinstance(line, _TooLong):
                    message = f"A message may have at most {MAX_LINE_BYTES} bytes."
                    report = ErrorReport("PAYLOAD_TOO_LARGE", message)
                    await self._refuse(line.request_id, types.INVALID_REQUEST, report)
                elif isinstance(line, bytes) and line.strip():
                    await self._pass_on(line, to_server)
            await self._wait_for_answers()

    async def refuse_all(self, report: ErrorReport) -> None:
        async for line in self._lines():
            try:
                document = json.loads(line) if isinstance(line, bytes) else None
            except (ValueError, RecursionError):
                document = None
            if isinstance(document, dict) and "method" in document and "id" in document:
                await self._refuse(document["id"], types.INVALID_REQUEST, report)

    async def _pass_on(self, line: bytes, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError as error:
            await self._refuse_unreadable(line, error)
            return
        if isinstance(message, types.JSONRPCRequest):
            self.unanswered.add(message.id)
        elif isinstance(message, types.JSONRPCNotification):
            if _has_id(line):
                # An id of a wrong type: the message wants an answer, but none that could be told from others.
                report = ErrorReport("INVALID_FORMAT", "The id of a request must be a string or an integer.", _SHAPE)
                await self._refuse(None, types.INVALID_REQUEST, report)
                return
            self._forget_cancelled(message)
        await to_server.send(SessionMessage(message))

    def _forget_cancelled(self, message: types.JSONRPCNotification) -> None:
        """A cancelled request gets no answer, so do not wait for one."""
        if message.method == "notifications/cancelled":
            request_id = (message.params or {}).get("requestId")
            if isinstance(request_id, str | int):
                self.unanswered.discard(request_id)

    async def pump_out(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        try:
            async with from_server:
                async for item in from_server:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self._write(text.encode("utf-8", errors="backslashreplace") + b"\n")
                    if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                        self.unanswered.discard(item.message.id if item.message.id is not None else "")
                        self._answered.set()
        except (ConnectionError, RuntimeError):
            # The client is gone; the reading side ends the connection.
            self.unanswered.clear()
            self._answered.set()

    async def _wait_for_answers(self) -> None:
        """After the client's last line, give its calls time to be answered."""
        with anyio.move_on_after(_DRAIN_SECONDS):
            while self.unanswered:
                self._answered.clear()
                await self._answered.wait()

    async def _lines(self) -> AsyncIterator[object]:
        """Yield complete lines; a line that is too long is dropped whole and told once."""
        buffer = bytearray()
        head = b""
        while chunk := await self._read():
            # What was looked at before holds no line end.
            start = len(buffer)
            buffer += chunk
            while (end := buffer.find(b"\n", start)) >= 0:
                line = bytes(buffer[:end])
                del buffer[: end + 1]
                start = 0
                is_too_long = bool(head) or len(line) > MAX_LINE_BYTES
                yield _TooLong(_id_at_ends(head or line[:_ENDS_BYTES], line[-_ENDS_BYTES:])) if is_too_long else line
                head = b""
            if len(buffer) > MAX_LINE_BYTES:
                head = head or bytes(buffer[:_ENDS_BYTES])
                # The end of what is dropped stays, because the id may be there.
                del buffer[:-_ENDS_BYTES]
        if head:
            yield _TooLong(_id_at_ends(head, bytes(buffer[-_ENDS_BYTES:])))
        elif buffer:
            yield bytes(buffer)

    async def _read(self) -> bytes:
        try:
            return await self._reader.read(_CHUNK)
        except ConnectionError:
            return b""

    async def _refuse_unreadable(self, line: bytes, error: ValidationError) -> None:
        """Answer a line that is not a JSON-RPC message; a notification gets no answer."""
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            reason = str(error.errors(include_url=False)[0].get("msg", "not JSON"))[:200]
            report = ErrorReport("INVALID_FORMAT", f"The line is not valid JSON: {reason}", _SHAPE)
            await self._refuse(_only_id(line), types.PARSE_ERROR, report)
            return
        request_id = document.get("id") if isinstance(document, dict) else None
        if isinstance(document, dict) and "method" in document and "id" not in document:
            return
        valid_id = request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None
        report = ErrorReport("INVALID_FORMAT", "The line is not a JSON-RPC 2.0 message.", _SHAPE)
        await self._refuse(valid_id, types.INVALID_REQUEST, report)

    async def _refuse(self, request_id: object, code: int, report: ErrorReport) -> None:
        error = {"code": code, "message": report.message, "data": report.as_dict()}
        document = {"jsonrpc": "2.0", "id": request_id, "error": error}
        await self._write(json.dumps(document).encode("utf-8") + b"\n")

    async def _write(self, data: bytes) -> None:
        async with self._write_lock:
            self._writer.write(data)
            await self._writer.drain()


def _has_id(line: bytes) -> bool:
    return b'"id"' in line and json.loads(line).get("id") is not None


def _only_id(line: bytes) -> str | int | None:
    """Return the id of a line that cannot be parsed, if it holds exactly one."""
    found = _ID.findall(line)
    if len(found) != 1:
        return None
    return _id_in(found[0])


def _id_at_ends(head: bytes, tail: bytes) -> str | int | None:
    """Return the id of a request whose middle was dropped: clients write it before or after the parameters."""
    found = _FIRST_ID.match(head) or _LAST_ID.search(tail)
    return _id_in(found[1]) if found else None


def _id_in(text: bytes) -> str | int:
    return int(text) if text.isdigit() else text.strip(b'"').decode("utf-8", "replace")


_ID_VALUE = rb'(\d{1,15}|"[^"\\]{1,100}")'
_MEMBER = rb'"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"'
_FIRST_ID = re.compile(rb"\s*\{\s*(?:" + _MEMBER + rb'\s*,\s*)*"id"\s*:\s*' + _ID_VALUE + rb"\s*[,}]")
_LAST_ID = re.compile(rb'[,{]\s*"id"\s*:\s*' + _ID_VALUE + rb"(?:\s*,\s*" + _MEMBER + rb")*\s*\}\s*$")
_ID = re.compile(rb'"id"\s*:\s*' + _ID_VALUE)
_SHAPE = 'Send one object per line: {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
