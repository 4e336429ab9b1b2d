"""Find the file that a path without certainty about its ending means."""

import posixpath
from collections.abc import Callable
from typing import Final

TYPED: Final = (".ts", ".tsx", ".mts", ".cts")
_ENDINGS: Final = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".cts", ".d.mts", ".d.cts", ".mjs", ".cjs")
_ENDINGS_FROM_JAVASCRIPT: Final = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".d.ts")
# What a written ending may mean, where the file that is meant is the source of what is named.
_SOURCES: Final = {
    ".js": (".ts", ".tsx", ".d.ts"),
    ".jsx": (".tsx", ".d.ts"),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
_BUILT_ENDINGS: Final = (".d.ts", ".d.mts", ".d.cts", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts")
# Folders that build tools make for one kind of output.
_OUTPUT_FOLDERS: Final = frozenset({"cjs", "commonjs", "dist", "dts", "es", "esm", "lib", "mjs", "types", "umd"})
_SOURCE_ENDINGS: Final = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")


class Places:
    """The files that modules can be, and the directories around them.

    Invariant: nothing below a `node_modules` is a place.
    """

    def __init__(self, paths: tuple[str, ...], text_of: Callable[[str], str | None]) -> None:
        self.files = frozenset(path for path in paths if "node_modules" not in path.split("/"))
        self.text_of = text_of
        directories = {""}
        for path in self.files:
            directory = posixpath.dirname(path)
            while directory not in directories:
                directories.add(directory)
                directory = posixpath.dirname(directory)
        self.directories = frozenset(directories)

    def file_at(self, path: str, *, is_typed: bool) -> str | None:
        """Return the file that a path means, with or without its ending; None when there is none."""
        stem, ending = posixpath.splitext(path)
        sources = [stem + one for one in _SOURCES.get(ending, ()) if stem + one in self.files]
        if path in self.files:
            return sources[0] if sources and is_typed else path
        if sources:
            return sources[0]
        for one in _ENDINGS if is_typed else _ENDINGS_FROM_JAVASCRIPT:
            if path + one in self.files:
                return path + one
        return path if ending == ".json" and self.text_of(path) is not None else None

    def index_of(self, directory: str, *, is_typed: bool) -> str | None:
        """Return the index file of a directory."""
        if directory not in self.directories:
            return None
        return self.file_at(join(directory, "index"), is_typed=is_typed)

    def source_of(self, package: str, path: str) -> str | None:
        """Return the one file below a package's `src` from which a file that is not there is built.

        None when the directory it would be in exists, or when there are several such sources.
        """
        inside = path[len(package) :].lstrip("/") if package else path
        parts = inside.split("/")
        if len(parts) < 2 or join(package, parts[0]) in self.directories:
            return None
        stem = _without_ending("/".join(parts[1:]))
        found = self._built_from(join(package, "src"), stem)
        return found.pop() if len(found) == 1 else None

    def _built_from(self, root: str, stem: str) -> set[str]:
        """Return the sources of the longest path that fits; two if a folder may be one of the output or of the source.

        Build tools put folders of their own before the source's path, never after its beginning.
        """
        parts = stem.split("/")
        found: set[str] = set()
        for skipped in range(len(parts)):
            inner = join(root, "/".join(parts[skipped:]))
            direct = {inner + one for one in _SOURCE_ENDINGS if inner + one in self.files}
            found |= direct or {f"{inner}/index{one}" for one in _SOURCE_ENDINGS if f"{inner}/index{one}" in self.files}
            if found and parts[skipped] not in _OUTPUT_FOLDERS:
                break
        return found

    def sources_below(self, package: str, target: str) -> dict[str, str]:
        """Return the files that a target with a star means, by what the star matches."""
        before, _, after = target.partition("*")
        base = self._source_directory(package, normal(join(package, before.rpartition("/")[0])) or package)
        start = join(base, before.rpartition("/")[2]) if before.rpartition("/")[2] else f"{base}/" if base else ""
        end = _without_ending(after)
        found: dict[str, str] = {}
        for path in sorted(self.files):
            stem = _without_ending(path)
            if path.startswith(start) and stem.endswith(end) and not stem.endswith((".test", ".spec")):
                found.setdefault(stem[len(start) : len(stem) - len(end)], path)
        return {middle: path for middle, path in found.items() if middle}

    def _source_directory(self, package: str, directory: str) -> str:
        """Return a directory, or the one below `src` from which it is built when it is not there."""
        parts = directory[len(package) :].strip("/").split("/")
        if directory in self.directories or not parts[0]:
            return directory
        for skipped in range(1, len(parts) + 1):
            source = join(join(package, "src"), "/".join(parts[skipped:]))
            if source in self.directories:
                return source
        return directory


def _without_ending(path: str) -> str:
    for ending in _BUILT_ENDINGS:
        if path.endswith(ending):
            return path.removesuffix(ending)
    return path


def join(directory: str, name: str) -> str:
    """Join two paths inside of the repository; an empty one is the repository itself."""
    return f"{directory}/{name}" if directory and name else directory or name


def normal(path: str) -> str | None:
    """Return a path without dots, None when it leads out of the repository."""
    found = posixpath.normpath(path) if path else ""
    if found == ".":
        return ""
    return None if found == ".." or found.startswith(("../", "/")) else found
