"""Which fields a plan has, as tables, and the check of a document against them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from codeplane.controller.codes import Code, Violation
from codeplane.controller.conditions import NODE_KINDS

_CODEMOD: Final = re.compile(r"codemod:[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Shape(Enum):
    """The types of fields."""

    TEXT = "text that is not blank"
    TEXTS = "a list of texts that are not blank"
    OBJECT = "an object"
    OBJECTS = "a list of objects"
    COUNT = "an integer, 0 or more"
    FLAG = "true or false"
    VERSIONS = "an object of texts"
    VALUE = "any value except null and blank text"
    # An empty text counts as absent, which a later stage reports with its own code.
    GATE = "text"


@dataclass(frozen=True, slots=True)
class Field:
    """One row: name, type, the fields of an object, the words that are allowed."""

    name: str
    shape: Shape = Shape.TEXT
    fields: tuple["Field", ...] = ()
    choices: tuple[str, ...] = ()
    is_required: bool = True
    unknown: str = "value_unknown"


def _optional(name: str, shape: Shape = Shape.TEXT) -> Field:
    return Field(name, shape, is_required=False)


OPERATIONS: Final = (
    "create_file", "replace_text", "delete_file", "rename_identifier_in_file", "update_import_specifier",
    "update_route_path_literal", "rewrite_template_tag",
)  # fmt: skip
SIDE_EFFECTS: Final = ("git_stage", "git_commit", "git_branch", "write_export")
SOURCE_TYPES: Final = ("prompt", "jira", "swagger", "doc", "symptom", "policy", "memory")
HOOK_KINDS: Final = ("test", "typecheck", "build", "lint", "recipe", "assertion")

_HOOK: Final = (
    Field("hookId"),
    Field("kind", choices=HOOK_KINDS),
    _optional("command", Shape.TEXTS),
    _optional("recipeId"),
    _optional("covers", Shape.TEXTS),
)
_CITATION: Final = (
    Field("sourceType", choices=SOURCE_TYPES),
    Field("ref"),
    _optional("traceRef"),
    _optional("locator"),
    _optional("quote"),
)
_CODE_EVIDENCE: Final = (
    Field("file"),
    Field("startLine", Shape.COUNT),
    Field("endLine", Shape.COUNT),
    Field("contentHash"),
    Field("traceRef"),
    _optional("symbol"),
)
_REASON: Final = (Field("reason"), Field("evidenceRef"))
_EVIDENCE_POLICY: Final = (
    Field("minRequirementSources", Shape.COUNT),
    Field("minCodeEvidenceSources", Shape.COUNT),
    Field("minPolicySources", Shape.COUNT),
    Field("allowSingleSourceWithGuard", Shape.FLAG),
    Field("lowEvidenceGuardRules", Shape.TEXTS),
    Field("distinctSourceDefinition", choices=("by_origin", "by_symbol")),
)
_EDIT_INTENT: Final = (
    Field("summary"),
    Field("anchors", Shape.OBJECTS, (_optional("text"), _optional("symbol"))),
)

ENVELOPE: Final = (
    Field("schemaVersion", choices=("1.0.0",), unknown="schema_version"),
    Field("workId"),
    Field("agentId"),
    Field("runSessionId"),
    Field("repoSnapshotId"),
    Field("worktreeRoot"),
    Field("contextPackRef"),
    Field("contextPackHash"),
    Field("policyVersionSet", Shape.VERSIONS),
    Field("scopeAllowlistRef"),
    Field("knowledgeStrategyId"),
    Field("knowledgeStrategyReasons", Shape.OBJECTS, _REASON),
    Field("evidencePolicy", Shape.OBJECT, _EVIDENCE_POLICY),
    Field("planFingerprint"),
    Field("sourceTraceRefs", Shape.TEXTS),
    Field("nodes", Shape.OBJECTS),
)
_COMMON: Final = (
    Field("nodeId"),
    Field("kind", choices=NODE_KINDS, unknown="kind_unknown"),
    Field("dependsOn", Shape.TEXTS),
    Field("atomicityBoundary"),
    Field("expectedFailureSignatures", Shape.OBJECTS, (Field("signature"), _optional("meaning"))),
    Field("correctionCandidateOnFail"),
)
_REQUESTED: Final = (Field("evidenceType"), Field("question"), _optional("suggestedVerb"))
NODE_FIELDS: Final[Mapping[str, tuple[Field, ...]]] = MappingProxyType(
    {
        "change": (
            *_COMMON,
            Field("operation", choices=OPERATIONS, unknown="operation_unknown"),
            Field("targetFile"),
            Field("targetSymbols", Shape.TEXTS),
            Field("whyThisFile"),
            Field("editIntent", Shape.OBJECT, _EDIT_INTENT),
            Field("citations", Shape.OBJECTS, _CITATION),
            Field("codeEvidence", Shape.OBJECTS, _CODE_EVIDENCE),
            Field("verificationHooks", Shape.OBJECTS, _HOOK),
            _optional("lowEvidenceGuard", Shape.FLAG),
            _optional("uncertaintyNote"),
            _optional("requiresHumanReview", Shape.FLAG),
        ),
        "validate": (
            *_COMMON,
            Field("verificationHooks", Shape.OBJECTS, _HOOK),
            Field("mapsToNodeIds", Shape.TEXTS),
            Field("successCriteria", Shape.VALUE),
        ),
        "escalate": (
            *_COMMON,
            Field("requestedEvidence", Shape.OBJECTS, _REQUESTED),
            Field("blockingReasons", Shape.TEXTS),
        ),
        "side_effect": (
            *_COMMON,
            Field("sideEffectType", choices=SIDE_EFFECTS, unknown="side_effect_unknown"),
            Field("sideEffectPayloadRef"),
            _optional("commitGateId", Shape.GATE),
        ),
    }
)
_UNKNOWN_KIND: Final = (Field("nodeId"), Field("kind", choices=NODE_KINDS, unknown="kind_unknown"))


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(one, str) and one.strip() for one in values)


_FITS: Final[Mapping[Shape, Callable[[Any], bool]]] = MappingProxyType(
    {
        Shape.TEXT: lambda value: isinstance(value, str),
        Shape.GATE: lambda value: isinstance(value, str),
        Shape.TEXTS: lambda value: isinstance(value, list) and _are_texts(value),
        Shape.OBJECT: lambda value: isinstance(value, dict),
        Shape.OBJECTS: lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value),
        Shape.COUNT: lambda value: type(value) is int and value >= 0,
        Shape.FLAG: lambda value: isinstance(value, bool),
        Shape.VERSIONS: lambda value: isinstance(value, dict) and _are_texts(value.values()),
        Shape.VALUE: lambda _: True,
    }
)


def check_fields(document: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield what is missing, blank or of the wrong type in the envelope and in every node."""
    yield from _check(document, ENVELOPE, "", None)
    nodes = document.get("nodes")
    for place, node in enumerate(nodes if isinstance(nodes, list) else ()):
        if isinstance(node, dict):
            kind, node_id = node.get("kind"), node.get("nodeId")
            fields = NODE_FIELDS.get(kind, _UNKNOWN_KIND) if isinstance(kind, str) else _UNKNOWN_KIND
            yield from _check(node, fields, f"/nodes/{place}", node_id if isinstance(node_id, str) else None)


def _check(
    document: Mapping[str, Any], fields: tuple[Field, ...], pointer: str, node_id: str | None
) -> Iterator[Violation]:
    for field in fields:
        value = document.get(field.name)
        place = f"{pointer}/{field.name}"
        fault = _fault(field, value)
        if fault is not None:
            message = f"{place} must be {' or '.join(field.choices) or field.shape.value}."
            yield Violation(Code.MISSING_FIELDS, fault, message, place, node_id, expected=field.shape.value)
        elif value is not None and field.fields:
            objects = enumerate(value) if isinstance(value, list) else ((None, value),)
            for number, one in objects:
                yield from _check(one, field.fields, place if number is None else f"{place}/{number}", node_id)


def _fault(field: Field, value: Any) -> str | None:
    if value is None:
        return "field_missing" if field.is_required else None
    if field.shape is not Shape.GATE and isinstance(value, str) and not value.strip():
        return "field_blank"
    if not _FITS[field.shape](value):
        return "field_type"
    if field.choices and value not in field.choices:
        is_codemod = field.unknown == "operation_unknown" and _CODEMOD.fullmatch(value) is not None
        return None if is_codemod else field.unknown
    return None
