"""Commits in the order of `git log`, and the history of a file or of some of its lines."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import MAX_PATH_BYTES, RepoPath
from codeplane.git.commands import check_name, check_result, decode
from codeplane.git.differences import RawChange, RawReader
from codeplane.git.git_errors import git_error
from codeplane.git.pathspecs import pathspecs
from codeplane.git.quoted_names import unquoted
from codeplane.git.repo_version import head_commit
from codeplane.git.repository import Repository, run_git
from codeplane.git.revisions import resolve, resolve_range

OUTPUT_LIMIT: Final = 64 * 1024 * 1024
# Long enough to be unique in very large repositories.
SHORT_LENGTH: Final = 12
_FIELDS: Final = ("%H", "%P", "%an", "%ae", "%ad", "%cn", "%ce", "%cd", "%B")
_FORMAT: Final = "--format=tformat:" + "%x00".join(_FIELDS)
_LOG: Final = ("log", "-z", _FORMAT, "--date=raw", "--encoding=UTF-8", "--no-color", "--no-show-signature")


@dataclass(frozen=True, slots=True)
class Person:
    """The author or committer and the time, in ISO 8601 with the offset that was recorded."""

    name: str
    email: str
    time: str


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit; `subject` is the first paragraph on one line and `body` what follows."""

    oid: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    subject: str
    body: str

    @property
    def short_oid(self) -> str:
        """Return the beginning of its id."""
        return self.oid[:SHORT_LENGTH]


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which commits: revisions that were resolved (`^a` leaves out), filters, and which part of the answer.

    `author` and `grep` are plain text, case does not matter.
    """

    revisions: tuple[str, ...]
    limit: int
    skip: int = 0
    since: str | None = None
    until: str | None = None
    author: str | None = None
    grep: str | None = None
    paths: tuple[RepoPath, ...] = ()


@dataclass(frozen=True, slots=True)
class FileQuery:
    """A file, the commit to start from, and which part of its history.

    `follow` continues with a file's name before a rename; counting lines costs a diff per commit.
    """

    revision: str
    path: RepoPath
    limit: int
    skip: int = 0
    follow: bool = True
    with_counts: bool = False


@dataclass(frozen=True, slots=True)
class LineQuery:
    """A file's first and last line as of a commit, and which part of their history."""

    revision: str
    path: RepoPath
    lines: tuple[int, int]
    limit: int
    skip: int = 0


@dataclass(frozen=True, slots=True)
class PathChange:
    """A commit that changed a file: its name after the commit, the kind of change, and its size if requested."""

    commit: Commit
    path: str
    status: str
    old_path: str | None
    insertions: int | None
    deletions: int | None


@dataclass(frozen=True, slots=True)
class LineChange:
    """A commit that changed some lines: their place after it, and how many lines it added and removed."""

    commit: Commit
    path: str
    first: int
    last: int
    insertions: int
    deletions: int


def resolve_revisions(repository: Repository, ref: str) -> tuple[str, ...]:
    """Return the resolved revisions of a name or range.

    Raises:
        CodePlaneError: as `resolve`.
    """
    found = resolve_range(repository.root, check_name(ref))
    if found is None:
        if ref == "HEAD":
            commit = head_commit(repository)
            if commit is not None and re.fullmatch(r"[0-9a-f]{40,64}", commit):
                return (commit,)
        return (resolve(repository.root, ref),)
    if not found.is_symmetric:
        return (found.tip, f"^{found.base}")
    base = merge_base(repository.root, found.base, found.tip)
    return (found.base, found.tip, *((f"^{base}",) if base else ()))


def merge_base(root: Path, one: str, other: str) -> str | None:
    """Return the best common ancestor of two commits, None when they have none."""
    result = run_git(root, "merge-base", "--end-of-options", one, other)
    if result.returncode not in {0, 1}:
        raise git_error(("merge-base",), result.stderr_text)
    return result.stdout_text.split("\n", 1)[0].strip() or None


