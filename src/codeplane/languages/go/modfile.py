"""Read `go.mod` and `go.work`, as far as they say which import path is which directory."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_ARROW: Final = "=>"


@dataclass(frozen=True, slots=True)
class ModFile:
    """What a `go.mod` or `go.work` says.

    `module` is empty in a `go.work`. `replaced` gives the directory, relative to the repository, that replaces a
    module path, None when something outside of the repository does. `used` are the directories of a `go.work`.
    """

    module: str
    replaced: dict[str, str | None]
    used: tuple[str, ...]


def read_mod_file(text: str, directory: str) -> ModFile:
    """Return what a file in a directory of the repository says; lines that cannot be understood say nothing."""
    module = ""
    replaced: dict[str, str | None] = {}
    used: list[str] = []
    for verb, words in _directives(text):
        if verb == "module" and words:
            module = words[0]
        elif verb == "use" and words:
            target = _inside(directory, words[0])
            if target is not None:
                used.append(target)
        elif verb == "replace" and _ARROW in words and words[0] != _ARROW and words[-1] != _ARROW:
            target_word = words[words.index(_ARROW) + 1]
            is_directory = target_word.startswith(("./", "../")) or target_word in {".", ".."}
            replaced[words[0]] = _inside(directory, target_word) if is_directory else None
    return ModFile(module, replaced, tuple(used))


def _directives(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the verb and the words of each directive, those in parentheses included."""
    block = ""
    for line in text.split("\n"):
        words = [word.strip('"`') for word in line.partition("//")[0].split()]
        if not words:
            continue
        if block:
            if words[0] == ")":
                block = ""
            else:
                yield block, words
        elif words[-1] == "(" and len(words) == 2:
            block = words[0]
        else:
            yield words[0], words[1:]


def _inside(directory: str, relative: str) -> str | None:
    """Return a directory relative to the repository, None when it is not inside."""
    joined = posixpath.normpath(posixpath.join(directory, relative))
    if joined.startswith(("../", "/")) or joined == "..":
        return None
    return "" if joined == "." else joined
