"""Branches and tags: list, create, move and delete them."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from codeplane.core.errors import CodePlaneError
from codeplane.git.commands import Conditions, ask_git, check_name, must_change
from codeplane.git.repository import run_git

_FIELDS: Final = (
    "%(refname)",
    "%(objectname)",
    "%(symref)",
    "%(HEAD)",
    "%(upstream:short)",
    "%(upstream:track,nobracket)",
    "%(worktreepath)",
    "%(committerdate:iso-strict)",
    "%(contents:subject)",
)
_USUAL_DEFAULTS: Final = ("main", "master", "trunk", "develop")
# refs/remotes/<remote>/<branch>
_DEEP: Final = 3
Kind = Literal["local", "remote"]
_PLACES: Final[dict[Kind, str]] = {"local": "refs/heads/", "remote": "refs/remotes/"}


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch; `ahead` and `behind` count commits against its upstream, None without one."""

    name: str
    kind: Kind
    oid: str
    is_current: bool
    upstream: str | None
    is_upstream_gone: bool
    ahead: int | None
    behind: int | None
    worktree: str | None
    date: str
    subject: str
    is_merged: bool


def default_branches(root: Path) -> frozenset[str]:
    """Return the names that may be the default branch: what remotes say, git's own default, and the usual ones."""
    listing = ask_git(root, "for-each-ref", "--format=%(symref)", "refs/remotes/*/HEAD")
    told = {name.split("/", 3)[3] for name in os.fsdecode(listing).split() if name.count("/") >= _DEEP}
    configured = os.fsdecode(run_git(root, "config", "--get", "init.defaultBranch").stdout).strip()
    return frozenset({*told, configured, *_USUAL_DEFAULTS} - {""})


def list_branches(root: Path, kinds: tuple[Kind, ...], contains: str | None = None) -> list[Branch]:
    """Return branches by kind and name; `is_merged` says that HEAD has all of their commits."""
    places = [_PLACES[kind] for kind in kinds]
    wanted = [f"--contains={contains}"] if contains is not None else []
    # A field of several lines would break the rows, but neither names nor subjects have any.
    listing = ask_git(root, "for-each-ref", f"--format={'%00'.join(_FIELDS)}", *wanted, *places)
    merged = _merged(root, places)
    found = []
    for line in os.fsdecode(listing).splitlines():
        name, oid, symref, mark, upstream, track, worktree, date, subject = line.split("\0")
        if symref:
            continue
        kind: Kind = "local" if name.startswith(_PLACES["local"]) else "remote"
        ahead, behind = _counts(track) if upstream and track != "gone" else (None, None)
        found.append(
            Branch(
                name=name.removeprefix(_PLACES[kind]),
                kind=kind,
                oid=oid,
                is_current=mark == "*",
                upstream=upstream or None,
                is_upstream_gone=track == "gone",
                ahead=ahead,
                behind=behind,
                worktree=worktree or None,
                date=date,
                subject=subject,
                is_merged=name in merged,
            )
        )
    return found


def find_branch(root: Path, name: str) -> Branch | None:
    """Return a local branch by its name."""
    check_name(name, "branch")
    return next((one for one in list_branches(root, ("local",)) if one.name == name), None)


def check_new_name(root: Path, name: str, what: Literal["branch", "tag"]) -> None:
    """Refuse a name that git would not accept.

    Raises:
        CodePlaneError: GIT_REF_INVALID.
    """
    check_name(name, what)
    place = "refs/heads/" if what == "branch" else "refs/tags/"
    is_valid = run_git(root, "check-ref-format", place + name).returncode == 0
    if not is_valid or name in {"HEAD", "@"}:
        raise CodePlaneError("GIT_REF_INVALID", f"`{name}` cannot be the name of a {what}.", details={what: name})


def create_branch(root: Path, name: str, commit: str, conditions: Conditions, *, force: bool) -> None:
    """Create a branch at a commit, or move one with force; no upstream is set."""
    must_change(root, "branch", "--no-track", *_forced(force=force), name, commit, conditions=conditions)


def delete_branch(root: Path, name: str, conditions: Conditions, *, force: bool) -> None:
    """Delete a branch; without force only a merged one."""
    must_change(root, "branch", "-D" if force else "-d", name, conditions=conditions)


def rename_branch(root: Path, old: str, new: str, conditions: Conditions, *, force: bool) -> None:
    """Rename a branch."""
    must_change(root, "branch", "-M" if force else "-m", old, new, conditions=conditions)


def set_upstream(root: Path, name: str, upstream: str | None, conditions: Conditions) -> None:
    """Set or unset a branch's upstream."""
    option = f"--set-upstream-to={upstream}" if upstream is not None else "--unset-upstream"
    must_change(root, "branch", option, name, conditions=conditions)


def create_tag(root: Path, name: str, target: str, message: str | None, conditions: Conditions, *, force: bool) -> None:
    """Create a tag; with a message an annotated one, signed if so configured."""
    options = [*_forced(force=force), *(["-m", message] if message is not None else [])]
    must_change(root, "tag", *options, name, target, conditions=conditions)


def delete_tag(root: Path, name: str, conditions: Conditions) -> None:
    """Delete a tag."""
    must_change(root, "tag", "-d", name, conditions=conditions)


def tag_object(root: Path, name: str) -> str | None:
    """Return the object that a tag names, None when there is no such tag."""
    result = run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"refs/tags/{name}")
    return result.stdout_text.strip() or None


def _forced(*, force: bool) -> list[str]:
    return ["--force"] if force else []


def _merged(root: Path, places: list[str]) -> frozenset[str]:
    if run_git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").returncode != 0:
        return frozenset()
    listing = ask_git(root, "for-each-ref", "--format=%(refname)", "--merged=HEAD", *places)
    return frozenset(os.fsdecode(listing).splitlines())


def _counts(track: str) -> tuple[int, int]:
    """Return commits ahead and behind from what git says: `ahead 1, behind 2`, one of both, or nothing."""
    parts = dict(part.strip().split(" ", 1) for part in track.split(",") if part.strip())
    return int(parts.get("ahead", 0)), int(parts.get("behind", 0))
