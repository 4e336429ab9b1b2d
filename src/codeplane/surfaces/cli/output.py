"""How commands print: JSON when asked, tables in a terminal, plain text in a pipe."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from codeplane.core.printable import printable_text
from codeplane.operations.answer import Answer

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
repo_option = click.option(
    "--repo", "start", default=".", metavar="DIR", help="A directory in the working tree (default: this one)."
)
set_option = click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting once.")


def print_json(document: Any) -> None:
    """Print a document as JSON."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def print_answer(answer: Answer, *, as_json: bool) -> None:
    """Print what the door answered; a terminal gets no control characters that a file's content may hold."""
    if as_json:
        print_json(answer.envelope())
        return
    text = answer.text()
    sys.stdout.write((printable_text(text) if sys.stdout.isatty() else text) + "\n")


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
    """Print rows: a table in a terminal, tab-separated lines in a pipe."""
    if not sys.stdout.isatty():
        for row in rows:
            sys.stdout.write("\t".join(row) + "\n")
        return
    # 56 ms, paid only where somebody looks at it.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(*headers, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*[_plain(cell) for cell in row])
    Console().print(table)


def _plain(cell: str) -> str:
    return cell.replace("[", "\\[")


def print_facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and values, aligned in a terminal."""
    width = max((len(name) for name, _ in pairs), default=0) if sys.stdout.isatty() else 0
    for name, value in pairs:
        sys.stdout.write(f"{name + ':':<{width + 1}} {value}\n")
