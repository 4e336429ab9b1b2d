"""Which paths CodePlane leaves out, and by which rule.

Four kinds of rule:
- built in: git's and CodePlane's own directories; nothing overrides them;
- secret: names that usually hold credentials; hard, and a `!` line in `.cplignore` lets a path in;
- soft: noise such as `build/`; never hides what git tracks;
- hard: lines that people wrote in a `.cplignore` at any depth.
"""

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

from codeplane.core.paths import STAGED_PREFIX, RepoPath
from codeplane.core.secrets import MAX_SCANNED_BYTES, SECRET_LINES, holds_private_key, secret_rule
from codeplane.git.repository import TrackedPaths

IGNORE_FILE = ".cplignore"
_FEW_REPETITIONS: Final = 4
BLOCK_START = "# >>> CodePlane defaults: soft rules, they never hide files that git tracks"
BLOCK_END = "# <<< CodePlane defaults"

DEFAULT_SOFT_LINES = (
    "node_modules/",
    "dist/",
    "build/",
    ".venv/",
    "__pycache__/",
    "*.pyc",
    "*.log",
    "coverage/",
    "pytest_cache/",
)
PRUNABLE_LINES = (
    "venv/",
    "target/",
    "vendor/",
    ".tox/",
    ".nox/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".hypothesis/",
    ".gradle/",
    ".next/",
    ".nuxt/",
    ".svelte-kit/",
    ".terraform/",
    ".hg/",
    ".svn/",
)
_BUILT_IN_NAMES = frozenset({".git", ".codeplane"})
BUILT_IN_SOURCE = "always"
_OR_BELOW = "(?:(?P<ps_d>/)|$)"
# How the expression of a line begins that holds for names at any depth.
_ANYWHERE = "^(?:.+/)?"
# Lines that are a name at any depth, in which a star may replace some letters; two stars mean more.
_SIMPLE = re.compile(
    r"(?:\*\*/(?:[A-Za-z0-9._~-]+/)*)?(?:[A-Za-z0-9._~-]+(?:\*[A-Za-z0-9._~-]+)*\*?|\*[A-Za-z0-9._~-]+)"
)
# Names without wildcards and escapes, and those of which only the ending counts.
_PLAIN_NAME = re.compile(r"[^*?\[\]/\\!# ]+")
_PLAIN_ENDING = re.compile(r"\*\.[^*?\[\]/\\!# ]+")


class RuleKind(Enum):
    """How strong a rule is."""

    BUILT_IN = "built-in"
    SECRET = "secret"  # noqa: S105 - the name of a kind of rule.
    SOFT = "soft"
    HARD = "hard"


_EVERY_KIND = frozenset(RuleKind)
_HARD_KINDS = _EVERY_KIND - {RuleKind.SOFT}


@dataclass(frozen=True, slots=True)
class Rule:
    """One line and its source."""

    line: str
    kind: RuleKind
    source: str


# What an index without the overlay leaves out.
UNTRACKED: Final = Rule("not tracked by git", RuleKind.SOFT, "index.overlay")


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A line as an expression for the entry itself; what lies below an entry is judged with its parents."""

    rule: Rule
    fits: Callable[[str], bool]
    pattern: str
    excludes: bool
    only_directories: bool

    def matches(self, text: str, *, is_directory: bool) -> bool:
        return (is_directory or not self.only_directories) and self.fits(text)


class _Expressions:
    """Lines that are tried as expressions; one look tells whether any of them can match."""

    def __init__(self, numbers: list[int], patterns: list[str]) -> None:
        self.numbers = numbers
        is_simple = all(_backtracks_little(part) for part in patterns)
        # One expression that may backtrack makes all of them be tried one by one.
        whole = re.compile("|".join(f"(?:{part})" for part in patterns)) if patterns and is_simple else None
        self.may_match: Callable[[str], object] = whole.match if whole is not None else lambda _: bool(numbers)


# A path, the name it ends with, and whether it is a directory. A plain tuple: one is made for every file of a tree.
_Entry = tuple[str, str, bool]


class _RuleList:
    """Rules of one directory level, compiled once; the last line that matches decides.

    Most lines end with a plain name (`dist/`, `**/.aws/credentials`) or an ending (`*.pyc`); these are looked up by the
    entry's name, and only the others are tried as expressions. Positions in the file decide which match is the last.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._compiled = tuple(_compile(rules))
        self._by_name: dict[str, list[int]] = {}
        self._by_ending: dict[str, list[int]] = {}
        of_names: list[int] = []
        others: list[int] = []
        for number, item in enumerate(self._compiled):
            line = item.rule.line.removeprefix("!").rstrip(" ").removesuffix("/")
            last = line.rpartition("/")[2]
            if _PLAIN_NAME.fullmatch(last):
                self._by_name.setdefault(last, []).append(number)
            elif _PLAIN_ENDING.fullmatch(last):
                self._by_ending.setdefault(last[1:], []).append(number)
            elif item.pattern.startswith(_ANYWHERE) and "/" not in line:
                of_names.append(number)
            else:
                others.append(number)
        self._of_names = _Expressions(of_names, [self._compiled[n].pattern.removeprefix(_ANYWHERE) for n in of_names])
        self._others = _Expressions(others, [self._compiled[n].pattern for n in others])

    def last_match(self, entry: _Entry, n_before: int, kinds: frozenset[RuleKind]) -> _Compiled | None:
        """Return the line that decides on an entry, of whose path the first `n_before` characters lead to here."""
        text, name, is_directory = entry
        text = text[n_before:] if n_before else text
        # Nearly always there is none, for every file of a tree.
        for number in sorted(numbers, reverse=True) if (numbers := self._candidates(text, name)) else ():
            item = self._compiled[number]
            if item.rule.kind in kinds and item.matches(text, is_directory=is_directory):
                return item
        return None

    def _candidates(self, text: str, name: str) -> list[int]:
        numbers = [*self._by_name[name]] if name in self._by_name else []
        if self._by_ending:
            dot = name.find(".")
            while dot >= 0:
                if name[dot:] in self._by_ending:
                    numbers += self._by_ending[name[dot:]]
                dot = name.find(".", dot + 1)
        if self._of_names.may_match(name):
            numbers += self._of_names.numbers
        if self._others.may_match(text):
            numbers += self._others.numbers
        return numbers


