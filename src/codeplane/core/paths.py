"""Paths inside the repository: parsed once, then trusted, and resolved without leaving the tree."""

import errno
import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar

from codeplane.core.errors import CodePlaneError

MAX_SEGMENT_BYTES = 255
MAX_PATH_BYTES = 4096
# Files whose names begin so are on their way into their place; they are temporary and never indexed.
STAGED_PREFIX = ".cpl-staged-"


@dataclass(frozen=True, slots=True, order=True)
class RepoPath:
    """A path relative to the repository root, with forward slashes, in NFC; `.` is the root itself.

    Invariant: `text` is what `parse` makes of it, so that the same path has no other spelling, or a name that git or
    the disk itself has (`known`), which may be one that no caller can send; none leads out of the tree.
    The type is lexical: it says nothing about the disk, where a symlink may lead out until `resolve_inside` is asked.
    """

    text: str
    ROOT: ClassVar["RepoPath"]

    def __post_init__(self) -> None:
        if _normalised(self.text) != self.text:
            raise _invalid(self.text, "it is not in normal form; use RepoPath.parse")

    @classmethod
    def parse(cls, text: str) -> "RepoPath":
        """Return the path that the text names; `./`, a trailing `/`, doubled slashes and `.` segments are dropped.

        A first segment that begins with `~` and is followed by a slash, like `~` alone, is a home directory;
        a file `~draft` in the root is an ordinary file.

        Raises:
            CodePlaneError: `PATH_OUTSIDE_REPOSITORY` for absolute paths, home directories and `..`; `PATH_INVALID`
                for text that is not a path at all.
        """
        return cls(_normalised(text))

    @classmethod
    def known(cls, text: str) -> "RepoPath":
        """Return the path of something that git or the disk names, as it is spelt there.

        Such a name may hold control characters, backslashes, decomposed letters, or bytes that are not UTF-8.

        Raises:
            CodePlaneError: PATH_OUTSIDE_REPOSITORY when it could lead out of the tree.
        """
        if text != "." and (text.startswith("/") or any(part in {"", ".", ".."} for part in text.split("/"))):
            raise _outside(text, "it is not relative to the root")
        path = object.__new__(cls)
        object.__setattr__(path, "text", text)
        return path

    @property
    def parts(self) -> tuple[str, ...]:
        """The segments; none for the root."""
        return () if self.text == "." else tuple(self.text.split("/"))

    @property
    def name(self) -> str:
        """The last segment; empty for the root."""
        return "" if self.text == "." else self.text.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The last extension with its dot, or nothing."""
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> "RepoPath":
        """The directory that holds it; the root's parent is the root."""
        return RepoPath.known(self.text.rpartition("/")[0] or ".")

    def joined(self, child: "str | RepoPath") -> "RepoPath":
        """Return the path of something below this directory; raises what `parse` raises."""
        below = child if isinstance(child, RepoPath) else RepoPath.parse(child)
        return RepoPath("/".join((*self.parts, *below.parts)) or ".")

    def is_inside(self, other: "RepoPath") -> bool:
        """Tell whether this is `other` or lies below it."""
        return other.text in {".", self.text} or self.text.startswith(other.text + "/")

    def __str__(self) -> str:
        return self.text


def resolve_inside(root: Path, path: RepoPath, *, must_exist: bool = False) -> Path:
    """Return the real absolute path, with every symlink followed.

    The answer is true for the moment of asking: a process that may write to the tree can swap a directory for a symlink
    between this check and the use. Callers that write open the real path they got, and check again before the rename.

    Raises:
        CodePlaneError: `PATH_OUTSIDE_REPOSITORY` when a symlink, dangling or not, leads out of `root`; `PATH_INVALID`
            for a loop of symlinks; `FILE_NOT_FOUND` when it must exist and does not; `PERMISSION_DENIED` when a
            directory on the way may not be searched, because then it is unknown where the path leads.
    """
    real_root = os.path.realpath(root)
    candidate = os.path.join(real_root, *path.parts)  # noqa: PTH118 - `realpath` below never raises, `Path.resolve` does
    real = os.path.realpath(candidate)
    if real != real_root and not real.startswith(real_root.rstrip("/") + "/"):
        raise _outside(path.text, "a symlink leads out of the repository")
    _check_reachable(candidate, path, must_exist=must_exist)
    return Path(real)


