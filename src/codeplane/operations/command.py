"""How people reach an operation: as a terminal command and at a REST address."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ConfigDict

from codeplane.core.printable import printable_name
from codeplane.operations.models import Request, Result


class NoArguments(Request):
    """A request without arguments."""


class Document(Result):
    """A result whose fields the ledger or the rules define, such as a task or an intent."""

    model_config = ConfigDict(extra="allow", frozen=True)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows for a terminal; `note` goes to standard error, so a pipe gets only the rows."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    pairs: tuple[tuple[str, str], ...]


# What a terminal shows of a result, part by part.
Shown = tuple[Table | Facts | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A terminal command; its options are the fields of the request, its short help the operation's summary.

    `arguments` are the fields given by position. `flags` holds flags that differ from the field's name; an empty one
    hides the field. `defaults` are those of the command line where they differ from the request's. `is_finding` marks
    results that end with exit code 1. `previews` names the operation whose output a person sees before answering.
    `needs_ledger` refuses to run in a repository without a ledger, instead of creating one.
    """

    path: tuple[str, ...]
    help: str
    shows: Callable[[Any], Shown]
    arguments: tuple[str, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    is_finding: Callable[[Any], bool] = lambda _result: False
    previews: str | None = None
    needs_ledger: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """An address of REST. Path, query and body are the request; `answer` makes the body of the answer from the result.

    Whatever is not a read needs the operator token; `needs_token` says that a read does, too. `as_agent` lets the call
    be an agent's all the same. An address with a `setting` is served only where that setting is true.
    """

    method: str
    path: str
    summary: str
    status: int = 200
    needs_token: bool = False
    as_agent: bool = False
    setting: str = ""
    answer: Callable[[dict[str, Any]], Any] = lambda document: document


def as_text(shown: Shown) -> str:
    """Return what a terminal shows as plain text."""
    lines: list[str] = []
    for part in shown:
        if isinstance(part, Table):
            lines += ["\t".join(row) for row in part.rows] or [part.note]
        elif isinstance(part, Facts):
            lines += [f"{name}: {value}" for name, value in part.pairs]
        else:
            lines.append(part)
    return "\n".join(lines)


def cell(value: object) -> str:
    """Return a value as a table shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return printable_name(str(value))
