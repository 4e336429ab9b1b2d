"""Failures of tests as answers tell them: each once, with its place, in few lines."""

import re
from typing import Final, Literal

from pydantic import Field

from codeplane.core.printable import printable_name, without_escapes
from codeplane.core.redaction import redact
from codeplane.operations.models import Result

MAX_LINES: Final = 15
_MAX_LINE: Final = 160
_MAX_TEXT: Final = 900
# Frames of a stack that are not the project's: of libraries, of the runner, of a language's own code.
_FOREIGN_FRAME: Final = re.compile(
    r"^\s*at (?:.*[( /](?:node_modules/|node:)|new Promise \(<anonymous>\)|.*\((?:org\.junit|java\.base|jdk\.|native)"
    r"|java\.base/|org\.junit\.|/rustc/)|^\s+\d+: (?:core|std|test|__rustc|rust_begin_unwind)\b|^stack backtrace:$"
    r"|^note: (?:run with|Some details are omitted)|^\s+\S*/go/src/(?:testing|runtime)/\S+:\d+|^testing\.tRunner"
    r"|^created by testing\."
)
# First lines that only announce what the next or the last one tells.
_ANNOUNCES: Final = re.compile(r"^thread '.*' .*panicked at |^---- ")


class FailureInfo(Result):
    """One failure; tests that fail in the same way are one."""

    tests: list[str] = Field(description="At most 20.")
    count: int
    outcome: Literal["failed", "error"]
    path: str | None = None
    line: int | None = None
    text: str = Field(description="At most 15 lines.")
    exception_type: str | None = None
    fingerprint: str
    reason: str | None = Field(None, description="How the change reaches this test.")
    changed_definitions: list[str] = Field(default_factory=list, description="What changed there; at most 5.")
    flaky_before: bool = Field(False, description="Whether it was flaky in a kept run.")


class NotRun(Result):
    """A target that was not run."""

    target: str
    reason: str


def shortened(text: str) -> str:
    """Return at most 15 lines of a failure: its beginning, and more of its end, where the assertion is."""
    every = [line.rstrip()[:_MAX_LINE] for line in redact(without_escapes(text)).splitlines() if line.strip()]
    lines = [line for line in every if not _FOREIGN_FRAME.match(line)] or every
    if len(lines) > MAX_LINES:
        lines = [*lines[:4], "…", *lines[5 - MAX_LINES :]]
    while len("\n".join(lines)) > _MAX_TEXT and len(lines) > 4:
        lines = [*lines[:2], "…", *[line for line in lines[3:] if line != "…"][1:]]
    return "\n".join(lines)[:_MAX_TEXT]


def failure_lines(one: FailureInfo, *, is_long: bool) -> list[str]:
    """Return a failure as text: its test and place, and what was printed or its last line."""
    place = f" {printable_name(one.path)}:{one.line or 1}" if one.path else ""
    same = f" and {one.count - 1} more alike" if one.count > 1 else ""
    names = ", ".join(name.partition("::")[2] for name in one.changed_definitions)
    why = f" [{one.reason}{f': {names}' if names else ''}]" if one.reason and is_long else ""
    flaky = " (flaky before)" if one.flaky_before else ""
    text = one.text if is_long else _gist(one.text)
    head = f"{one.outcome.upper()} {printable_name(one.tests[0])}{same}{flaky}{place}{why}"
    return [head, *([text] if text else [])]


def _gist(text: str) -> str:
    """Return the line that tells most: that of pytest about the error, the end of a traceback, else the beginning."""
    lines = text.splitlines()
    marked = next((line for line in lines if line.startswith("E  ")), "")
    if marked or not lines:
        return marked
    if lines[0].startswith("Traceback "):
        return lines[-1]
    return next((line for line in lines if not _ANNOUNCES.match(line)), lines[0])
