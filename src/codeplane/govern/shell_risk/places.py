"""Which paths a reader may be given: inside of the tree, no secret, nothing protected."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from codeplane.core.secrets import secret_rule
from codeplane.edit.protection import is_protected_name
from codeplane.govern.shell_risk.context import EVERYTHING, OPTION_IN_LISTING, ShellContext
from codeplane.govern.shell_risk.patterns import matches, matches_in_shell, widened
from codeplane.govern.shell_risk.words import Word

_MAX_DIRECTORIES: Final = 8
_HARMLESS_FILES: Final = frozenset(
    {
        "/dev/null", "/etc/os-release", "/etc/hosts", "/etc/issue", "/etc/debian_version", "/proc/cpuinfo",
        "/proc/meminfo", "/proc/version", "/proc/uptime", "/proc/loadavg",
    }
)  # fmt: skip
_HARMLESS_FOLDERS: Final = ("/usr/share/", "/usr/include/", "/usr/lib/", "/usr/bin/", "/bin/")
# What an open pattern such as `.e*` would match.
_WITNESSES: Final = (
    ".env", ".env.local", ".env.production", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".git", ".git-credentials",
    ".ssh", ".aws", ".gnupg", ".codeplane", ".htpasswd", ".vault-token", ".kube", ".docker", ".envrc", ".dockercfg",
    "id_rsa", "id_ed25519", "zz9.pem", "zz9.key", "zz9.env", "zz9.p12", "zz9.pfx", "zz9.jks", "zz9.keystore",
    "zz9.kdbx", "zz9.tfvars", "zz9.ppk", "kubeconfig", "credentials", "credentials.json", "secrets.yml",
    "secrets.yaml", "secrets.json", "secrets.toml", "terraform.tfstate", "service-account.json", "zz9.secret",
)  # fmt: skip
# Patterns so general that they ask for no secret; what they find beside is the tree's own plain files.
_GENERAL: Final = re.compile(r"\*+|\*\.(?:json|ya?ml|toml)|\*\*/\*|\*\.\*")


@dataclass(frozen=True, slots=True)
class Location:
    """Where a command may run: directories from the root, as parts; no directory is anywhere.

    `possible` are those where a command may run that does not follow a `cd` with `&&`.
    `is_outside` marks a start outside of the tree, where only the directory itself and what is below is looked at.
    """

    context: ShellContext
    directories: tuple[tuple[str, ...], ...] = ((),)
    possible: tuple[tuple[str, ...], ...] = ((),)
    is_outside: bool = False
    has_moved: bool = False

    @classmethod
    def of(cls, context: ShellContext) -> "Location":
        """Return where the context says that it starts."""
        root, cwd = context.root.rstrip("/"), context.cwd.rstrip("/")
        if not root or not cwd or cwd == root:
            return cls(context)
        if cwd.startswith(root + "/"):
            start = (tuple(cwd[len(root) + 1 :].split("/")),)
            return cls(context, start, start)
        return cls(context, is_outside=True)

    def moved(self, path: str) -> "Location":
        """Return where a command may run after a `cd path` that has worked."""
        root = self.context.root.rstrip("/")
        if path.startswith("/"):
            joined = [_joined((), path[len(root) :])]
        else:
            joined = [_joined(one, path) for one in self.directories]
        there = tuple(dict.fromkeys(one for one in joined if one is not None))
        possible = tuple(dict.fromkeys((*self.possible, *there)))
        if len(possible) > _MAX_DIRECTORIES or None in joined:
            return replace(self, directories=(), possible=(), has_moved=True)
        is_back = there == Location.of(self.context).directories or there == ((),)
        return replace(self, directories=there, possible=possible, has_moved=not is_back)

    def in_doubt(self) -> "Location":
        """Return where a command may run when it is not known whether the last `cd` has worked."""
        has_moved = self.has_moved or len(self.possible) != 1
        return replace(self, directories=self.possible, has_moved=has_moved)


def why_not_read(path: str, location: Location) -> str | None:
    """Return what speaks against reading a path, None when nothing does."""
    if path in {"", "-"}:
        return None
    if path.startswith("/"):
        return _why_not_absolute(path, location)
    if not location.directories:
        return f"{path} may be anywhere after the change of directory"
    for directory in location.directories:
        reason = _why_not_inside(_joined(directory, path), path, location)
        if reason is not None:
            return reason
    return None


def why_not_word(word: Word, location: Location) -> str | None:
    """Return what speaks against reading what a word becomes; the shell's own patterns do not match hidden names."""
    if word.is_listing:
        return why_not_listed(word, location)
    reason = why_not_read(word.value, location)
    if reason is not None or not word.pattern:
        return reason
    return _why_not_secret_pattern(word.pattern, word.raw, matches_in_shell)