def _compile(rules: Iterable[Rule]) -> Iterable[_Compiled]:
    for rule in rules:
        line = _without_trailing_spaces(rule.line)
        only_directories = line.endswith("/")
        translated = _translated(line.removesuffix("/"))
        # Git, too, passes over a line it cannot understand, such as a lone `!`.
        if translated is not None:
            with suppress(ValueError):
                yield _Compiled(rule, _matcher(translated[0]), *translated, only_directories=only_directories)


def _translated(line: str) -> tuple[str, bool] | None:
    """Return the expression of a line and whether it leaves out what matches; None for one that says nothing."""
    text = line.removeprefix("!")
    if _SIMPLE.fullmatch(text):
        parts = map(re.escape, text.removeprefix("**/").split("*"))
        return f"{_ANYWHERE}{'[^/]*'.join(parts)}\\Z", text == line
    found = _read_by_library(line)
    # The library also matches everything below a match, which for a `!` line differs from what git does.
    return (found[0].replace(_OR_BELOW, r"\Z"), found[1]) if found is not None else None


def _read_by_library(line: str) -> tuple[str, bool] | None:
    """Return the library's expression of a line and whether it includes; None when the line says nothing."""
    # 30 ms that only lines need which are more than a name.
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # noqa: PLC0415

    try:
        pattern = GitIgnoreSpecPattern(line)
    except (ValueError, re.error):
        return None
    if pattern.regex is None or pattern.include is None:
        return None
    return str(pattern.regex.pattern), pattern.include


def _backtracks_little(expression: str) -> bool:
    return expression.count("*") + expression.count("+") <= _FEW_REPETITIONS


def _matcher(expression: str) -> Callable[[str], bool]:
    """Return a test that takes time in proportion to a name's length, whatever the expression.

    Python's own engine is faster on names and is used where it cannot go astray; many stars make it try every way to
    share a name out among them.
    """
    if _backtracks_little(expression):
        return lambda text, match=re.compile(expression).match: match(text) is not None  # type: ignore[misc]
    # 4 ms that only lines with many stars need.
    import re2  # noqa: PLC0415

    try:
        linear: Any = re2.compile(expression.replace(r"\Z", r"\z"))
    except re2.error as error:
        raise ValueError(f"{expression[:80]} cannot be matched in linear time") from error
    return lambda text: linear.match(text.encode("utf-8", "replace").decode()) is not None


def _without_trailing_spaces(line: str) -> str:
    kept = line.rstrip(" ")
    return f"{kept} " if kept.endswith("\\") and kept != line else kept


@cache
def _prunable_rules() -> _RuleList:
    """Return the soft rules that every tree has; compiled on first use: short commands never look at a path."""
    return _RuleList(Rule(line, RuleKind.SOFT, "built-in") for line in (*DEFAULT_SOFT_LINES, *PRUNABLE_LINES))


def _secret_match(entry: _Entry) -> _Compiled | None:
    """Return the built-in rule that keeps a secret back, if one does."""
    line = secret_rule(entry[0], is_directory=entry[2])
    if line is None:
        return None
    rule = Rule(line, RuleKind.SECRET, "built-in secrets")
    return _Compiled(rule, lambda _: True, "", excludes=True, only_directories=False)


