"""One upstream on the pipes of a program: JSON-RPC in lines, of which each is bounded and garbage is passed over."""

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from codeplane.core.processes import end_served, start_served
from codeplane.surfaces.gateway.resolution import ResolvedUpstream

MAX_LINE_BYTES: Final = 8 * 1024 * 1024
_CHUNK: Final = 64 * 1024
MAX_LAST_WORDS: Final = 4_000
_GRACE_SECONDS: Final = 1.0
_TOO_LONG: Final = f"The answer has more than {MAX_LINE_BYTES} bytes."
_ID: Final = re.compile(rb'"id"\s*:\s*(\d{1,15})')

Incoming = SessionMessage | Exception


class Program:
    """A running program that speaks MCP.

    Invariant: `ended` is set as soon as its output has ended; all that it writes is read.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._stderr: deque[bytes] = deque()
        self._stderr_size = 0
        self.n_garbage = 0
        self.ended = asyncio.Event()

    @property
    def last_words(self) -> str:
        """Return the end of what it wrote to standard error, and a part of what was before it."""
        return b"".join(self._stderr).decode("utf-8", "replace")

    @property
    def how_it_ended(self) -> str:
        """Return its exit code in words."""
        code = self._process.returncode
        return (
            "closed its output" if code is None else f"ended with {f'signal {-code}' if code < 0 else f'code {code}'}"
        )

    async def read_output(self, to_session: MemoryObjectSendStream[Incoming]) -> None:
        """Pass its lines on until it ends."""
        try:
            async with to_session:
                async for line in self._lines():
                    message = _message(line)
                    if message is None:
                        self.n_garbage += bool(line.strip())
                        continue
                    await to_session.send(message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return
        finally:
            self.ended.set()

    async def _lines(self) -> AsyncIterator[bytes]:
        stream = self._process.stdout
        buffer, head = bytearray(), b""
        while stream is not None and (chunk := await stream.read(_CHUNK)):
            start = len(buffer)
            buffer += chunk
            while (end := buffer.find(b"\n", start)) >= 0:
                line, start = bytes(buffer[:end]), 0
                del buffer[: end + 1]
                yield _refusal(head, _TOO_LONG) if head else line
                head = b""
            if len(buffer) > MAX_LINE_BYTES:
                head = head or bytes(buffer[:_CHUNK])
                buffer.clear()

    async def read_errors(self) -> None:
        """Keep the end of its standard error."""
        stream = self._process.stderr
        while stream is not None and (chunk := await stream.read(_CHUNK)):
            self._stderr.append(chunk)
            self._stderr_size += len(chunk)
            while self._stderr_size - len(self._stderr[0]) > MAX_LAST_WORDS:
                self._stderr_size -= len(self._stderr.popleft())

    async def write_input(self, from_session: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Send what the session says."""
        stream = self._process.stdin
        with suppress(ConnectionError, RuntimeError):
            async with from_session:
                async for item in from_session:
                    if stream is None:
                        return
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    stream.write(text.encode("utf-8", "backslashreplace") + b"\n")
                    await stream.drain()

    async def end(self) -> None:
        """End it and all that it started."""
        await end_served(self._process, _GRACE_SECONDS)


def _message(line: bytes) -> SessionMessage | None:
    """Return the message of a line, None for garbage; an answer that cannot be read ends its call with an error."""
    if not line.lstrip().startswith(b"{"):
        return None
    for read in (_read_fast, _read_deep):
        with suppress(ValueError, RecursionError):
            return SessionMessage(read(line))
    refusal = _refusal(line, "The answer could not be read.")
    return SessionMessage(_read_fast(refusal)) if refusal else None


def _read_fast(line: bytes) -> types.JSONRPCMessage:
    return types.jsonrpc_message_adapter.validate_json(line, by_name=False)


def _read_deep(line: bytes) -> types.JSONRPCMessage:
    # The fast reader stops at 200 levels, which would take the whole list away where one tool is nested deeper.
    return types.jsonrpc_message_adapter.validate_python(json.loads(line), by_name=False)


def _refusal(head: bytes, reason: str) -> bytes:
    """Return an error in place of an answer, by the id at its beginning; nothing for one without."""
    found = _ID.search(head[:4096])
    if found is None or b'"method"' in head[: found.end()]:
        return b""
    error = {"jsonrpc": "2.0", "id": int(found[1]), "error": {"code": types.INTERNAL_ERROR, "message": reason}}
    return json.dumps(error).encode()


@asynccontextmanager
async def program_streams(
    upstream: ResolvedUpstream,
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage], Program]]:
    """Start a program and give out the streams of a session with it; it ends with the block.

    Raises:
        CodePlaneError: it cannot be started.
    """
    process = await start_served(upstream.argv, upstream.cwd, upstream.environment, _CHUNK)
    program = Program(process)
    to_session, from_program = anyio.create_memory_object_stream[Incoming](16)
    to_program, from_session = anyio.create_memory_object_stream[SessionMessage](16)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(program.read_output, to_session)
            tasks.start_soon(program.read_errors)
            tasks.start_soon(program.write_input, from_session)
            try:
                yield from_program, to_program, program
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await program.end()
        for stream in (to_session, from_program, to_program, from_session):
            stream.close()
