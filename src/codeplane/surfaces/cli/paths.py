"""Paths as people write them: relative to the current directory, or to the directory that `--repo` names."""

import os
import posixpath
import re
from pathlib import Path


def path_from_here(root: Path, start: str, text: str) -> str:
    """Return a path relative to the repository's root; one that leads out of it keeps its `..`."""
    here = os.path.realpath(start)
    if text.startswith("~") or not text or (here == os.path.realpath(root) and not Path(text).is_absolute()):
        return text
    place = os.path.normpath(Path(here) / text)
    real = os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))  # noqa: PTH118, PTH119, PTH120 - a link at the end is meant itself
    return Path(os.path.relpath(real if Path(text).is_absolute() else place, os.path.realpath(root))).as_posix()


def glob_from_here(root: Path, start: str, glob: str) -> str:
    """Return a glob in gitignore form for the root: one without a slash holds at any depth below this directory.

    A glob that begins with a slash is relative to the root already.
    """
    prefix = path_from_here(root, start, ".") if os.path.realpath(start) != os.path.realpath(root) else "."
    is_local = "/" in glob.rstrip("/")
    if glob.startswith("/") or not glob.strip() or (prefix == "." and not glob.startswith(("./", "../"))):
        return glob
    before = re.sub(r"([\\*?\[\]!# ])", r"\\\1", prefix)
    joined = posixpath.normpath(posixpath.join("" if prefix == "." else before, "" if is_local else "**", glob))
    return f"/{joined}" + ("/" if glob.endswith("/") else "")
