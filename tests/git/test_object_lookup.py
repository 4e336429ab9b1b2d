"""Objects are found in loose files and in packs, as git finds them."""

from pathlib import Path

import pytest

from codeplane.git.object_lookup import has_object
from support.repositories import git, make_repository


@pytest.mark.parametrize("is_packed", [False, True])
def test_every_object_is_found_and_no_other(is_packed: bool, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {f"file_{i}.txt": f"content {i}\n" for i in range(40)})
    if is_packed:
        git(root, "gc", "--quiet")
    listing = git(root, "cat-file", "--batch-check=%(objectname)", "--batch-all-objects").split()
    assert len(listing) > 40
    assert all(has_object(root / ".git", oid) for oid in listing)
    assert not any(has_object(root / ".git", f"{number:040x}") for number in range(0, 256**2 * 100, 65_537))


def test_a_damaged_index_of_a_pack_is_passed_over(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {"a.txt": "a\n"})
    (root / ".git/objects/pack/pack-x.idx").write_bytes(b"\xfftOc\x00\x00\x00\x02" + b"\xff" * 2000)
    assert not has_object(root / ".git", "ab" * 20)
