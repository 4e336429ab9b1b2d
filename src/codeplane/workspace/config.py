"""The settings of one workspace: composed from the packages that use them, read once, in a fixed order."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from codeplane.core.logs import LoggingSettings, LogOutput
from codeplane.core.setting_sources import EnvironmentSource, FileSource, OverrideSource
from codeplane.core.settings import Loaded, load_settings, nested, setting
from codeplane.core.tracing import OtelSettings
from codeplane.ledger.sessions import SessionSettings
from codeplane.ledger.tasks import RetentionSettings, TaskSettings
from codeplane.lint.settings import LintSettings
from codeplane.memory.settings import MemorySettings
from codeplane.refactor.settings import ContextDefaults, RefactorSettings
from codeplane.store.graph.settings import GraphSettings
from codeplane.testrun.settings import SuiteSettings
from codeplane.workspace.context_settings import ContextSetting, declared_contexts, read_contexts_file
from codeplane.workspace.controller_settings import ControllerSettings
from codeplane.workspace.gateway_settings import GatewaySettings
from codeplane.workspace.places import Places


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The HTTP server."""

    port: int = setting(0, doc="Port on 127.0.0.1; 0 takes a free one.", minimum=0, maximum=65535)
    shutdown_grace_seconds: float = setting(
        5.0, doc="How long running calls may continue after Ctrl+C or SIGTERM.", minimum=0.0, maximum=300.0
    )
    worker_threads: int = setting(16, doc="How many operations run at once.", minimum=1, maximum=256)


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """The metrics of the server."""

    open: bool = setting(False, doc="Show `/metrics` to every user of this machine, without a secret.")


@dataclass(frozen=True, slots=True)
class McpSettings:
    """The MCP surface."""

    profile: str = setting(
        "core", doc="Tools offered by default: core, classic, full, or operation names separated by commas."
    )
    max_argument_bytes: int = setting(
        4_000_000, doc="Largest arguments of one call.", minimum=1_000, maximum=100_000_000
    )


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """How much of a file one answer carries."""

    page_bytes: int = setting(
        8_000, doc="Source of one file when no line range is given.", minimum=500, maximum=1_000_000
    )
    range_bytes: int = setting(40_000, doc="Total source per answer.", minimum=500, maximum=1_000_000)
    full_inline_bytes: int = setting(
        64_000, doc="Largest file that `read_file_full` puts into the answer.", minimum=500, maximum=10_000_000
    )
    full_resource_bytes: int = setting(
        20_000_000, doc="Largest file that `read_file_full` offers as a resource.", minimum=500, maximum=200_000_000
    )


@dataclass(frozen=True, slots=True)
class EditSettings:
    """Changing files."""

    allowed: str = setting(
        "**", doc="Globs of the files that tools may change, separated by commas; others are refused."
    )
    undo_bytes: int = setting(
        512_000_000,
        doc="Disk space for undo; beyond it the oldest changes can no longer be undone.",
        minimum=1_000_000,
        maximum=100_000_000_000,
    )


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """What is indexed."""

    overlay: str = setting(
        "auto",
        doc="Index files that git does not track; `auto` does so unless the variable `CI` is set.",
        choices=("auto", "true", "false"),
    )


def has_overlay(setting_value: str, environ: Mapping[str, str]) -> bool:
    """Tell whether files that git does not track are indexed."""
    if setting_value != "auto":
        return setting_value == "true"
    return environ.get("CI", "").strip().lower() in {"", "0", "false"}


