"""`cpl completion`: the script that completes `cpl` in a shell."""

import sys

import click
from click.shell_completion import get_completion_class

from codeplane.surfaces.cli.main import OK, root
from codeplane.surfaces.cli.output import json_option, print_json


@click.command("completion", short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
def command(shell: str, as_json: bool) -> int:  # noqa: FBT001 - click passes flags by name.
    """Print the completion script for a shell.

    \b
      bash:  eval "$(cpl completion bash)"
      zsh:   eval "$(cpl completion zsh)"
      fish:  cpl completion fish | source
    """
    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"No completion for {shell}.")
    script = completion(root, {}, "cpl", "_CPL_COMPLETE").source()
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        sys.stdout.write(script + "\n")
    return OK
