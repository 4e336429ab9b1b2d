r"""Read a piece of one file by lines or from a byte offset, exactly, without loading more than the piece.

Lines end at `\n`; a carriage return before it belongs to the line ending and is told, not delivered.
"""

import codecs
import hashlib
import os
import stat
import unicodedata
from dataclasses import dataclass, field, replace
from io import BytesIO, FileIO
from pathlib import Path
from typing import BinaryIO

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath, resolve_inside

CHUNK = 1024 * 1024
_SNIFF = 8192
_MAX_UTF16_BYTES = 16 * 1024 * 1024
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which piece: lines `first` to `last` (None = to the end), at most `limit` bytes.

    `offset` continues a piece that was cut: it is the byte where `first` goes on, `inside_line` when that byte is not
    the first of its line.
    """

    first: int = 1
    last: int | None = None
    limit: int = CHUNK
    offset: int | None = None
    inside_line: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """What was read, and enough about the whole file to go on or to edit it safely."""

    text: str
    first_line: int
    last_line: int
    line_count: int
    size: int
    sha256: str
    encoding: str
    line_endings: str
    ends_with_newline: bool
    next_offset: int | None
    next_line: int | None
    starts_inside_line: bool = False
    ends_inside_line: bool = False


def open_source(root: Path, path: RepoPath) -> int:
    """Open a regular file for reading and return its descriptor.

    Raises:
        CodePlaneError: FILE_NOT_FOUND, NOT_A_FILE, PERMISSION_DENIED, FILE_READ_FAILED or PATH_OUTSIDE_REPOSITORY.
    """
    location = locate(root, path)
    try:
        # Non-blocking, so that a named pipe cannot hold the call up; regular files do not care.
        descriptor = os.open(location, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _open_error(path, error) from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
    raise CodePlaneError("NOT_A_FILE", f"{path} is {kind}.", details={"path": path.text})


def locate(root: Path, path: RepoPath) -> Path:
    """Return the real path; names on disk may be in decomposed form, which RepoPath does not keep.

    Raises:
        CodePlaneError: as `resolve_inside`.
    """
    location = resolve_inside(root, path)
    decomposed = unicodedata.normalize("NFD", path.text)
    if decomposed == path.text or os.path.lexists(location):
        return location
    real = Path(os.path.realpath(root / decomposed))
    if not os.path.lexists(real):
        return location
    if not real.is_relative_to(os.path.realpath(root)):
        message = f"{path} is outside the repository: a symlink leads out of it."
        raise CodePlaneError("PATH_OUTSIDE_REPOSITORY", message, details={"path": path.text})
    return real


def _open_error(path: RepoPath, error: OSError) -> CodePlaneError:
    details = {"path": path.text}
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return CodePlaneError("FILE_NOT_FOUND", f"There is no file {path}.", details=details)
    if isinstance(error, PermissionError):
        return CodePlaneError("PERMISSION_DENIED", f"{path} may not be read.", details=details)
    return CodePlaneError("FILE_READ_FAILED", f"{path} could not be read: {error.strerror}", details=details)


def read_piece(root: Path, path: RepoPath, wanted: Wanted) -> Piece:
    """Read one piece of a text file.

    Raises:
        CodePlaneError: as `open_source`, and FILE_BINARY, FILE_TOO_LARGE, OUT_OF_RANGE.
    """
    descriptor = open_source(root, path)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        try:
            head = file.read(_SNIFF)
            encoding = _encoding_of(head, path)
            file.seek(0)
            if not encoding.startswith("utf-16"):
                return _piece_of(file, wanted, path, encoding)
            data = file.read(_MAX_UTF16_BYTES + 1)
            piece = _piece_of(BytesIO(_utf8_from_utf16(data, encoding, path)), wanted, path, encoding)
            return replace(piece, size=len(data), sha256=hashlib.sha256(data).hexdigest())
        except OSError as error:
            raise _open_error(path, error) from error


def read_whole(root: Path, path: RepoPath, limit: int) -> Piece:
    """Read a whole text file of at most `limit` bytes.

    Raises:
        CodePlaneError: as `read_piece`; FILE_TOO_LARGE when the file has more bytes.
    """
    piece = read_piece(root, path, Wanted(limit=limit))
    if piece.next_offset is not None:
        raise CodePlaneError(
            "FILE_TOO_LARGE",
            f"{path} has {piece.size} bytes; at most {limit} are delivered whole.",
            details={"path": path.text, "size": piece.size, "limit": limit, "line_count": piece.line_count},
        )
    return piece


def _encoding_of(head: bytes, path: RepoPath) -> str:
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        raise CodePlaneError("FILE_BINARY", f"{path} is binary.", details={"path": path.text})
    return "utf-8"


def _utf8_from_utf16(data: bytes, encoding: str, path: RepoPath) -> bytes:
    """Return the text as UTF-8, so that lines and offsets work the same way."""
    if len(data) > _MAX_UTF16_BYTES:
        message = f"{path} is UTF-16 and larger than {_MAX_UTF16_BYTES} bytes."
        raise CodePlaneError("FILE_TOO_LARGE", message, details={"path": path.text})
    return data[2:].decode(encoding, errors="backslashreplace").encode("utf-8", errors="backslashreplace")


@dataclass(slots=True)
class _Scan:
    """Counts and hashes a file chunk by chunk and finds the byte where the wanted lines start."""

    first: int
    start: int | None
    size: int = 0
    newlines: int = 0
    crlf: int = 0
    last_byte: bytes = b""
    is_utf8: bool = True
    _decoder: codecs.IncrementalDecoder = field(default_factory=codecs.getincrementaldecoder("utf-8"))

    def feed(self, chunk: bytes) -> None:
        in_chunk = chunk.count(b"\n")
        if self.start is None and self.newlines + in_chunk >= self.first - 1:
            self.start = self.size + _offset_after(chunk, self.first - 1 - self.newlines)
        self.crlf += chunk.count(b"\r\n") + (self.last_byte == b"\r" and chunk.startswith(b"\n"))
        self.newlines += in_chunk
        self.size += len(chunk)
        self.last_byte = chunk[-1:]
        self._check_utf8(chunk, final=False)

    def end(self) -> None:
        """Finish: a character that is incomplete at the end is invalid."""
        self._check_utf8(b"", final=True)

    def _check_utf8(self, chunk: bytes, *, final: bool) -> None:
        if self.is_utf8:
            try:
                self._decoder.decode(chunk, final)
            except UnicodeDecodeError:
                self.is_utf8 = False

    @property
    def line_count(self) -> int:
        return self.newlines + (self.size > 0 and self.last_byte != b"\n")

    @property
    def line_endings(self) -> str:
        if not self.newlines:
            return "none"
        if not self.crlf:
            return "lf"
        return "crlf" if self.crlf == self.newlines else "mixed"


def _offset_after(chunk: bytes, n_newlines: int) -> int:
    position = 0
    for _ in range(n_newlines):
        position = chunk.index(b"\n", position) + 1
    return position


def _piece_of(file: BinaryIO | FileIO, wanted: Wanted, path: RepoPath, encoding: str) -> Piece:
    """Read a whole file chunk by chunk, and the wanted piece of it."""
    scan = _Scan(wanted.first, wanted.offset)
    hasher = hashlib.sha256()
    while chunk := file.read(CHUNK):
        if b"\0" in chunk and not encoding.startswith("utf-16"):
            raise CodePlaneError("FILE_BINARY", f"{path} is binary.", details={"path": path.text})
        hasher.update(chunk)
        scan.feed(chunk)
    scan.end()
    start = _start_of(scan, wanted, path)
    if encoding == "utf-8-sig" and start == 0:
        start = 3
    file.seek(start)
    return _cut(file.read(wanted.limit + 4), start, scan, wanted, encoding=encoding, sha256=hasher.hexdigest())


def _start_of(scan: _Scan, wanted: Wanted, path: RepoPath) -> int:
    if scan.size == 0 and wanted.first == 1:
        return 0
    if scan.start is None or (wanted.offset is None and wanted.first > max(scan.line_count, 1)):
        raise CodePlaneError(
            "OUT_OF_RANGE",
            f"{path} has {scan.line_count} lines; line {wanted.first} is beyond its end.",
            details={"path": path.text, "line_count": scan.line_count},
        )
    return scan.start


def _cut(data: bytes, start: int, scan: _Scan, wanted: Wanted, *, encoding: str, sha256: str) -> Piece:
    taken = _take_lines(data, wanted)
    end = start + len(taken)
    text = taken.decode("utf-8", errors="backslashreplace")
    complete = taken.count(b"\n")
    ends_inside = bool(taken) and not taken.endswith(b"\n") and end < scan.size
    shown = complete + (bool(taken) and not taken.endswith(b"\n"))
    last_line = wanted.first + max(shown, 1) - 1 if scan.size else 0
    is_done = end >= scan.size or (wanted.last is not None and last_line >= wanted.last and not ends_inside)
    return Piece(
        text=text.replace("\r\n", "\n"),
        first_line=wanted.first if scan.size else 0,
        last_line=last_line,
        line_count=scan.line_count,
        size=scan.size,
        sha256=sha256,
        encoding=encoding if scan.is_utf8 else "not utf-8",
        line_endings=scan.line_endings,
        ends_with_newline=scan.last_byte == b"\n",
        next_offset=None if is_done else end,
        next_line=None if is_done else last_line + (not ends_inside),
        starts_inside_line=wanted.inside_line,
        ends_inside_line=ends_inside,
    )


def _take_lines(data: bytes, wanted: Wanted) -> bytes:
    if wanted.last is not None:
        data = data[: _end_of_lines(data, wanted.last - wanted.first + 1)]
    if len(data) <= wanted.limit:
        return data
    cut = data.rfind(b"\n", 0, wanted.limit) + 1
    return data[:cut] if cut else data[: _boundary(data, wanted.limit)]


def _end_of_lines(data: bytes, n_lines: int) -> int:
    position = 0
    for _ in range(n_lines):
        found = data.find(b"\n", position)
        if found < 0:
            return len(data)
        position = found + 1
    return position


def _boundary(data: bytes, limit: int) -> int:
    r"""Return where to cut inside a line, near `limit` and never at 0: not inside a character, not inside `\r\n`."""
    starts = [i for i in range(max(limit - 3, 1), limit + 1) if not _is_continuation(data, i)]
    # Without a start among them the bytes are no UTF-8, or the first character alone is longer than the limit.
    later = [i for i in range(limit + 1, min(limit + 4, len(data)) + 1) if not _is_continuation(data, i)]
    position = starts[-1] if starts else (later[0] if limit < 4 and later else limit)
    if data[position - 1 : position + 1] != b"\r\n":
        return position
    return position - 1 if position > 1 else position + 1


def _is_continuation(data: bytes, position: int) -> bool:
    return position < len(data) and data[position] & 0xC0 == 0x80
