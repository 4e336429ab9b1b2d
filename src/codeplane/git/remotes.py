"""Remotes: list, fetch, push and pull."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from codeplane.core.errors import CodePlaneError
from codeplane.git.commands import Conditions, ask_git, change_git, check_name, check_result, must_change
from codeplane.git.git_errors import git_error
from codeplane.git.repository import Repository, run_git

_SCP_FORM: Final = re.compile(r"^(?:[^@/\s]+@)?(?P<host>\[[^\]]+\]|[^:/\s]+):(?!//)")
# How the lines of `git push --porcelain` begin.
_PUSH_FLAGS: Final = {
    " ": "updated",
    "+": "forced",
    "-": "deleted",
    "*": "created",
    "!": "rejected",
    "=": "up_to_date",
}


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote, its addresses without passwords."""

    name: str
    urls: tuple[str, ...]
    push_urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PushedRef:
    """The outcome of one ref at the remote."""

    source: str
    target: str
    status: str
    summary: str


@dataclass(frozen=True, slots=True)
class Tracking:
    """The remote of a branch and its name there; `is_set` says that the upstream is configured."""

    remote: str
    branch: str
    is_set: bool


def list_remotes(root: Path) -> list[Remote]:
    """Return the remotes by name."""
    result = run_git(root, "config", "-z", "--get-regexp", r"^remote\..*\.(url|pushurl)$")
    found: dict[str, tuple[list[str], list[str]]] = {}
    for item in os.fsdecode(result.stdout).split("\0"):
        key, _, value = item.partition("\n")
        if key:
            name, _, kind = key.removeprefix("remote.").rpartition(".")
            found.setdefault(name, ([], []))[kind == "pushurl"].append(without_password(value))
    return [Remote(name, tuple(urls), tuple(pushes) or tuple(urls)) for name, (urls, pushes) in sorted(found.items())]


def find_remote(root: Path, name: str) -> Remote:
    """Return a remote.

    Raises:
        CodePlaneError: GIT_REMOTE_UNKNOWN with the names there are.
    """
    check_name(name, "remote")
    remotes = list_remotes(root)
    found = next((one for one in remotes if one.name == name), None)
    if found is not None:
        return found
    names = [one.name for one in remotes]
    known = f"Remotes: {', '.join(names)}." if names else "There are none."
    raise CodePlaneError("GIT_REMOTE_UNKNOWN", f"There is no remote `{name}`. {known}", details={"remotes": names})


def without_password(url: str) -> str:
    """Return an address without credentials."""
    if "://" not in url:
        return url
    try:
        parts = urlsplit(url)
        if parts.scheme in {"http", "https", "ftp", "ftps"} and "@" in parts.netloc:
            return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        if parts.password is not None:
            return urlunsplit(parts._replace(netloc=f"{parts.username}@{parts.netloc.rpartition('@')[2]}"))
    except ValueError:
        return "an unreadable address"
    return url


def place_of(root: Path, url: str) -> str:
    """Return where an address leads: a host, or `file:` and the path of a repository on this machine."""
    host = host_of(url)
    if host is not None:
        return host
    return f"file:{local_path(root, url)}"


def local_path(root: Path, url: str) -> str | None:
    """Return the absolute path that an address names on this machine; None for one of another machine."""
    if host_of(url) is not None:
        return None
    path = unquote(urlsplit(url).path) if "://" in url else url
    return os.path.realpath(root / Path(path).expanduser())


def host_of(url: str) -> str | None:
    """Return the host of an address, None for this machine."""
    if "://" in url:
        try:
            parts = urlsplit(url)
        except ValueError:
            return None
        return parts.hostname if parts.scheme != "file" else None
    match = _SCP_FORM.match(url)
    return match["host"] if match is not None else None


def places_of(root: Path, remote: Remote) -> tuple[str, ...]:
    """Return the places that a remote's addresses lead to, after git's own rewriting of addresses."""
    addresses: list[str] = []
    for options in ((), ("--push",)):
        told = run_git(root, "remote", "get-url", "--all", *options, "--", remote.name)
        addresses += os.fsdecode(told.stdout).splitlines()
    return tuple(dict.fromkeys(place_of(root, without_password(url)) for url in addresses or remote.urls))


def refs_of_fetch(remote: str, refspecs: Iterable[str], *, has_tags: bool) -> tuple[tuple[str, ...], bool]:
    """Return the local refs that a fetch may write, and whether it replaces what only this repository may have."""
    refs = [f"refs/remotes/{remote}/*", *(("refs/tags/*",) if has_tags else ())]
    is_destructive = False
    for one in refspecs:
        _, _, target = one.removeprefix("+").partition(":")
        if target:
            full = target if target.startswith("refs/") else f"refs/heads/{target}"
            refs.append(full)
            is_destructive = is_destructive or not full.startswith("refs/remotes/")
    return tuple(dict.fromkeys(refs)), is_destructive


