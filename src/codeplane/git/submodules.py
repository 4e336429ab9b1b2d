"""Submodules: a list with their states, and the commands that change them."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from codeplane.core.errors import CodePlaneError
from codeplane.git.commands import Conditions, ask_git, must_change
from codeplane.git.keeping import has_changes
from codeplane.git.remotes import without_password
from codeplane.git.repository import run_git

_GITLINK: Final = "160000"
State = Literal["uninitialized", "clean", "moved", "dirty", "conflict", "broken"]


@dataclass(frozen=True, slots=True)
class Submodule:
    """A submodule: what the index records, what is checked out, and what `.gitmodules` says.

    `moved` means that the checked-out commit is not the recorded one, `dirty` that it has local changes.
    """

    path: str
    name: str | None
    url: str | None
    branch: str | None
    recorded: str | None
    checked_out: str | None
    state: State


def list_submodules(root: Path) -> list[Submodule]:
    """Return the submodules of the index, and those that only `.gitmodules` names, by path."""
    recorded: dict[str, tuple[str | None, bool]] = {}
    for item in os.fsdecode(ask_git(root, "ls-files", "-s", "-z")).split("\0"):
        if item.startswith(f"{_GITLINK} "):
            head, _, path = item.partition("\t")
            _, commit, stage = head.split(" ")
            recorded[path] = (commit if stage == "0" else None, stage != "0")
    described = _described(root)
    found = []
    for path in sorted({*recorded, *described}):
        oid, has_conflict = recorded.get(path, (None, False))
        settings = described.get(path, {})
        checked_out, state = _checked_out_state(root / path, oid, has_conflict=has_conflict)
        url = settings.get("url")
        found.append(
            Submodule(
                path=path,
                name=settings.get("name"),
                url=without_password(url) if url is not None else None,
                branch=settings.get("branch"),
                recorded=oid,
                checked_out=checked_out,
                state=state,
            )
        )
    return found


def find_submodules(root: Path, paths: tuple[str, ...]) -> list[Submodule]:
    """Return the submodules at paths, all without paths.

    Raises:
        CodePlaneError: GIT_SUBMODULE_UNUSABLE with the paths there are.
    """
    found = list_submodules(root)
    if not paths:
        return found
    by_path = {one.path: one for one in found}
    unknown = [path for path in paths if path not in by_path]
    if unknown:
        there = f"Submodules: {', '.join(by_path)}." if by_path else "There are none."
        message = f"`{unknown[0]}` is not a submodule. {there}"
        raise CodePlaneError("GIT_SUBMODULE_UNUSABLE", message, details={"submodules": list(by_path)})
    return [by_path[path] for path in paths]


def resolved_address(root: Path, url: str) -> str:
    """Return a submodule's address as git would use it: a relative one starts at the address of `origin`."""
    if not url.startswith(("./", "../")):
        return url
    told = run_git(root, "remote", "get-url", "origin")
    base = without_password(os.fsdecode(told.stdout).strip()) if told.returncode == 0 else str(root)
    return f"{base.rstrip('/')}/{url}" if "://" in base or ":" in base else str(root / base / url)


def run_submodule(
    root: Path, action: str, options: tuple[str, ...], arguments: tuple[str, ...], conditions: Conditions
) -> None:
    """Run a command of `git submodule`."""
    must_change(root, "submodule", action, *options, "--", *arguments, conditions=conditions)


def remove_submodule(root: Path, submodule: Submodule, conditions: Conditions) -> None:
    """Remove a submodule from the working tree, the index, `.gitmodules` and the configuration."""
    if submodule.recorded is not None:
        must_change(root, "submodule", "deinit", "--force", "--", submodule.path, conditions=conditions)
        must_change(root, "rm", "--force", "--quiet", "--", f":(top,literal){submodule.path}", conditions=conditions)
    if submodule.name is not None:
        # `rm` may have removed the section already.
        section = f"submodule.{submodule.name}"
        if run_git(root, "config", "-f", ".gitmodules", "--get-regexp", f"^{section}\\.").returncode == 0:
            must_change(root, "config", "-f", ".gitmodules", "--remove-section", section, conditions=conditions)
            must_change(root, "add", "--", ".gitmodules", conditions=conditions)


def _described(root: Path) -> dict[str, dict[str, str]]:
    """Return what `.gitmodules` says, by path."""
    if not (root / ".gitmodules").is_file():
        return {}
    result = run_git(root, "config", "-z", "-f", ".gitmodules", "--get-regexp", r"^submodule\.")
    by_name: dict[str, dict[str, str]] = {}
    for item in os.fsdecode(result.stdout).split("\0"):
        key, _, value = item.partition("\n")
        if key:
            name, _, kind = key.removeprefix("submodule.").rpartition(".")
            by_name.setdefault(name, {"name": name})[kind] = value
    return {values["path"]: values for values in by_name.values() if "path" in values}


def _checked_out_state(place: Path, recorded: str | None, *, has_conflict: bool) -> tuple[str | None, State]:
    if not os.path.lexists(place / ".git"):
        return None, "conflict" if has_conflict else "uninitialized"
    head = run_git(place, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head.returncode != 0:
        return None, "broken"
    commit = head.stdout_text.strip()
    if has_conflict:
        return commit, "conflict"
    if has_changes(place):
        return commit, "dirty"
    return commit, "clean" if commit == recorded else "moved"
