"""Why a strategy was chosen: every true feature with its evidence, memories and switches."""

from codeplane.controller.case import Case
from codeplane.controller.knowledge import Knowledge
from codeplane.controller.runs import SessionRecord
from codeplane.controller.signature import FEATURES, Signature, has_feature_type


def reasons_of(
    knowledge: Knowledge, record: SessionRecord, signature: Signature, case: Case | None = None
) -> list[str]:
    """Return one line per reason, in the order of the features."""
    evidence = {
        "hasJira": [f"jira:{one['key']}" for one in knowledge.tickets] or ["prompt:original"],
        "hasSwagger": [f"swagger:{one}" for one in sorted(knowledge.specs)] or ["a target file"],
        "mentionsAgGrid": ["prompt:original"],
        "migrationAdpDetected": ["prompt:original"],
    }
    values = signature.as_json()
    found = [
        f"{name}={values[name]} ({', '.join(evidence.get(name, ['target files']))})"
        for name in FEATURES
        if values[name]
    ]
    for memory in case.world.memories.values() if case is not None else ():
        signal = memory.signal
        if signal is None or case is None or not memory.is_enforced or not case.is_below(signal.anchors):
            continue
        if has_feature_type(signal.feature, signal.value):
            found.append(f"memory:{memory.memory_id} sets {signal.feature}={signal.value}")
    if record.switched_strategy is not None:
        found.append(f"switched to {record.switched_strategy}")
    return found or ["no feature is set"]
