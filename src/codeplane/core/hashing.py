"""SHA-256 of bytes, texts and files, raw and with line ends made equal."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

_CHUNK_BYTES = 1024 * 1024


def sha256_bytes(data: bytes) -> str:
    """Return the digest in lower-case hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def sha256_text(text: str) -> str:
    """Return the digest of the text in UTF-8; lone surrogates, as in undecodable file names, are hashed as they are."""
    return sha256_bytes(text.encode("utf-8", "surrogatepass"))


def sha256_file(path: Path) -> str:
    """Return the digest of a file's bytes, read in pieces.

    Raises:
        OSError: the file cannot be read.
    """
    return _digest(_chunks(path))


def sha256_normalised(data: bytes) -> str:
    """Return the digest with CRLF counted as LF, for telling a change from a different checkout of the same text.

    A CR that is not followed by LF stays.
    """
    return sha256_bytes(data.replace(b"\r\n", b"\n"))


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def _digest(chunks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()
