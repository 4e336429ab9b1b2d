"""Whether git has an object, told from its files: starting git for it would take 5 ms of every first edit of a file."""

import mmap
import os
from pathlib import Path
from typing import Final

_FANOUT: Final = 8
_NAMES: Final = _FANOUT + 256 * 4
_MAGIC: Final = b"\xfftOc\x00\x00\x00\x02"


def has_object(common_dir: Path, oid: str) -> bool:
    """Tell whether an object is certainly there; false also means that only git itself could tell."""
    objects = common_dir / "objects"
    if (objects / oid[:2] / oid[2:]).exists():
        return True
    name = bytes.fromhex(oid)
    return any(_is_in_pack(path, name) for path in (objects / "pack").glob("*.idx"))


def _is_in_pack(path: Path, name: bytes) -> bool:
    """Look a name up in the index of a pack, which is sorted."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size <= _NAMES:
                return False
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return data[:8] == _MAGIC and _found(data, name)
    except OSError:
        return False


def _found(data: mmap.mmap, name: bytes) -> bool:
    def first(byte: int) -> int:
        return int.from_bytes(data[_FANOUT + 4 * byte : _FANOUT + 4 * byte + 4]) if byte >= 0 else 0

    low, high = first(name[0] - 1), first(name[0])
    while low < high:
        middle = (low + high) // 2
        at = _NAMES + middle * len(name)
        found = data[at : at + len(name)]
        if found == name:
            return True
        low, high = (middle + 1, high) if found < name else (low, middle)
    return False
