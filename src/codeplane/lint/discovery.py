"""Which tools a tree configures, where their programs are, and which commands that makes for some files."""

import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from codeplane.lint.catalog import TOOLS, custom_tool
from codeplane.lint.model import FOLDERS, PATH, PATHS, Configured, Job, Tool
from codeplane.lint.settings import LintSettings

_ENVIRONMENTS: Final = (".venv/bin", "node_modules/.bin")
# So many files fit into one command line.
_PER_PROCESS: Final = 200
_EDITION: Final = re.compile(r'^\s*edition\s*=\s*"(\d{4})"', re.MULTILINE)
_NEWEST_EDITION: Final = "2021"


@dataclass(slots=True)
class Project:
    """A tree as discovery sees it: its root, its files, how to read one, and where caches of tools go."""

    root: Path
    files: Iterable[str]
    read: Callable[[str], str | None]
    settings: LintSettings
    cache: str
    search_path: str
    _folders: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def folders_with(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the folders that have a file of that name or glob, and the file."""
        if not self._folders:
            for path in self.files:
                folder, _, base = path.rpartition("/")
                self._folders[base].append(folder)
        names = [one for one in self._folders if fnmatchcase(one, name)] if "*" in name else [name]
        for one in names:
            for folder in self._folders.get(one, ()):
                yield folder, f"{folder}/{one}" if folder else one


def find_tools(project: Project) -> list[Configured]:
    """Return the configured tools in the order of the catalog, each folder once."""
    found = []
    for tool in (*TOOLS, *(custom_tool(one) for one in project.settings.custom)):
        if tool.name not in project.settings.exclude:
            folders = _marked_folders(project, tool)
            found += [_located(project, tool, folder, marker) for folder, marker in sorted(folders.items())]
    return found


def _marked_folders(project: Project, tool: Tool) -> dict[str, str]:
    if not tool.markers:
        return {"": "lint.custom"}
    found: dict[str, str] = {}
    for marker in tool.markers:
        name, _, section = marker.partition("#")
        for folder, path in project.folders_with(name):
            if folder not in found and (not section or _has_section(project.read(path), name, section)):
                found[folder] = f"{path} [{section}]" if section else path
    return found


def _has_section(text: str | None, name: str, section: str) -> bool:
    """Tell whether a settings file has a section: a key of a JSON document, or a table with its own tables."""
    if text is None:
        return False
    if name.endswith(".json"):
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return False
        return isinstance(document, dict) and section in document
    return re.search(rf"^\s*\[\[?{re.escape(section)}(?:[.\]]|-)", text, re.MULTILINE) is not None


def _located(project: Project, tool: Tool, folder: str, marker: str) -> Configured:
    """Look for the program: in the environments of the folder and of those above it, then on the search path."""
    looked = []
    for above in _up(folder):
        for environment in _ENVIRONMENTS:
            place = f"{above}/{environment}/{tool.program}" if above else f"{environment}/{tool.program}"
            looked.append(place)
            if os.access(project.root / place, os.X_OK):
                shown = os.path.relpath(place, folder or ".")
                return Configured(tool, folder, marker, project.root / place, shown)
    known = shutil.which(tool.program, path=project.search_path)
    if known is not None:
        return Configured(tool, folder, marker, Path(known), tool.program)
    return Configured(tool, folder, marker, None, tool.program, (*looked, "PATH"))


def _up(folder: str) -> Iterator[str]:
    yield folder
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder


def assigned_files(tools: Sequence[Configured], paths: Sequence[str]) -> list[tuple[Configured, tuple[str, ...]]]:
    """Return which tool looks at which files: of each tool, the one that is configured nearest above a file."""
    by_tool: dict[str, dict[str, Configured]] = defaultdict(dict)
    for one in tools:
        by_tool[one.tool.name][one.folder] = one
    found: list[tuple[Configured, tuple[str, ...]]] = []
    for folders in by_tool.values():
        files: dict[str, list[str]] = defaultdict(list)
        globs = next(iter(folders.values())).tool.files
        for path in paths:
            folder, _, name = path.rpartition("/")
            nearest = next((above for above in _up(folder) if above in folders), None)
            if nearest is not None and any(fnmatchcase(name, glob) for glob in globs):
                files[nearest].append(path)
        found += [(folders[folder], tuple(inside)) for folder, inside in files.items()]
    return found


def check_jobs(project: Project, configured: Configured, paths: Sequence[str]) -> list[Job]:
    """Return the processes that check some files with one tool."""
    tool = configured.tool
    if tool.parse is None:
        return fix_jobs(project, configured, paths)
    parts = [tuple(paths[at : at + _PER_PROCESS]) for at in range(0, len(paths), _PER_PROCESS)]
    if PATHS not in tool.check and FOLDERS not in tool.check:
        parts = [tuple(paths)]
    return [Job(configured, _filled(project, configured, tool.check, part), part) for part in parts]


def fix_jobs(project: Project, configured: Configured, paths: Sequence[str]) -> list[Job]:
    """Return the processes that print the repaired text of each file; none for a tool that cannot."""
    tool = configured.tool
    command = tool.check if tool.parse is None else tool.fix
    return [Job(configured, _filled(project, configured, command, (path,)), (path,), path) for path in paths if command]


def _filled(project: Project, configured: Configured, command: Sequence[str], paths: Sequence[str]) -> tuple[str, ...]:
    local = [_from(configured.folder, path) for path in paths]
    folders = sorted({f"./{PurePosixPath(path).parent}" for path in local})
    cache = os.path.relpath(_cache(project, configured.folder), project.root / configured.folder)
    texts = {PATH: local[0], "{cache}": cache}
    if "{edition}" in command:
        texts["{edition}"] = _edition(project, configured.folder)
    argv = [configured.shown]
    for word in command[1:]:
        if word == PATHS:
            argv += local
        elif word == FOLDERS:
            argv += folders
        else:
            argv.append(_replaced(word, texts))
    return tuple(argv)


def _replaced(word: str, texts: Mapping[str, str]) -> str:
    for place, text in texts.items():
        if place in word:
            # A name may itself look like a place to fill in.
            return word.replace(place, text)
    return word


def _cache(project: Project, folder: str) -> str:
    return f"{project.cache}/{folder.replace('/', '+') or 'root'}"


def environment_of(project: Project, configured: Configured) -> dict[str, str]:
    """Return the variables that a tool is started with besides the inherited ones."""
    cache = _cache(project, configured.folder)
    plain = {"NO_COLOR": "1", "FORCE_COLOR": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    return plain | {name: value.replace("{cache}", cache) for name, value in configured.tool.environment}


def _from(folder: str, path: str) -> str:
    """Return a path relative to a folder above it; one that looks like an option gets `./` before it."""
    local = path.removeprefix(f"{folder}/") if folder else path
    return f"./{local}" if local.startswith("-") else local


def _edition(project: Project, folder: str) -> str:
    for above in _up(folder):
        text = project.read(f"{above}/Cargo.toml" if above else "Cargo.toml")
        if text is not None and (found := _EDITION.search(text)) is not None:
            return found[1]
    return _NEWEST_EDITION
