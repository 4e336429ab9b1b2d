"""Logs: several outputs at once, one line per record, secrets taken out, never an exception into the caller.

Everything goes through the standard `logging` module under the logger `codeplane`; warnings of libraries join in.
Invariants: a JSON line is valid JSON on one line of bounded length, whatever was logged; a log that cannot be written
costs one note on stderr and nothing else. It deliberately starts no thread and holds no file open.
"""

import contextlib
import errno
import json
import logging
import math
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path, PurePath
from types import TracebackType
from typing import Literal, Self, TextIO, TypeVar

from codeplane.core.clock import Clock, iso_from_ms
from codeplane.core.redaction import redact as redact_secrets
from codeplane.core.settings import nested, setting

T = TypeVar("T")

LevelName = Literal["debug", "info", "warn", "warning", "error"]

MAX_FIELD_CHARACTERS = 2_000
MAX_LINE_BYTES = 16_000
REPEAT_WINDOW_SECONDS = 60.0

_ROOT = "codeplane"
_LIBRARIES = ("mcp", "uvicorn", "starlette", "asyncio")
_FIELDS_ATTRIBUTE = "codeplane_fields"
_SUPPRESSED_ATTRIBUTE = "codeplane_suppressed"
_CORRELATION_KEYS = ("request_id", "op_id", "task_id")
_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}

_correlation: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("codeplane_correlation", default=())


@dataclass(frozen=True, slots=True)
class LogOutput:
    """One place where log lines go."""

    format: Literal["console", "json"] = setting("console", doc="Lines for people (console) or JSON lines (json).")
    destination: str = setting("stderr", doc="stderr, stdout or an absolute file path.")
    level: LevelName | None = setting(None, doc="Lowest level written here; null means logging.level.")

    def __post_init__(self) -> None:
        if self.destination not in {"stderr", "stdout"} and not PurePath(self.destination).is_absolute():
            raise ValueError(f"destination must be stderr, stdout or an absolute file path, not {self.destination!r}")


@dataclass(frozen=True, slots=True)
class LogRotation:
    """When a log file is rotated."""

    max_bytes: int = setting(10_000_000, doc="Size at which a log file is rotated.", minimum=10_000)
    backups: int = setting(3, doc="How many rotated files are kept.", minimum=0, maximum=100)


@dataclass(frozen=True, slots=True)
class LoggingSettings:
    """What is logged and where to."""

    level: LevelName = setting("info", doc="Lowest level that is logged.")
    outputs: tuple[LogOutput, ...] = setting((LogOutput(),), doc="Where log lines go; several at once are fine.")
    rotation: LogRotation = nested(LogRotation, doc="Rotation of log files.")


def get_logger(name: str) -> logging.Logger:
    """Return the logger of a module (`__name__`) or of a part named below `codeplane`."""
    return logging.getLogger(name if _is_ours(name) else f"{_ROOT}.{name}")


def fields(**values: object) -> dict[str, object]:
    """Return the `extra` of a log call: `log.info("server started", extra=fields(port=1234))`."""
    return {_FIELDS_ATTRIBUTE: values}


@contextlib.contextmanager
def correlated(
    *, request_id: str | None = None, op_id: str | None = None, task_id: str | None = None
) -> Iterator[None]:
    """Add identifiers to every record logged inside, also in threads and tasks started with a copy of the context."""
    given = {"request_id": request_id, "op_id": op_id, "task_id": task_id}
    merged = dict(_correlation.get()) | {name: value for name, value in given.items() if value is not None}
    token = _correlation.set(tuple(merged.items()))
    try:
        yield
    finally:
        _correlation.reset(token)


def configure_logging(
    settings: LoggingSettings,
    *,
    clock: Clock,
    extra_outputs: tuple[LogOutput, ...] = (),
    redact: Callable[[str], str] = redact_secrets,
) -> "LoggingHandle":
    """Send the `codeplane` loggers, and warnings of libraries, to the outputs until the handle is closed.

    An earlier configuration that is still in place is closed first.
    """
    for handler in logging.getLogger(_ROOT).handlers:
        if isinstance(handler, _StreamOutput | _FileOutput) and handler.owner is not None:
            handler.owner.close()
    once = _Once(clock)
    outputs = [_output(output, settings, redact) for output in (*settings.outputs, *extra_outputs)]
    for output in outputs:
        output.addFilter(once)
    return LoggingHandle(outputs)


