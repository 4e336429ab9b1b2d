"""`read_source`: any text comes back exactly, in pages, with the hash of the raw bytes."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.paths import RepoPath
from codeplane.index.source_text import Wanted, read_piece
from codeplane.operations.perform import Door
from support.doors import call, door_with, error_of, open_test_workspace, result_of
from support.effort import examples
from support.repositories import write


def _read(door: Door, *targets: Any) -> dict[str, Any]:
    return result_of(call(door, "read_source", {"targets": list(targets)}))


def _file(door: Door, content: bytes, target: str = "t.txt") -> dict[str, Any]:
    (door.workspace.root / "t.txt").write_bytes(content)
    file: dict[str, Any] = _read(door, target)["files"][0]
    assert file["file_sha256"] == hashlib.sha256(content).hexdigest()
    return file


_LF, _CRLF = "lf", "crlf"
CONTENTS = [
    (b"", "", "utf-8", "none", [0, 0], 0, ["the file is empty"]),
    (b"a\nb\n", "a\nb\n", "utf-8", _LF, [1, 2], 2, []),
    (b"a\nb", "a\nb", "utf-8", _LF, [1, 2], 2, ["no newline at the end of the file"]),
    (b"a", "a", "utf-8", "none", [1, 1], 1, ["no newline at the end of the file"]),
    (b"\n", "\n", "utf-8", _LF, [1, 1], 1, []),
    (b"a\r\nb\r\n", "a\nb\n", "utf-8", _CRLF, [1, 2], 2, ["line endings are crlf; they are shown as \\n"]),
    (b"a\r\nb\n", "a\nb\n", "utf-8", "mixed", [1, 2], 2, ["line endings are mixed; they are shown as \\n"]),
    (b"a\rb\n", "a\rb\n", "utf-8", _LF, [1, 1], 1, []),
    (
        b"\xef\xbb\xbfa\n", "a\n", "utf-8-sig", _LF, [1, 1], 1,
        ["the file starts with a byte order mark, which is not shown"],
    ),
    (
        b"\xff\xfe" + "ä\nb\n".encode("utf-16-le"), "ä\nb\n", "utf-16-le", _LF, [1, 2], 2,
        ["the file is utf-16-le; it is shown as text"],
    ),
    (
        b"\xfe\xff" + "ä\nb\n".encode("utf-16-be"), "ä\nb\n", "utf-16-be", _LF, [1, 2], 2,
        ["the file is utf-16-be; it is shown as text"],
    ),
    (
        b"caf\xe9\n", "caf\\xe9\n", "not utf-8", _LF, [1, 1], 1,
        ["bytes that are not UTF-8 are shown as \\xNN"],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CONTENTS, ids=[str(case[0][:20]) for case in CONTENTS])
def test_a_file_of_any_form_is_shown_as_text_and_its_form_is_told(
    door: Door, case: tuple[bytes, str, str, str, list[int], int, list[str]]
) -> None:
    file = _file(door, case[0])
    names = ("content", "encoding", "line_endings", "range", "line_count", "notes")
    assert tuple(file[name] for name in names) == case[1:]


@pytest.mark.parametrize(
    "content", [b"\0", b"text\0text", b"\x7fELF\0\0", b"a\n" * 40_000 + b"\0", b"x" * 9000 + b"\0"]
)
def test_a_file_with_a_nul_byte_anywhere_is_binary(door: Door, content: bytes) -> None:
    (door.workspace.root / "b.bin").write_bytes(content)
    assert error_of(call(door, "read_source", {"targets": ["b.bin"]})) == "FILE_BINARY"


def test_the_encoding_is_that_of_the_whole_file_on_every_page(door: Door) -> None:
    file = _file(door, b"ascii\n" * 3000 + b"\xe9\n")
    assert file["encoding"] == "not utf-8"


@pytest.mark.parametrize(
    ("target", "text", "lines"),
    [
        ("t.txt:2-3", "b\nc\n", [2, 3]),
        ("t.txt:2", "b\n", [2, 2]),
        ("t.txt:4-99", "d\n", [4, 4]),
        ("t.txt:1-1", "a\n", [1, 1]),
        ("t.txt", "a\nb\nc\nd\n", [1, 4]),
    ],
)
def test_a_range_gives_exactly_its_lines(door: Door, target: str, text: str, lines: list[int]) -> None:
    file = _file(door, b"a\nb\nc\nd\n", target)
    assert (file["content"], file["range"]) == (text, lines)


def test_a_range_that_ends_beyond_the_file_says_where_the_file_ends(door: Door) -> None:
    assert _file(door, b"a\nb\n", "t.txt:2-9")["notes"] == ["the file ends at line 2"]


def test_a_range_that_begins_beyond_the_file_is_refused_with_the_line_count(door: Door) -> None:
    answer = call(door, "read_source", {"targets": ["docs/guide.md:4-9"]})
    assert error_of(answer) == "OUT_OF_RANGE"
    assert answer.error is not None
    assert answer.error.details["line_count"] == 3


def test_a_start_without_an_end_reads_to_the_end(door: Door) -> None:
    file = _read(door, {"path": "docs/guide.md", "start_line": 2})["files"][0]
    assert file["content"] == "two\nthree\n"


def test_several_targets_come_in_one_answer_in_their_order(door: Door) -> None:
    files = _read(door, "docs/guide.md:3", "README.md:1", "docs/guide.md:1")["files"]
    assert [file["content"] for file in files] == ["three\n", "# Sample\n", "one\n"]


def test_a_target_that_fails_does_not_take_the_others_along(door: Door) -> None:
    result = _read(door, "missing.py", "docs/guide.md")
    assert [file["path"] for file in result["files"]] == ["docs/guide.md"]
    (problem,) = result["problems"]
    assert (problem["path"], problem["error"]) == ("missing.py", "FILE_NOT_FOUND")
    assert problem["required_action"]


def _pages(door: Door, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    pages = [result_of(call(door, "read_source", arguments))]
    while pages[-1].get("cursor"):
        assert pages[-1]["has_more"]
        pages.append(result_of(call(door, "read_source", {"cursor": pages[-1]["cursor"]})))
    return pages


_TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            ["\n", "\r\n", "\r", "é", "\U0001f600", "x" * 700, "日本" * 200, "a\r\n" * 50, "\u2028", "\x0c"]
        ),
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40),
    ),
    max_size=40,
).map("".join)


@given(text=_TEXTS, page=st.integers(500, 700))
@examples(60)
def test_all_pages_together_are_the_whole_text_with_correct_line_numbers(door: Door, text: str, page: int) -> None:
    (door.workspace.root / "t.txt").write_bytes(text.encode())
    reads = door.workspace.settings.reads
    object.__setattr__(reads, "page_bytes", page)
    object.__setattr__(reads, "range_bytes", page)
    files = [file for found in _pages(door, {"targets": ["t.txt"]}) for file in found["files"]]
    shown = text.removeprefix("\ufeff").replace("\r\n", "\n")
    assert "".join(file["content"] for file in files) == shown
    _check_line_numbers(files, shown)


def _check_line_numbers(files: list[dict[str, Any]], shown: str) -> None:
    lines = shown.split("\n")
    before = ""
    for file in files:
        first, last = file["range"]
        if shown:
            assert first == before.count("\n") + 1
            assert last == first + max(file["content"].removesuffix("\n").count("\n"), 0)
            assert file["line_count"] == len(lines) - (lines[-1] == "")
        before += file["content"]


@given(text=_TEXTS, limit=st.integers(1, 9))
@examples(60)
def test_pieces_of_the_smallest_sizes_still_go_on_and_never_cut_a_character(
    tmp_path: Path, text: str, limit: int
) -> None:
    text = text.removeprefix("\ufeff")[:60]
    (tmp_path / "t.txt").write_bytes(text.encode())
    pieces = [read_piece(tmp_path, RepoPath("t.txt"), Wanted(limit=limit))]
    while pieces[-1].next_offset is not None:
        last = pieces[-1]
        assert last.next_line is not None
        wanted = Wanted(last.next_line, None, limit, last.next_offset, last.ends_inside_line)
        pieces.append(read_piece(tmp_path, RepoPath("t.txt"), wanted))
        assert pieces[-1].text
    assert "".join(piece.text for piece in pieces) == text.replace("\r\n", "\n")


@given(data=st.binary(max_size=60).map(lambda data: data.replace(b"\0", b"\x80")), limit=st.integers(4, 9))
@examples(80)
def test_pieces_of_bytes_that_are_no_text_add_up_to_what_one_piece_shows(
    tmp_path: Path, data: bytes, limit: int
) -> None:
    data = b"x" + data
    (tmp_path / "t.txt").write_bytes(data)
    whole = read_piece(tmp_path, RepoPath("t.txt"), Wanted()).text
    shown, wanted = "", Wanted(limit=limit)
    while True:
        piece = read_piece(tmp_path, RepoPath("t.txt"), wanted)
        shown += piece.text
        if piece.next_offset is None or piece.next_line is None:
            break
        wanted = Wanted(piece.next_line, None, limit, piece.next_offset, piece.ends_inside_line)
    assert shown == whole


def test_pages_go_on_through_several_targets(door: Door) -> None:
    content = "".join(f"line {i}\n" for i in range(2000))
    write(door.workspace.root, {"one.txt": content, "two.txt": content})
    files = [file for page in _pages(door, {"targets": ["one.txt", "two.txt"]}) for file in page["files"]]
    for name in ("one.txt", "two.txt"):
        assert "".join(file["content"] for file in files if file["path"] == name) == content


def test_a_range_ends_where_it_should_although_it_came_in_pages(door: Door) -> None:
    content = "".join(f"{i:0100d}\n" for i in range(1, 3001))
    write(door.workspace.root, {"one.txt": content})
    pages = _pages(door, {"targets": [{"path": "one.txt", "start_line": 100, "end_line": 2000}]})
    files = [file for page in pages for file in page["files"]]
    assert len(pages) > 1
    assert "".join(file["content"] for file in files) == "".join(content.splitlines(keepends=True)[99:2000])


def test_a_file_that_changed_between_two_pages_is_told(door: Door) -> None:
    (door.workspace.root / "t.txt").write_bytes(b"line\n" * 5000)
    first = _read(door, "t.txt")
    (door.workspace.root / "t.txt").write_bytes(b"LINE\n" * 5000)
    assert error_of(call(door, "read_source", {"cursor": first["cursor"]})) == "FILE_CHANGED"


def test_a_file_that_shrank_between_two_pages_is_told(door: Door) -> None:
    (door.workspace.root / "t.txt").write_bytes(b"line\n" * 5000)
    first = _read(door, "t.txt")
    (door.workspace.root / "t.txt").write_bytes(b"short\n")
    assert error_of(call(door, "read_source", {"cursor": first["cursor"]})) == "FILE_CHANGED"


def test_a_file_that_vanished_between_two_pages_is_told(door: Door) -> None:
    (door.workspace.root / "t.txt").write_bytes(b"line\n" * 5000)
    first = _read(door, "t.txt")
    (door.workspace.root / "t.txt").unlink()
    assert error_of(call(door, "read_source", {"cursor": first["cursor"]})) == "FILE_NOT_FOUND"


@pytest.mark.slow
def test_a_file_of_fifty_megabytes_is_read_from_its_middle(door: Door) -> None:
    line = b"0123456789" * 10 + b"\n"
    (door.workspace.root / "big.txt").write_bytes(line * 500_000)
    file = _read(door, "big.txt:400000-400001")["files"][0]
    assert (file["content"], file["line_count"]) == ((line * 2).decode(), 500_000)


@pytest.mark.slow
def test_one_line_of_twenty_megabytes_comes_in_pieces(door: Door) -> None:
    (door.workspace.root / "long.txt").write_bytes(b"x" * 20_000_000)
    first = _read(door, "long.txt")
    file = first["files"][0]
    assert file["range"] == [1, 1]
    assert "line 1 is longer than one answer and is cut" in file["notes"]
    second = result_of(call(door, "read_source", {"cursor": first["cursor"]}))["files"][0]
    assert second["range"] == [1, 1]
    assert "continues inside line 1" in second["notes"]


def _odd_places(root: Path) -> None:
    write(root, {"real.txt": "real\n", "dir/inner.txt": "inner\n"})
    os.mkfifo(root / "pipe")
    (root / "inside").symlink_to("real.txt")
    (root / "dirlink").symlink_to("dir")
    (root / "dangling").symlink_to("nowhere.txt")
    (root / "loop").symlink_to("loop")
    (root / "out").symlink_to("/etc/hostname")
    (root / "outdir").symlink_to("/etc")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("pipe", "NOT_A_FILE"),
        ("dir", "NOT_A_FILE"),
        ("dangling", "FILE_NOT_FOUND"),
        ("loop", "PATH_INVALID"),
        ("out", "PATH_OUTSIDE_REPOSITORY"),
        ("outdir/hostname", "PATH_OUTSIDE_REPOSITORY"),
        ("missing", "FILE_NOT_FOUND"),
        ("real.txt/below", "FILE_NOT_FOUND"),
    ],
)
def test_what_is_no_file_in_the_tree_is_refused_with_its_own_code(door: Door, path: str, code: str) -> None:
    _odd_places(door.workspace.root)
    assert error_of(call(door, "read_source", {"targets": [path]})) == code


@pytest.mark.parametrize(("path", "text"), [("inside", "real\n"), ("dirlink/inner.txt", "inner\n")])
def test_a_symlink_inside_the_tree_is_followed(door: Door, path: str, text: str) -> None:
    _odd_places(door.workspace.root)
    assert _read(door, path)["files"][0]["content"] == text


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PermissionError(13, "Permission denied"), "PERMISSION_DENIED"),
        (OSError(5, "Input/output error"), "FILE_READ_FAILED"),
    ],
)
def test_a_file_that_cannot_be_opened_is_told_with_its_code(
    door: Door, monkeypatch: pytest.MonkeyPatch, error: OSError, code: str
) -> None:
    real_open = os.open

    def refuse(path: str | Path, flags: int, *rest: Any, **options: Any) -> int:
        if str(path).endswith("guide.md"):
            raise error
        return real_open(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", refuse)
    assert error_of(call(door, "read_source", {"targets": ["docs/guide.md"]})) == code


@pytest.mark.parametrize("asked", ["e\u0301.txt", "\u00e9.txt"])
@pytest.mark.parametrize("on_disk", ["e\u0301.txt", "\u00e9.txt"])
def test_composed_and_decomposed_names_mean_the_same_file(door: Door, asked: str, on_disk: str) -> None:
    write(door.workspace.root, {on_disk: "accent\n"})
    file = _read(door, asked)["files"][0]
    assert (file["path"], file["content"]) == ("\u00e9.txt", "accent\n")


def test_a_decomposed_symlink_does_not_lead_out_of_the_tree(door: Door) -> None:
    (door.workspace.root / "e\u0301.txt").symlink_to("/etc/hostname")
    assert error_of(call(door, "read_source", {"targets": ["\u00e9.txt"]})) == "PATH_OUTSIDE_REPOSITORY"


def test_the_read_budget_counts_bytes_and_a_reset_gives_them_back(repo: Path) -> None:
    write(repo, {"wide.txt": "é" * 400})
    with open_test_workspace(repo, overrides=("sessions.read_budget_bytes=1000",)) as workspace:
        door = door_with(workspace)
        assert _read(door, "wide.txt")["files"]
        answer = call(door, "read_source", {"targets": ["wide.txt"]})
        assert error_of(answer) == "READ_BUDGET_EXCEEDED"
        assert result_of(call(door, "reset_budget")) == {"used_bytes": 800, "budget_bytes": 1000}
        assert _read(door, "wide.txt")["files"]


def test_a_budget_that_is_nearly_used_is_told(repo: Path) -> None:
    write(repo, {"wide.txt": "x" * 900})
    with open_test_workspace(repo, overrides=("sessions.read_budget_bytes=1000",)) as workspace:
        answer = call(door_with(workspace), "read_source", {"targets": ["wide.txt"]})
        assert answer.meta.warnings == ("900 of 1000 bytes of the read budget are used",)


def test_the_text_for_a_model_numbers_the_lines_and_gives_the_hash(door: Door) -> None:
    text = call(door, "read_source", {"targets": [{"path": "docs/guide.md", "start_line": 2}]}).text()
    sha = hashlib.sha256(b"one\ntwo\nthree\n").hexdigest()
    assert text == f"docs/guide.md lines 2-3 of 3 sha256={sha[:12]}\n2\ttwo\n3\tthree"


def test_a_path_that_does_not_exist_is_answered_with_the_file_that_was_meant(door: Door) -> None:
    answer = call(door, "read_source", {"targets": ["docs/guid.md"]})
    assert answer.error is not None
    assert "`docs/guide.md`" in answer.error.required_action


def test_every_page_of_ordinary_lines_ends_at_a_line_end(door: Door) -> None:
    write(door.workspace.root, {"long.txt": "".join(f"line {i} {'x' * 30}\n" for i in range(1, 1001))})
    cursor: str | None = None
    pages = []
    while True:
        result = result_of(call(door, "read_source", {"cursor": cursor} if cursor else {"targets": ["long.txt"]}))
        pages += result["files"]
        cursor = result.get("cursor")
        if cursor is None:
            break
    assert [page["range"][0] for page in pages[1:]] == [page["range"][1] + 1 for page in pages[:-1]]
    assert [page["notes"] for page in pages] == [[]] * len(pages)


PACKED = "import os\n\n\n@cached\ndef first():\n    return 1\n\n\nclass Box:\n    def get(self):\n        return 2\n"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("box.py::first", "@cached\ndef first():\n    return 1\n"),
        ("box.py::Box.get", "    def get(self):\n        return 2\n"),
        ("box.py::get", "    def get(self):\n        return 2\n"),
        ({"path": "box.py", "symbol": "Box"}, "class Box:\n    def get(self):\n        return 2\n"),
        ({"path": "box.py", "around": 5, "context": 1}, "@cached\ndef first():\n    return 1\n"),
    ],
)
def test_a_definition_or_the_surroundings_of_a_line_are_read(door: Door, target: Any, expected: str) -> None:
    write(door.workspace.root, {"box.py": PACKED})
    assert result_of(call(door, "read_source", {"targets": [target]}))["files"][0]["content"] == expected


def test_a_definition_that_is_not_there_is_answered_with_those_that_are(door: Door) -> None:
    write(door.workspace.root, {"box.py": PACKED})
    answer = call(door, "read_source", {"targets": ["box.py::nope"]})
    assert error_of(answer) == "CONTENT_NOT_FOUND"
    assert "it defines os, first, Box" in answer.text() or "it defines first, Box" in answer.text()


def test_a_definition_that_no_longer_fits_comes_with_the_next_answer(door: Door) -> None:
    body = "".join(f"    x = {number:090d}\n" for number in range(250))
    write(door.workspace.root, {"two.py": f"def one():\n{body}\n\ndef two():\n{body}\n\ndef three():\n    return 3\n"})
    first = result_of(call(door, "read_source", {"targets": ["two.py::one", "two.py::two", "two.py::three"]}))
    found = list(first["files"])
    while first.get("cursor"):
        first = result_of(call(door, "read_source", {"cursor": first["cursor"]}))
        found += first["files"]
    lines = [line for one in found for line in range(one["range"][0], one["range"][1] + 1)]
    assert sorted(lines) == [*range(1, 252), *range(254, 505), 507, 508]


def test_the_first_part_of_a_large_file_comes_with_its_outline(door: Door) -> None:
    functions = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(600))
    write(door.workspace.root, {"large.py": functions})
    answer = result_of(call(door, "read_source", {"targets": ["large.py", "src/app.py:1-2"]}))
    file = answer["files"][0]
    assert [one["range"] for one in answer["files"]] == [[1, 40], [1, 2]]
    rest = result_of(call(door, "read_source", {"cursor": answer["cursor"]}))["files"][0]
    assert (rest["path"], rest["range"][0]) == ("large.py", 41)
    assert file["outline"][:2] == ["1-2 f0", "5-6 f1"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"file_path": "src/app.py", "offset": 5, "limit": 3}, [5, 7]),
        ({"targets": "src/app.py", "start": 2, "end": 4}, [2, 4]),
        ({"path": "src/app.py", "limit": 2}, [1, 2]),
    ],
)
def test_the_arguments_of_other_read_tools_are_understood(
    door: Door, arguments: dict[str, Any], expected: list[int]
) -> None:
    assert result_of(call(door, "read_source", arguments))["files"][0]["range"] == expected
