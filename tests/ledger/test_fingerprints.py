"""Fingerprints: the same deed or failure gives the same one, another deed or failure another."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.hashing import sha256_text
from codeplane.ledger.fingerprints import (
    Failure,
    FileChange,
    change_summary,
    changes_between,
    failure_fingerprint,
    failure_summary,
    mutation_fingerprint,
    normalised_exception_type,
    normalised_stack,
    normalised_test_name,
)
from support.effort import examples

EDIT = FileChange("src/app.py", "a" * 64, "b" * 64, 3, 1, ("main",))
CREATED = FileChange("new.py", None, "c" * 64, 5, 0, ("helper", "Main"))
DELETED = FileChange("old.py", "d" * 64, None, 0, 7)
KEPT = FileChange("same.py", "e" * 64, "e" * 64, 0, 0)


def test_a_mutation_fingerprint_has_the_parts_of_the_specification() -> None:
    found = mutation_fingerprint([EDIT, CREATED, DELETED])
    assert set(found.as_dict()) == {"files_changed_hash", "diff_stats", "symbol_changes"}
    assert found.diff_stats.as_dict() == {"files_changed": 3, "insertions": 8, "deletions": 8}
    assert found.symbol_changes == ("Main", "helper", "main")
    assert re.fullmatch("[0-9a-f]{64}", found.text)


def test_a_mutation_fingerprint_is_the_digest_of_its_canonical_parts() -> None:
    """Stored fingerprints are compared with fresh ones, so their form may not change unnoticed."""
    files = sha256_text(f'[["src/app.py","{"b" * 64}"]]')
    stats = '"diff_stats":{"deletions":1,"files_changed":1,"insertions":3}'
    whole = f'{{{stats},"files_changed_hash":"{files}","symbol_changes":["main"]}}'
    assert mutation_fingerprint([EDIT]).text == sha256_text(whole)


def test_neither_order_nor_files_that_stayed_count() -> None:
    assert mutation_fingerprint([EDIT, CREATED, KEPT]) == mutation_fingerprint([CREATED, EDIT])


@pytest.mark.parametrize(
    "other",
    [
        replace(EDIT, path="src/other.py"),
        replace(EDIT, new_hash="f" * 64),
        replace(EDIT, new_hash=None),
        replace(EDIT, insertions=4),
        replace(EDIT, deletions=2),
        replace(EDIT, symbols=("main", "other")),
    ],
)
def test_another_change_has_another_fingerprint(other: FileChange) -> None:
    assert mutation_fingerprint([other]).text != mutation_fingerprint([EDIT]).text


def test_what_the_file_was_before_does_not_count() -> None:
    again = replace(EDIT, old_hash="9" * 64)
    assert mutation_fingerprint([again]).text == mutation_fingerprint([EDIT]).text


def test_two_changes_of_one_file_are_told_as_one() -> None:
    back = FileChange(EDIT.path, EDIT.new_hash, EDIT.old_hash, 1, 3)
    assert mutation_fingerprint([EDIT, back]).is_empty
    assert change_summary([EDIT, replace(back, new_hash="f" * 64)])["diff_stats"] == {
        "files_changed": 1,
        "insertions": 4,
        "deletions": 4,
    }


def test_a_mutation_that_changed_nothing_is_empty() -> None:
    assert mutation_fingerprint([]).is_empty
    assert mutation_fingerprint([KEPT]).text == mutation_fingerprint([]).text


def test_a_summary_marks_what_was_added_removed_and_changed() -> None:
    assert change_summary([EDIT, CREATED, DELETED, KEPT]) == {
        "changed_paths": ["new.py", "old.py", "src/app.py"],
        "diff_stats": {"files_changed": 3, "insertions": 8, "deletions": 8},
        "short_diff": "+ new.py\n- old.py\n~ src/app.py",
    }


def test_a_summary_of_very_many_files_says_how_many_it_leaves_out() -> None:
    many = [replace(CREATED, path=f"f{i:04d}.py") for i in range(250)]
    summary = change_summary(many)
    assert (len(summary["changed_paths"]), summary["changed_paths_left_out"]) == (200, 50)
    assert summary["diff_stats"]["files_changed"] == 250


def test_a_path_that_is_no_unicode_can_be_recorded() -> None:
    summary = change_summary([replace(CREATED, path="bad\udcff.py")])
    assert summary["changed_paths"] == ["bad\\udcff.py"]
    assert mutation_fingerprint([replace(CREATED, path="bad\udcff.py", symbols=("x\ud800",))]).text


def test_states_around_a_call_tell_what_changed() -> None:
    before = {"a": "1", "b": "2", "c": None}
    after = {"a": "1", "b": None, "c": "3"}
    assert [(change.path, change.old_hash, change.new_hash) for change in changes_between(before, after)] == [
        ("b", "2", None),
        ("c", None, "3"),
    ]


STACK = """\
Traceback (most recent call last):
  File "/home/ann/project/tests/test_app.py", line 41, in test_main
    assert main(3) == 4
  File "/home/ann/project/src/app.py", line 7, in main
    raise ValueError(f"no {thing!r} at 0x7f3a9c0b1d30")