class LoggingHandle:
    """A configuration in place; closing it puts the loggers back as they were.

    Invariant: a handle detaches only what it attached, and closing twice is harmless.
    """

    def __init__(self, outputs: "Sequence[_StreamOutput | _FileOutput]") -> None:
        self._outputs = outputs
        self._before: list[tuple[logging.Logger, int, bool]] = []
        lowest = min((output.level for output in outputs), default=logging.CRITICAL)
        for name in (_ROOT, *_LIBRARIES):
            logger = logging.getLogger(name)
            self._before.append((logger, logger.level, logger.propagate))
            logger.setLevel(lowest if name == _ROOT else logging.WARNING)
            logger.propagate = False
            for output in outputs:
                output.owner = self
                logger.addHandler(output)

    def close(self) -> None:
        """Flush, detach and restore."""
        while self._before:
            logger, level, propagate = self._before.pop()
            for output in self._outputs:
                logger.removeHandler(output)
            logger.setLevel(level)
            logger.propagate = propagate
        for output in self._outputs:
            output.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def tail_lines(path: Path, count: int) -> tuple[str, ...]:
    """Return the last lines of a log without reading the whole file; none if there is no such file."""
    if count <= 0:
        return ()
    budget = count * MAX_LINE_BYTES  # A file that is not a log of ours may have no line breaks at all.
    block_size = 64 * 1024
    data = b""
    try:
        with path.open("rb") as file:
            start = file.seek(0, os.SEEK_END)
            while start > 0 and data.count(b"\n") <= count and len(data) < budget:
                size = min(block_size, start)
                start -= size
                file.seek(start)
                data = file.read(size) + data
    except FileNotFoundError:
        return ()
    lines = data.removesuffix(b"\n").split(b"\n") if data else []
    return tuple(line.decode("utf-8", "replace").rstrip("\r") for line in lines[-count:])


class _Formatter(logging.Formatter):
    """Makes one line of a record: redacted, bounded, for people or as JSON."""

    def __init__(self, redact: Callable[[str], str], *, is_json: bool) -> None:
        super().__init__()
        self._redact = redact
        self._is_json = is_json
        self.is_coloured = False

    def format(self, record: logging.LogRecord) -> str:
        event = _bounded(_guarded(record.getMessage), self._redact)
        values = _plain_values(_values(record), self._redact)
        if self._is_json:
            return _json_line(record, event, values)
        return _console_line(record, event, values, is_coloured=self.is_coloured)


def _values(record: logging.LogRecord) -> dict[str, object]:
    """Return what a line says beside time, level and event: correlation, fields, exception."""
    given = dict(getattr(record, _FIELDS_ATTRIBUTE, None) or {})
    ids = dict(_correlation.get()) | {key: given.pop(key) for key in _CORRELATION_KEYS if key in given}
    values: dict[str, object] = {key: ids[key] for key in _CORRELATION_KEYS if key in ids}
    if not _is_ours(record.name):
        values["logger"] = record.name
    # The three names every line has stay what they are.
    values |= {f"{key}_" if key in {"ts", "level", "event"} else key: value for key, value in given.items()}
    if record.exc_info and record.exc_info[1]:
        values |= _error_values(record.exc_info[1])
    n_suppressed = getattr(record, _SUPPRESSED_ATTRIBUTE, 0)
    return values | ({"suppressed": n_suppressed} if n_suppressed else {})


def _is_ours(name: str) -> bool:
    return name == _ROOT or name.startswith(f"{_ROOT}.")


def _level_name(number: int) -> str:
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warn"
    return "info" if number >= logging.INFO else "debug"


def _error_values(error: BaseException) -> dict[str, object]:
    values: dict[str, object] = {
        "error_type": type(error).__qualname__,
        "error_message": _guarded(lambda: str(error)),
        "where": _where(error),
    }
    cause = error.__cause__
    if cause is not None:
        values["cause"] = f"{type(cause).__qualname__}: {_guarded(lambda: str(cause))}"
    return values


def _where(error: BaseException) -> str:
    """Return the innermost three frames, innermost first, by file name only."""
    frames: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"{PurePath(code.co_filename).name}:{trace.tb_lineno} {code.co_name}")
        del frames[:-3]
        trace = trace.tb_next
    return " < ".join(reversed(frames))