# How many characters of a path come before what the rules of a directory look at, and those rules.
_Level = tuple[int, _RuleList]
# No directory has this name; it means the level above the root.
_ABOVE = "/"


def _built_in_rule(name: str) -> Rule | None:
    if name.startswith(STAGED_PREFIX):
        return Rule(f"{STAGED_PREFIX}*", RuleKind.BUILT_IN, BUILT_IN_SOURCE)
    return Rule(f"{name}/", RuleKind.BUILT_IN, BUILT_IN_SOURCE) if name in _BUILT_IN_NAMES else None


class _RuleOfEntry(Protocol):
    """Asks for the rule on one entry whose parents have been asked about already."""

    def __call__(self, text: str, *, is_directory: bool) -> Rule | None: ...


class CompiledFiles:
    """Compiled `.cplignore` files, kept as long as the file on disk is the same.

    Invariant: an entry is used only while size, times and inode of its file are what they were when it was read.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._root_text = str(root)
        self._kept: dict[str, tuple[tuple[int, ...], _RuleList | None]] = {}

    def rules_in(self, directory: str) -> "_RuleList | None":
        """Return the rules of one directory's file, or None when it has none."""
        source = f"{directory}/{IGNORE_FILE}" if directory else IGNORE_FILE
        signature: tuple[int, ...] = ()
        try:
            # By text, because every directory of a tree is asked for one, and nearly none has it.
            status = os.stat(f"{self._root_text}/{source}")  # noqa: PTH116 - for the reason above
            signature = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        except OSError:
            if directory:
                return None
        kept = self._kept.get(directory)
        if kept is None or kept[0] != signature:
            rules = _read_rules(self.root, directory)
            kept = (signature, _RuleList(rules) if rules else None)
            self._kept[directory] = kept
        return kept[1]


class IgnoreRules:
    """The rules of one working tree, read from its `.cplignore` files when first needed.

    `tracked` is asked at most once, and only when a soft rule matches; `tracking_decided` then becomes true, for those
    who want to know whether a decision rests on it. With `only_tracked` everything else is left out, too.
    Invariant: an instance sees the files as they were when it first read them; make a new one per call.
    """

    def __init__(
        self,
        root: Path,
        tracked: Callable[[], TrackedPaths],
        compiled: CompiledFiles | None = None,
        *,
        only_tracked: bool = False,
    ) -> None:
        self.root = root
        self._only_tracked = only_tracked
        self._compiled = compiled or CompiledFiles(root)
        self._load_tracked = tracked
        self._tracked: TrackedPaths | None = None
        self.tracking_decided = False
        self._levels: dict[str, tuple[_Level, ...]] = {_ABOVE: ()}

    def exclusion(self, path: RepoPath, *, is_directory: bool) -> Rule | None:
        """Return the rule that leaves out this path or a directory above it, or None."""
        return self._first_rule(path, self.exclusion_of_entry, is_directory=is_directory)

    def block(self, path: RepoPath, *, is_directory: bool) -> Rule | None:
        """Return the rule that forbids to read this path or a directory above it; soft rules never do."""
        return self._first_rule(path, self._block_of_entry, is_directory=is_directory)

    def _first_rule(self, path: RepoPath, rule_of: _RuleOfEntry, *, is_directory: bool) -> Rule | None:
        parts = path.parts
        for depth in range(1, len(parts) + 1):
            rule = rule_of("/".join(parts[:depth]), is_directory=is_directory or depth < len(parts))
            if rule is not None:
                return rule
        return None

    def exclusion_of_entry(self, text: str, *, is_directory: bool) -> Rule | None:
        """Return the rule that leaves out this entry; the directories above it are known to be in."""
        directory, _, name = text.rpartition("/")
        built_in = _built_in_rule(name)
        if built_in is not None:
            return built_in
        excluded = self._excluded(text, name, directory, is_directory=is_directory)
        if excluded is None and self._only_tracked and not self._is_tracked(text, is_directory=is_directory):
            return UNTRACKED
        return excluded

    def _excluded(self, text: str, name: str, directory: str, *, is_directory: bool) -> Rule | None:
        matched = self._last_match((text, name, is_directory), directory, _EVERY_KIND)
        if matched is None:
            return None
        if matched.rule.kind is not RuleKind.SOFT:
            return matched.rule if matched.excludes else None
        # A soft line that comes last does not undo a hard one before it.
        blocked = self._block_of_entry(text, is_directory=is_directory)
        if blocked is not None:
            return blocked
        is_shown = not matched.excludes or self._is_tracked(text, is_directory=is_directory)
        return None if is_shown else matched.rule

    def _block_of_entry(self, text: str, *, is_directory: bool) -> Rule | None:
        directory, _, name = text.rpartition("/")
        built_in = _built_in_rule(name)
        if built_in is not None:
            return built_in
        matched = self._last_match((text, name, is_directory), directory, _HARD_KINDS)
        return matched.rule if matched is not None and matched.excludes else None

    def _last_match(self, entry: _Entry, directory: str, kinds: frozenset[RuleKind]) -> _Compiled | None:
        for n_before, rules in self._levels_of(directory):
            matched = rules.last_match(entry, n_before, kinds)
            if matched is not None:
                return matched
        return _secret_match(entry) or _prunable_rules().last_match(entry, 0, kinds)

    def is_let_in(self, path: RepoPath) -> bool:
        """Tell whether a person's `!` line names this file."""
        matched = self._last_match((path.text, path.name, False), path.text.rpartition("/")[0], _EVERY_KIND)
        return matched is not None and not matched.excludes and matched.rule.kind is RuleKind.HARD

    def _levels_of(self, directory: str) -> tuple[_Level, ...]:
        """Return the rules in force in a directory, nearest first; most directories have none of their own."""
        missing: list[str] = []
        while directory not in self._levels:
            missing.append(directory)
            directory = directory.rpartition("/")[0] if directory else _ABOVE
        levels = self._levels[directory]
        for below in reversed(missing):
            rules = self._compiled.rules_in(below)
            if rules is not None:
                levels = ((len(below) + 1 if below else 0, rules), *levels)
            self._levels[below] = levels
        return levels

    def _is_tracked(self, text: str, *, is_directory: bool) -> bool:
        self.tracking_decided = True
        if self._tracked is None:
            self._tracked = self._load_tracked()
        # A submodule is a directory that git lists among the files.
        return text in self._tracked.files or (is_directory and text in self._tracked.directories)


