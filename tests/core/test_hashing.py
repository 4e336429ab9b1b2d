"""Digests are the known ones, and line ends matter only where they should."""

from pathlib import Path

import pytest
from hypothesis import strategies as st

from codeplane.core.hashing import (
    sha256_bytes,
    sha256_file,
    sha256_normalised,
    sha256_text,
)

_MEBIBYTE = 1024 * 1024
_LINE_PIECES = st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"a", b""]), max_size=12)


def test_the_published_digests_come_out() -> None:
    assert sha256_bytes(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert sha256_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_text_with_a_lone_surrogate_has_a_digest() -> None:
    assert sha256_text("\udc80") != sha256_text("\udc81")


@pytest.mark.parametrize("size", [0, 1, _MEBIBYTE - 1, _MEBIBYTE, _MEBIBYTE + 1])
def test_a_file_has_the_digest_of_its_bytes(tmp_path: Path, size: int) -> None:
    data = b"\r\n" * (size // 2) + b"x" * (size % 2)
    path = tmp_path / "data"
    path.write_bytes(data)
    assert sha256_file(path) == sha256_bytes(data)


def test_only_pairs_of_cr_and_lf_are_made_equal() -> None:
    assert sha256_normalised(b"a\r\nb\r\n") == sha256_bytes(b"a\nb\n")
    assert sha256_normalised(b"a\rb") == sha256_bytes(b"a\rb")
    assert sha256_normalised(b"\r\r\n") == sha256_bytes(b"\r\n")


def test_a_missing_file_raises_the_operating_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sha256_file(tmp_path / "missing")