class _Once(logging.Filter):
    """Lets an exception that repeats through once per window, and of libraries only warnings.

    Invariant: at most 500 kinds of exceptions are remembered; the oldest are forgotten first.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING and not _is_ours(record.name):
            return False
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return True
        with self._lock:
            # Every output asks; the record keeps the answer.
            if not hasattr(record, _SUPPRESSED_ATTRIBUTE):
                setattr(record, _SUPPRESSED_ATTRIBUTE, self._count(error))
        return getattr(record, _SUPPRESSED_ATTRIBUTE) is not None

    def _count(self, error: BaseException) -> int | None:
        """Return how many equal ones were left out since the last line, or None if this one is to be left out."""
        key = (type(error).__qualname__, _where(error))
        now = self._clock.monotonic()
        written_at, n_suppressed = self._seen.get(key, (-math.inf, 0))
        if now - written_at < REPEAT_WINDOW_SECONDS:
            self._seen[key] = (written_at, n_suppressed + 1)
            return None
        self._seen.pop(key, None)
        self._seen[key] = (now, 0)
        if len(self._seen) > 500:
            del self._seen[next(iter(self._seen))]
        return n_suppressed


def _plain_values(values: Mapping[str, object], redact: Callable[[str], str]) -> dict[str, object]:
    plain = {}
    for raw_key, value in values.items():
        key = _bounded(str(raw_key), redact)[:100]
        plain[key] = _guarded(partial(_plain_value, value, key, redact))
    return plain


def _plain_value(value: object, key: str, redact: Callable[[str], str]) -> object:
    plain = _plain(value, key, redact, 0)
    if not isinstance(plain, list | dict):
        return plain
    text = json.dumps(plain, ensure_ascii=False)
    return plain if len(text) <= MAX_FIELD_CHARACTERS else text[: MAX_FIELD_CHARACTERS - 1] + "…"


def _plain(value: object, key: str, redact: Callable[[str], str], depth: int) -> object:
    """Return the value as JSON can hold it; long containers are cut, everything unknown becomes its repr."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _plain(value.value, key, redact, depth + 1)
    if isinstance(value, int | float) and abs(value) < 2**63:
        return int(value) if isinstance(value, int) else float(value)
    if depth < 3 and isinstance(value, Mapping):
        pairs = [(_bounded(str(name), redact)[:100], item) for name, item in list(value.items())[:20]]
        inner = {name: _plain(item, name, redact, depth + 1) for name, item in pairs}
        return inner if len(value) <= 20 else inner | {"…": f"{len(value) - 20} more"}
    if depth < 3 and isinstance(value, list | tuple | set | frozenset):
        items = [_plain(item, key, redact, depth + 1) for item in list(value)[:20]]
        return items if len(value) <= 20 else [*items, f"… {len(value) - 20} more"]
    text = str(value) if isinstance(value, str | PurePath) else _guarded(lambda: repr(value))
    return _bounded(text, redact, key)


def _bounded(text: str, redact: Callable[[str], str], key: str = "") -> str:
    """Return the text without secrets, without lone surrogates, and not too long.

    It is cut twice: roughly before, so that redaction stays cheap, and exactly after, so that no half secret is left.
    The name is put before the value for redaction, since `password` says more than what follows it.
    """
    text = text[: 4 * MAX_FIELD_CHARACTERS].encode("utf-8", "backslashreplace").decode("utf-8")
    named = _guarded(lambda: redact(f"{key}={text}")) if key else ""
    clean = named.removeprefix(f"{key}=") if key and named.startswith(f"{key}=") else _guarded(lambda: redact(text))
    return clean if len(clean) <= MAX_FIELD_CHARACTERS else clean[: MAX_FIELD_CHARACTERS - 1] + "…"


def _guarded(make: Callable[[], T]) -> T | str:
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - foreign __str__ and __repr__ may raise anything; a log call must not
        return f"<unprintable: {type(error).__name__}>"


def _json_line(record: logging.LogRecord, event: str, values: Mapping[str, object]) -> str:
    # ASCII only: also the Unicode line separators cannot break the line then.
    time_text = iso_from_ms(round(record.created * 1000))
    head: dict[str, object] = {"ts": time_text, "level": _level_name(record.levelno), "event": event}
    line = json.dumps(head | dict(values), allow_nan=False, separators=(",", ":"))
    if len(line) <= MAX_LINE_BYTES:
        return line
    head["event"] = event[:500]
    left = MAX_LINE_BYTES - len(json.dumps(head)) - len(',"truncated":true')
    kept: dict[str, object] = {}
    for key, value in values.items():
        left -= len(json.dumps({key: value}))
        if left < 0:
            break
        kept[key] = value
    return json.dumps(head | kept | {"truncated": True}, allow_nan=False, separators=(",", ":"))


_COLOURS = {"debug": "\x1b[2m", "info": "\x1b[32m", "warn": "\x1b[33m", "error": "\x1b[31m"}


