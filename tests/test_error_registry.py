"""One table of errors: unique, complete against the specifications, and enough for everything the code raises."""

import ast
from pathlib import Path

import pytest

import codeplane
from codeplane.core.error_registry import ERROR_TABLE, ErrorEntry, entry_for, find_entry

SOURCE = Path(codeplane.__file__).parent

# Every error code that the specifications and contracts name.
SPECIFIED = frozenset(
    {
        "APPROVAL_PENDING",
        "CHAIN_BROKEN",
        "CIRCUIT_OPEN",
        "COMPLIANCE_FAILED",
        "CONFIG_INVALID",
        "CONFIG_MISSING",
        "CONTEXT_HASH_MISMATCH",
        "CYCLE_COMPLETE",
        "DATABASE_UNAVAILABLE",
        "EXEC_SIDE_EFFECT_COLLISION",
        "EXEC_UNGATED_SIDE_EFFECT",
        "EXPERIENCE_NOT_FOUND",
        "FILE_NOT_FOUND",
        "FILE_READ_FAILED",
        "FILE_WRITE_FAILED",
        "INDEX_CORRUPT",
        "INTENTS_UNREADABLE",
        "INTENT_MISMATCH",
        "INVALID_DOMAIN",
        "INVALID_FORMAT",
        "INVALID_MUTATION_CLASS",
        "INVALID_PHASE",
        "INVALID_TRUST",
        "INVALID_TYPE",
        "LEGACY_TOOL_DEPRECATED",
        "MEMORY_PROVISIONAL_EXPIRED",
        "MIGRATION_FAILED",
        "MISSING_REQUIRED",
        "NO_SIGNING_KEY",
        "OUT_OF_RANGE",
        "PACK_INSUFFICIENT",
        "PACK_REQUIRED_ANCHOR_UNRESOLVED",
        "PAYLOAD_TOO_LARGE",
        "PERMISSION_DENIED",
        "PHASE_VIOLATION",
        "PLAN_EVIDENCE_INSUFFICIENT",
        "PLAN_FEDERATION_PROOF_MISSING",
        "PLAN_MISSING_CONTRACT_ANCHOR",
        "PLAN_MISSING_REQUIRED_FIELDS",
        "PLAN_NOT_ATOMIC",
        "PLAN_ORIGIN_UNKNOWN",
        "PLAN_POLICY_VIOLATION",
        "PLAN_SCOPE_VIOLATION",
        "PLAN_STRATEGY_MISMATCH",
        "PLAN_VALIDATION_CONFIDENCE_TOO_LOW",
        "PLAN_VERIFICATION_WEAK",
        "PLAN_WEAK_MODEL_AMBIGUOUS",
        "PRESET_NOT_FOUND",
        "QUERY_FAILED",
        "REFACTOR_DIVERGENCE",
        "SCOPE_VIOLATION",
        "SESSION_NOT_FOUND",
        "STALE_FILE",
        "STORE_BUSY",
        "TASK_BUDGET_EXCEEDED",
        "TEST_RUNNER_NOT_FOUND",
        "TOKEN_EXPIRED",
        "TOKEN_INVALID",
        "VALIDATION_ERROR",
        "WORKFLOW_VIOLATION",
    }
)
# Numbers that are kept for specified codes which nothing raises yet.
RESERVED = {"CONFIG_MISSING": 1011}
# Numbers that the specifications fix, and the one that the design moved.
SPECIFIED_NUMBERS = {"INDEX_CORRUPT": 4001, "REFACTOR_DIVERGENCE": 4002, "TEST_RUNNER_NOT_FOUND": 7001}


def test_names_and_numbers_are_unique() -> None:
    assert len({entry.name for entry in ERROR_TABLE}) == len(ERROR_TABLE)
    assert len({entry.number for entry in ERROR_TABLE}) == len(ERROR_TABLE)


def test_every_code_of_the_specifications_is_listed_or_has_its_number_reserved() -> None:
    assert SPECIFIED - {entry.name for entry in ERROR_TABLE} - set(RESERVED) == set()
    assert {entry.number for entry in ERROR_TABLE}.isdisjoint(RESERVED.values())


def test_every_listed_code_is_used() -> None:
    texts = [path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py") if path.name != "error_registry.py"]
    assert [entry.name for entry in ERROR_TABLE if not any(f'"{entry.name}"' in text for text in texts)] == []


@pytest.mark.parametrize(("name", "number"), SPECIFIED_NUMBERS.items())
def test_numbers_that_the_specifications_fix_are_kept(name: str, number: int) -> None:
    assert (entry_for(name).number if find_entry(name) else RESERVED[name]) == number


@pytest.mark.parametrize("entry", ERROR_TABLE, ids=lambda entry: entry.name)
def test_every_row_says_what_happened_and_what_to_do(entry: ErrorEntry) -> None:
    assert entry.name == entry.name.upper()
    assert 1000 < entry.number < 20_000
    assert entry.message.endswith(".")
    assert entry.required_action
    assert entry.family
    assert find_entry(entry.name.lower()) == find_entry(f" {entry.number} ") == entry


def _codes_in_source() -> dict[str, str]:
    """Return every code given as a literal to an error, with the file that gives it."""
    found: dict[str, str] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and _called(node.func) in {"CodePlaneError", "ErrorReport"}:
                for code in _literals(node.args[0]):
                    found[code] = path.name
    return found


def _called(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _literals(argument: ast.expr) -> list[str]:
    if isinstance(argument, ast.IfExp):
        return _literals(argument.body) + _literals(argument.orelse)
    return [argument.value] if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else []


def test_every_code_that_the_source_uses_is_in_the_table() -> None:
    used = _codes_in_source()
    assert len(used) > 30
    assert {code: name for code, name in used.items() if find_entry(code) is None} == {}
