"""The `cpl` command: dispatches what must start fast before anything heavy is imported."""

import sys


def main() -> int:
    """Run `cpl` with the process's arguments and return the exit code."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["mcp"] and not {"--help", "-h"} & set(arguments):
        # Started for every agent session; the command line's imports would triple its start.
        from codeplane.surfaces.bridge import main as run_bridge  # noqa: PLC0415

        return run_bridge(arguments[1:])
    if arguments[:1] == ["hook"] and len(arguments) > 2 and arguments[2] != "select":
        # Started for every tool call of an agent.
        from codeplane.surfaces.agent_hooks.client import main as run_hook  # noqa: PLC0415

        return run_hook(arguments[1:])
    # The command line: 60 ms that `cpl mcp` does not pay.
    from codeplane.surfaces.cli.main import main as run_command_line  # noqa: PLC0415

    return run_command_line(arguments)