def why_not_listed(word: Word, location: Location, *, shows_contents: bool = True) -> str | None:
    """Return what speaks against a list of tracked files as operands."""
    away = location.context.leading_away
    names = ["/".join(_joined(one, word.value) or ()) for one in location.directories]
    if not names or EVERYTHING in away or any(name + OPTION_IN_LISTING in away for name in names):
        return f"a name in {word.raw} may become an option"
    if shows_contents and any(name in away for name in names):
        return f"{word.raw} names secrets, links that lead away, or names with blanks"
    return None


def why_not_matched(pattern: str, location: Location) -> str | None:
    """Return what speaks against reading everything that matches a pattern a program expands, hidden names included."""
    reason = why_not_read(pattern, location)
    return reason if reason is not None else _why_not_secret_pattern(widened(pattern), pattern, matches)


def why_not_followed(word: Word | None, location: Location) -> str | None:
    """Return what speaks against following every link below a directory; None is the one the command runs in."""
    away = location.context.leading_away
    if not away:
        return None
    # A pattern may become any name in its directory.
    path = "." if word is None else word.value if word.is_static else re.sub(r"[^/]*[*?\[].*", "", word.value) or "."
    root = location.context.root.rstrip("/")
    is_absolute = path.startswith("/")
    if is_absolute and not (root and f"{path}/".startswith(f"{root}/")):
        return None
    for directory in location.directories or (None,):
        parts = (
            None if directory is None else _joined(() if is_absolute else directory, path[len(root) * is_absolute :])
        )
        prefix = "/".join(parts or ())
        found = next((one for one in away if not prefix or one == prefix or one.startswith(f"{prefix}/")), None)
        if found is not None and found.endswith("/*"):
            return f"follows links, and {found[:-2]} has too many files to check where they lead"
        if found is not None:
            return f"follows links, and the link {found} leads out of the repository or to a secret or protected file"
    return None


def _why_not_secret_pattern(pattern: str, shown: str, fits: Callable[[str, str], bool]) -> str | None:
    for part in pattern.split("/"):
        if any(mark in part for mark in "*?") and not _GENERAL.fullmatch(part):
            found = next((name for name in _WITNESSES if fits(name, part)), None)
            if found is not None:
                return f"{shown} matches secrets or protected names such as {found}"
    return None


def _joined(directory: tuple[str, ...], path: str) -> tuple[str, ...] | None:
    """Return the parts from the root; None leads out of it."""
    parts = list(directory)
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return tuple(parts)


def _why_not_absolute(path: str, location: Location) -> str | None:
    root = location.context.root.rstrip("/")
    if root and (path == root or path.startswith(root + "/")):
        return _why_not_inside(_joined((), path[len(root) :]), path, location)
    if path in _HARMLESS_FILES:
        return None
    if f"{path.rstrip('/')}/".startswith(_HARMLESS_FOLDERS) and ".." not in path.split("/"):
        return None
    return f"{path} is outside the repository"


def _why_not_inside(parts: tuple[str, ...] | None, path: str, location: Location) -> str | None:
    if parts is None:
        return f"{path} is outside the repository"
    name = "/".join(parts)
    folded = unicodedata.normalize("NFKC", name).casefold()
    if is_protected_name(folded):
        return f"{path} belongs to git, CodePlane or an agent and is protected"
    if secret_rule(folded) is not None:
        return f"{path} usually holds secrets"
    away = location.context.leading_away
    if EVERYTHING in away or any(name == one or name.startswith(one + "/") for one in away):
        return f"{path} leads out of the repository or to a secret or protected file"
    return None
