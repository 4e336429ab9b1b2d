"""Run a short Python program in an embedded interpreter: no file system, no network, no imports of ours.

The interpreter (pydantic-monty) runs in a worker process that the pool kills and replaces when it overruns its limits
or crashes. A program reaches the outside only through the functions it is given.
"""

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_monty import (
    FunctionSnapshot,
    Monty,
    MontyComplete,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    ResourceLimits,
)

MAX_SECONDS: Final = 10.0
MAX_CALLS: Final = 1_000
_MAX_MEMORY: Final = 100_000_000
_MAX_PRINTED: Final = 1_000_000
_MAX_SHOWN_VALUES: Final = 6
_MAX_VALUE: Final = 120
_MAX_ARGUMENTS: Final = 20_000_000
_MAX_RETURNED: Final = 1_000_000
_NOT_SHOWN: Final = "The value cannot be shown: it is too large or too deep. Print what you need of it."
# Names of ours beside the functions of a program.
_CALL: Final = "_call"
_SHOWN: Final = "_shown"
_VALUE: Final = "_value"
_NAME: Final = re.compile(r"[A-Za-z_]\w*")


class StopProgramError(Exception):
    """Raised by a function to end the program at once; the program cannot catch it."""


@dataclass(frozen=True, slots=True)
class ProgramError:
    """What ended a program: the message, the line it happened on, and the values of the names on that line."""

    message: str
    line: int | None = None
    source: str = ""
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """What a program printed and returned, or why it ended."""

    printed: str
    is_cut: bool
    returned: Any = None
    error: ProgramError | None = None


@dataclass(slots=True)
class _Printed:
    """What a program prints, up to a limit; the rest is dropped so that printing alone cannot fail a program."""

    parts: list[str] = field(default_factory=list)
    size: int = 0
    is_cut: bool = False

    def add(self, _stream: str, text: str) -> None:
        room = _MAX_PRINTED - self.size
        self.is_cut = self.is_cut or len(text) > room
        self.parts.append(text[:room])
        self.size += len(text[:room])


class Sandbox:
    """A pool of interpreters. `close` ends its workers."""

    def __init__(self, longest_seconds: float = MAX_SECONDS) -> None:
        # The worker ends itself at the limit; the pool kills one that does not.
        self._pool = Monty(checkout_timeout=30.0, request_timeout=longest_seconds + 5.0)
        self._pool.__enter__()

    def close(self) -> None:
        """End the workers."""
        self._pool.__exit__(None, None, None)

    def run(
        self,
        program: str,
        functions: Mapping[str, Callable[..., Any]],
        seconds: float = MAX_SECONDS,
        max_memory: int = _MAX_MEMORY,
    ) -> ProgramOutcome:
        """Run a program to its end; an exception of a function is raised inside the program.

        Raises:
            StopProgramError: a function wants the program to end.
        """
        printed = _Printed()
        limits: ResourceLimits = {
            "max_feed_duration_secs": seconds,
            "max_memory": max_memory,
            "max_suspensions": 2 * MAX_CALLS,
            "max_recursion_depth": 300,
        }
        returned: Any = None
        error: ProgramError | None = None
        sent = _Sent.of(program)
        try:
            with self._pool.checkout(script_name="program", limits=limits) as session:
                try:
                    session.feed_run(_prelude(functions), external_lookup={_CALL: _ignore})
                    _drive(session, sent.text, functions, printed)
                    returned = _returned(session) if sent.has_value else None
                except MontyRuntimeError as failure:
                    error = _explained(session, failure, sent)
        except MontySyntaxError as failure:
            error = ProgramError(f"SyntaxError: {failure}", *sent.place(failure))
        except MontyCrashedError as failure:
            error = ProgramError(f"The program was stopped: {failure}")
        except (MontyError, TimeoutError, ValueError, TypeError) as failure:
            error = ProgramError(str(failure)[:500])
        return ProgramOutcome("".join(printed.parts), printed.is_cut, returned, error)


def _prelude(functions: Mapping[str, Callable[..., Any]]) -> str:
    """Return what comes before a program: its functions, each of which sends its arguments as JSON."""
    names = "".join(f"{name}, " for name in functions)
    made = "".join(f"made({name!r}), " for name in functions)
    return f"""
def _prepare():
    import json
    dumps, loads, call = json.dumps, json.loads, {_CALL}
    def made(name):
        def function(*args, **named):
            return loads(call(dumps([name, args, named])))
        return function
    def shown(value):
        try:
            return dumps(value)
        except (TypeError, ValueError):
            return dumps(f'{{value!r}}'[:{_MAX_RETURNED}])
    return {made}shown
{names}{_SHOWN} = _prepare()
_prepare = {_CALL} = None
"""


