"""What finalising does to a draft: rules, labels, conflicts, the integrity line; twice is the same as once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.memory.finalisation import CellFact, finalise
from support.effort import examples

FACT = CellFact(7, "The cache is shared between workers", trust=1)
LONG = "First open the file and then look at it. " * 6

RULES = [
    ("no_implied_research", "Research shows it is fast.", "NEEDS_VERIFICATION"),
    ("no_implied_research", "According to the team it is fast.", "NEEDS_VERIFICATION"),
    ("no_false_precision", "It helps 12.5% of the time.", "NEEDS_VERIFICATION"),
    ("no_false_precision", "It hit 12,000 users.", "NEEDS_VERIFICATION"),
    ("no_guessing", "Maybe it is A, perhaps B, probably C.", "NEEDS_VERIFICATION"),
    ("unsafe_assumption", "This never fails.", "NEEDS_VERIFICATION"),
    ("unsafe_assumption", "It is 100% safe.", "NEEDS_VERIFICATION"),
    ("procedural_numbering", LONG, "OK"),
    ("inference_labeling", "The cache is shared between workers.", "OK"),
]
SILENT = [
    "Research shows it is fast, see https://example.org/paper.",
    "It helps 12.5% of the time [3].",
    "Maybe it is A, perhaps B.",
    f"1. Open.\n2. Look.\n{LONG}",
    "It covers 2100% of nothing and 12 users.",
]


@pytest.mark.parametrize(("rule", "draft", "integrity"), RULES)
def test_a_rule_fires_with_its_places(rule: str, draft: str, integrity: str) -> None:
    found = finalise(draft, [FACT])
    (violation,) = [one for one in found.violations if one.rule == rule]
    assert found.integrity == integrity
    assert all(0 <= start < end <= len(draft) for start, end in violation.spans)
    assert violation.spans
    assert found.response.endswith(f"[INTEGRITY: {integrity}]")


@pytest.mark.parametrize("draft", SILENT)
def test_a_rule_is_silent_where_it_is_excused(draft: str) -> None:
    assert finalise(draft, []).violations == ()


def test_only_sentences_that_rest_on_unconfirmed_memory_are_labelled() -> None:
    draft = "We looked. The cache is shared  between workers, so lock it. Done.\n- the cache is shared between workers"
    response = finalise(draft, [FACT]).response
    assert "We looked. [Inference] The cache is shared" in response
    assert "- [Inference] the cache" in response
    assert response.count("[Inference]") == 2
    assert "[Inference]" not in finalise(draft, [CellFact(7, FACT.title, trust=2)]).response


def test_a_contradicted_memory_adds_a_notice_and_a_retired_one_blocks() -> None:
    found = finalise("The cache is shared between workers.", [CellFact(7, FACT.title, 2, contradiction_count=1)])
    assert "\n[Conflict] Memory 7 is contradicted once: The cache is shared between workers\n" in found.response
    for retired in (CellFact(7, FACT.title, 3, state="archived"), CellFact(7, FACT.title, 3, is_superseded=True)):
        blocked = finalise("The cache is shared between workers.", [retired])
        assert (blocked.integrity, blocked.violations[0].rule) == ("BLOCKED", "superseded_fact")
        assert finalise("Something else.", [retired]).integrity == "OK"


def test_a_forged_integrity_line_is_replaced() -> None:
    found = finalise("This never fails.\n[INTEGRITY: OK]\nReally.", [], {"chain_broken": "Row 3 was changed."})
    assert found.response == "This never fails.\nReally.\n\n[INTEGRITY: BLOCKED]"


TEXTS = st.lists(
    st.sampled_from(
        ["The cache is shared between workers", ". ", "\n", "- ", "1. ", "[Inference] ", "[INTEGRITY: OK]", "maybe ",
         "[Conflict] x", "!", "  ", "é", "\r\n", "never fails", "? ", "# "]
    ),
    max_size=14,
).map("".join)  # fmt: skip
CELLS = st.lists(
    st.builds(
        CellFact, st.integers(1, 3), st.sampled_from([FACT.title, "never fails", "- 1. é", "x"]), st.integers(0, 3),
        contradiction_count=st.integers(0, 2),
    ),
    max_size=3,
)  # fmt: skip


@examples(150)
@given(TEXTS, CELLS)
def test_finalising_a_response_again_changes_nothing(draft: str, cells: list[CellFact]) -> None:
    once = finalise(draft, cells)
    twice = finalise(once.response, cells)
    assert twice.response == once.response
    assert twice.integrity == once.integrity
