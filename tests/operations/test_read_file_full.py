"""`read_file_full`: first the cost, then the file, large ones as a resource."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.hashing import sha256_bytes
from codeplane.operations.perform import Door
from support.doors import call, door_with, error_of, open_test_workspace, result_of
from support.repositories import write

INLINE, RESOURCE = 600, 2000


@pytest.fixture
def small_door(repo: Path) -> Iterator[Door]:
    overrides = (f"reads.full_inline_bytes={INLINE}", f"reads.full_resource_bytes={RESOURCE}")
    with open_test_workspace(repo, overrides=overrides) as workspace:
        yield door_with(workspace)


def _read(door: Door, path: str, **options: Any) -> dict[str, Any]:
    return result_of(call(door, "read_file_full", {"path": path, **options}))


def test_without_confirmation_only_the_cost_is_told(door: Door) -> None:
    content = b"one\ntwo\nthree\n"
    assert _read(door, "docs/guide.md") == {
        "path": "docs/guide.md",
        "phase": "confirm_required",
        "delivery": "none",
        "size": 14,
        "line_count": 3,
        "estimated_tokens": 3,
        "language": "markdown",
        "file_sha256": sha256_bytes(content),
        "resource_uri": "codeplane://file/docs/guide.md",
        "encoding": "utf-8",
        "line_endings": "lf",
    }


def test_with_confirmation_a_small_file_is_in_the_answer(door: Door) -> None:
    result = _read(door, "docs/guide.md", confirm=True)
    assert (result["phase"], result["delivery"], result["content"]) == ("delivered", "inline", "one\ntwo\nthree\n")


@pytest.mark.parametrize(
    ("size", "inline", "delivery"),
    [
        (INLINE, False, "inline"),
        (INLINE + 1, False, "resource"),
        (RESOURCE, False, "resource"),
        (RESOURCE, True, "inline"),
    ],
)
def test_the_size_decides_how_a_file_is_delivered(small_door: Door, size: int, inline: bool, delivery: str) -> None:
    write(small_door.workspace.root, {"f.txt": "x" * size})
    answer = call(small_door, "read_file_full", {"path": "f.txt", "confirm": True, "inline": inline})
    result = result_of(answer)
    assert result["delivery"] == delivery
    assert ("content" in result) is (delivery == "inline")
    assert [(link.uri, link.size) for link in answer.resource_links] == [("codeplane://file/f.txt", size)]


@pytest.mark.parametrize("inline", [False, True])
def test_a_file_beyond_every_limit_is_refused(small_door: Door, inline: bool) -> None:
    write(small_door.workspace.root, {"f.txt": "x" * (RESOURCE + 1)})
    answer = call(small_door, "read_file_full", {"path": "f.txt", "confirm": True, "inline": inline})
    assert error_of(answer) == "FILE_TOO_LARGE"


def test_the_cost_of_a_file_beyond_every_limit_is_still_told(small_door: Door) -> None:
    write(small_door.workspace.root, {"f.txt": "x" * 5000})
    assert _read(small_door, "f.txt")["size"] == 5000


@pytest.mark.parametrize(
    ("content", "encoding"),
    [(b"", "utf-8"), ("é\n".encode(), "utf-8"), (b"caf\xe9\n", "not utf-8"), (b"\xef\xbb\xbfa\n", "utf-8-sig")],
)
@pytest.mark.parametrize("confirm", [False, True])
def test_both_phases_tell_the_encoding_of_the_whole_file(
    door: Door, content: bytes, encoding: str, confirm: bool
) -> None:
    write(door.workspace.root, {"f.txt": content})
    result = _read(door, "f.txt", confirm=confirm)
    assert (result["encoding"], result["file_sha256"]) == (encoding, sha256_bytes(content))


def test_a_resource_address_is_escaped(door: Door) -> None:
    write(door.workspace.root, {"a b#c?.txt": "x"})
    assert _read(door, "a b#c?.txt")["resource_uri"] == "codeplane://file/a%20b%23c%3F.txt"


def test_a_delivered_file_counts_against_the_read_budget(repo: Path) -> None:
    with open_test_workspace(repo, overrides=("sessions.read_budget_bytes=20",)) as workspace:
        door = door_with(workspace)
        assert _read(door, "docs/guide.md", confirm=True)["content"]
        answer = call(door, "read_file_full", {"path": "docs/guide.md", "confirm": True})
        assert error_of(answer) == "READ_BUDGET_EXCEEDED"


@pytest.mark.parametrize(("path", "code"), [("missing", "FILE_NOT_FOUND"), ("docs", "NOT_A_FILE")])
@pytest.mark.parametrize("confirm", [False, True])
def test_what_is_no_file_is_refused_in_both_phases(door: Door, path: str, code: str, confirm: bool) -> None:
    assert error_of(call(door, "read_file_full", {"path": path, "confirm": confirm})) == code