def _drive(session: MontySession, text: str, functions: Mapping[str, Callable[..., Any]], printed: _Printed) -> None:
    """Answer one call after the other until the program ends.

    Only text is taken from the interpreter. A tuple that holds itself sixty times over is small there; as a key of a
    dictionary it would never be built here.
    """
    n_calls = 0
    step = session.feed_start(text, print_callback=printed.add, external_lookup={})
    while not isinstance(step, MontyComplete):
        if not isinstance(step, FunctionSnapshot):
            step = step.resume_auto()
            continue
        n_calls += 1
        if step.function_name != _CALL:
            problem = PermissionError(f"{step.function_name}: a program has no file system and no network")
            step = step.resume({"exception": problem})
        elif n_calls > MAX_CALLS:
            step = step.resume({"exception": RuntimeError(f"a program may make {MAX_CALLS} calls")})
        else:
            step = step.resume(_answered(functions, step.args[0]))


def _answered(functions: Mapping[str, Callable[..., Any]], call: str) -> Any:
    try:
        if len(call) > _MAX_ARGUMENTS:
            raise ValueError(f"the arguments of a call may have {_MAX_ARGUMENTS} characters")  # noqa: TRY301
        name, arguments, named = json.loads(call)
        return {"return_value": json.dumps(functions[name](*arguments, **named), default=str)}
    except StopProgramError:
        raise
    except (TypeError, ValueError, RuntimeError, LookupError, AttributeError) as error:
        return {"exception": error}


def _returned(session: MontySession) -> Any:
    """Return the value of the last expression as JSON has it."""
    try:
        # Whatever the program has made of these names, this is text.
        text = session.feed_run(f"f'{{{_SHOWN}({_VALUE})}}'", print_callback=_ignore)
        return json.loads(text, parse_constant=str) if len(text) <= _MAX_RETURNED else _NOT_SHOWN
    except (MontyError, ValueError, RuntimeError):
        return _NOT_SHOWN


def _ignore(_stream: str, _text: str) -> None:
    """Drop what is printed while a value is asked for."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A program as it was written, and as it is run: its last expression has a name, so that it can be asked for."""

    lines: tuple[str, ...]
    text: str
    has_value: bool

    @classmethod
    def of(cls, program: str) -> "_Sent":
        lines = re.split(r"\r\n|\r|\n", program)
        text = "\n".join(lines)
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            # The interpreter says what is wrong with it.
            return cls(tuple(lines), text, has_value=False)
        if not body or not isinstance(body[-1], ast.Expr):
            return cls(tuple(lines), text, has_value=False)
        return cls(tuple(lines), _with_named_end(lines, body[-1]), has_value=True)

    def place(self, failure: MontyRuntimeError | MontySyntaxError) -> tuple[int | None, str]:
        """Return the last line of the program itself, not of what comes before it, on the way to a failure."""
        run = self.text.split("\n")
        for frame in reversed(failure.traceback()):
            shown = (frame.source_line or "").strip().split("\n")[0]
            if 0 < frame.line <= len(run) and shown and run[frame.line - 1].strip().startswith(shown):
                return frame.line, self.lines[frame.line - 1].strip()[:200]
        return None, ""


def _with_named_end(lines: Sequence[str], last: ast.Expr) -> str:
    """Return a program whose last expression is assigned to a name; its lines keep their numbers."""
    encoded = [line.encode("utf-8", "surrogatepass") for line in lines]
    end = (last.end_lineno or last.lineno) - 1
    for number, column, inserted in (
        (end, last.end_col_offset or 0, b")"),
        (last.lineno - 1, last.col_offset, f"{_VALUE} = (".encode()),
    ):
        encoded[number] = encoded[number][:column] + inserted + encoded[number][column:]
    return b"\n".join(encoded).decode("utf-8", "surrogatepass")


def _explained(session: MontySession, failure: MontyRuntimeError, sent: _Sent) -> ProgramError:
    line, source = sent.place(failure)
    message = str(failure)[:1_000]
    if message.startswith(("TimeoutError", "MemoryError", "RecursionError")):
        # The heap is in no state to be asked.
        return ProgramError(message, line, source)
    return ProgramError(message, line, source, tuple(_values(session, source)))


def _values(session: MontySession, source: str) -> list[tuple[str, str]]:
    """Return the values of the names on the line where a program failed."""
    found: list[tuple[str, str]] = []
    for name in dict.fromkeys(_NAME.findall(source)):
        if len(found) == _MAX_SHOWN_VALUES:
            break
        try:
            # Text, even where the program has made something else of `repr`.
            text = session.feed_run(f"f'{{{name}!r}}'[:{_MAX_VALUE}]", print_callback=_ignore)
        except MontyError:
            continue
        except RuntimeError:
            # The worker did not survive the question.
            break
        if isinstance(text, str) and not text.startswith("<"):
            found.append((name, text))
    return found
