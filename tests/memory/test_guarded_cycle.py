"""The invariant of the cycle: whatever comes in whatever order, a phase is only done when it is its turn."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.errors import CodePlaneError
from codeplane.memory.cycle_steps import PHASES, open_session, standing_of
from codeplane.memory.guarded_cycle import run_phase
from codeplane.memory.hook_events import HookMemory
from support.effort import examples

TEXTS = {"user_input": "Why?", "draft": "Because."}


@examples(40)
@given(st.lists(st.tuples(st.sampled_from(PHASES), st.booleans()), max_size=25), st.booleans())
def test_a_phase_is_done_only_in_its_turn(
    hooks: Callable[[str], HookMemory], asked: list[tuple[str, bool]], is_helped: bool
) -> None:
    memory = hooks("s-1")
    done: list[str] = []
    with memory.store.write(memory.origin) as writing:
        session = open_session(writing, "project")
        for phase, has_input in asked:
            standing = standing_of(writing.connection, session)
            wanted = standing.expected if is_helped else phase
            given_texts = {"user_input": TEXTS["user_input"]} if wanted == "ROUTER" else TEXTS
            if standing.is_complete and wanted != "SNAPSHOT":
                with pytest.raises(CodePlaneError, match="is complete"):
                    run_phase(writing, session, wanted, given_texts, memory.parts)
                continue
            stepped = run_phase(writing, session, wanted, given_texts if has_input else {}, memory.parts)
            if stepped.violation:
                assert wanted != stepped.violation == standing.expected
            elif stepped.status == "ok":
                done.append(wanted)
    steps = [phase for i, phase in enumerate(done) if done[i : i + 2] != ["SNAPSHOT", "SNAPSHOT"]]
    assert steps == [PHASES[i % len(PHASES)] for i in range(len(steps))]
