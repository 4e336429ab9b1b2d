"""The settings of one workspace: composed from the packages that use them, read once, in a fixed order."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codeplane.core.logs import LoggingSettings
from codeplane.core.setting_sources import EnvironmentSource, FileSource, OverrideSource
from codeplane.core.settings import Loaded, load_settings, setting
from codeplane.core.tracing import TelemetrySettings
from codeplane.ledger.sessions import SessionSettings
from codeplane.ledger.tasks import RetentionSettings, TaskSettings
from codeplane.workspace.places import Places


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The HTTP server."""

    port: int = setting(0, doc="Port on 127.0.0.1; 0 takes a free one.", minimum=0, maximum=65535)
    shutdown_grace_seconds: float = setting(
        5.0, doc="How long calls in flight may go on after Ctrl+C or SIGTERM.", minimum=0.0, maximum=300.0
    )
    worker_threads: int = setting(16, doc="How many operations run at once.", minimum=1, maximum=256)


@dataclass(frozen=True, slots=True)
class McpSettings:
    """The MCP surface."""

    profile: str = setting(
        "core", doc="Tools offered by default: core, classic, full, or operation names separated by commas."
    )
    max_argument_bytes: int = setting(
        4_000_000, doc="Largest set of arguments one call may send.", minimum=1_000, maximum=100_000_000
    )


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """How much of a file one answer carries."""

    page_bytes: int = setting(
        6_500, doc="Source per answer when no line range was asked for.", minimum=500, maximum=1_000_000
    )
    range_bytes: int = setting(
        40_000, doc="Source per answer when line ranges were asked for.", minimum=500, maximum=1_000_000
    )
    full_inline_bytes: int = setting(
        64_000, doc="Largest file that `read_file_full` puts into the answer.", minimum=500, maximum=10_000_000
    )
    full_resource_bytes: int = setting(
        20_000_000, doc="Largest file that `read_file_full` delivers as a resource.", minimum=500, maximum=200_000_000
    )


@dataclass(frozen=True, slots=True)
class EditSettings:
    """Changing files."""

    allowed: str = setting(
        "**", doc="Globs of the files that tools may change, separated by commas; others are refused."
    )
    undo_bytes: int = setting(
        512_000_000,
        doc="Room for what undo needs; beyond it the oldest changes can no longer be undone.",
        minimum=1_000_000,
        maximum=100_000_000_000,
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be configured."""

    server: ServerSettings = setting(ServerSettings(), doc="The HTTP server.")
    mcp: McpSettings = setting(McpSettings(), doc="The MCP surface.")
    logging: LoggingSettings = setting(LoggingSettings(), doc="Logs.")
    sessions: SessionSettings = setting(SessionSettings(), doc="Sessions.")
    reads: ReadSettings = setting(ReadSettings(), doc="Reading files.")
    edits: EditSettings = setting(EditSettings(), doc="Changing files.")
    tasks: TaskSettings = setting(TaskSettings(), doc="How much one task may do.")
    retention: RetentionSettings = setting(RetentionSettings(), doc="How long the ledger keeps its rows.")
    telemetry: TelemetrySettings = setting(TelemetrySettings(), doc="Traces for OpenTelemetry.")


def load_workspace_settings(
    places: Places, overrides: Sequence[str] = (), environ: Mapping[str, str] | None = None
) -> Loaded[Settings]:
    """Read the settings: defaults, then the user's file, then the tree's file, then environment and `--set`.

    Raises:
        CodePlaneError: CONFIG_INVALID with every problem found.
    """
    return load_settings(
        Settings,
        (
            FileSource(places.user.config_file, str(places.user.config_file)),
            FileSource(places.config_file, ".codeplane/config.yaml"),
            EnvironmentSource(os.environ if environ is None else environ),
            OverrideSource(tuple(overrides)),
        ),
    )
