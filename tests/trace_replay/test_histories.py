"""The histories do what they say, and their truth can be read from the final text."""

import os
from pathlib import Path

import pytest

from support.effort import spread
from trace_replay.histories import SCENARIOS, Scenario, play, tell
from trace_replay.story import FILLERS, HUMAN, Story, git_in, grade, split, token_of, write_only

SEEDS = range(int(os.environ.get("CODEPLANE_SOAK", "1")))
# A quarter of the kinds; `make soak` plays all of them.
ALL = pytest.mark.parametrize("scenario", spread(SCENARIOS, 20), ids=lambda one: one.__name__)


def _told(scenario: Scenario, root: Path, seed: int = 0) -> Story:
    root.mkdir()
    return tell(scenario, root, seed, write_only, git_in(root))


@ALL
@pytest.mark.parametrize("seed", SEEDS)
def test_every_surviving_line_has_a_known_owner(scenario: Scenario, seed: int, tmp_path: Path) -> None:
    story = _told(scenario, tmp_path / "repo", seed)
    outcome = story.outcome()
    texts = {path: split(outcome.root / path) for path in outcome.owners}
    found = {line for lines in texts.values() for line in lines}
    assert {line for line in found if not token_of(line)} <= {
        f"{indent}{text}" for indent in ("", "    ") for text in FILLERS
    }
    assert {token_of(line) for line in found} - {None} <= set(story.book)
    assert (story.alive - found, story.gone & found) == (set(), set())
    assert {owner for owners in outcome.owners.values() for owner in owners} - {HUMAN, None}, "no line of an agent left"
    assert {path: len(lines) for path, lines in texts.items()} == {
        path: len(one) for path, one in outcome.owners.items()
    }


def test_the_same_seed_tells_the_same_story(tmp_path: Path) -> None:
    first, second, other = (
        _told(SCENARIOS[0], tmp_path / name, seed).outcome().owners for name, seed in (("a", 3), ("b", 3), ("c", 4))
    )
    assert (first == second, first == other) == (True, False)


def test_answers_are_graded_against_the_truth(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    outcome = play(SCENARIOS[0], root, 0, write_only, git_in(root))
    n_lines = len(outcome.owners["app.py"])
    nothing = grade(outcome, {"app.py": [None] * n_lines})
    assert grade(outcome, outcome.owners) == {"right": n_lines}
    assert nothing == {"unknown": n_lines}
    assert grade(outcome, {"app.py": ["INT-999"] * n_lines}) == {"wrong": n_lines}


def test_there_are_many_kinds_of_history() -> None:
    assert len({scenario.__name__ for scenario in SCENARIOS}) >= 40
