"""What a tool is, what it finds, and how a run of it ended."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

LINTER, TYPES, FORMATTER = "linter", "types", "formatter"
ERROR, WARNING, NOTE = "error", "warning", "note"
# Places in a command that are filled in: many words, many words, a file's name, and three texts.
PATHS: Final = "{paths}"
FOLDERS: Final = "{folders}"
PATH: Final = "{path}"


@dataclass(frozen=True, slots=True)
class Reported:
    """One thing that a tool printed; `path` as the tool wrote it, line and column from 1, 0 when unknown."""

    path: str
    line: int
    column: int
    rule: str
    message: str
    severity: str = ERROR
    fixable: bool = False


class UnreadableOutputError(Exception):
    """The output is not what the tool prints when it works."""


# Takes what a tool wrote to standard output and to standard error.
Parser = Callable[[str, str], list[Reported]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One row of the catalog.

    `markers` are file names, globs, or `file#section` for a section of a settings file. A command is an argument list
    in which `{paths}`, `{folders}` and `{path}` are filled in; with `{path}` it runs once per file and reads the text
    from standard input. A tool without `parse` is a formatter: it prints the text as it should be. `fix` prints the
    repaired text, `fixed` takes it out of what was printed. `done` are the exit codes of a complete run.
    `{cache}` is a directory outside the working tree's files, `{edition}` the edition of the Rust package.
    """

    name: str
    kind: str
    files: tuple[str, ...]
    markers: tuple[str, ...]
    check: tuple[str, ...]
    parse: Parser | None = None
    fix: tuple[str, ...] = ()
    fixed: Callable[[str], str | None] | None = None
    done: tuple[int, ...] = (0, 1)
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def program(self) -> str:
        """Return the name of the program."""
        return self.check[0]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, at a path of the repository; `is_new` if the line is not in HEAD like this."""

    path: str
    line: int
    column: int
    rule: str
    message: str
    severity: str
    fixable: bool
    tool: str
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Configured:
    """A tool that a folder of the tree configures; without `program` it was not found in `looked_in`."""

    tool: Tool
    folder: str
    marker: str
    program: Path | None
    shown: str
    looked_in: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """One process to run: the command as it is shown, its files, and the one whose text it reads."""

    configured: Configured
    argv: tuple[str, ...]
    paths: tuple[str, ...]
    stdin_path: str | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """How a job ended: what it reported, or the repaired text, or the problem in words."""

    job: Job
    reported: tuple[Reported, ...] = ()
    text: bytes | None = field(default=None, repr=False)
    problem: str = ""