def read_log(repository: Repository, query: LogQuery) -> tuple[Commit, ...]:
    """Return commits in git's order.

    Raises:
        CodePlaneError: git failed.
    """
    arguments = [*_LOG, f"--max-count={query.limit}", f"--skip={query.skip}"]
    if query.author is not None or query.grep is not None:
        arguments += ["--fixed-strings", "--regexp-ignore-case"]
    for option in ("since", "until", "author", "grep"):
        value = getattr(query, option)
        if value is not None:
            arguments.append(f"--{option}={value}")
    arguments += ["--end-of-options", *query.revisions, *pathspecs(query.paths)]
    output = _run_log(repository.root, *arguments)
    fields = output.split(b"\0")
    return tuple(_commit(fields[i : i + len(_FIELDS)]) for i in range(0, len(fields) - len(_FIELDS) + 1, len(_FIELDS)))


def read_commit(repository: Repository, oid: str) -> Commit:
    """Return one commit by its full id.

    Raises:
        CodePlaneError: git failed.
    """
    return read_log(repository, LogQuery((oid,), 1))[0]


def read_file_history(repository: Repository, query: FileQuery) -> tuple[PathChange, ...]:
    """Return the commits that changed a file, newest first.

    Raises:
        CodePlaneError: git failed.
    """
    first, limit = query.skip, query.limit
    if not query.follow:
        output = _log_changes(repository, query, (f"--max-count={limit}", f"--skip={first}"))
        return tuple(_path_changes(output, query))
    # Following renames, git skips also commits that it does not show; those before the page are dropped here.
    output = _log_changes(repository, query, (f"--max-count={first + limit}", "--follow"))
    return tuple(_path_changes(output, query))[first:]


def _log_changes(repository: Repository, query: FileQuery, options: tuple[str, ...]) -> bytes:
    counts = ("--numstat",) if query.with_counts else ()
    return _run_log(
        repository.root, *_LOG, *options, "-M", "--raw", *counts, "--no-abbrev", "--no-ext-diff", "--no-textconv",
        "--end-of-options", query.revision, *pathspecs((query.path,)),
    )  # fmt: skip


def read_line_history(repository: Repository, query: LineQuery) -> tuple[LineChange, ...]:
    """Return the commits that changed some lines of a file, newest first, renames followed.

    Raises:
        CodePlaneError: git failed; OUT_OF_RANGE for lines after the end of the file.
    """
    path, (first, last) = query.path, query.lines
    result = run_git(
        repository.root, "log", f"--format=tformat:%x00{'%x00'.join(_FIELDS)}%x00", "--date=raw", "--encoding=UTF-8",
        "--no-color", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/",
        f"--max-count={query.limit}", f"--skip={query.skip}", f"-L{first},{last}:{path.text}", "--end-of-options",
        query.revision, "--", output_limit=OUTPUT_LIMIT,
    )  # fmt: skip
    if result.returncode != 0 and re.search(rb"file .* has only \d+ lines?", result.stderr):
        raise CodePlaneError("OUT_OF_RANGE", f"{path} ends before line {first} there.")
    check_result(("log",), result)
    return tuple(_line_changes(result.stdout, path.text))


def parse_time(raw: str) -> str:
    """Return git's `seconds offset` in ISO 8601; a time outside the calendar is returned unchanged."""
    seconds, _, offset = raw.partition(" ")
    try:
        away = int(offset[1:-2]) * 3600 + int(offset[-2:]) * 60
        day, second = divmod(int(seconds) + (-away if offset[0] == "-" else away), 86_400)
        date = _date(day)
    except (ValueError, OverflowError, OSError, IndexError):
        return raw
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    return f"{date}T{hour:02}:{minute:02}:{second:02}{offset[:-2]}:{offset[-2:]}"


@lru_cache(maxsize=512)
def _date(day: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(day * 86_400))


def clean_text(data: bytes) -> str:
    """Return bytes as text; what is not UTF-8 shows as escapes."""
    return data.decode("utf-8", "backslashreplace")


def _run_log(root: Path, *arguments: str) -> bytes:
    result = run_git(root, *arguments, output_limit=OUTPUT_LIMIT)
    check_result(arguments, result)
    if result.stdout_dropped:
        raise CodePlaneError("FILE_TOO_LARGE", "The history is too long for one answer; ask for fewer commits.")
    return result.stdout


