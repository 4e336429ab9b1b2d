"""Patches as edits: unified diffs, and the form that Codex sends (`*** Begin Patch`)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from codeplane.core.errors import CodePlaneError

_HUNK: Final = re.compile(r"@@ -(?P<old>\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
_SECTION: Final = re.compile(r"\*\*\* (?P<action>Add|Update|Delete) File: (?P<path>.+)")


@dataclass(slots=True)
class PatchedFile:
    """What a patch does to one file: `hunks` are pairs of old and new text, each with a line where it may be."""

    path: str
    action: str
    hunks: list[tuple[int | None, str, str]] = field(default_factory=list)
    content: str = ""


def parse_patch(text: str) -> list[PatchedFile]:
    """Return the files of a patch.

    Raises:
        CodePlaneError: INVALID_FORMAT when the patch format is not known.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    found = list(_begin_patch(lines) if any(line.startswith("*** Begin Patch") for line in lines) else _unified(lines))
    if not found:
        hint = "Send a unified diff with --- and +++ lines, or *** Begin Patch … *** End Patch."
        raise CodePlaneError("INVALID_FORMAT", "The patch names no file.", hint=hint)
    return found


def _begin_patch(lines: list[str]) -> Iterator[PatchedFile]:
    file: PatchedFile | None = None
    body: list[str] = []
    for line in [*lines, "*** End Patch"]:
        section = _SECTION.fullmatch(line.rstrip())
        if section is None and not line.startswith("*** End Patch"):
            body.append(line)
            continue
        if file is not None:
            yield _with_body(file, body)
        file, body = None, []
        if section is not None:
            action = {"Add": "create", "Update": "update", "Delete": "delete"}[section["action"]]
            file = PatchedFile(section["path"].strip(), action)


def _with_body(file: PatchedFile, body: list[str]) -> PatchedFile:
    if file.action == "create":
        file.content = "".join(f"{line[1:]}\n" for line in body if line.startswith("+"))
    elif file.action == "update":
        if any(line.startswith("*** Move to:") for line in body):
            raise CodePlaneError("INVALID_FORMAT", f"The patch moves {file.path}; patches cannot move files.")
        parts: list[list[str]] = [[]]
        for line in body:
            if line.startswith("@@"):
                parts.append([])
            elif line.startswith(("+", "-", " ")) or not line:
                parts[-1].append(line)
        file.hunks = [(None, *_sides(part)) for part in parts if any(one[:1] in {"+", "-"} for one in part)]
    return file


def _unified(lines: list[str]) -> Iterator[PatchedFile]:
    file: PatchedFile | None = None
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.startswith("--- ") and number + 1 < len(lines) and lines[number + 1].startswith("+++ "):
            if file is not None:
                yield file
            file = _unified_file(line, lines[number + 1])
            number += 2
            continue
        hunk = _HUNK.match(line)
        number += 1
        if hunk is None or file is None:
            continue
        body = []
        while number < len(lines) and (lines[number][:1] in {" ", "+", "-", "\\"} or not lines[number]):
            if lines[number].startswith("--- ") and number + 1 < len(lines) and lines[number + 1].startswith("+++ "):
                break
            body.append(lines[number])
            number += 1
        _add_hunk(file, int(hunk["old"]), [one for one in body if not one.startswith("\\")])
    if file is not None:
        yield file


def _unified_file(old: str, new: str) -> PatchedFile:
    old_path, new_path = _path_of(old[4:]), _path_of(new[4:])
    if old_path == "/dev/null":
        return PatchedFile(new_path, "create")
    return PatchedFile(old_path, "delete" if new_path == "/dev/null" else "update")


def _add_hunk(file: PatchedFile, line: int, body: list[str]) -> None:
    before, after = _sides(body)
    if file.action == "create":
        file.content += after
    elif file.action == "update":
        file.hunks.append((line, before, after))


def _sides(body: list[str]) -> tuple[str, str]:
    while body and not body[-1]:
        body = body[:-1]
    old = "".join(f"{line[1:]}\n" for line in body if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in body if not line.startswith("-"))
    return old, new


def _path_of(name: str) -> str:
    bare = name.split("\t", maxsplit=1)[0].strip().strip('"')
    return bare[2:] if bare.startswith(("a/", "b/")) else bare
