"""Who wrote which lines of a file, from `git blame`."""

import re
from dataclasses import dataclass
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.commands import check_result
from codeplane.git.history import OUTPUT_LIMIT, Person, clean_text, parse_time
from codeplane.git.quoted_names import unquoted
from codeplane.git.repository import run_git

_TOO_SHORT = re.compile(rb"file .* has only (\d+) lines?")


@dataclass(frozen=True, slots=True)
class BlamedLines:
    """Adjacent lines that come from one commit; a boundary is as far as history reaches.

    `oid` is None for lines that are not committed yet. `path` and `original_first` say where the commit had them.
    """

    oid: str | None
    author: Person
    summary: str
    is_boundary: bool
    path: str
    first: int
    original_first: int
    lines: tuple[bytes, ...]

    @property
    def last(self) -> int:
        """Return the number of the last line."""
        return self.first + len(self.lines) - 1


def read_blame(root: Path, revision: str | None, path: RepoPath, lines: tuple[int, int]) -> tuple[BlamedLines, ...]:
    """Return who wrote the lines from the first to the last of two numbers, or to the end of the file.

    The revision is a full id, because `git blame` has no end-of-options marker; without one it is the working
    tree.

    Raises:
        CodePlaneError: git failed; OUT_OF_RANGE when the file ends before the first line.
    """
    first, last = lines
    at = (revision,) if revision is not None else ()
    arguments = ("blame", "--porcelain", "--no-textconv", "--encoding=UTF-8", f"-L{first},{last}", *at, "--", path.text)
    result = run_git(root, *arguments, output_limit=OUTPUT_LIMIT)
    too_short = _TOO_SHORT.search(result.stderr) if result.returncode else None
    if too_short is not None:
        if first == 1:
            return ()
        message = f"{path} has only {int(too_short[1])} lines there."
        raise CodePlaneError("OUT_OF_RANGE", message, details={"path": path.text, "line_count": int(too_short[1])})
    check_result(arguments, result)
    if result.stdout_dropped:
        raise CodePlaneError("FILE_TOO_LARGE", f"The lines of {path} are too long; ask for fewer.")
    return _parsed(result.stdout)


def _parsed(output: bytes) -> tuple[BlamedLines, ...]:
    groups: list[BlamedLines] = []
    known: dict[bytes, dict[bytes, bytes]] = {}
    waiting: list[bytes] = []
    facts: dict[bytes, bytes] = {}
    head: list[bytes] = []
    for line in output.split(b"\n")[:-1]:
        if not head:
            head = line.split(b" ")
            facts = known.setdefault(head[0], {})
        elif not line.startswith(b"\t"):
            name, _, value = line.partition(b" ")
            facts[name] = value
        else:
            waiting.append(line[1:])
            # Only the first line of a group says how many there are.
            if len(head) == 4:
                start, n_lines = head, int(head[3])
            head = []
            if len(waiting) == n_lines:
                groups.append(_group(start, facts, tuple(waiting)))
                waiting = []
    return tuple(groups)


def _group(head: list[bytes], facts: dict[bytes, bytes], lines: tuple[bytes, ...]) -> BlamedLines:
    oid = head[0].decode("ascii")
    when = f"{clean_text(facts.get(b'author-time', b''))} {clean_text(facts.get(b'author-tz', b''))}"
    email = clean_text(facts.get(b"author-mail", b"")).removeprefix("<").removesuffix(">")
    return BlamedLines(
        oid=oid if oid.strip("0") else None,
        author=Person(clean_text(facts.get(b"author", b"")), email, parse_time(when)),
        summary=clean_text(facts.get(b"summary", b"")),
        is_boundary=b"boundary" in facts,
        path=unquoted(facts.get(b"filename", b"")),
        first=int(head[2]),
        original_first=int(head[1]),
        lines=lines,
    )
