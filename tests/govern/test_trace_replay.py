"""Blame by intent against every kind of rewritten history."""

import os
from collections import Counter
from pathlib import Path

import pytest

from support.effort import spread
from support.traced import hands, traced_git
from trace_replay.histories import SCENARIOS, Scenario, play
from trace_replay.story import grade

SEEDS = range(int(os.environ.get("CODEPLANE_SOAK", "1")))


# Half of the kinds; `make soak` plays all of them ten times.
@pytest.mark.parametrize("scenario", spread(SCENARIOS, 40), ids=lambda one: one.__name__)
@pytest.mark.parametrize("seed", SEEDS)
def test_surviving_lines_keep_their_intent(scenario: Scenario, seed: int, tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    with hands() as both:
        outcome = play(scenario, root, seed, both.edit, traced_git(root))
        answers = both.answers(outcome.root, list(outcome.owners))
    counts: Counter[str] = grade(outcome, answers)
    assert counts["wrong"] == 0, _wrong(outcome.owners, answers)
    assert counts["right"] >= 0.95 * counts.total(), counts


def _wrong(
    owners: dict[str, list[str | None]], answers: dict[str, list[str | None]]
) -> list[tuple[str, int, str, str]]:
    return [
        (path, i + 1, owner, answer)
        for path, found in owners.items()
        for i, (owner, answer) in enumerate(zip(found, answers[path], strict=True))
        if owner is not None and answer is not None and owner != answer
    ]