def _commit(fields: Sequence[bytes]) -> Commit:
    oid, parents, author, author_email, author_time, committer, committer_email, committer_time, message = fields
    subject, body = split_message(clean_text(message))
    return Commit(
        oid=oid.lstrip(b"\n").decode("ascii"),
        parents=tuple(parents.decode("ascii").split()),
        author=Person(clean_text(author), clean_text(author_email), parse_time(author_time.decode("ascii"))),
        committer=Person(
            clean_text(committer), clean_text(committer_email), parse_time(committer_time.decode("ascii"))
        ),
        subject=subject,
        body=body,
    )


def split_message(message: str) -> tuple[str, str]:
    """Return the first paragraph on one line, and the rest."""
    lines = message.strip("\n").split("\n")
    n_subject = next((i for i, line in enumerate(lines) if not line.strip()), len(lines))
    subject = " ".join(line.strip() for line in lines[:n_subject])
    return subject, "\n".join(lines[n_subject:]).strip("\n").rstrip()


def _path_changes(output: bytes, query: FileQuery) -> Iterator[PathChange]:
    """Yield what `log -z --raw` printed: the fields of a commit, then its changes up to the next commit."""
    reader = RawReader(output)
    while reader.at < len(output):
        commit = _commit(reader.fields(len(_FIELDS)))
        changes = reader.changes()
        if query.with_counts:
            changes = reader.counted(changes)
        # A listed merge has no own change.
        change = changes[0] if changes else RawChange(path=query.path.text, status="merged")
        yield PathChange(commit, change.path, change.status, change.old_path, change.insertions, change.deletions)


_HUNK: Final = re.compile(rb"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_NAME: Final = re.compile(rb"^(?:\+\+\+|---) (?!/dev/null)(.*?)\t?$", re.MULTILINE)
# `log -L` prints both names unquoted, unlike other patches. Each name occurs twice, which shows where it ends.
# At most four names of the longest length, and the words around them.
_PLAIN_NAMES: Final = re.compile(
    rb"\n*diff --git a/(.*?) b/(.*?)\n--- (?:a/\1|/dev/null)\n\+\+\+ (?:b/\2|(/dev/null))\n(?=@@ -)", re.DOTALL
)
_MAX_NAMES: Final = 4 * MAX_PATH_BYTES + 100
# A commit's fields with NULs around them; lines of a binary file hold NULs too, but nothing like this.
_RECORD: Final = re.compile(rb"\0([0-9a-f]{40,64})" + rb"\0([^\0]*)" * (len(_FIELDS) - 1) + rb"\0")


def _line_changes(output: bytes, path: str) -> Iterator[LineChange]:
    """Yield what `log -L` printed: the fields of a commit, and a patch of the lines up to the next commit."""
    records = list(_RECORD.finditer(output))
    for number, record in enumerate(records):
        end = records[number + 1].start() if number + 1 < len(records) else len(output)
        fields, patch = record.groups(), output[record.end() : end]
        name, at = _line_patch_head(patch, path)
        found = _HUNK.search(patch, at)
        lines = patch[found.end() :] if found else b""
        first = int(found[1]) if found else 0
        yield LineChange(
            commit=_commit(fields),
            path=name,
            first=first,
            last=first + (int(found[2]) if found[2] else 1) - 1 if found else 0,
            insertions=lines.count(b"\n+"),
            deletions=lines.count(b"\n-"),
        )


def _line_patch_head(patch: bytes, path: str) -> tuple[str, int]:
    """Return the name in the head of a patch and where its hunks may begin; `path` when it names nothing."""
    plain = _PLAIN_NAMES.match(patch, 0, _MAX_NAMES)
    if plain is not None:
        return decode(plain[1] if plain[3] else plain[2]), plain.end()
    # Git that prints these patches like all others quotes odd names.
    hunk = _HUNK.search(patch)
    names = _NAME.findall(patch, 0, hunk.start() if hunk else len(patch))
    return unquoted(names[-1])[2:] if names else path, 0
