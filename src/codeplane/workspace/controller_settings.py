"""The settings of the controller; they are here because a workspace composes all settings and knows no controller."""

from dataclasses import dataclass

from codeplane.core.settings import setting


@dataclass(frozen=True, slots=True)
class EvidenceSettings:
    """How many distinct sources a change needs; plans can ask for more, never for less."""

    min_requirement_sources: int = setting(1, doc="Requirements per change.", minimum=0, maximum=20)
    min_code_sources: int = setting(1, doc="Pieces of code per change.", minimum=0, maximum=20)
    min_policy_sources: int = setting(0, doc="Policies and memories per plan.", minimum=0, maximum=20)
    min_total_sources: int = setting(2, doc="Distinct sources per change.", minimum=0, maximum=40)
    allow_single_source: bool = setting(True, doc="Accept one source if a person reviews the node before it runs.")


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """Plans, evidence and runs of profile `controller`."""

    max_tokens: int = setting(100_000, doc="Tokens of requests per run session.", minimum=1_000, maximum=100_000_000)
    threshold_percent: int = setting(
        60, doc="Percentage of max_tokens after which a run is blocked.", minimum=1, maximum=100
    )
    confidence_threshold: int = setting(50, doc="Smallest confidence of an accepted plan.", minimum=0, maximum=100)
    pack_tokens: int = setting(8_000, doc="Largest context pack.", minimum=500, maximum=200_000)
    include: tuple[str, ...] = setting(("**",), doc="Globs of files that plans may name.")
    exclude: tuple[str, ...] = setting((), doc="Globs of files that plans may not name.")
    turn_endpoint: bool = setting(False, doc="Serve turns at `POST /turn`.")
    evidence: EvidenceSettings = setting(EvidenceSettings(), doc="Evidence of plans.")
