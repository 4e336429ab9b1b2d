"""The one place that starts programs: argument lists, a time limit, bounded output, and no process left behind.

Each program leads its own session, and what it started is ended together with it. A descendant that opens a session of
its own escapes; it can keep neither the caller waiting nor the pipes open on our side.
"""

import os
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from codeplane.core.errors import CodePlaneError
from codeplane.core.messages import LENGTH_BYTES, framed

if TYPE_CHECKING:
    import asyncio

DEFAULT_OUTPUT_LIMIT_BYTES = 1024 * 1024

_TERM_GRACE_SECONDS = 0.5
# How long a descendant may hold the pipes after the program itself has ended.
_LINGER_SECONDS = 0.5
_MAX_POLL_SECONDS = 0.05
_CHUNK_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class ProcessRequest:
    """What to start and within which limits.

    `environment` replaces the inherited environment, `extra_environment` is laid over either. Without `stdin` the
    program reads from the null device. `cancelled` is asked about twenty times a second, in the calling thread.
    """

    argv: tuple[str, ...]
    cwd: Path
    timeout_seconds: float
    stdin: bytes | None = None
    environment: Mapping[str, str] | None = None
    extra_environment: Mapping[str, str] = field(default_factory=dict)
    output_limit_bytes: int = DEFAULT_OUTPUT_LIMIT_BYTES
    cancelled: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        _refuse_one_string(self.argv)
        object.__setattr__(self, "argv", tuple(self.argv))
        _check(self)


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How the program ended; `returncode` is negative for a signal. Output beyond the limit is only counted."""

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    was_cancelled: bool
    stdout_dropped: int
    stderr_dropped: int
    duration_ms: int

    @property
    def stdout_text(self) -> str:
        """The kept output as text; bytes that are not UTF-8 show as escapes."""
        return self.stdout.decode("utf-8", "backslashreplace")

    @property
    def stderr_text(self) -> str:
        """The kept error output as text; bytes that are not UTF-8 show as escapes."""
        return self.stderr.decode("utf-8", "backslashreplace")


def run_process(request: ProcessRequest) -> ProcessResult:
    """Run a program to its end, its time limit or its cancellation, and return what it left.

    A failing program, a timeout and a cancellation are results. On a timeout, a cancellation or any exception, an
    interrupt from the keyboard included, the whole process group is ended: SIGTERM, half a second, SIGKILL.
    After an ordinary end background processes stay, unless they hold the pipes for longer than half a second.

    Raises:
        CodePlaneError: `FILE_NOT_FOUND` for a missing program or directory, `PERMISSION_DENIED` when it may not be
            run, `INVALID_ARGUMENTS` when the system refuses the arguments.
    """
    started = time.monotonic()
    process = _start(request)
    with ExitStack() as stack:
        stack.callback(process.wait)
        exchange = stack.enter_context(_Exchange(process, request))
        try:
            timed_out, was_cancelled = _converse(exchange, request, started + request.timeout_seconds)
        except BaseException:
            # Not even an impatient second interrupt may leave the group running.
            try:
                _terminate(exchange)
            finally:
                _signal_group(process, signal.SIGKILL)
            raise
    return ProcessResult(
        returncode=process.returncode,
        stdout=bytes(exchange.stdout.kept),
        stderr=bytes(exchange.stderr.kept),
        timed_out=timed_out,
        was_cancelled=was_cancelled,
        stdout_dropped=exchange.stdout.n_dropped,
        stderr_dropped=exchange.stderr.n_dropped,
        duration_ms=round((time.monotonic() - started) * 1000),
    )


@dataclass(slots=True)
class _Capture:
    """The beginning of a stream, up to the limit, and the number of bytes after it."""

    limit: int
    kept: bytearray = field(default_factory=bytearray)
    n_dropped: int = 0

    def add(self, chunk: bytes) -> None:
        room = max(0, self.limit - len(self.kept))
        self.kept += chunk[:room]
        self.n_dropped += len(chunk) - min(room, len(chunk))


class _Exchange:
    """The pipes of a running program, all served from the calling thread.

    Invariant: a pipe is registered until its other side closes it; nothing here ever blocks longer than asked.
    """

    def __init__(self, process: subprocess.Popen[bytes], request: ProcessRequest) -> None:
        self.process = process
        self.stdout = _Capture(request.output_limit_bytes)
        self.stderr = _Capture(request.output_limit_bytes)
        self._unsent = memoryview(request.stdin or b"")
        self._selector = selectors.DefaultSelector()
        self._end: int | None = None

    def __enter__(self) -> Self:
        self._register_end()
        self._register(self.process.stdout, selectors.EVENT_READ, self.stdout)
        self._register(self.process.stderr, selectors.EVENT_READ, self.stderr)
        self._register(self.process.stdin, selectors.EVENT_WRITE, None)
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        if self._end is not None:
            os.close(self._end)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()

    @property
    def is_silent(self) -> bool:
        """Both output streams have been closed by everybody who held them."""
        keys = self._selector.get_map().values()
        return not any(key.events == selectors.EVENT_READ and key.data is not None for key in keys)

    def serve(self, seconds: float) -> bool:
        """Move what can be moved within that time; tell whether anything was."""
        if not self._selector.get_map():
            time.sleep(seconds)
            return False
        ready = self._selector.select(seconds)
        for key, _ in ready:
            if key.data is None:
                # The program has ended; its pipes may still hold something.
                self._selector.unregister(key.fd)
                continue
            pipe, capture = key.data
            if capture is None:
                self._send(pipe)
            else:
                self._receive(pipe, capture)
        return bool(ready)

    def _register_end(self) -> None:
        """Let the end of the program wake the waiting thread; where the system cannot, poll."""
        with suppress(AttributeError, OSError):
            self._end = os.pidfd_open(self.process.pid)
            self._selector.register(self._end, selectors.EVENT_READ, None)

    def _register(self, pipe: IO[bytes] | None, event: int, capture: _Capture | None) -> None:
        if pipe:
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe.fileno(), event, (pipe, capture))

    def _send(self, pipe: IO[bytes]) -> None:
        try:
            n_sent = os.write(pipe.fileno(), self._unsent[:_CHUNK_BYTES])
        except BlockingIOError:
            return
        except BrokenPipeError:
            # The program does not want the rest; that is its right, as in a shell pipeline.
            n_sent = len(self._unsent)
        self._unsent = self._unsent[n_sent:]
        if not self._unsent:
            self._finish(pipe)

    def _receive(self, pipe: IO[bytes], capture: _Capture) -> None:
        try:
            chunk = os.read(pipe.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return
        if chunk:
            capture.add(chunk)
        else:
            self._finish(pipe)

    def _finish(self, pipe: IO[bytes]) -> None:
        self._selector.unregister(pipe.fileno())
        pipe.close()


def start_detached(argv: Sequence[str], cwd: Path, log: Path) -> int:
    """Start a program that goes on when this one ends; what it prints is appended to a file. Return its process id."""
    _refuse_one_string(argv)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            list(argv), cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    return process.pid


# The parent's death ends the child at once where the system can tell it; a child that it has lost already ends itself.
_DIES_WITH_PARENT = (
    "import ctypes, os, sys\n"
    "ctypes.CDLL(None).prctl(1, 9)\n"
    "os.getppid() == int(sys.argv[1]) or os._exit(1)\n"
    "os.execvp(sys.argv[2], sys.argv[2:])\n"
)


async def start_served(
    argv: Sequence[str], cwd: Path, environment: Mapping[str, str], chunk_bytes: int
) -> "asyncio.subprocess.Process":
    """Start a program that answers on its pipes for as long as the running thread wants.

    It leads a group of its own (`end_served` ends all of it). On Linux it does not survive this process, however that
    ends; elsewhere it sees the end of its standard input.

    Raises:
        CodePlaneError: FILE_NOT_FOUND for a missing program or directory, PERMISSION_DENIED, INVALID_ARGUMENTS.
    """
    # 25 ms that only servers with upstreams need.
    import asyncio  # noqa: PLC0415

    _refuse_one_string(argv)
    request = ProcessRequest(tuple(argv), cwd, 1.0, environment=environment)
    program = shutil.which(argv[0], path=environment.get("PATH", os.defpath)) if "/" not in argv[0] else argv[0]
    try:
        if program is None:
            raise FileNotFoundError(argv[0])
        words = [program, *argv[1:]]
        if sys.platform == "linux":
            if not os.access(cwd / program, os.X_OK):
                raise PermissionError(program) if (cwd / program).exists() else FileNotFoundError(program)
            words = [sys.executable, "-I", "-S", "-c", _DIES_WITH_PARENT, str(os.getpid()), *words]
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *words, cwd=cwd, env=dict(environment), stdin=pipe, stdout=pipe, stderr=pipe,
            limit=chunk_bytes, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise _start_error(request, error) from error


async def end_served(process: "asyncio.subprocess.Process", grace_seconds: float) -> None:
    """End a program and its group: the end of its input, then SIGTERM, then SIGKILL."""
    # As above.
    import asyncio  # noqa: PLC0415

    if process.stdin is not None:
        process.stdin.close()
    for number in (None, signal.SIGTERM):
        if number is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), grace_seconds)
            break
    # Descendants may be left even where the program itself has ended.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _start(request: ProcessRequest) -> subprocess.Popen[bytes]:
    environment = os.environ if request.environment is None else request.environment
    try:
        return subprocess.Popen(
            request.argv,
            cwd=request.cwd,
            env={**environment, **request.extra_environment},
            stdin=subprocess.DEVNULL if request.stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _start_error(request, error) from error


def _start_error(request: ProcessRequest, error: OSError | ValueError) -> CodePlaneError:
    program = request.argv[0]
    details = {"program": program, "cwd": str(request.cwd)}
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if not request.cwd.is_dir():
            message = f"There is no directory `{request.cwd}` to run `{program}` in."
            return CodePlaneError("FILE_NOT_FOUND", message, details=details)
        message = f"The program `{program}` was not found."
        hint = "Install it, or correct its name or the search path."
        return CodePlaneError("FILE_NOT_FOUND", message, hint=hint, details=details)
    if isinstance(error, PermissionError):
        return CodePlaneError("PERMISSION_DENIED", f"The program `{program}` may not be run.", details=details)
    return CodePlaneError(
        "INVALID_ARGUMENTS", f"The program `{program}` could not be started: {error}.", details=details
    )


def _converse(exchange: _Exchange, request: ProcessRequest, deadline: float) -> tuple[bool, bool]:
    """Serve the pipes until the end; return whether it was the time limit's and whether it was the caller's."""
    ended_at: float | None = None
    pause = 0.001
    while True:
        now = time.monotonic()
        if ended_at is None and _has_ended(exchange.process):
            ended_at = now
        if ended_at is not None:
            if exchange.is_silent:
                return False, False
            if now - ended_at >= _LINGER_SECONDS:
                _terminate(exchange)
                return False, False
        elif request.cancelled and request.cancelled():
            _terminate(exchange)
            return False, True
        elif now >= deadline:
            _terminate(exchange)
            return True, False
        has_moved = exchange.serve(pause)
        pause = 0.001 if has_moved else min(2 * pause, _MAX_POLL_SECONDS)


def _terminate(exchange: _Exchange) -> None:
    """End the group, politely first, and take what it had already written."""
    _signal_group(exchange.process, signal.SIGTERM)
    give_up_at = time.monotonic() + _TERM_GRACE_SECONDS
    while time.monotonic() < give_up_at and not (exchange.is_silent and _has_ended(exchange.process)):
        exchange.serve(0.01)
    _signal_group(exchange.process, signal.SIGKILL)
    # Bounded, because a descendant that left the group may write for ever.
    for _ in range(64):
        if not exchange.serve(0):
            return


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether the program has ended, without giving its id free where the system allows that.

    As long as the exit status is not collected, the group's number cannot pass to a stranger whom the signals
    would then hit. On macOS Python learnt to look without collecting in 3.13 only.
    """
    if not hasattr(os, "waitid") or process.returncode is not None:
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:
        return True


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # macOS answers "not permitted" for a group that holds nothing but ended processes.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _refuse_one_string(argv: object) -> None:
    # A string is a sequence of strings too: it would pass for a list of one-letter arguments.
    if isinstance(argv, str | bytes):
        raise TypeError("argv is a sequence of arguments, not one string")


