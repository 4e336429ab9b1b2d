"""Read which packages a workspace file lists; a broken file lists everything, and None means it declares no list.

`gradle_settings` does the same for Gradle, whose files are programs.
"""

import json
import posixpath
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass

from codeplane.index.contexts.globs import NO_GLOBS, GlobSet, compile_globs, escape_glob


@dataclass(frozen=True, slots=True)
class WorkspaceList:
    """What a workspace lists, by directories relative to its root.

    A directory is listed when a member glob fits and no exclude, or when it lies in one that is listed by name in
    spite of an exclude. `lists_root` tells whether the root itself takes part.
    """

    members: GlobSet
    excludes: GlobSet = NO_GLOBS
    kept: GlobSet = NO_GLOBS
    lists_root: bool = True

    def lists(self, directory: str) -> bool:
        """Tell whether a directory takes part; the empty text is the root."""
        if not directory:
            return self.lists_root
        # The slash makes `packages/**` fit `packages` too, as package managers see it.
        place = f"{directory}/"
        is_excluded = self.excludes.matches(place) and not self.kept.matches(place)
        return self.members.matches(place) and not is_excluded


# The YAML parser needs 3 to 50 µs per character; real files have a few thousand.
_MAX_YAML_CHARACTERS = 100_000
LISTS_EVERYTHING = WorkspaceList(members=compile_globs(("**",)))


def read_package_json(text: str) -> WorkspaceList | None:
    """Read `workspaces`, a list or an object with `packages`."""
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    declared = document.get("workspaces")
    if isinstance(declared, dict):
        declared = declared.get("packages")
    return None if declared is None else _read_globs(declared)


def read_pnpm_workspace(text: str) -> WorkspaceList | None:
    """Read `packages`; a file that only holds settings declares no workspace."""
    if len(text) > _MAX_YAML_CHARACTERS:
        return LISTS_EVERYTHING
    # Imported here because it costs about 20 ms, which repositories without such a file need not pay.
    import yaml  # noqa: PLC0415 - measured, see above

    try:
        # Nothing but texts, lists and dictionaries; the richer loaders trip over tags such as `!!int ''`.
        document: object = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - it makes no objects
    except (yaml.YAMLError, ValueError, RecursionError):
        return LISTS_EVERYTHING
    if document is None or document == "":
        return None
    if not isinstance(document, dict):
        return LISTS_EVERYTHING
    declared = document.get("packages")
    return None if declared is None else _read_globs(declared)


def read_cargo_toml(text: str) -> WorkspaceList | None:
    """Read `members` and `exclude` of `[workspace]`; a member that is named literally is in despite an exclude."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
    declared = document.get("workspace")
    if declared is None:
        return None
    if not isinstance(declared, dict):
        return LISTS_EVERYTHING
    members, excludes = _texts(declared.get("members", [])), _texts(declared.get("exclude", []))
    if members is None or excludes is None:
        return LISTS_EVERYTHING
    try:
        return WorkspaceList(
            members=_compile_directories(members),
            excludes=compile_globs(f"{_tidy(glob)}/**" for glob in excludes),
            kept=compile_globs(f"{_tidy(glob)}/**" for glob in members if not re.search(r"[*?\[]", glob)),
        )
    except ValueError:
        # A member is not a glob.
        return LISTS_EVERYTHING


_GO_DIRECTIVES = frozenset({"go", "toolchain", "godebug", "use", "replace"})
_GO_TOKEN = re.compile(r'(?P<comment>//.*)|"[^"]*"|`[^`]*`|[()]|(?:(?!//)[^\s()"`])+|["`]')


def read_go_work(text: str) -> WorkspaceList | None:
    """Read the `use` lines and blocks; the root takes part only if it is listed like the others."""
    block = ""
    used: list[str] = []
    for line in text.splitlines():
        tokens = [token.group() for token in _GO_TOKEN.finditer(line) if token["comment"] is None]
        if not tokens:
            continue
        if not block and tokens[0] in _GO_DIRECTIVES and tokens[1:] == ["("]:
            block = tokens[0]
        elif block and tokens == [")"]:
            block = ""
        else:
            directive, *arguments = [block, *tokens] if block else tokens
            if directive not in _GO_DIRECTIVES or (directive == "use" and len(arguments) != 1):
                return LISTS_EVERYTHING
            used += arguments if directive == "use" else []
    if block:
        return LISTS_EVERYTHING
    return list_directories(path.strip('"`') for path in used)


def list_directories(directories: Iterable[str]) -> WorkspaceList:
    """Return the list of exactly these directories; the root is `.`, and absolute ones lie outside."""
    tidy = {_tidy(directory) for directory in directories if not directory.startswith("/")}
    return WorkspaceList(compile_globs(f"{escape_glob(text)}/" for text in tidy), lists_root="." in tidy)


def _read_globs(declared: object) -> WorkspaceList | None:
    globs = _texts(declared)
    if globs is None:
        return LISTS_EVERYTHING
    try:
        return WorkspaceList(
            members=_compile_directories(glob for glob in globs if not glob.startswith("!")),
            excludes=_compile_directories(glob[1:] for glob in globs if glob.startswith("!")),
        )
    except ValueError:
        # A member is not a glob.
        return LISTS_EVERYTHING


def _compile_directories(globs: Iterable[str]) -> GlobSet:
    return compile_globs(f"{_tidy(glob)}/" for glob in globs)


def _tidy(glob: str) -> str:
    """Drop `./`, doubled and outer slashes; what starts with `..` lies outside and never fits."""
    return posixpath.normpath(glob.strip().lstrip("/") or ".")


def _texts(value: object) -> list[str] | None:
    if not isinstance(value, list):
        return None
    texts = [item for item in value if isinstance(item, str)]
    return texts if len(texts) == len(value) else None