def _console_line(record: logging.LogRecord, event: str, values: Mapping[str, object], *, is_coloured: bool) -> str:
    name = _level_name(record.levelno)
    level = name.upper().ljust(5)
    if is_coloured:
        level = f"{_COLOURS[name]}{level}\x1b[0m"
    moment = time.strftime("%H:%M:%S", time.localtime(record.created))
    parts = [moment, level, _on_one_line(event)]
    parts += [f"{_on_one_line(key)}={_console_value(value)}" for key, value in values.items()]
    line = " ".join(parts)
    return line if len(line) <= MAX_LINE_BYTES // 4 else line[: MAX_LINE_BYTES // 4 - 1] + "…"


def _console_value(value: object) -> str:
    if not isinstance(value, str):
        return _on_one_line(json.dumps(value, ensure_ascii=False))
    is_plain = value and not any(char in ' "=' or not char.isprintable() for char in value)
    return value if is_plain else _on_one_line(json.dumps(value, ensure_ascii=False))


def _on_one_line(text: str) -> str:
    """Escape what could break the line or steer the terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _output(
    output: LogOutput, settings: LoggingSettings, redact: Callable[[str], str]
) -> "_StreamOutput | _FileOutput":
    made: _StreamOutput | _FileOutput
    if output.destination in {"stderr", "stdout"}:
        made = _StreamOutput(sys.stderr if output.destination == "stderr" else sys.stdout)
    else:
        made = _FileOutput(Path(output.destination), settings.rotation)
    made.setLevel(_LEVELS[(output.level or settings.level).lower()])
    made.setFormatter(_Formatter(redact, is_json=output.format == "json"))
    return made


class _StreamOutput(logging.StreamHandler[TextIO]):
    """Lines on stderr or stdout."""

    owner: LoggingHandle | None = None
    is_failed = False

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if isinstance(self.formatter, _Formatter):
                self.formatter.is_coloured = self.stream.isatty()
            encoding = self.stream.encoding or "utf-8"
            self.stream.write(self.format(record).encode(encoding, "backslashreplace").decode(encoding) + "\n")
            self.stream.flush()
        except (OSError, ValueError) as error:  # ValueError: the stream is closed.
            if not self.is_failed and self.stream is not sys.stderr:
                _note_on_stderr("stdout", error)
            self.is_failed = True

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.stream.flush()


class _FileOutput(logging.Handler):
    """Lines at the end of a file that only its owner can read.

    The file is opened for each line: that costs microseconds, survives a rotation by another process or a person, and
    leaves nothing open. Two processes that rotate in the same instant may rotate a short file, but lose no line.
    """

    owner: LoggingHandle | None = None
    is_failed = False
    has_broken_line = False

    def __init__(self, path: Path, rotation: LogRotation) -> None:
        super().__init__()
        self.path = path
        self.rotation = rotation

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._append(self.format(record).encode("utf-8", "backslashreplace") + b"\n")
        except OSError as error:
            if not self.is_failed:
                _note_on_stderr(str(self.path), error)
            self.is_failed = True

    def _append(self, data: bytes) -> None:
        descriptor = self._open()
        try:
            size = os.fstat(descriptor).st_size
            if size and size + len(data) > self.rotation.max_bytes:
                os.close(descriptor)
                descriptor = -1
                self._rotate()
                descriptor = self._open()
            _write_all(descriptor, b"\n" + data if self.has_broken_line else data)
            self.has_broken_line = False
        except _ShortWriteError:
            self.has_broken_line = True
            raise
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _open(self) -> int:
        # Without O_NONBLOCK a named pipe without a reader would hold up the caller for ever.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            descriptor = os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, flags, 0o600)
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) != 0o600:
            with contextlib.suppress(OSError):  # Another user's file; it takes lines all the same.
                os.fchmod(descriptor, 0o600)
        return descriptor

    def _rotate(self) -> None:
        names = [self.path, *(Path(f"{self.path}.{i}") for i in range(1, self.rotation.backups + 1))]
        if self.rotation.backups == 0:
            self.path.unlink(missing_ok=True)
        for older, newer in zip(reversed(names[1:]), reversed(names[:-1]), strict=True):
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)


class _ShortWriteError(OSError):
    """Only a part of a line fitted on the disk."""


def _write_all(descriptor: int, data: bytes) -> None:
    # One call, so that lines of several processes do not mix.
    n_written = os.write(descriptor, data)
    if n_written < len(data):
        raise _ShortWriteError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _note_on_stderr(destination: str, error: Exception) -> None:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    note = f"codeplane: cannot write the log to {destination} ({reason}); its lines are lost until that works again\n"
    with contextlib.suppress(OSError, ValueError, AttributeError):  # AttributeError: there is no stderr at all.
        sys.stderr.write(note.encode("ascii", "backslashreplace").decode("ascii"))
        sys.stderr.flush()
