"""Git's objects, read from git's own files without starting a program.

For the few reads that have to be as fast as a process starts. Whatever is unusual (another hash, a damaged file, an
object that is not there) is `UnreadableError`, and the caller asks git itself, which knows better and says why.
"""

import math
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

COMMIT: Final = 1
TAG: Final = 4
_TYPES: Final = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}
_OFFSET_DELTA: Final = 6
_NAME_DELTA: Final = 7
_HASH_BYTES: Final = 20
_INDEX_MAGIC: Final = b"\xfftOc\x00\x00\x00\x02"
_FANOUT_AT: Final = len(_INDEX_MAGIC)
_NAMES_AT: Final = _FANOUT_AT + 256 * 4
_LARGE_OFFSET: Final = 0x8000_0000
_MAX_CHAIN: Final = 200
_WINDOW_BYTES: Final = 32 * 1024
_MAX_ALTERNATES: Final = 8
# Objects that are read here are commits and tags; anything much longer is git's to read.
_MAX_OBJECT: Final = 4 * 1024 * 1024


class UnreadableError(Exception):
    """This reader cannot tell; git can."""


class ObjectStore:
    """The objects of one repository, opened for one question.

    Invariant: it only reads; everything it opened is closed when it is left.
    """

    def __init__(self, common_dir: Path) -> None:
        self._directories = tuple(_object_directories(common_dir / "objects"))
        self._stack = ExitStack()
        self._packs: list[_Pack] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def read(self, oid: str) -> tuple[int, bytes]:
        """Return kind and content of an object.

        Raises:
            UnreadableError: this reader cannot tell.
        """
        try:
            return self._read(bytes.fromhex(oid))
        except (OSError, ValueError, IndexError, KeyError, zlib.error) as error:
            raise UnreadableError(oid) from error

    def _read(self, name: bytes) -> tuple[int, bytes]:
        if len(name) != _HASH_BYTES:
            raise UnreadableError(name.hex())
        for pack in self._opened_packs():
            offset = pack.offset_of(name)
            if offset is not None:
                return self._read_packed(pack, offset)
        for directory in self._directories:
            loose = directory / name.hex()[:2] / name.hex()[2:]
            if loose.is_file():
                return _read_loose(loose)
        raise UnreadableError(name.hex())

    def _opened_packs(self) -> "list[_Pack]":
        if self._packs is None:
            indexes = [path for one in self._directories for path in sorted((one / "pack").glob("*.idx"))]
            self._packs = [self._stack.enter_context(_Pack(path)) for path in indexes]
        return self._packs

    def _read_packed(self, pack: "_Pack", offset: int) -> tuple[int, bytes]:
        deltas: list[bytes] = []
        while len(deltas) < _MAX_CHAIN:
            kind, size, data_at = pack.header_at(offset)
            if kind == _OFFSET_DELTA:
                distance, data_at = pack.distance_at(data_at)
                deltas.append(pack.inflated(data_at, size))
                offset -= distance
            elif kind == _NAME_DELTA:
                base = pack.bytes_at(data_at, _HASH_BYTES)
                deltas.append(pack.inflated(data_at + _HASH_BYTES, size))
                kind, content = self._read(base)
                return kind, _patched(content, deltas)
            else:
                return kind, _patched(pack.inflated(data_at, size), deltas)
        raise UnreadableError(str(offset))


