"""The context signature: eight features of a piece of work that decide its strategy."""

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

# The names of features in plans, memories and conditions.
FEATURES: Final = MappingProxyType(
    {
        "hasJira": "has_jira",
        "hasSwagger": "has_swagger",
        "mentionsAgGrid": "mentions_ag_grid",
        "touchesShadowDom": "touches_shadow_dom",
        "crossesFederationBoundary": "crosses_federation_boundary",
        "migrationAdpDetected": "migration_adp_detected",
        "contractAnchorPresent": "contract_anchor_present",
        "testConfidenceLevel": "confidence_in_tests",
    }
)


@dataclass(frozen=True, slots=True)
class Signature:
    """The features; `confidence_in_tests` goes from 0 to 3."""

    has_jira: bool = False
    has_swagger: bool = False
    mentions_ag_grid: bool = False
    touches_shadow_dom: bool = False
    crosses_federation_boundary: bool = False
    migration_adp_detected: bool = False
    contract_anchor_present: bool = False
    confidence_in_tests: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the features under the names that conditions use."""
        return {name: getattr(self, attribute) for name, attribute in FEATURES.items()}


@dataclass(frozen=True, slots=True)
class SignaturePatterns:
    """What the text and the files of a work are searched for; teams may set their own."""

    ticket: str = r"\b[A-Z][A-Z0-9]{1,9}-[0-9]+\b"
    ag_grid: str = r"(?i)ag[-_ ]?grid|columnDefs?|cellRenderer|GridOptions"
    migration_words: tuple[str, ...] = ("ADP", "SDF")
    shadow_dom: tuple[str, ...] = (
        "ViewEncapsulation.ShadowDom",
        "attachShadow(",
        "customElements.define(",
        ".shadowRoot",
    )


@dataclass(frozen=True, slots=True)
class TargetFile:
    """What is known of a file that a plan would change."""

    content: str = ""
    is_api_description: bool = False
    is_table_surface: bool = False
    is_federation_surface: bool = False
    is_source_of_client: bool = False
    federation_unit: str | None = None
    has_mapped_tests: bool = False


@dataclass(frozen=True, slots=True)
class SignatureFacts:
    """What the signature is computed from: the text of prompt and tickets, connectors, and target files."""

    text: str = ""
    has_fetched_ticket: bool = False
    has_ticket_connector: bool = False
    has_fetched_spec: bool = False
    has_resolved_operation: bool = False
    has_passed_mapped_tests: bool = False
    targets: tuple[TargetFile, ...] = ()
    patterns: SignaturePatterns = SignaturePatterns()


def signature_of(facts: SignatureFacts) -> Signature:
    """Return the features of a work; the same facts give the same signature."""
    patterns, targets = facts.patterns, facts.targets
    units = {target.federation_unit for target in targets if target.federation_unit is not None}
    return Signature(
        has_jira=facts.has_fetched_ticket
        or (facts.has_ticket_connector and re.search(patterns.ticket, facts.text) is not None),
        has_swagger=facts.has_fetched_spec or any(target.is_api_description for target in targets),
        mentions_ag_grid=re.search(patterns.ag_grid, facts.text) is not None
        or any(target.is_table_surface for target in targets),
        touches_shadow_dom=any(mark in target.content for target in targets for mark in patterns.shadow_dom),
        crosses_federation_boundary=len(units) >= 2 or any(target.is_federation_surface for target in targets),
        migration_adp_detected=bool(patterns.migration_words)
        and all(re.search(rf"\b{re.escape(word)}\b", facts.text) for word in patterns.migration_words),
        contract_anchor_present=facts.has_resolved_operation or any(target.is_source_of_client for target in targets),
        confidence_in_tests=_confidence_in_tests(facts),
    )


def has_feature_type(name: str, value: Any) -> bool:
    """Tell whether a memory may set this feature to this value."""
    if name not in FEATURES:
        return False
    if name == "testConfidenceLevel":
        return type(value) is int and 0 <= value <= 3
    return isinstance(value, bool)


def _confidence_in_tests(facts: SignatureFacts) -> int:
    n_mapped = sum(target.has_mapped_tests for target in facts.targets)
    if n_mapped == 0:
        return 0
    if n_mapped == len(facts.targets) and facts.has_passed_mapped_tests:
        return 3
    return 2 if 2 * n_mapped >= len(facts.targets) else 1
