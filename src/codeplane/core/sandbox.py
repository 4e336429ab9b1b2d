"""Run a short Python program in an embedded interpreter: no file system, no network, no imports of ours.

The interpreter (pydantic-monty) runs in a worker process that the pool kills and replaces when it overruns its limits
or crashes. A program reaches the outside only through the functions it is given.
"""

import re
from collections.abc import Callable, Mapping
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

    def __init__(self) -> None:
        # The worker ends itself at the limit; the pool kills one that does not.
        self._pool = Monty(checkout_timeout=30.0, request_timeout=MAX_SECONDS + 5.0)
        self._pool.__enter__()

    def close(self) -> None:
        """End the workers."""
        self._pool.__exit__(None, None, None)

    def run(
        self, program: str, functions: Mapping[str, Callable[..., Any]], seconds: float = MAX_SECONDS
    ) -> ProgramOutcome:
        """Run a program to its end; an exception of a function is raised inside the program.

        Raises:
            StopProgramError: a function wants the program to end.
        """
        printed = _Printed()
        limits: ResourceLimits = {
            "max_feed_duration_secs": seconds,
            "max_memory": _MAX_MEMORY,
            "max_suspensions": 2 * MAX_CALLS,
            "max_recursion_depth": 300,
        }
        returned: Any = None
        error: ProgramError | None = None
        try:
            with self._pool.checkout(script_name="program", limits=limits) as session:
                try:
                    returned = _driven(session, program, functions, printed)
                except MontyRuntimeError as failure:
                    error = _explained(session, failure)
        except MontySyntaxError as failure:
            error = ProgramError(f"SyntaxError: {failure}", *_place(failure))
        except MontyCrashedError as failure:
            error = ProgramError(f"The program was stopped: {failure}")
        except (MontyError, TimeoutError, ValueError, TypeError) as failure:
            error = ProgramError(str(failure)[:500])
        return ProgramOutcome("".join(printed.parts), printed.is_cut, returned, error)


def _driven(session: MontySession, program: str, functions: Mapping[str, Callable[..., Any]], printed: _Printed) -> Any:
    """Answer one call after the other until the program ends."""
    n_calls = 0
    step = session.feed_start(program, print_callback=printed.add, external_lookup=dict(functions))
    while not isinstance(step, MontyComplete):
        if not isinstance(step, FunctionSnapshot):
            step = step.resume_auto()
            continue
        n_calls += 1
        function = functions.get(step.function_name)
        if function is None:
            problem = PermissionError(f"{step.function_name}: a program has no file system and no network")
            step = step.resume({"exception": problem})
        elif n_calls > MAX_CALLS:
            step = step.resume({"exception": RuntimeError(f"a program may make {MAX_CALLS} calls")})
        else:
            step = step.resume(_answered(function, step))
    return step.output


def _answered(function: Callable[..., Any], step: FunctionSnapshot) -> Any:
    try:
        return {"return_value": function(*step.args, **step.kwargs)}
    except StopProgramError:
        raise
    except (TypeError, ValueError, RuntimeError, LookupError) as error:
        return {"exception": error}


def _explained(session: MontySession, failure: MontyRuntimeError) -> ProgramError:
    line, source = _place(failure)
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
            text = session.feed_run(f"repr({name})[:{_MAX_VALUE}]")
        except MontyError:
            continue
        if isinstance(text, str) and not text.startswith("<"):
            found.append((name, text))
    return found


def _place(failure: MontyRuntimeError | MontySyntaxError) -> tuple[int | None, str]:
    frames = failure.traceback()
    last = frames[-1] if frames else None
    return (last.line, (last.source_line or "").strip()[:200]) if last is not None else (None, "")