def _check(request: ProcessRequest) -> None:
    if not all(isinstance(argument, str) for argument in request.argv):
        raise TypeError("every argument is a string")
    if not request.argv or not request.argv[0]:
        raise CodePlaneError("INVALID_ARGUMENTS", "There is no program to run: the argument list is empty.")
    if any("\0" in argument for argument in request.argv):
        raise CodePlaneError("INVALID_ARGUMENTS", f"An argument for `{request.argv[0]!a}` holds a NUL character.")
    if not request.timeout_seconds > 0:
        raise CodePlaneError("INVALID_ARGUMENTS", f"The time limit for `{request.argv[0]}` is not above zero.")
    additions = {**(request.environment or {}), **request.extra_environment}
    if any("=" in name or not name or "\0" in name + value for name, value in additions.items()):
        raise CodePlaneError("INVALID_ARGUMENTS", "A variable's name is empty or holds `=`, or its value holds NUL.")


class WorkerGoneError(Exception):
    """A worker ended or did not answer in time; it is no longer running."""


class WorkerProcess:
    """A program that runs beside this one and answers messages.

    Invariant: one thread asks at a time; after a `WorkerGoneError` the program has ended and been waited for.
    """

    def __init__(self, argv: tuple[str, ...], cwd: Path) -> None:
        _refuse_one_string(argv)
        try:
            self._process = subprocess.Popen(
                argv,
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise _start_error(ProcessRequest(argv, cwd, 1.0), error) from error

    def ask(self, message: bytes, timeout_seconds: float) -> bytes:
        """Send a message and return the answer.

        Raises:
            WorkerGoneError: the program ended, or the time was over.
        """
        timer = threading.Timer(timeout_seconds, self._kill)
        timer.daemon = True
        timer.start()
        try:
            self._send(message)
            return self._answer()
        finally:
            timer.cancel()

    def _send(self, message: bytes) -> None:
        pipe = self._process.stdin
        try:
            if pipe is None:
                raise WorkerGoneError
            pipe.write(framed(message))
            pipe.flush()
        except (OSError, ValueError) as error:
            self.close()
            raise WorkerGoneError from error

    def _answer(self) -> bytes:
        try:
            return self._read(int.from_bytes(self._read(LENGTH_BYTES)))
        except OSError as error:
            self.close()
            raise WorkerGoneError from error

    def _read(self, n_bytes: int) -> bytes:
        pipe = self._process.stdout
        data = pipe.read(n_bytes) if pipe is not None else b""
        if len(data) < n_bytes:
            self.close()
            raise WorkerGoneError
        return data

    def _kill(self) -> None:
        # Once it was waited for, its number may belong to another process.
        if self._process.returncode is None:
            _signal_group(self._process, signal.SIGKILL)

    def close(self) -> None:
        """End the program and wait for it."""
        self._kill()
        for pipe in (self._process.stdin, self._process.stdout):
            # What was not sent yet cannot be flushed any more.
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process.wait()
