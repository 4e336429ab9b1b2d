"""The logs of a server: what the settings say, and always the file that `cpl status --verbose` shows."""

from dataclasses import replace

from codeplane.core.logs import LoggingHandle, LogOutput, configure_logging
from codeplane.workspace.workspace import Workspace


def start_server_logging(workspace: Workspace, *, to_terminal: bool) -> LoggingHandle:
    """Start logging for the life of a server; without a terminal the standard streams only get errors."""
    settings = workspace.settings.logging
    own_file = LogOutput(format="json", destination=str(workspace.places.server_log))
    if not to_terminal:
        quiet = tuple(
            replace(output, level="error") if output.destination in {"stderr", "stdout"} else output
            for output in settings.outputs
            # Standard output carries the protocol there.
            if output.destination != "stdout"
        )
        settings = replace(settings, outputs=quiet or (LogOutput(level="error"),))
    return configure_logging(settings, clock=workspace.clock, extra_outputs=(own_file,))