def repo_path_of(root: Path, absolute: Path) -> RepoPath:
    """Return the repository path of an absolute path below `root`, as given or with the root's symlinks resolved.

    Nothing below the root is resolved, and a `..` in the path is refused: it means different things on the two sides
    of a symlink.

    Raises:
        CodePlaneError: `PATH_OUTSIDE_REPOSITORY` when it is elsewhere, `PATH_INVALID` when it has no valid name.
    """
    if not absolute.is_absolute():
        raise _invalid(str(absolute), "it is not absolute")
    for known_root in (root, Path(os.path.realpath(root))):
        if absolute.is_relative_to(known_root):
            return RepoPath.parse(absolute.relative_to(known_root).as_posix())
    raise _outside(str(absolute), "it is not below the repository root")


# The bulk of a repository's paths: nothing to normalise, nothing to refuse.
_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}){0,20}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DRIVE = re.compile(r"[A-Za-z]:")


def _normalised(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    _check_characters(text)
    normal = unicodedata.normalize("NFC", text)
    if normal.startswith("//"):
        raise _invalid(text, "it names a network share")
    if normal.startswith("/"):
        raise _outside(text, "it is absolute")
    raw_segments = normal.split("/")
    segments = [segment for segment in raw_segments if segment not in {"", "."}]
    _check_segments(text, segments)
    if segments and segments[0].startswith("~") and _is_home(raw_segments, segments[0]):
        raise _outside(text, "it names a home directory")
    return "/".join(segments) or "."


def _is_home(raw_segments: list[str], first: str) -> bool:
    return first == "~" or raw_segments.index(first) < len(raw_segments) - 1


def _check_characters(text: str) -> None:
    if not text:
        raise _invalid(text, "it is empty")
    # No text this long becomes short enough in NFC, and normalising a hostile one takes quadratic time.
    if len(text) > 2 * MAX_PATH_BYTES:
        raise _invalid(text, f"it is longer than {MAX_PATH_BYTES} bytes")
    if _CONTROL.search(text):
        raise _invalid(text, "it holds a control character")
    if "\\" in text:
        raise _invalid(text, "it holds a backslash")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise _invalid(text, "it is not valid Unicode")


def _check_segments(text: str, segments: list[str]) -> None:
    if ".." in segments:
        raise _outside(text, "it holds a `..` segment")
    if segments and _DRIVE.fullmatch(segments[0]):
        raise _invalid(text, "it names a Windows drive")
    if any(len(segment.encode("utf-8")) > MAX_SEGMENT_BYTES for segment in segments):
        raise _invalid(text, f"a segment is longer than {MAX_SEGMENT_BYTES} bytes")
    if len("/".join(segments).encode("utf-8")) > MAX_PATH_BYTES:
        raise _invalid(text, f"it is longer than {MAX_PATH_BYTES} bytes")


def _check_reachable(candidate: str, path: RepoPath, *, must_exist: bool) -> None:
    try:
        os.stat(candidate)  # noqa: PTH116 - beside `realpath`, on the same string
    except (FileNotFoundError, NotADirectoryError) as error:
        if must_exist:
            raise CodePlaneError(
                "FILE_NOT_FOUND", f"There is no file {_shown(path.text)}.", details={"path": path.text}
            ) from error
    except PermissionError as error:
        raise CodePlaneError(
            "PERMISSION_DENIED", f"No permission to reach {_shown(path.text)}.", details={"path": path.text}
        ) from error
    except OSError as error:
        reason = "its symlinks form a loop" if error.errno == errno.ELOOP else f"the system says: {error.strerror}"
        raise _invalid(path.text, reason) from error


def _shown(text: str) -> str:
    short = text if len(text) <= 80 else f"{text[:40]}…{text[-39:]}"
    return f"`{_CONTROL.sub('?', short).encode('utf-8', 'replace').decode('utf-8')}`"


def _invalid(text: str, reason: str) -> CodePlaneError:
    return CodePlaneError("PATH_INVALID", f"{_shown(text)} is not a repository path: {reason}.", details=_details(text))


def _outside(text: str, reason: str) -> CodePlaneError:
    message = f"{_shown(text)} is outside the repository: {reason}."
    return CodePlaneError("PATH_OUTSIDE_REPOSITORY", message, details=_details(text))


def _details(text: str) -> dict[str, str]:
    # Details are written as JSON, which has no lone surrogates.
    return {"path": text[:MAX_PATH_BYTES].encode("utf-8", "backslashreplace").decode("utf-8")}


RepoPath.ROOT = RepoPath(".")
