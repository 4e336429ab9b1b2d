"""`cpl completion`: the script that completes `cpl` in a shell."""

import sys

import click
from click.shell_completion import get_completion_class

from codeplane.surfaces.cli.main import OK, root


@click.command("completion", short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    r"""Print the completion script for a shell.

    \b
      bash:  eval "$(cpl completion bash)"
      zsh:   eval "$(cpl completion zsh)"
      fish:  cpl completion fish | source
    """
    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"No completion for {shell}.")
    sys.stdout.write(completion(root, {}, "cpl", "_CPL_COMPLETE").source() + "\n")
    return OK
