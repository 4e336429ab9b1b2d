"""Templates and static files, read from the installed package."""

import hashlib
import re
from importlib.resources import files

_NAME = re.compile(r"[a-z_]{1,40}\.[a-z]{1,8}")
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


def file_text(folder: str, name: str) -> str | None:
    """Return the text of a file of this package; None when there is none."""
    if not _NAME.fullmatch(name):
        return None
    wanted = files("codeplane.surfaces.dashboard").joinpath(folder, name)
    return wanted.read_text(encoding="utf-8") if wanted.is_file() else None


def static_file(name: str) -> tuple[bytes, str, str] | None:
    """Return a static file, its type and its tag; None when there is none."""
    kind = _TYPES.get(name.rpartition(".")[2])
    text = file_text("static", name) if kind is not None else None
    if text is None or kind is None:
        return None
    content = text.encode("utf-8")
    return content, kind, f'"{hashlib.sha256(content).hexdigest()[:20]}"'
