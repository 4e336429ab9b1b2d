"""Hashes of lines: how a line is recognised when it has moved or has been formatted."""

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import Final

# A key holds a loose hash (white space ignored) and an exact one.
LOOSE_BYTES: Final = 8
EXACT_BYTES: Final = 4
KEY_BYTES: Final = LOOSE_BYTES + EXACT_BYTES
MAX_LINES: Final = 50_000
_KEY_CHARS: Final = KEY_BYTES * 4 // 3
_SNIFFED: Final = 8_000
# A line with fewer letters and digits, such as `return None` or `}`, is too common to recognise on its own.
_DISTINCTIVE: Final = 12
_WORD_CHARACTERS: Final = re.compile(rb"[0-9A-Za-z\x80-\xff]")

Keys = tuple[bytes, ...]


def split_lines(data: bytes) -> list[bytes]:
    """Return the lines of a text without their ends; CRLF counts as LF."""
    if not data:
        return []
    return data.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n")


def is_binary(data: bytes) -> bool:
    """Tell whether a content has no lines."""
    return b"\0" in data[:_SNIFFED]


def keys_of(lines: Sequence[bytes]) -> list[bytes]:
    """Return the key of each line; the last bit of the loose hash says whether the line is distinctive."""
    known: dict[bytes, bytes] = {}
    found = []
    for line in lines:
        key = known.get(line)
        if key is None:
            key = known[line] = _key(line)
        found.append(key)
    return found


def _key(line: bytes) -> bytes:
    bare = b"".join(line.split())
    loose = bytearray(hashlib.blake2b(bare, digest_size=LOOSE_BYTES).digest())
    is_distinctive = len(_WORD_CHARACTERS.findall(bare)) >= _DISTINCTIVE
    loose[-1] = (loose[-1] & 0xFE) | is_distinctive
    return bytes(loose) + hashlib.blake2b(line, digest_size=EXACT_BYTES).digest()


def loose_of(key: bytes) -> bytes:
    """Return the part of a key that ignores white space."""
    return key[:LOOSE_BYTES]


def is_distinctive(loose: bytes) -> bool:
    """Tell whether a line can be recognised on its own."""
    return bool(loose[LOOSE_BYTES - 1] & 1)


def as_number(loose: bytes) -> int:
    """Return a loose hash as a number that SQLite can store."""
    return int.from_bytes(loose[:LOOSE_BYTES], signed=True)


def packed(keys: Sequence[bytes]) -> str:
    """Return keys as text, 16 characters each."""
    return base64.b64encode(b"".join(keys)).decode("ascii")


def unpacked(text: str) -> list[bytes]:
    """Return the keys of a text; raises ValueError when it is not one."""
    data = base64.b64decode(text, validate=True)
    if len(data) % KEY_BYTES:
        raise ValueError("the keys of lines are cut off")
    return [data[at : at + KEY_BYTES] for at in range(0, len(data), KEY_BYTES)]


def text_hash(lines: Sequence[bytes]) -> str:
    """Return the hash of lines as Agent Trace writes it: SHA-256 over the text with LF ends."""
    return "sha256:" + hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest()


def loose_text_hash(lines: Sequence[bytes]) -> str:
    """Return the hash of lines without any white space."""
    return "sha256:" + hashlib.sha256(b"\n".join(b"".join(line.split()) for line in lines)).hexdigest()


def blob_id(data: bytes, head: str | None = None) -> str:
    """Return the name that git gives a content; `head` tells by its length which hash the repository uses."""
    header = b"blob %d\0" % len(data)
    if head is not None and len(head) == hashlib.sha256().digest_size * 2:
        return hashlib.sha256(header + data).hexdigest()
    # Git's own name of an object, not a protection.
    return hashlib.sha1(header + data, usedforsecurity=False).hexdigest()