@dataclass(frozen=True, slots=True)
class HookSettings:
    """Hooks of agents."""

    wait_seconds: float = setting(
        570.0,
        doc="How long a hook waits for a person's approval, at most as long as its agent does.",
        minimum=0.0,
        maximum=3600.0,
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be configured."""

    server: ServerSettings = setting(ServerSettings(), doc="The HTTP server.")
    metrics: MetricsSettings = setting(MetricsSettings(), doc="The metrics of the server.")
    mcp: McpSettings = setting(McpSettings(), doc="The MCP surface.")
    logging: LoggingSettings = setting(LoggingSettings(), doc="Logs.")
    sessions: SessionSettings = setting(SessionSettings(), doc="Sessions.")
    index: IndexSettings = setting(IndexSettings(), doc="What is indexed.")
    contexts: tuple[ContextSetting, ...] = setting(
        (), doc="Contexts that always exist, whatever is discovered; `.codeplane/contexts.yaml` may hold them instead."
    )
    reads: ReadSettings = setting(ReadSettings(), doc="Reading files.")
    edits: EditSettings = setting(EditSettings(), doc="Changing files.")
    hooks: HookSettings = setting(HookSettings(), doc="Hooks of agents.")
    refactor: RefactorSettings = setting(RefactorSettings(), doc="Renames, moves and deletions.")
    lint: LintSettings = setting(LintSettings(), doc="Linters, type checkers and formatters.")
    defaults: ContextDefaults = setting(ContextDefaults(), doc="Several contexts of one language.")
    tests: SuiteSettings = setting(SuiteSettings(), doc="Running tests.")
    memory: MemorySettings = setting(MemorySettings(), doc="What was learned.")
    controller: ControllerSettings = setting(ControllerSettings(), doc="Plans and runs of the controller.")
    gateway: GatewaySettings = nested(GatewaySettings, doc="MCP servers of others behind CodePlane.")
    graph: GraphSettings = nested(GraphSettings, doc="Where the graph is kept.")
    tasks: TaskSettings = setting(TaskSettings(), doc="How much one task may do.")
    retention: RetentionSettings = setting(RetentionSettings(), doc="How long the ledger keeps its rows.")
    otel: OtelSettings = setting(OtelSettings(), doc="Traces and metrics for OpenTelemetry.")


# What allows more, hides more or writes elsewhere: `--set` and the environment need a person for it. A settings file is
# a person's already. `more` and `less` name the direction, `no limit` is 0, `other` is any change.
LOOSENING: Final[Mapping[str, str]] = {
    "controller.connectors.attempts": "more",
    "controller.connectors.jira.base_url": "other",
    "controller.connectors.jira.token_file": "other",
    "controller.connectors.max_bytes": "more",
    "controller.connectors.requests_per_minute": "more",
    "controller.connectors.specs": "other",
    "controller.confidence_threshold": "less",
    "controller.evidence.allow_single_source": "more",
    "controller.evidence.min_code_sources": "less",
    "controller.evidence.min_policy_sources": "less",
    "controller.evidence.min_requirement_sources": "less",
    "controller.evidence.min_total_sources": "less",
    "controller.exclude": "other",
    "controller.include": "other",
    "controller.max_tokens": "more",
    "controller.threshold_percent": "more",
    "controller.turn_endpoint": "more",
    "edits.allowed": "other",
    "edits.undo_bytes": "less",
    "gateway.servers": "other",
    "graph.neo4j.allowed_hosts": "other",
    "graph.neo4j.database": "other",
    "graph.neo4j.url": "other",
    "graph.neo4j.user": "other",
    "lint.custom": "other",
    "logging.outputs": "a file",
    "memory.friction.auto_promotable_enforcement_types": "other",
    "memory.friction.contest_window_hours": "less",
    "memory.friction.enable_friction_ledger": "other",
    "memory.friction.enable_plan_rule_mutation": "other",
    "memory.friction.human_approval_required": "other",
    "memory.friction.human_override_initial_state": "other",
    "memory.friction.provisional_expiry_hours": "less",
    "memory.memory_enabled": "other",
    "metrics.open": "more",
    "otel.endpoint": "other",
    "otel.paths": "more",
    "retention.days": "less",
    "retention.tasks": "less",
    "sessions.idle_timeout_minutes": "more",
    "sessions.read_budget_bytes": "more or no limit",
    "tasks.max_duration_sec": "more",
    "tasks.max_mutations": "more",
    "tasks.max_test_runs": "more",
    "tests.custom": "other",
}
HARMLESS: Final = frozenset(
    {
        "contexts", "controller.pack_tokens", "graph.neo4j.timeout_sec",
        "controller.connectors.cache_sec", "controller.connectors.connect_timeout_sec",
        "controller.connectors.jira.criteria_fields", "controller.connectors.jira.flavour",
        "controller.connectors.timeout_sec",
        "defaults.divergence_behavior", "defaults.max_parallel_contexts", "gateway.call_timeout_sec",
        "gateway.in_core", "gateway.max_answer_bytes", "gateway.start_timeout_sec",
        "hooks.wait_seconds", "index.overlay",
        "lint.exclude", "lint.timeout_sec",
        "memory.byte_budget_default", "memory.consolidation_threshold", "memory.max_cells_per_scene",
        "memory.max_cells_total", "memory.max_experiences_total", "memory.friction.rejection_threshold",
        "memory.friction.enable_few_shot_injection", "memory.friction.enable_strategy_override",
        "memory.friction.anchor_auto_seed_max_depth", "memory.friction.anchor_exclude_patterns",
        "memory.friction.friction_ledger_max_entries", "memory.friction.enable_auto_scaffold_from_rejections",
        "memory.friction.auto_scaffold_min_rejections",
        "refactor.doc_sweep.auto_apply", "refactor.doc_sweep.enabled", "refactor.doc_sweep.min_confidence",
        "refactor.doc_sweep.scan_extensions", "refactor.enabled", "refactor.plan_ttl_sec",
        "logging.level", "logging.rotation.backups", "logging.rotation.max_bytes", "mcp.max_argument_bytes",
        "mcp.profile", "otel.metrics_seconds",
        "reads.full_inline_bytes", "reads.full_resource_bytes", "reads.page_bytes", "reads.range_bytes",
        "tests.exclude", "tests.run_sec", "tests.runners.csharp", "tests.runners.elixir", "tests.runners.go",
        "tests.runners.java", "tests.runners.javascript", "tests.runners.kotlin", "tests.runners.php",
        "tests.runners.python", "tests.runners.ruby", "tests.runners.rust", "tests.runners.typescript",
        "tests.timeout_sec", "retention.batch", "server.port", "server.shutdown_grace_seconds", "server.worker_threads",
    }
)  # fmt: skip
_LOOSER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "more": lambda before, after: after > before,
    "less": lambda before, after: after < before,
    "more or no limit": lambda before, after: before != 0 and (after == 0 or after > before),
    "other": lambda before, after: after != before,
    "a file": lambda before, after: bool(_log_files(after) - _log_files(before)),
}


def _log_files(outputs: Sequence[LogOutput]) -> set[str]:
    return {one.destination for one in outputs} - {"stderr", "stdout"}


def loosened_settings(
    places: Places, overrides: Sequence[str], environ: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Return the settings that the environment and `--set` make looser than the files do.

    Raises:
        CodePlaneError: CONFIG_INVALID.
    """
    variables = os.environ if environ is None else environ
    if not overrides and not any(name.startswith("CODEPLANE__") for name in variables):
        return ()
    before = load_workspace_settings(places, (), {}).origins
    after = load_workspace_settings(places, overrides, variables).origins
    return tuple(key for key, how in LOOSENING.items() if _LOOSER[how](before[key].value, after[key].value))


def load_workspace_settings(
    places: Places, overrides: Sequence[str] = (), environ: Mapping[str, str] | None = None
) -> Loaded[Settings]:
    """Read the settings: defaults, then the user's file, then the tree's file, then environment and `--set`.

    Raises:
        CodePlaneError: CONFIG_INVALID with every problem found.
    """
    loaded = load_settings(
        Settings,
        (
            FileSource(places.user.config_file, str(places.user.config_file)),
            FileSource(places.config_file, ".codeplane/config.yaml"),
            EnvironmentSource(os.environ if environ is None else environ),
            OverrideSource(tuple(overrides)),
        ),
    )
    contexts = (*loaded.values.contexts, *read_contexts_file(places))
    # Reported here with all other configuration errors.
    declared_contexts(contexts)
    return Loaded(replace(loaded.values, contexts=contexts), loaded.origins)
