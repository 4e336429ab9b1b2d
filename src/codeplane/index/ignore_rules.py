"""Which paths CodePlane leaves out, and by which rule.

Four kinds of rule:
- built in: git's and CodePlane's own directories; nothing overrides them;
- secret: names that usually hold credentials; hard, and a `!` line in `.cplignore` lets a path in;
- soft: noise such as `build/`; never hides what git tracks;
- hard: lines that people wrote in a `.cplignore` at any depth.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from codeplane.core.paths import RepoPath
from codeplane.git.repository import TrackedPaths

IGNORE_FILE = ".cplignore"
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
SECRET_LINES = (
    ".env",
    ".env.*",
    "!.env.example",
    "!.env.sample",
    "!.env.template",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".netrc",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".vault-token",
    ".aws/credentials",
    ".docker/config.json",
    ".ssh/",
    ".gnupg/",
    "secrets.yml",
    "secrets.yaml",
    "secrets.json",
    "secrets.toml",
    "service-account*.json",
)
_BUILT_IN_NAMES = frozenset({".git", ".codeplane"})


class RuleKind(Enum):
    """How strong a rule is."""

    BUILT_IN = "built-in"
    SECRET = "secret"  # noqa: S105 - the name of a kind of rule.
    SOFT = "soft"
    HARD = "hard"


@dataclass(frozen=True, slots=True)
class Rule:
    """One line and where it stands."""

    line: str
    kind: RuleKind
    source: str


@dataclass(frozen=True, slots=True)
class _Compiled:
    rule: Rule
    regex: re.Pattern[str]
    excludes: bool


class _RuleList:
    """Rules of one directory level, compiled once; the last line that matches decides."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._compiled = tuple(_compile(rules))
        # Most paths match nothing, so one combined expression answers for all lines at once.
        parts = [item.regex.pattern.replace("?P<ps_d>", "?:") for item in self._compiled]
        self._any = re.compile("|".join(f"(?:{part})" for part in parts)) if parts else None

    def last_match(self, text: str) -> _Compiled | None:
        if self._any is None or self._any.match(text) is None:
            return None
        return next((item for item in reversed(self._compiled) if item.regex.match(text)), None)


def _compile(rules: Iterable[Rule]) -> Iterable[_Compiled]:
    for rule in rules:
        try:
            pattern = GitIgnoreSpecPattern(rule.line)
        except ValueError:
            # Git, too, passes over a line it cannot understand, such as a lone `!`.
            continue
        if pattern.regex is not None and pattern.include is not None:
            yield _Compiled(rule, pattern.regex, excludes=pattern.include)


_BUILT_IN_RULES = _RuleList(
    [Rule(line, RuleKind.SECRET, "built-in secrets") for line in SECRET_LINES]
    + [Rule(line, RuleKind.SOFT, "built-in") for line in PRUNABLE_LINES]
)


class IgnoreRules:
    """The rules of one working tree, read from its `.cplignore` files when first needed.

    `tracked` is asked at most once, and only when a soft rule matches.
    Invariant: an instance sees the files as they were when it first read them; make a new one per call.
    """

    def __init__(self, root: Path, tracked: Callable[[], TrackedPaths]) -> None:
        self._root = root
        self._load_tracked = tracked
        self._tracked: TrackedPaths | None = None
        self._by_directory: dict[str, _RuleList] = {}

    def exclusion(self, path: RepoPath, *, is_directory: bool) -> Rule | None:
        """Return the rule that leaves out this path or a directory above it, or None."""
        parts = path.parts
        for depth in range(1, len(parts)):
            rule = self.exclusion_of_entry("/".join(parts[:depth]), is_directory=True)
            if rule is not None:
                return rule
        if not parts:
            return None
        return self.exclusion_of_entry(path.text, is_directory=is_directory)

    def exclusion_of_entry(self, text: str, *, is_directory: bool) -> Rule | None:
        """Return the rule that leaves out this entry; the directories above it are known to be in."""
        name = text.rpartition("/")[2]
        if name in _BUILT_IN_NAMES:
            return Rule(f"{name}/", RuleKind.BUILT_IN, "built-in")
        matched = self._last_match(f"{text}/" if is_directory else text)
        if matched is None or not matched.excludes:
            return None
        if matched.rule.kind is RuleKind.SOFT and self._is_tracked(text, is_directory=is_directory):
            return None
        return matched.rule

    def _last_match(self, text: str) -> _Compiled | None:
        parents = text.rstrip("/").split("/")[:-1]
        for depth in range(len(parents), -1, -1):
            directory = "/".join(parents[:depth])
            relative = text[len(directory) + 1 :] if directory else text
            matched = self._rules_in(directory).last_match(relative)
            if matched is not None:
                return matched
        return _BUILT_IN_RULES.last_match(text)

    def _rules_in(self, directory: str) -> _RuleList:
        if directory not in self._by_directory:
            self._by_directory[directory] = _RuleList(_read_rules(self._root, directory))
        return self._by_directory[directory]

    def _is_tracked(self, text: str, *, is_directory: bool) -> bool:
        if self._tracked is None:
            self._tracked = self._load_tracked()
        return text in (self._tracked.directories if is_directory else self._tracked.files)


def _read_rules(root: Path, directory: str) -> list[Rule]:
    source = f"{directory}/{IGNORE_FILE}" if directory else IGNORE_FILE
    try:
        lines = (root / source).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        # Without a file at the root the defaults apply; elsewhere there is nothing to apply.
        return [] if directory else [Rule(line, RuleKind.SOFT, "built-in") for line in DEFAULT_SOFT_LINES]
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
        ValueError: the pattern selects nothing, such as an empty one or a comment.
    """
    compiled = GitIgnoreSpecPattern(pattern)
    if compiled.regex is None or compiled.include is None:
        raise ValueError(pattern)
    regex = compiled.regex
    return lambda text: regex.match(text) is not None