ValueError: no <app.Thing object at 0x7f3a9c0b1d30> after 0.53s (run 6f9619ff-8b86-d011-b42d-00cf4fc964ff)
"""
FAILURE = Failure(("tests/test_app.py::test_main",), "ValueError", STACK, 1, "error")


@pytest.mark.parametrize(
    "other",
    [
        replace(FAILURE, stack=STACK.replace("line 41", "line 58").replace("line 7", "line 12")),
        replace(FAILURE, stack=STACK.replace("/home/ann/project", "/tmp/build-7/checkout")),
        replace(FAILURE, stack=STACK.replace("/home/ann/project/", "C:\\work\\").replace("tests/", "tests\\")),
        replace(FAILURE, stack=STACK.replace("0x7f3a9c0b1d30", "0x55d0ffee")),
        replace(FAILURE, stack=STACK.replace("0.53s", "12.9s")),
        replace(
            FAILURE, stack=STACK.replace("6f9619ff-8b86-d011-b42d-00cf4fc964ff", "a1b2c3d4-0000-1111-2222-333344445555")
        ),
        replace(FAILURE, stack=f"\x1b[31m{STACK}\x1b[0m\n\n"),
        replace(FAILURE, stack=STACK.replace("\n", "\r\n")),
        replace(FAILURE, exception_type="builtins.ValueError: no thing"),
        replace(FAILURE, failing_tests=FAILURE.failing_tests * 2),
        replace(FAILURE, failure_class="named otherwise"),
    ],
)
def test_the_same_failure_elsewhere_and_at_another_time_has_the_same_fingerprint(other: Failure) -> None:
    assert failure_fingerprint(other) == failure_fingerprint(FAILURE)


@pytest.mark.parametrize(
    "other",
    [
        replace(FAILURE, failing_tests=("tests/test_app.py::test_other",)),
        replace(FAILURE, failing_tests=()),
        replace(FAILURE, exception_type="KeyError"),
        replace(FAILURE, exit_code=2),
        replace(FAILURE, exit_code=None),
        replace(FAILURE, stack=STACK.replace("in main", "in other")),
        replace(FAILURE, stack=STACK.replace("src/app.py", "src/lib.py")),
        replace(FAILURE, stack=""),
    ],
)
def test_another_failure_has_another_fingerprint(other: Failure) -> None:
    assert failure_fingerprint(other) != failure_fingerprint(FAILURE)


def test_the_order_of_failing_tests_does_not_count() -> None:
    both = replace(FAILURE, failing_tests=("a", "b"))
    assert failure_fingerprint(both) == failure_fingerprint(replace(both, failing_tests=("b", "a")))


@given(st.integers(1, 10**6), st.text("abc/", min_size=1, max_size=20), st.integers(0, 2**63))
@examples(100)
def test_line_numbers_directories_and_addresses_never_count(line: int, directory: str, address: int) -> None:
    moved = STACK.replace("line 7,", f"line {line},").replace("/home/ann/", f"/{directory}/")
    assert normalised_stack(moved.replace("0x7f3a9c0b1d30", hex(address))) == normalised_stack(STACK)


@given(st.text(max_size=300))
@examples(200)
def test_any_text_gives_a_fingerprint_and_always_the_same(text: str) -> None:
    failure = Failure((text,), text, text, 1)
    assert failure_fingerprint(failure) == failure_fingerprint(Failure((text,), text, text, 1))


@pytest.mark.parametrize(
    ("given_type", "expected"),
    [
        ("ValueError", "ValueError"),
        ("builtins.ValueError", "ValueError"),
        ("ValueError: no such thing", "ValueError"),
        ("app.errors.Broken: x", "app.errors.Broken"),
        ("std::runtime_error", "std::runtime_error"),
        ("panic: index 3", "panic"),
        ("  KeyError\nand more", "KeyError"),
        ("", ""),
    ],
)
def test_an_exception_type_is_told_without_its_message(given_type: str, expected: str) -> None:
    assert normalised_exception_type(given_type) == expected


def test_a_test_name_keeps_its_numbers_but_no_addresses() -> None:
    assert normalised_test_name("test_x[3-<object at 0x7f00>]") == "test_x[3-<object at 0x>]"


def test_an_endless_stack_is_compared_by_its_two_ends() -> None:
    endless = "  at f\n" * 200_000
    found = normalised_stack("start\n" + endless + "end\n")
    assert (found[0], found[-1], len(found) < 20_000) == ("start", "end", True)


@pytest.mark.parametrize("text", ["a" * 64_000, "a-" * 32_000, "a/" * 32_000, "1." * 32_000, "\x1b[" * 32_000])
def test_long_lines_are_read_in_one_go(text: str) -> None:
    """An expression without bounds would read such a line once for each of its characters."""
    assert len(normalised_stack(text)) <= 1


def test_a_failure_summary_holds_no_output_and_says_what_it_leaves_out() -> None:
    summary = failure_summary(replace(FAILURE, failing_tests=tuple(f"test_{i:03d}" for i in range(150))))
    assert set(summary) == {"failure_fingerprint", "failure_class", "failing_tests", "failing_tests_left_out"}
    assert (len(summary["failing_tests"]), summary["failing_tests_left_out"]) == (100, 50)
    assert "Traceback" not in str(summary)
