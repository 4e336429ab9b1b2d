"""Matching blocks are equal lines in order; where `difflib` is quick they are as many as it finds."""

import difflib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core import line_matching
from codeplane.core.line_matching import Block, counted_changes, matching_blocks
from support.effort import examples

_TEXTS = st.lists(st.sampled_from("abcdef"), max_size=30)


def _check(old: list[str], new: list[str], blocks: list[Block]) -> None:
    at = new_at = 0
    for block in blocks:
        assert block.size > 0
        assert at <= block.old
        assert new_at <= block.new
        at, new_at = block.old + block.size, block.new + block.size
        assert old[block.old : at] == new[block.new : new_at]
    assert at <= len(old)
    assert new_at <= len(new)


@given(old=_TEXTS, new=_TEXTS)
@examples(300)
def test_short_texts_are_compared_in_full(old: list[str], new: list[str]) -> None:
    blocks = matching_blocks(old, new)
    _check(old, new, blocks)
    same = sum(block.size for block in blocks)
    assert counted_changes(old, new) == (len(new) - same, len(old) - same)
    first, last, part = line_matching._trimmed(old, new, line_matching._Part(0, len(old), 0, len(new)))
    before, after = old[part.old : part.old_end], new[part.new : part.new_end]
    between = difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    assert same == first.size + last.size + sum(size for _, _, size in between)


@given(old=_TEXTS, new=_TEXTS)
@examples(300)
def test_texts_that_are_divided_have_equal_lines_in_order(old: list[str], new: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_matching, "_MAX_PAIRS", 2)
        _check(old, new, matching_blocks(old, new))
        added, removed = counted_changes(old, new)
    assert added - removed == len(new) - len(old)
    assert min(added, removed) >= 0


def test_lines_that_are_all_alike_take_no_time() -> None:
    old = ["same\n"] * 60_000
    new = [*old]
    new[100], new[59_000] = "one\n", "two\n"
    assert counted_changes(old, new) == (2, 2)
    assert matching_blocks(old, new) == [Block(0, 0, 100), Block(59_001, 59_001, 999)]


def test_long_texts_are_divided_at_lines_that_stand_once() -> None:
    dice = random.Random(5)
    old = [f"{number}\n" for number in range(40_000)]
    new = [line for line in old if dice.random() > 0.1]
    new[5000:5000] = ["new\n"] * 10
    blocks = matching_blocks(old, new)
    _check(old, new, blocks)
    assert sum(block.size for block in blocks) == len(new) - 10
    assert counted_changes(old, new) == (10, len(old) - len(new) + 10)
