"""Stage 4c: the executor of a node has nothing left to decide."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from codeplane.controller.case import Case, node_fault
from codeplane.controller.codes import Code, Violation
from codeplane.controller.plan import Node
from codeplane.controller.world import KnownFile

_SUMMARY_CHARACTERS: Final = range(15, 501)
_CORRECTIONS: Final = frozenset({"retry", "revert", "escalate"})


def check_ambiguity(case: Case) -> Iterator[Violation]:
    """Yield vague summaries, anchors that are not unique, and failures without a plan for them."""
    for node in case.plan.nodes:
        correction = node.document["correctionCandidateOnFail"]
        other = correction.removeprefix("node:")
        if correction not in _CORRECTIONS and (other == correction or other not in case.plan.by_id):
            message = "It is none of retry, revert, escalate and node:{nodeId of this plan}."
            yield node_fault(Code.AMBIGUOUS, "correction_unknown", node, "correctionCandidateOnFail", message)
        if not node.document["expectedFailureSignatures"]:
            message = "A node names at least one failure that it may meet."
            yield node_fault(Code.AMBIGUOUS, "failures_missing", node, "expectedFailureSignatures", message)
    for node in case.changes:
        yield from _check_summary(node, case.world.hedges)
        yield from _check_anchors(node, None if case.is_done(node) else case.file_of(node))


def find_hedge(text: str, hedges: tuple[str, ...]) -> str | None:
    """Return the first word or phrase that leaves something open."""
    match = _expression(hedges).search(text) if hedges else None
    return match.group() if match else None


def _check_summary(node: Node, hedges: tuple[str, ...]) -> Iterator[Violation]:
    summary = node.document["editIntent"]["summary"]
    place = "editIntent/summary"
    if len(summary) not in _SUMMARY_CHARACTERS:
        message = "A summary has 15 to 500 characters."
        yield node_fault(Code.AMBIGUOUS, "summary_length", node, place, message)
    hedge = find_hedge(summary, hedges)
    if hedge is not None:
        message = f"`{hedge}` leaves a decision to the executor."
        yield node_fault(Code.AMBIGUOUS, "hedge", node, place, message)


def _check_anchors(node: Node, file: KnownFile | None) -> Iterator[Violation]:
    anchors = node.document["editIntent"]["anchors"]
    if not anchors:
        message = "An edit names at least one place: a text or a symbol."
        yield node_fault(Code.AMBIGUOUS, "anchor_missing", node, "editIntent/anchors", message)
    if file is None or node.is_creation:
        return
    for number, anchor in enumerate(anchors):
        n_found = _occurrences(anchor, file)
        if n_found != 1:
            message = f"The anchor occurs {n_found} times in {node.target_file}."
            yield node_fault(Code.AMBIGUOUS, "anchor_not_unique", node, f"editIntent/anchors/{number}", message)


def _occurrences(anchor: dict[str, Any], file: KnownFile) -> int:
    if anchor.get("text") is not None:
        return file.anchors.get(anchor["text"], 0)
    return file.symbols.get(anchor["symbol"], 0)


@lru_cache(maxsize=16)  # A memo of a pure function: the list of a team is the same for every plan.
def _expression(hedges: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(_whole_words, hedges)), re.IGNORECASE)


def _whole_words(phrase: str) -> str:
    text = r"\s+".join(re.escape(word) for word in phrase.split())
    before = r"(?<!\w)" if phrase[:1].isalnum() else ""
    after = r"(?!\w)" if phrase[-1:].isalnum() else ""
    return before + text + after
