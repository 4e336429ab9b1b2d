"""Calls of our own tools belong to the session whose hook announced them, and to no other."""

import pytest

from codeplane.surfaces.agent_hooks.bindings import Bindings

ARGUMENTS = {"intent_id": "INT-001"}
TOOL = "select_active_intent"


@pytest.fixture
def bindings() -> Bindings:
    bindings = Bindings(lambda: 0.0)
    bindings.announce("hook:claude:s1", "call-1", TOOL, ARGUMENTS, "100:1")
    return bindings


def test_a_call_of_another_agent_with_the_same_words_is_not_bound(bindings: Bindings) -> None:
    assert bindings.session_of("unix:2", TOOL, ARGUMENTS, {}, frozenset({"200:1", "1:1"})) is None
    assert bindings.session_of("unix:1", TOOL, ARGUMENTS, {}, frozenset({"100:1", "1:1"})) == "hook:claude:s1"


def test_a_call_is_bound_by_its_id_or_by_its_words_where_no_process_is_known(bindings: Bindings) -> None:
    assert bindings.session_of("http:1", TOOL, {}, {"id": "call-1"}) == "hook:claude:s1"
    bindings.announce("hook:gemini:s2", "", TOOL, ARGUMENTS, "")
    assert bindings.session_of("unix:3", TOOL, ARGUMENTS, {}, frozenset({"300:1"})) == "hook:gemini:s2"


def test_equal_calls_of_two_sessions_are_bound_to_neither(bindings: Bindings) -> None:
    bindings.announce("hook:claude:s2", "", TOOL, ARGUMENTS, "100:1")
    assert bindings.session_of("http:1", TOOL, ARGUMENTS, {}) is None


def test_a_call_is_announced_once(bindings: Bindings) -> None:
    assert bindings.session_of("unix:1", TOOL, ARGUMENTS, {}, frozenset({"100:1"})) == "hook:claude:s1"
    assert bindings.session_of("unix:2", TOOL, ARGUMENTS, {"id": "call-1"}, frozenset({"100:1"})) is None