def check_address(url: str) -> str:
    """Return an address that git cannot mistake for an option or a program to run.

    Raises:
        CodePlaneError: INVALID_FORMAT.
    """
    is_plain = bool(url.strip()) and not url.startswith("-") and not any(char < " " for char in url)
    # `ext::` and similar forms run the rest as a program.
    if not is_plain or re.match(r"^[A-Za-z0-9+.-]+::", url):
        raise CodePlaneError("INVALID_FORMAT", "Not a valid repository address.", details={"url": url[:200]})
    return url


def default_tracking(root: Path, branch: str | None, remote: str | None, *, is_push: bool) -> Tracking:
    """Return the default remote branch of a branch.

    Raises:
        CodePlaneError: GIT_DETACHED_HEAD, GIT_REMOTE_UNKNOWN.
    """
    if branch is None:
        raise CodePlaneError("GIT_DETACHED_HEAD", "HEAD is detached: name the branch.")
    own = _setting(root, f"branch.{branch}.remote")
    merge = (_setting(root, f"branch.{branch}.merge") or "").removeprefix("refs/heads/")
    push_to = (
        (_setting(root, f"branch.{branch}.pushRemote") or _setting(root, "remote.pushDefault")) if is_push else None
    )
    name = remote or push_to or own or _only_remote(root)
    find_remote(root, name)
    is_set = own == name and bool(merge)
    return Tracking(name, merge if is_set else branch, is_set)


def fetch(
    root: Path, remote: str | None, refspecs: tuple[str, ...], conditions: Conditions, options: tuple[str, ...]
) -> None:
    """Fetch from a remote, or from all."""
    place = ("--all",) if remote is None else (remote, *refspecs)
    must_change(root, "fetch", "--no-write-fetch-head", *options, *place, conditions=conditions)


def push(
    root: Path, remote: str, refspecs: tuple[str, ...], conditions: Conditions, options: tuple[str, ...]
) -> list[PushedRef]:
    """Push refs; return the outcome of each.

    Raises:
        CodePlaneError: GIT_PUSH_REJECTED with the outcome of each, or another error of git.
    """
    arguments = ("push", "--porcelain", *options, remote, *refspecs)
    result = change_git(root, *arguments, conditions=conditions)
    refs = _pushed(os.fsdecode(result.stdout))
    if result.returncode != 0 and any(one.status == "rejected" for one in refs):
        reasons = "; ".join(f"{one.target}: {one.summary}" for one in refs if one.status == "rejected")
        details = {"refs": [{"ref": one.target, "status": one.status, "summary": one.summary} for one in refs]}
        words = git_error(arguments, result.stderr_text).details["git"]
        code = "GIT_HOOK_FAILED" if "hook declined" in reasons else "GIT_PUSH_REJECTED"
        raise CodePlaneError(code, f"{remote} refused: {reasons}", details={**details, "git": words})
    check_result(arguments, result, root)
    return refs


def pull(root: Path, place: tuple[str, ...], conditions: Conditions, options: tuple[str, ...]) -> bool:
    """Pull; `place` is a remote and a branch, or nothing to use the upstream.

    Returns:
        False when it stopped at conflicts.
    """
    arguments = ("pull", "--no-edit", "--stat", *options, *place)
    result = change_git(root, *arguments, conditions=conditions)
    if result.returncode != 0 and has_conflicts(root):
        return False
    check_result(arguments, result, root)
    return True


def fetch_heads(repository: Repository) -> set[str]:
    """Return the commits that the last fetch marked for merging."""
    try:
        text = (repository.git_dir / "FETCH_HEAD").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    rows = (line.split("\t") for line in text.splitlines())
    return {row[0] for row in rows if len(row) > 1 and row[1] != "not-for-merge"}


def has_conflicts(root: Path) -> bool:
    """Tell whether the index has entries in conflict."""
    return bool(ask_git(root, "ls-files", "-u", "-z"))


def _pushed(output: str) -> list[PushedRef]:
    found = []
    for line in output.splitlines():
        parts = line.split("\t")
        if len(parts) >= 3 and parts[0] in _PUSH_FLAGS:
            source, _, target = parts[1].rpartition(":")
            found.append(PushedRef(source, target, _PUSH_FLAGS[parts[0]], parts[2]))
    return found


def _setting(root: Path, name: str) -> str | None:
    result = run_git(root, "config", "--get", name)
    return os.fsdecode(result.stdout).removesuffix("\n") or None if result.returncode == 0 else None


def _only_remote(root: Path) -> str:
    names = [one.name for one in list_remotes(root)]
    if "origin" in names or len(names) == 1:
        return "origin" if "origin" in names else names[0]
    if not names:
        raise CodePlaneError("GIT_REMOTE_UNKNOWN", "This repository has no remote.")
    message = f"The branch has no upstream, and there are several remotes: {', '.join(names)}."
    raise CodePlaneError("GIT_REMOTE_UNKNOWN", message, hint="Name the remote.", details={"remotes": names})
