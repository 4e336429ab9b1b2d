"""How commands print: JSON when asked, tables in a terminal, plain text in a pipe."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import click

from codeplane.core.printable import printable_text, visible_text
from codeplane.operations.answer import Answer
from codeplane.surfaces.cli.main import FAILURE, OK

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
repo_option = click.option(
    "--repo", "start", default=".", metavar="DIR", help="A directory in the working tree (default: this one)."
)
_set_option = click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting once.")


session_option = click.option(
    "--session", "session_id", metavar="NAME", help="Use this session; a new name creates one."
)


def set_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--set` to a command that has `--repo`; only a person can loosen a setting."""

    @wraps(function)
    def checked(*arguments: Any, **given: Any) -> Any:
        # A circle otherwise: proving a person prints.
        from codeplane.surfaces.cli.person import require_person_to_loosen  # noqa: PLC0415

        require_person_to_loosen(given["start"], given["overrides"])
        return function(*arguments, **given)

    return _set_option(checked)


def print_json(document: Any) -> None:
    """Print a document as JSON."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def finish(answer: Answer, *, as_json: bool) -> int:
    """Print what the door answered and return the exit code."""
    print_answer(answer, as_json=as_json)
    return FAILURE if answer.is_error else OK


def print_answer(answer: Answer, *, as_json: bool) -> None:
    """Print what the door answered; a terminal gets no control characters that a file's content may hold."""
    if as_json:
        print_json(answer.envelope())
    else:
        show_text(in_flags(answer.text()))


def in_flags(text: str) -> str:
    """Return an answer's text with the flags that a command takes in place of an operation's arguments."""
    for argument, flag in _FLAGS:
        text = argument.sub(flag, text)
    return text


_FLAGS = (
    (re.compile(r"\bcertainty=all\b"), "--all"),
    (re.compile(r"\bcursor=(?=\S)"), "--cursor "),
    (re.compile(r"`include_ignored: true`"), "`--no-ignore`"),
)


def show_text(text: str) -> None:
    """Write text: as it is into a pipe, in colour to a terminal, through a pager when it is longer than the screen."""
    if not sys.stdout.isatty():
        sys.stdout.write(text + "\n")
        return
    lines = printable_text(text).split("\n")
    has_colour = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    shown = "\n".join(_coloured(line) for line in lines) if has_colour else "\n".join(lines)
    if len(lines) >= shutil.get_terminal_size().lines and sys.stdin.isatty():
        click.echo_via_pager(shown + "\n", color=has_colour)
    else:
        click.echo(shown, color=has_colour)


# The first expression that fits a line decides: the lines of a diff, then the headings and numbers of a search.
_COLOURS: Sequence[tuple[re.Pattern[str], dict[str, Any]]] = (
    (re.compile(r"(diff |---|\+\+\+)"), {"bold": True}),
    (re.compile(r"@@"), {"fg": "cyan"}),
    (re.compile(r"\+"), {"fg": "green"}),
    (re.compile(r"-"), {"fg": "red"}),
    (re.compile(r"[A-Z_]+ \(\d+\): "), {"fg": "red", "bold": True}),
    (re.compile(r"[\w./-]+\.\w+$"), {"fg": "magenta"}),
    (re.compile(r"\s*\d+:(?=\s)"), {"fg": "green"}),
)


def _coloured(line: str) -> str:
    for expression, style in _COLOURS:
        found = expression.match(line)
        if found is not None:
            # A line of a diff as a whole; of a search only the place, so that the code stays readable.
            end = found.end() if found[0][-1] in ": " else len(line)
            return click.style(line[:end], **style) + line[end:]
    return line


@contextmanager
def progress_line(label: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows how far something is, on one line of a terminal and nowhere else."""
    if not sys.stderr.isatty():
        yield lambda _n_done, _n_all: None
        return
    shown = -1

    def show(n_done: int, n_all: int) -> None:
        nonlocal shown
        percent = 100 * n_done // max(n_all, 1)
        if percent != shown:
            shown = percent
            bar = "#" * (percent // 4)
            sys.stderr.write(f"\r{label} [{bar:<25}] {n_done}/{n_all}")
            sys.stderr.flush()

    try:
        yield show
    finally:
        if shown >= 0:
            sys.stderr.write("\r" + " " * 79 + "\r")


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows: a table in a terminal, tab-separated lines in a pipe; what is invisible shows as its number.

    Agents choose texts that a person reads here before answering, so nothing in them may steer the terminal.
    """
    if not sys.stdout.isatty():
        for row in rows:
            sys.stdout.write("\t".join(map(_on_one_line, row)) + "\n")
        return
    # 56 ms that only a terminal pays.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(*headers, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*[_plain(cell) for cell in row])
    Console().print(table)


def _plain(cell: str) -> str:
    return visible_text(cell).replace("[", "\\[")


def _on_one_line(cell: str) -> str:
    return visible_text(cell).replace("\t", "\\t").replace("\n", "\\n")


def print_facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and values, aligned in a terminal."""
    width = max((len(name) for name, _ in pairs), default=0) if sys.stdout.isatty() else 0
    for name, value in pairs:
        sys.stdout.write(f"{name + ':':<{width + 1}} {visible_text(value)}\n")
