"""Tell a git history line by line and know who wrote each line that survives.

Every line of text carries a token of its own, as in `value_3fa91c20 = 7`. The one who writes a line is
noted with the token. The truth about the final files is then read from their text: no diff, no blame
and no code under test takes part. Lines without a token (`pass`, blank lines) belong to nobody for sure.
"""

import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Protocol

HUMAN = "human"
INTENTS = ("INT-001", "INT-002", "INT-003")
FIRST, SECOND, THIRD = INTENTS
# Text that many lines share: nobody can tell from the text who wrote such a line.
FILLERS = frozenset({"", "pass", "}"})
NOT_JUDGED = frozenset({".git", ".codeplane", ".orchestration", ".gitattributes"})

_TOKEN = re.compile(r"_([0-9a-f]{8})(?![0-9a-f])")
_N_BASE_LINES = 40
_ANCHORS = (5, 15, 25, 34)

# Writes the text to the file (absolute path, perhaps in a linked worktree) under the intent.
Edit = Callable[[str, Path, str], None]
Owner = str | None


class Git(Protocol):
    """Runs git in the repository and returns its output.

    It has to give git an identity, also for clones beside the repository. With `check` false it may fail: a conflict.
    """

    def __call__(self, *arguments: str, check: bool = True) -> str: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is true when a story has ended.

    `owners` has one owner per line: an intent, "human", or None where nobody can know.
    `causes` has the intents that may be named beside the owner, as `caused_by`: they moved,
    copied or formatted the line.
    `root` differs from the first repository where the story ends in a clone; a trace that did not travel
    along may answer "unknown" there, and never another owner.
    """

    root: Path
    owners: dict[str, list[Owner]]
    causes: dict[str, list[frozenset[str]]]
    reformatted: frozenset[str]


@dataclass(slots=True)
class Story:
    """A repository, the hands that change it, and the book of who wrote which token."""

    root: Path
    rng: Random
    edit: Edit
    git: Git
    book: dict[str, str] = field(default_factory=dict)
    causes: dict[str, set[str]] = field(default_factory=dict)
    reformatted: set[str] = field(default_factory=set)
    alive: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    base: dict[str, list[str]] = field(default_factory=dict)
    ends_in: Path | None = None

    # Text

    def lines(self, owner: str, count: int | None = None, shape: str = "value_{} = {}") -> list[str]:
        """Make lines with fresh tokens that belong to the owner."""
        made = []
        for _ in range(count or self.rng.randint(2, 5)):
            token = f"{self.rng.getrandbits(32):08x}"
            self.book[token] = owner
            made.append(shape.format(token, self.rng.randint(1, 99)))
        return made

    def function(self, owner: str) -> list[str]:
        """Make a function that ends in a line which other functions have as well."""
        head = self.lines(owner, 1, "def work_{}():  # {}")
        return [*head, *self.lines(owner, 3, "    step_{} = {}"), "    pass", ""]

    def read(self, path: str, at: Path | None = None) -> list[str]:
        """Return the lines of a file."""
        return split((at or self.root) / path)

    # Hands

    def write(self, owner: str, path: str, lines: Sequence[str], at: Path | None = None) -> None:
        """Write a file: a person writes it directly, an agent through the callback."""
        target = (at or self.root) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{line}\n" for line in lines)
        if owner == HUMAN:
            target.write_text(text, encoding="utf-8", newline="")
        else:
            self.edit(owner, target, text)

    def start(self, *paths: str) -> None:
        """Commit files of a person, long enough for edits far away from each other."""
        self.git("init", "--quiet", "--initial-branch=main", "--template=")
        for path in paths or ("app.py",):
            self.base[path] = self.lines(HUMAN, _N_BASE_LINES)
            self.write(HUMAN, path, self.base[path])
        self.commit("start")

    def add(
        self, owner: str, section: int = 0, path: str = "app.py", at: Path | None = None, *, new: Sequence[str] = ()
    ) -> list[str]:
        """Insert new lines of the owner in one of four sections; return them."""
        made = list(new) or self.lines(owner)
        found = self.read(path, at)
        token = token_of(self.base[path][_ANCHORS[section]])
        anchor = [token_of(line) for line in found].index(token) + 1
        self.write(owner, path, [*found[:anchor], *made, *found[anchor:]], at)
        self.alive.update(made)
        return made

    def replace(
        self, owner: str, old: Iterable[str], path: str = "app.py", *, new: Sequence[str] | None = None
    ) -> list[str]:
        """Put new lines of the owner in the place of old ones; return the new ones."""
        old = list(old)
        made = self.lines(owner) if new is None else list(new)
        found = self.read(path)
        first = found.index(old[0])
        kept = [line for line in found if line not in old]
        self.write(owner, path, [*kept[:first], *made, *kept[first:]])
        self.lose(old)
        self.alive.update(made)
        return made

    def remove(self, owner: str, old: Iterable[str], path: str = "app.py") -> None:
        """Take lines out of a file."""
        self.replace(owner, old, path, new=())

    def rewrite(self, path: str, change: Callable[[str], str]) -> None:
        """Change every line without a record, as a formatter does; tokens stay."""
        self.rewrite_under(HUMAN, path, change)

    def rewrite_under(self, owner: str, path: str, change: Callable[[str], str]) -> None:
        """Change every line as a formatter run by the owner does; tokens stay."""
        before = self.read(path)
        after = [change(line) for line in before]
        self.write(owner, path, after)
        for old, new in zip(before, after, strict=True):
            if old != new:
                token = token_of(old)
                self.reformatted.update({token} if token else ())
                self._carry_on(old, new)
                self.blame_also(owner, [new])

    def _carry_on(self, old: str, new: str) -> None:
        for group in (self.alive, self.gone):
            if old in group:
                group.remove(old)
                group.add(new)

    def blame_also(self, owner: str, lines: Iterable[str]) -> None:
        """Note that the owner moved, copied or formatted these lines."""
        if owner != HUMAN:
            for line in lines:
                token = token_of(line)
                if token:
                    self.causes.setdefault(token, set()).add(owner)

    def lose(self, lines: Iterable[str]) -> None:
        """Expect these lines to be nowhere at the end."""
        self.gone.update(lines)
        self.alive.difference_update(self.gone)

    def keep(self, lines: Iterable[str]) -> None:
        """Expect these lines, once lost, at the end."""
        self.alive.update(lines)
        self.gone.difference_update(self.alive)

    def lose_all_of(self, owner: str) -> None:
        """Expect no line of the owner at the end."""
        self.lose({line for line in self.alive if self.book.get(token_of(line) or "") == owner})

    def change_line_ends(self, path: str, old: bytes, new: bytes) -> None:
        """Change the line ends of a file without a record."""
        target = self.root / path
        target.write_bytes(target.read_bytes().replace(old, new))
        self.reformatted.update(token for line in self.read(path) if (token := token_of(line)))

    def commit(self, message: str, *options: str, at: Path | None = None) -> str:
        """Commit everything; return the commit."""
        where = ("-C", str(at)) if at else ()
        self.git(*where, "add", "--all")
        self.git(*where, "commit", "--quiet", "-m", message, *options)
        return self.head(at)

    def head(self, at: Path | None = None) -> str:
        """Return the current commit."""
        where = ("-C", str(at)) if at else ()
        return self.git(*where, "rev-parse", "HEAD").strip()

    def branch(self, name: str, base: str = "HEAD") -> None:
        """Make a branch and switch to it."""
        self.git("checkout", "--quiet", "-b", name, base)

    def switch(self, name: str) -> None:
        """Switch to a branch, tag or commit."""
        self.git("checkout", "--quiet", name)

    def rebase(self, onto: str, *steps: str) -> None:
        """Rebase interactively with exactly these steps."""
        plan = self.beside("plan.txt")
        plan.write_text("".join(f"{step}\n" for step in steps), encoding="utf-8")
        editors = ("-c", f"sequence.editor=cp '{plan}'", "-c", "core.editor=true")
        self.git(*editors, "rebase", "--quiet", "-i", onto)

    def beside(self, name: str) -> Path:
        """Return a path beside the repository."""
        return self.root.parent / f"{self.root.name}-{name}"

    # Truth

    def outcome(self) -> Outcome:
        """Read the owner of every line from the final text."""
        root = self.ends_in or self.root
        files = {path.relative_to(root).as_posix(): split(path) for path in _judged_files(root)}
        tokens = {path: [token_of(line) for line in lines] for path, lines in files.items()}
        return Outcome(
            root,
            {path: [self.book[token] if token else None for token in found] for path, found in tokens.items()},
            {path: [frozenset(self.causes.get(token or "", ())) for token in found] for path, found in tokens.items()},
            frozenset(self.reformatted),
        )


def grade(outcome: Outcome, answers: dict[str, list[Owner]]) -> Counter[str]:
    """Count answers that are right, unknown (None for an owner who is known) and wrong; skip what nobody can know."""
    counts: Counter[str] = Counter()
    for path, owners in outcome.owners.items():
        for owner, answer in zip(owners, answers[path], strict=True):
            if owner is not None:
                counts["right" if answer == owner else "unknown" if answer is None else "wrong"] += 1
    return counts


def split(path: Path) -> list[str]:
    """Return the lines of a file without their ends."""
    text = path.read_bytes().decode("utf-8")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def token_of(line: str) -> str | None:
    """Return the token of a line."""
    found = _TOKEN.search(line)
    return found[1] if found else None


def _judged_files(root: Path) -> list[Path]:
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return [path for path in files if path.relative_to(root).parts[0] not in NOT_JUDGED]


def write_only(_intent: str, path: Path, text: str) -> None:
    """Write the file and record nothing: the callback of the self-test."""
    path.write_text(text, encoding="utf-8", newline="")


def git_in(root: Path) -> Git:
    """Return git for this repository with a fixed identity and no settings of the user."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    fixed = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    people = {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", "Test"), ("EMAIL", "test@example.invalid"), ("DATE", "2026-01-02T03:04:05Z"))
    }

    def git(*arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            ("git", *arguments), cwd=root, env=kept | fixed | people, capture_output=True, timeout=60, check=False
        )
        assert not check or done.returncode == 0, f"git {arguments}: {done.stderr.decode()} {done.stdout.decode()}"
        return done.stdout.decode("utf-8", "replace")

    return git
