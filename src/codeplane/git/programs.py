"""Programs that a repository makes git run: hooks, and commands in the repository's own configuration.

A program has a name and a digest over everything of it that can be read: the setting's value, the hook's files, and
files of the tree that a command names. What those programs run in turn is not tracked.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_file
from codeplane.git.repository import Repository, run_git

COMMIT_HOOKS: Final = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-rewrite")
CHECKOUT_HOOKS: Final = ("post-checkout",)
MERGE_HOOKS: Final = ("pre-merge-commit", "post-merge", *COMMIT_HOOKS)
REBASE_HOOKS: Final = (
    "pre-rebase", "applypatch-msg", "pre-applypatch", "post-applypatch", "post-checkout", *MERGE_HOOKS,
)  # fmt: skip
PUSH_HOOKS: Final = ("pre-push",)
# Commands that move a ref or write the index run these.
ANY_HOOKS: Final = ("reference-transaction", "post-index-change", "pre-auto-gc")
# Settings whose value is a program, or leads to one.
_RUNS: Final = re.compile(
    r"core\.(?:fsmonitor|sshcommand|gitproxy|askpass|pager|editor|alternaterefscommand)|sequence\.editor"
    r"|credential\.(?:.*\.)?helper|gpg\.(?:.*\.)?(?:program|defaultkeycommand)|diff\.external"
    r"|diff\..*\.(?:textconv|command)|merge\..*\.driver|filter\..*\.(?:clean|smudge|process)|interactive\.difffilter"
    r"|remote\..*\.(?:uploadpack|receivepack|vcs|proxy)|submodule\..*\.update|trailer\..*\.(?:command|cmd)|pager\..*"
    r"|init\.templatedir|gc\.recentobjectshook|uploadpack\.packobjectshook|lfs\.customtransfer\..*\.path"
    r"|lfs\.extension\..*|url\..*\.(?:insteadof|pushinsteadof)|core\.worktree|protocol\.(?:.*\.)?allow"
)
_OWN_SCOPES: Final = frozenset({"local", "worktree"})
_NO_PROGRAM: Final = frozenset({"", "true", "false", "yes", "no", "on", "off", "0", "1"})
_SUBMODULE_WORDS: Final = frozenset({"checkout", "rebase", "merge", "none"})
_INTERPRETERS: Final = re.compile(
    r"\.|source|exec|(?:ba|z|da|k)?sh|python[0-9.]*|node|ruby|perl|deno|bun|php|Rscript|lua"
)
_WORDS: Final = re.compile(r"[^\s\"'=;|&()<>`$!]+")
# What hook managers read beside the hook that they install.
_MANAGED: Final = {
    b"pre-commit": (".pre-commit-config.yaml",),
    b"lefthook": ("lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml"),
    b"overcommit": (".overcommit.yml",),
    b"husky": (".husky",),
}
_MAX_SCANNED: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Helper:
    """A program that git would run: `hook` is the hook's name, empty for a setting.

    `files` are paths of the tree that are part of it, files or directories.
    """

    name: str
    hook: str
    value: str
    files: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class GitPrograms:
    """The programs that a repository makes git run, and whether any hook runs, including the user's own."""

    helpers: tuple[Helper, ...] = ()
    has_hooks: bool = False


