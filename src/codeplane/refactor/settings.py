"""The settings of refactorings."""

from dataclasses import dataclass

from codeplane.core.settings import setting


@dataclass(frozen=True, slots=True)
class DocSweepSettings:
    """Names in comments and documentation."""

    enabled: bool = setting(True, doc="Look for a renamed symbol in comments, docstrings and documentation files.")
    auto_apply: bool = setting(False, doc="Apply hits of `min_confidence` and above by default.")
    min_confidence: str = setting(
        "medium", doc="The least confidence of hits that are applied.", choices=("high", "medium", "low")
    )
    scan_extensions: str = setting(".md .rst .adoc .txt", doc="Endings of documentation files, separated by spaces.")


@dataclass(frozen=True, slots=True)
class RefactorSettings:
    """Renames, moves and deletions."""

    enabled: bool = setting(True, doc="Offer the refactor tools; `cpl up --no-refactor` switches them off.")
    plan_ttl_sec: int = setting(3600, doc="How long a planned refactoring can be applied.", minimum=1, maximum=604_800)
    doc_sweep: DocSweepSettings = setting(DocSweepSettings(), doc="Names in comments and documentation.")


@dataclass(frozen=True, slots=True)
class ContextDefaults:
    """How refactorings treat several contexts of one language."""

    max_parallel_contexts: int = setting(4, doc="Contexts that one refactoring looks at.", minimum=1, maximum=64)
    divergence_behavior: str = setting(
        "fail", doc="When contexts disagree on a symbol: fail, or ask.", choices=("fail", "ask")
    )
