"""Settings of memory: limits, caps and the life cycle of what friction taught."""

from dataclasses import dataclass

from codeplane.core.settings import nested, setting

_ENFORCEMENT = ("few_shot", "plan_rule", "strategy_signal", "informational")


@dataclass(frozen=True, slots=True)
class FrictionSettings:
    """When repeated failures become memories, and how such memories live."""

    rejection_threshold: int = setting(3, doc="Equal rejections before a memory is made.", minimum=1, maximum=1000)
    contest_window_hours: float = setting(
        48.0, doc="Hours that a pending memory waits before it is promoted.", minimum=0.0, maximum=8760.0
    )
    provisional_expiry_hours: float = setting(
        48.0, doc="Hours after which a provisional memory is approved or expires.", minimum=0.0, maximum=8760.0
    )
    human_override_initial_state: str = setting(
        "approved", doc="State of a memory that a person adds.", choices=("pending", "provisional", "approved")
    )
    enable_few_shot_injection: bool = setting(True, doc="Show few-shot memories beside search results.")
    enable_plan_rule_mutation: bool = setting(True, doc="Enforce plan rules from memories.")
    enable_strategy_override: bool = setting(True, doc="Let strategy signals override strategy features.")
    anchor_auto_seed_max_depth: int = setting(3, doc="Depth of the folders that become anchors.", minimum=0, maximum=10)
    anchor_exclude_patterns: tuple[str, ...] = setting(
        ("node_modules", ".git", ".codeplane", ".orchestration", "dist", "build", "target", "vendor", "__pycache__"),
        doc="Folder names that never become anchors.",
    )
    enable_friction_ledger: bool = setting(True, doc="Record rejections.")
    friction_ledger_max_entries: int = setting(5000, doc="Entries before the friction ledger is rotated.", minimum=10)
    enable_auto_scaffold_from_rejections: bool = setting(True, doc="Draft few-shots from rejections.")
    auto_scaffold_min_rejections: int = setting(3, doc="Rejections before a few-shot is drafted.", minimum=1)
    auto_promotable_enforcement_types: tuple[str, ...] = setting(
        ("informational", "strategy_signal"), doc="Kinds of memory that are approved without a person.",
        choices=_ENFORCEMENT,
    )  # fmt: skip
    human_approval_required: tuple[str, ...] = setting(
        ("plan_rule",), doc="Kinds of memory that only a person may enforce.", choices=_ENFORCEMENT
    )


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """Experiences, cells and the context pack."""

    memory_enabled: bool = setting(True, doc="Offer memory at all.")
    consolidation_threshold: int = setting(
        5, doc="New episodes before the cycle consolidates on its own.", minimum=1, maximum=100_000
    )
    max_cells_total: int = setting(1000, doc="Live cells; the least salient beyond it are archived.", minimum=1)
    max_cells_per_scene: int = setting(50, doc="Live cells of one scene, as above.", minimum=1)
    max_experiences_total: int = setting(5000, doc="Live experiences, as above.", minimum=1)
    byte_budget_default: int = setting(
        2000, doc="Bytes of a context pack when the caller names none.", minimum=200, maximum=1_000_000
    )
    friction: FrictionSettings = nested(FrictionSettings, doc="What repeated failures teach.")
