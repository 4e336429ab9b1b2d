"""The labelled sets, written before the code they judge."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codeplane.core.redaction import redact
from codeplane.memory.contradictions import Statement, contradicts
from codeplane.memory.near_duplicates import is_duplicate, shape_of, similarity

LABELLED = Path(__file__).with_name("labelled")


def _rows(name: str) -> Iterator[dict[str, Any]]:
    for line in (LABELLED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _statement(one: dict[str, str]) -> Statement:
    return Statement(one["situation"], one["approach"], one["outcome"], one["type"] == "effective")


def test_contradictions_are_found_and_compatible_lessons_left_alone() -> None:
    found = [
        (row["label"] == "contradiction", contradicts(_statement(row["a"]), _statement(row["b"])))
        for row in _rows("contradictions")
    ]
    hits = sum(label and answer for label, answer in found)
    assert len(found) >= 200
    assert hits / sum(answer for _, answer in found) >= 0.95
    assert hits / sum(label for label, _ in found) >= 0.60


def test_a_contradiction_is_one_from_both_sides() -> None:
    for row in _rows("contradictions"):
        first, second = _statement(row["a"]), _statement(row["b"])
        assert contradicts(first, second) == contradicts(second, first), row["id"]


def test_duplicates_are_recognised_and_texts_with_other_facts_never_merged() -> None:
    found = [(row, is_duplicate(shape_of(row["a"]), shape_of(row["b"]))) for row in _rows("duplicates")]
    hits = sum(answer and row["label"] == "duplicate" for row, answer in found)
    wrong = [row["id"] for row, answer in found if answer and row["label"] == "different"]
    missed = sum(not answer and row["label"] == "duplicate" for row, answer in found)
    assert wrong == []
    assert 2 * hits / (2 * hits + missed) >= 0.90


def test_similarity_is_symmetric_and_bounded() -> None:
    for row in _rows("duplicates"):
        first, second = shape_of(row["a"]), shape_of(row["b"])
        assert similarity(first, second) == similarity(second, first)
        assert 0 <= similarity(first, second) <= 1


def test_planted_secrets_are_redacted() -> None:
    rows = list(_rows("secrets"))
    planted = [(row, secret) for row in rows for secret in row["secrets"]]
    left = [row["id"] for row, secret in planted if secret in redact(row["text"])]
    assert len(planted) >= 300
    assert len({row["kind"] for row in rows}) >= 25
    assert len(left) / len(planted) <= 0.01, left


def test_source_code_without_secrets_is_left_alone() -> None:
    rows = list(_rows("not_secrets"))
    changed = [row["id"] for row in rows if redact(row["text"]) != row["text"]]
    assert len(changed) / len(rows) <= 0.01, changed
