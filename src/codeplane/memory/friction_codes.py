"""What a repeated rejection teaches, by its code: the type of memory, and the memory's words.

Notes are made from the code's row in the registry, the operation and the folder; never from what a call printed.
"""

import json
from typing import Any, Final

from codeplane.core.error_registry import find_entry
from codeplane.core.printable import printable_name
from codeplane.core.redaction import redact
from codeplane.memory.anchors import ROOT_ANCHOR, folder_of

_PLANNERS_PREFIXES: Final = ("PLAN_", "PACK_", "EXEC_", "MEMORY_")
# A test run that failed is known by its fingerprint, which follows this.
TEST_FAILURE: Final = "TEST_FAILURE:"
_MAX_VALUE: Final = 80
_MAX_SHAPE: Final = 300
# Codes whose type is not `informational`.
_SPECIAL: Final = {
    **dict.fromkeys(
        (
            "CONTENT_AMBIGUOUS",
            "CONTENT_NOT_FOUND",
            "EDITS_OVERLAP",
            "EXPECTATION_MISSING",
            "PLAN_EVIDENCE_INSUFFICIENT",
            "PLAN_NOT_ATOMIC",
            "PLAN_VERIFICATION_WEAK",
            "PLAN_WEAK_MODEL_AMBIGUOUS",
        ),
        "few_shot",
    ),
    "PLAN_STRATEGY_MISMATCH": "strategy_signal",
    "PLAN_POLICY_VIOLATION": "plan_rule",
    "PLAN_SCOPE_VIOLATION": "plan_rule",
}
# Mistakes of the caller. Faults of the machine, the network or CodePlane teach nothing about the code, and neither
# do refusals that follow from earlier calls (CIRCUIT_OPEN, TASK_BUDGET_EXCEEDED).
_MISTAKES: Final = frozenset(
    {
        "APPROVAL_DENIED", "FILE_BINARY", "FILE_EXISTS", "FILE_IGNORED", "FILE_NOT_FOUND",
        "FILE_TOO_LARGE", "GIT_CONFLICTS", "GIT_DETACHED_HEAD", "GIT_HOOK_FAILED", "GIT_IDENTITY_MISSING",
        "GIT_NOTHING_TO_COMMIT", "GIT_NOT_MERGED", "GIT_NO_OPERATION", "GIT_OPERATION_IN_PROGRESS",
        "GIT_PATH_UNKNOWN", "GIT_PUSH_REJECTED", "GIT_REF_AMBIGUOUS", "GIT_REF_EXISTS", "GIT_REF_INVALID",
        "GIT_REF_UNKNOWN", "GIT_REMOTE_UNKNOWN", "GIT_UNRELATED", "GIT_WOULD_OVERWRITE", "HARD_LINKED",
        "INTENT_MISMATCH", "INTENT_NOT_ACTIVE", "INTENT_REQUIRED", "INVALID_MUTATION_CLASS", "NOT_A_DIRECTORY",
        "NOT_A_FILE", "PATH_INVALID", "PATH_OUTSIDE_REPOSITORY", "POLICY_DENIED", "PROTECTED_PATH",
        "REFACTOR_CONFLICT", "REFACTOR_DIVERGENCE", "REFACTOR_EXPIRED", "SCOPE_VIOLATION", "SECRET_FILE",
        "STALE_FILE", "TEST_RUNNER_NOT_FOUND", "UNDO_CONFLICT",
    }
)  # fmt: skip


def enforcement_of(code: str) -> str | None:
    """Return the type of memory that a repeated code makes; None when it teaches nothing."""
    is_lesson = code in _MISTAKES or code.startswith((*_PLANNERS_PREFIXES, TEST_FAILURE))
    return _SPECIAL.get(code) or ("informational" if is_lesson else None)


def note_for(code: str, operation: str, anchor: str, n_times: int) -> str:
    """Return the sentence that a memory of a repeated rejection says."""
    place = "in this repository" if anchor == ROOT_ANCHOR else f"in {printable_name(folder_of(anchor))}"
    if code.startswith(TEST_FAILURE):
        return (
            f"The same tests failed in {n_times} sessions {place}."
            f" Find out with {operation} whether they fail before your change."
        )
    entry = find_entry(code)
    why = f"{_sentence(entry.message)} {_sentence(entry.required_action)}" if entry is not None else f"Code {code}."
    return f"{operation} failed {n_times} times {place} ({code}). {why}"


def content_for(code: str, note: str, before: str, anchor: str) -> dict[str, dict[str, Any]]:
    """Return the draft that a person completes, by the name of its column; informational memories have only a note."""
    kind = enforcement_of(code)
    if kind == "few_shot":
        shot = {"instruction": note, "before": before, "after": "", "whyWrong": code, "scaffolded": True}
        return {"few_shot": shot}
    if kind == "plan_rule":
        pattern = "**" if anchor == ROOT_ANCHOR else f"{folder_of(anchor)}/**"
        condition = f"any(nodes.change where targetFile ~ {json.dumps(pattern, ensure_ascii=False)})"
        rule = {"condition": condition, "requiredSteps": [], "denyCode": code, "scaffolded": True}
        return {"plan_rule": rule}
    if kind == "strategy_signal":
        return {"strategy_signal": {"featureFlag": "", "value": False, "reason": note, "scaffolded": True}}
    return {}


def call_in_short(operation: str, arguments: object) -> str:
    """Return a call as an example shows it: short values as they are, long ones by their length."""
    text = json.dumps(_shape(arguments), ensure_ascii=False, sort_keys=True)
    # A secret that is cut in two would not be recognised later.
    return redact(f"{operation} {text}")[:_MAX_SHAPE]


def _shape(value: object) -> object:
    if isinstance(value, dict):
        return {str(name): _shape(one) for name, one in value.items() if one or (one == 0 and one is not False)}
    if isinstance(value, list | tuple):
        return [_shape(one) for one in value[:5]]
    if isinstance(value, str) and (len(value) > _MAX_VALUE or "\n" in value):
        return f"({len(value)} characters)"
    return value


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