class ProgramFinder:
    """Finds the programs that git would run in one repository.

    What git says of its configuration costs 5 ms and is kept as long as no file that git reads for it has changed; a
    configuration that includes others is read every time.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._kept: tuple[object, list[tuple[str, str, str]]] | None = None

    def find(self) -> GitPrograms:
        """Return them as they are now.

        Raises:
            CodePlaneError: GIT_FAILED when the configuration cannot be read.
        """
        stamps, kept = self._stamps(), self._kept
        if kept is None or kept[0] != stamps:
            found = _settings(self._repository.root)
            has_more = any(name.startswith(("include.", "includeif.")) for _, name, _ in found)
            kept = (stamps, found)
            self._kept = None if has_more else kept
        return find_programs(self._repository, kept[1])

    def _stamps(self) -> object:
        home, config = os.environ.get("HOME", ""), os.environ.get("XDG_CONFIG_HOME", "")
        places = (
            self._repository.common_dir / "config",
            self._repository.git_dir / "config.worktree",
            Path(home, ".gitconfig"),
            Path(config or f"{home}/.config", "git/config"),
            Path(os.environ.get("GIT_CONFIG_GLOBAL") or "/dev/null"),
            Path(os.environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig"),
        )
        return tuple(map(_stamp, places)), tuple(one for one in os.environ.items() if one[0].startswith("GIT_CONFIG"))


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def find_programs(repository: Repository, known: list[tuple[str, str, str]] | None = None) -> GitPrograms:
    """Return the programs that git would run here; only those of the repository's own configuration are helpers.

    Raises:
        CodePlaneError: GIT_FAILED when the configuration cannot be read.
    """
    settings = known if known is not None else _settings(repository.root)
    found = [
        _helper(repository.root, f"setting {name}", "", value, _named_files(repository.root, value.encode()))
        for scope, name, value in settings
        if scope in _OWN_SCOPES and _is_program(name, value)
    ]
    scope, place = _hooks_directory(repository, settings)
    hooks = _executable_hooks(place)
    if scope in _OWN_SCOPES or _inside(repository.root, place) is not None:
        found.extend(_hooks(repository.root, place, hooks))
    return GitPrograms(tuple(found), bool(hooks))


def executed_paths(helpers: tuple[Helper, ...]) -> tuple[str, ...]:
    """Return the files and directories of the tree that are part of programs."""
    return tuple(dict.fromkeys(path for one in helpers for path in one.files))


def is_executed(path: str, executed: tuple[str, ...]) -> bool:
    """Tell whether a path is part of a program, lies in a directory of one, or holds one."""
    folded = path.casefold()
    return any(
        folded == one or folded.startswith(f"{one}/") or one.startswith(f"{folded}/")
        for one in (name.casefold() for name in executed)
    )


def _settings(root: Path) -> list[tuple[str, str, str]]:
    listing = run_git(root, "config", "--list", "--includes", "--show-scope", "-z")
    if listing.returncode != 0:
        raise CodePlaneError("GIT_FAILED", f"Git cannot read its configuration: {listing.stderr_text.strip()[:400]}")
    parts = os.fsdecode(listing.stdout).split("\0")
    found = []
    for scope, item in zip(parts[0::2], parts[1::2], strict=False):
        name, _, value = item.partition("\n")
        found.append((scope, name, value))
    return found


def _is_program(name: str, value: str) -> bool:
    if _RUNS.fullmatch(name.lower()) is None:
        return False
    if name.lower().startswith("submodule."):
        return value not in _SUBMODULE_WORDS
    return value.lower() not in _NO_PROGRAM or name.lower() == "core.worktree"


def _hooks_directory(repository: Repository, settings: list[tuple[str, str, str]]) -> tuple[str, Path]:
    """Return where hooks are, and the scope of the setting that says so."""
    # Our own option that disables hooks for reading has the scope `command`.
    chosen = [(scope, value) for scope, name, value in settings if name == "core.hookspath" and scope != "command"]
    scope, value = chosen[-1] if chosen else ("local", "")
    return scope, (repository.root / Path(value).expanduser()) if value else repository.common_dir / "hooks"


def _executable_hooks(place: Path) -> list[os.DirEntry[str]]:
    try:
        entries = sorted(os.scandir(place), key=lambda one: one.name)
    except OSError:
        return []
    return [
        one for one in entries if not one.name.endswith(".sample") and one.is_file() and os.access(one.path, os.X_OK)
    ]


def _hooks(root: Path, place: Path, entries: list[os.DirEntry[str]]) -> Iterator[Helper]:
    inside = _inside(root, place)
    # Hooks of a directory often read each other; husky keeps what they run beside its own directory.
    shared = inside.removesuffix("/_") if inside is not None and not inside.startswith(".git/") else None
    for entry in entries:
        text = _start(Path(entry.path))
        own = shared or _inside(root, Path(entry.path))
        files = [own] if own is not None and not own.startswith(".git/") else []
        files += _named_files(root, text)
        files += [name for word, names in _MANAGED.items() if word in text for name in names if (root / name).exists()]
        yield _helper(root, f"hook {entry.name}", entry.name, _digest(Path(entry.path)), tuple(files))


def _helper(root: Path, name: str, hook: str, value: str, files: tuple[str, ...]) -> Helper:
    paths = tuple(dict.fromkeys(files))
    contents = [[path, _digest(root / path)] for path in _below(root, paths)]
    return Helper(name, hook, value, paths, digest({"name": name, "value": value, "files": contents}))


def _named_files(root: Path, text: bytes) -> tuple[str, ...]:
    """Return the files of the tree that a command or script runs: programs, and what an interpreter is given."""
    words = _WORDS.findall(text.decode("utf-8", "replace"))
    found = []
    for before, word in zip(["", *words], words, strict=False):
        inside = _inside(root, root / word) if len(word) < 1000 else None
        if inside is None or inside.startswith(".git/") or not (root / inside).is_file():
            continue
        if os.access(root / inside, os.X_OK) or _INTERPRETERS.fullmatch(before.rpartition("/")[2] or before):
            found.append(inside)
    return tuple(found)


def _below(root: Path, paths: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for path in paths:
        place = root / path
        if place.is_dir():
            found += sorted(one.relative_to(root).as_posix() for one in place.rglob("*") if one.is_file())
        else:
            found.append(path)
    return found


def _digest(place: Path) -> str:
    try:
        return sha256_file(place) if place.is_file() else ""
    except OSError:
        return "unreadable"


def _start(place: Path) -> bytes:
    try:
        with place.open("rb") as file:
            return file.read(_MAX_SCANNED)
    except OSError:
        return b""


def _inside(root: Path, place: Path) -> str | None:
    """Return a place as a path of the tree; None for one outside."""
    for candidate in (os.path.normpath(place), os.path.realpath(place)):
        inside = os.path.relpath(candidate, root)
        if inside != "." and not inside.startswith(".."):
            return inside
    return None