class _Pack:
    """One pack and its index.

    Invariant: `_window` is what stands in the pack from `_window_at` on.
    """

    def __init__(self, index_path: Path) -> None:
        self._index_path = index_path
        self._stack = ExitStack()
        self._index = self._opened(index_path)
        self._pack: int | None = None
        self._window = b""
        self._window_at = 0
        head = os.pread(self._index, _NAMES_AT, 0)
        if len(head) < _NAMES_AT or not head.startswith(_INDEX_MAGIC):
            self._stack.close()
            raise UnreadableError(index_path.name)
        # How many names begin with a byte or a smaller one.
        self._fanout = struct.unpack_from(">256I", head, _FANOUT_AT)
        self._n_objects = self._fanout[255]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def bytes_at(self, offset: int, size: int) -> bytes:
        """Return bytes of the pack, fewer at its end. Commits lie side by side, so that much is read at once."""
        start = offset - self._window_at
        if start < 0 or start + size > len(self._window):
            if self._pack is None:
                self._pack = self._opened(self._index_path.with_suffix(".pack"))
            self._window_at, start = offset, 0
            self._window = os.pread(self._pack, max(size, _WINDOW_BYTES), offset)
        return self._window[start : start + size]

    def offset_of(self, name: bytes) -> int | None:
        """Return where an object begins, None when it is not in this pack."""
        low = self._fanout[name[0] - 1] if name[0] else 0
        high = self._fanout[name[0]]
        # Names are spread evenly, so that the next bytes tell nearly where it stands.
        guess = low + (high - low) * int.from_bytes(name[1:5]) // 2**32
        reach = 64 + 4 * math.isqrt(high - low)
        number = self._number_of(name, max(low, guess - reach), min(high, guess + reach))
        if number is None:
            number = self._number_of(name, low, high)
        return self._offset(number) if number is not None else None

    def _number_of(self, name: bytes, low: int, high: int) -> int | None:
        names = os.pread(self._index, (high - low) * _HASH_BYTES, _NAMES_AT + low * _HASH_BYTES)
        at = names.find(name)
        while at >= 0 and at % _HASH_BYTES:
            at = names.find(name, at + 1)
        return low + at // _HASH_BYTES if at >= 0 else None

    def header_at(self, offset: int) -> tuple[int, int, int]:
        """Return kind, size and where the data begin."""
        head = self.bytes_at(offset, 16)
        byte = head[0]
        kind, size, shift, at = (byte >> 4) & 7, byte & 15, 4, 1
        while byte & 0x80:
            byte = head[at]
            size |= (byte & 0x7F) << shift
            shift += 7
            at += 1
        return kind, size, offset + at

    def distance_at(self, offset: int) -> tuple[int, int]:
        """Return how far before the base of a delta lies, and where the data begin."""
        head = self.bytes_at(offset, 16)
        value, at = head[0] & 0x7F, 1
        while head[at - 1] & 0x80:
            value = ((value + 1) << 7) | (head[at] & 0x7F)
            at += 1
        return value, offset + at

    def inflated(self, offset: int, size: int) -> bytes:
        if size > _MAX_OBJECT:
            raise UnreadableError(str(size))
        # A little more than the content takes when it cannot be compressed at all.
        content = zlib.decompressobj().decompress(self.bytes_at(offset, size + size // 500 + 64))
        if len(content) != size:
            raise UnreadableError(str(offset))
        return content

    def _offset(self, number: int) -> int:
        offsets_at = _NAMES_AT + self._n_objects * (_HASH_BYTES + 4)
        offset = int.from_bytes(os.pread(self._index, 4, offsets_at + number * 4))
        if offset < _LARGE_OFFSET:
            return offset
        at = offsets_at + self._n_objects * 4 + (offset - _LARGE_OFFSET) * 8
        return int.from_bytes(os.pread(self._index, 8, at))

    def _opened(self, path: Path) -> int:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._stack.callback(os.close, descriptor)
        return descriptor


def _object_directories(first: Path) -> Iterator[Path]:
    """Yield where objects are: the repository's own directory and those it borrows from."""
    waiting, seen = [first], set[Path]()
    while waiting and len(seen) < _MAX_ALTERNATES:
        directory = waiting.pop(0)
        if directory in seen:
            continue
        seen.add(directory)
        yield directory
        try:
            lines = (directory / "info" / "alternates").read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            continue
        waiting.extend((directory / line).resolve() for line in lines if line and not line.startswith(("#", '"')))


def _read_loose(path: Path) -> tuple[int, bytes]:
    raw = path.read_bytes()
    if len(raw) > _MAX_OBJECT:
        raise UnreadableError(path.name)
    content = zlib.decompressobj().decompress(raw, _MAX_OBJECT)
    header, _, body = content.partition(b"\0")
    kind, _, size = header.partition(b" ")
    if len(body) != int(size):
        raise UnreadableError(path.name)
    return _TYPES[kind], body


def _patched(content: bytes, deltas: list[bytes]) -> bytes:
    for delta in reversed(deltas):
        content = _apply(content, delta)
    return content


def _apply(base: bytes, delta: bytes) -> bytes:
    base_size, at = _varint(delta, 0)
    result_size, at = _varint(delta, at)
    parts: list[bytes] = []
    while at < len(delta):
        opcode = delta[at]
        at += 1
        if opcode & 0x80:
            offset, at = _copy_number(delta, at, opcode & 0x0F, 4)
            size, at = _copy_number(delta, at, (opcode >> 4) & 0x07, 3)
            parts.append(base[offset : offset + (size or 0x10000)])
        else:
            parts.append(delta[at : at + opcode])
            at += opcode
    result = b"".join(parts)
    if len(base) != base_size or len(result) != result_size:
        raise UnreadableError("delta")
    return result


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def _copy_number(data: bytes, at: int, present: int, n_bytes: int) -> tuple[int, int]:
    """Return a number of which only the bytes that are not zero were written."""
    value = 0
    for position in range(n_bytes):
        if present & (1 << position):
            value |= data[at] << (8 * position)
            at += 1
    return value, at
