"""Edits change the bytes that are meant and no others."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.edit.planning import PlannedText, SpanEdit, plan_update, plan_whole
from codeplane.edit.texts import read_text
from support.effort import examples

PATH = RepoPath("a.py")
TEN = b"".join(b"line %d\n" % number for number in range(1, 11))


def planned(data: bytes, *edits: SpanEdit) -> PlannedText:
    """Return what a file becomes."""
    return plan_update(PATH, data, edits)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (SpanEdit("X\n", start_line=2, end_line=2), b"a\nX\nc\n"),
        (SpanEdit("X", start_line=2), b"a\nX\nc\n"),
        (SpanEdit("X\nY\n", start_line=1, end_line=2), b"X\nY\nc\n"),
        (SpanEdit("", start_line=2, end_line=2), b"a\nc\n"),
        (SpanEdit("\n", start_line=2, end_line=2), b"a\n\nc\n"),
        (SpanEdit("X\n", start_line=1, end_line=0), b"X\na\nb\nc\n"),
        (SpanEdit("X\n", start_line=4, end_line=3), b"a\nb\nc\nX\n"),
        (SpanEdit("", start_line=1, end_line=3), b""),
        (SpanEdit("X", expected="b"), b"a\nX\nc\n"),
        (SpanEdit("X\n", expected="b\nc\n"), b"a\nX\n"),
        (SpanEdit("", expected="b\n"), b"a\nc\n"),
        (SpanEdit("X", expected="b", start_line=2, end_line=2), b"a\nX\nc\n"),
        (SpanEdit("X\n", expected="c\n", start_line=1, end_line=1), b"a\nb\nX\n"),
        (SpanEdit("new\n"), b"new\n"),
    ],
)
def test_an_edit_by_lines_or_text(edit: SpanEdit, expected: bytes) -> None:
    assert planned(b"a\nb\nc\n", edit).data == expected


@pytest.mark.parametrize(
    ("data", "edit", "expected"),
    [
        (b"a\r\nb\r\n", SpanEdit("X\nY\n", start_line=2), b"a\r\nX\r\nY\r\n"),
        (b"a\r\nb\r\n", SpanEdit("X\r\nY\r\n", start_line=2), b"a\r\nX\r\nY\r\n"),
        (b"a\r\nb\nc\r\n", SpanEdit("b\nX\nc\n", start_line=2, end_line=3), b"a\r\nb\nX\nc\r\n"),
        (b"a\r\nb\nc\r\n", SpanEdit("X", expected="b"), b"a\r\nX\nc\r\n"),
        (b"a\nb", SpanEdit("X\n", start_line=2), b"a\nX"),
        (b"a\nb", SpanEdit("X\n", start_line=3, end_line=2), b"a\nb\nX"),
        (b"a\r\nb", SpanEdit("X\n", start_line=3, end_line=2), b"a\r\nb\r\nX"),
        (b"a\nb", SpanEdit("", start_line=2), b"a"),
        (b"a\nb", SpanEdit("X\n", expected="b\n"), b"a\nX"),
        (b"", SpanEdit("X\n", start_line=1, end_line=0), b"X\n"),
        (b"\xef\xbb\xbfa\nb\n", SpanEdit("X", expected="a"), b"\xef\xbb\xbfX\nb\n"),
        ("a\nä\n".encode("utf-16"), SpanEdit("X", expected="ä"), "a\nX\n".encode("utf-16")),
        (b"a\xff\nb\xfe\n", SpanEdit("X", start_line=2), b"a\xff\nX\n"),
        (b"a\rb\nc\n", SpanEdit("X", start_line=2), b"a\rb\nX\n"),
        (b"a\nb\r", SpanEdit("X", start_line=1), b"X\nb\r"),
    ],
)
def test_endings_marks_and_encodings_stay(data: bytes, edit: SpanEdit, expected: bytes) -> None:
    assert planned(data, edit).data == expected


def test_several_edits_refer_to_the_file_before_the_call() -> None:
    edits = [
        SpanEdit("two\nand a half\n", start_line=2),
        SpanEdit("", start_line=4, end_line=5),
        SpanEdit("Ten", expected="line 10"),
    ]
    found = planned(TEN, *edits)
    assert found.data == b"line 1\ntwo\nand a half\nline 3\nline 6\nline 7\nline 8\nline 9\nTen\n"
    assert (found.insertions, found.deletions) == (3, 4)
    assert [span.new_lines for span in found.spans] == [(2, 3), (5, 5), (9, 9)]


def test_lines_that_drifted_are_found_by_their_text_and_said() -> None:
    span = planned(TEN, SpanEdit("X\n", expected="line 6\nline 7\n", start_line=2, end_line=3)).spans[0]
    assert (span.asked, span.corrected) == ((2, 3), (6, 7))
    assert planned(TEN, SpanEdit("X\n", expected="line 6", start_line=99)).spans[0].corrected == (6, 6)


def test_a_text_that_stands_several_times_is_not_guessed() -> None:
    data = b"x = 1\ny = 2\nx = 1\n"
    with pytest.raises(CodePlaneError) as failure:
        planned(data, SpanEdit("x = 3", expected="x = 1"))
    assert failure.value.code == "CONTENT_AMBIGUOUS"
    assert [one["start_line"] for one in failure.value.details["candidates"]] == [1, 3]
    # At the lines that were given it is meant there.
    assert planned(data, SpanEdit("x = 3\n", expected="x = 1\n", start_line=3)).data == b"x = 1\ny = 2\nx = 3\n"


def test_a_text_that_stands_nowhere_is_answered_with_what_is_near() -> None:
    data = b"def alpha(x):\n    return x\n\ndef beta(y):\n    return y\n"
    with pytest.raises(CodePlaneError) as failure:
        planned(data, SpanEdit("", expected="def beta(z):\n    return z\n", start_line=1, end_line=2))
    assert failure.value.code == "CONTENT_NOT_FOUND"
    candidates = failure.value.details["candidates"]
    assert {one["start_line"] for one in candidates} >= {1, 4}
    chosen = next(one for one in candidates if one["start_line"] == 4)
    # The next call succeeds with what was shown.
    assert planned(data, SpanEdit("pass", expected=chosen["text"])).data == b"def alpha(x):\n    return x\n\npass\n"


@pytest.mark.parametrize(
    ("edits", "code"),
    [
        ((SpanEdit("x", start_line=12),), "OUT_OF_RANGE"),
        ((SpanEdit("x", start_line=3, end_line=1),), "OUT_OF_RANGE"),
        ((SpanEdit("x", start_line=3, end_line=11),), "OUT_OF_RANGE"),
        ((SpanEdit("x", start_line=1, end_line=3), SpanEdit("y", start_line=3)), "EDITS_OVERLAP"),
        ((SpanEdit("x", expected="line 2"), SpanEdit("y", start_line=2)), "EDITS_OVERLAP"),
        ((SpanEdit("x\n", start_line=3, end_line=2), SpanEdit("y\n", start_line=3, end_line=2)), "EDITS_OVERLAP"),
    ],
)
def test_what_cannot_be_meant_is_refused(edits: tuple[SpanEdit, ...], code: str) -> None:
    with pytest.raises(CodePlaneError) as failure:
        planned(TEN, *edits)
    assert failure.value.code == code


def test_a_binary_file_is_replaced_as_a_whole_only() -> None:
    with pytest.raises(CodePlaneError, match="not text"):
        planned(b"\0\1", SpanEdit("x", start_line=1))
    assert plan_whole(b"\0\1", "x\n").data == b"x\n"


def test_a_new_file_is_written_as_it_is_given() -> None:
    assert plan_whole(None, "a\r\nb\n").data == b"a\r\nb\n"
    assert plan_whole(b"a\r\nb\r\n", "a\nc\n").data == b"a\r\nc\r\n"


@examples(40)
@given(seed=st.integers(0, 2**32))
def test_random_edits_change_only_what_they_name(seed: int) -> None:
    """Each edit of a random file is made by hand on its lines, and the bytes around must be the same."""
    random_ = random.Random(seed)
    mark, encoding = random_.choice([(b"", "utf-8"), (b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le")])
    for _ in range(25):
        ends = random_.choice([["\n"], ["\r\n"], ["\n", "\r\n"]])
        lines = [
            "".join(random_.choices("abcä \t\r€", k=random_.randrange(8))).rstrip("\r")
            for _ in range(random_.randrange(1, 12))
        ]
        endings = [random_.choice(ends) for _ in lines]
        if random_.random() < 0.3 and lines[-1]:
            endings[-1] = ""
        data = mark + "".join(a + b for a, b in zip(lines, endings, strict=True)).encode(encoding)
        first = random_.randrange(1, len(lines) + 1)
        last = random_.randrange(first, len(lines) + 1)
        new = ["".join(random_.choices("xyz", k=3)) for _ in range(random_.randrange(1, 4))]
        found = planned(data, SpanEdit("\n".join(new) + "\n", start_line=first, end_line=last))
        after = read_text(found.data)
        assert found.data.startswith(mark)
        assert after.encoding == encoding
        assert list(after.lines) == [*lines[: first - 1], *new, *lines[last:]]
        assert list(after.endings[: first - 1]) == endings[: first - 1]
        assert list(after.endings[first - 1 + len(new) :]) == endings[last:]
        assert set(after.endings[first - 1 : first - 1 + len(new)]) <= set(endings) | (
            {"\n"} if set(endings) == {""} else set()
        )
        assert (after.endings[-1] == "") == (endings[-1] == "")
        assert found.insertions - found.deletions == len(new) - (last - first + 1)