def why_secret(rules: IgnoreRules, path: RepoPath) -> str | None:
    """Return why a file should not leave the tree: a secret by its name, or a private key in it; None otherwise."""
    rule = rules.block(path, is_directory=False)
    if rule is not None and rule.kind is RuleKind.SECRET:
        return f"the rule `{rule.line}`"
    place = rules.root / path.text
    if rules.is_let_in(path) or place.is_symlink() or not place.is_file():
        return None
    with suppress(OSError), place.open("rb") as file:
        return "a private key" if holds_private_key(file.read(MAX_SCANNED_BYTES)) else None
    return None


def _read_rules(root: Path, directory: str) -> list[Rule]:
    source = f"{directory}/{IGNORE_FILE}" if directory else IGNORE_FILE
    try:
        lines = (root / source).read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError:
        return []
    rules: list[Rule] = []
    kind = RuleKind.HARD
    for number, line in enumerate(lines, start=1):
        if line.strip() == BLOCK_START:
            kind = RuleKind.SOFT
        elif line.strip() == BLOCK_END:
            kind = RuleKind.HARD
        elif line.strip() and not line.startswith("#"):
            secret = kind is RuleKind.SOFT and line in SECRET_LINES
            rules.append(Rule(line, RuleKind.SECRET if secret else kind, f"{source}:{number}"))
    return rules


def default_ignore_text() -> str:
    """Return the `.cplignore` that `cpl init` writes."""
    lines = [
        "# What CodePlane never reads or indexes. Syntax: as .gitignore, in any directory.",
        "# Lines outside the marked block are hard rules. `!pattern` lets a file in, secrets included.",
        BLOCK_START,
        *DEFAULT_SOFT_LINES,
        "# Secrets are hard rules, also for files that git tracks.",
        *SECRET_LINES,
        BLOCK_END,
        "",
    ]
    return "\n".join(lines)


def matcher_for(pattern: str) -> Callable[[str], bool]:
    """Return a test for a glob in gitignore form: `*.py` at any depth, `src/**/*.py` from the root.

    Raises:
        ValueError: the pattern selects nothing, such as an empty one, a comment or a `!` line.
    """
    found = _read_by_library(pattern)
    if found is None or not found[1]:
        raise ValueError(pattern)
    return _matcher(found[0])


def matcher_for_all(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a test for several globs: any of them may fit, none with a `!` before it may; no glob fits everything.

    Raises:
        ValueError: as `matcher_for`.
    """
    wanted: list[Callable[[str], bool]] = []
    unwanted: list[Callable[[str], bool]] = []
    for pattern in patterns:
        (unwanted if pattern.startswith("!") else wanted).append(matcher_for(pattern.removeprefix("!")))

    def fits(path: str) -> bool:
        is_wanted = not wanted or any(matches(path) for matches in wanted)
        return is_wanted and not any(matches(path) for matches in unwanted)

    return fits
