"""Which paths a reader may be given: inside of the tree, no secret, nothing protected."""

import fnmatch
import re
import unicodedata
from dataclasses import dataclass, replace
from typing import Final

from codeplane.core.secrets import secret_rule
from codeplane.edit.protection import is_protected_name
from codeplane.govern.shell_risk.context import EVERYTHING, ShellContext

_MAX_DIRECTORIES: Final = 8
_HARMLESS_FILES: Final = frozenset(
    {
        "/dev/null", "/etc/os-release", "/etc/hosts", "/etc/issue", "/etc/debian_version", "/proc/cpuinfo",
        "/proc/meminfo", "/proc/version", "/proc/uptime", "/proc/loadavg",
    }
)  # fmt: skip
_HARMLESS_FOLDERS: Final = ("/usr/share/", "/usr/include/", "/usr/lib/", "/usr/bin/", "/bin/")
# What an open pattern such as `.e*` would find.
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
class Standing:
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
    def of(cls, context: ShellContext) -> "Standing":
        """Return where the context says that it starts."""
        root, cwd = context.root.rstrip("/"), context.cwd.rstrip("/")
        if not root or not cwd or cwd == root:
            return cls(context)
        if cwd.startswith(root + "/"):
            start = (tuple(cwd[len(root) + 1 :].split("/")),)
            return cls(context, start, start)
        return cls(context, is_outside=True)

    def moved(self, path: str) -> "Standing":
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
        is_back = there == Standing.of(self.context).directories or there == ((),)
        return replace(self, directories=there, possible=possible, has_moved=not is_back)

    def in_doubt(self) -> "Standing":
        """Return where a command may run when it is not known whether the last `cd` has worked."""
        has_moved = self.has_moved or len(self.possible) != 1
        return replace(self, directories=self.possible, has_moved=has_moved)


def why_not_read(path: str, standing: Standing) -> str | None:
    """Return what speaks against reading a path, None when nothing does."""
    if path in {"", "-"}:
        return None
    if path.startswith("/"):
        return _why_not_absolute(path, standing)
    if not standing.directories:
        return f"{path} may be anywhere"
    for directory in standing.directories:
        reason = _why_not_inside(_joined(directory, path), path, standing)
        if reason is not None:
            return reason
    return None


def why_not_matched(pattern: str, standing: Standing, *, finds_hidden: bool = False) -> str | None:
    """Return what speaks against reading everything that fits a pattern; the shell's own do not find hidden names."""
    reason = why_not_read(pattern, standing)
    if reason is not None:
        return reason
    parts = pattern.split("/")
    for part in parts:
        if any(mark in part for mark in "*?[") and not _GENERAL.fullmatch(part):
            found = next((name for name in _WITNESSES if _fits(name, part.lower(), finds_hidden=finds_hidden)), None)
            if found is not None:
                return f"{pattern} fits secrets or protected names such as {found}"
    return None


def _fits(name: str, pattern: str, *, finds_hidden: bool) -> bool:
    if not finds_hidden and name.startswith(".") and not pattern.startswith((".", "[", "\\")):
        return False
    return fnmatch.fnmatchcase(name, pattern)


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


def _why_not_absolute(path: str, standing: Standing) -> str | None:
    root = standing.context.root.rstrip("/")
    if root and (path == root or path.startswith(root + "/")):
        return _why_not_inside(_joined((), path[len(root) :]), path, standing)
    if path in _HARMLESS_FILES:
        return None
    if f"{path.rstrip('/')}/".startswith(_HARMLESS_FOLDERS) and ".." not in path.split("/"):
        return None
    return f"{path} is outside of the repository"


def _why_not_inside(parts: tuple[str, ...] | None, path: str, standing: Standing) -> str | None:
    if parts is None:
        return f"{path} is outside of the repository"
    name = "/".join(parts)
    folded = unicodedata.normalize("NFKC", name).casefold()
    if is_protected_name(folded):
        return f"{path} is protected"
    if secret_rule(folded) is not None:
        return f"{path} usually holds secrets"
    away = standing.context.leading_away
    if EVERYTHING in away or any(name == one or name.startswith(one + "/") for one in away):
        return f"{path} leads out of the repository or to something protected"
    return None
