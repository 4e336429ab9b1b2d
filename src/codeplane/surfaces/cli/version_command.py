"""`cpl version`: which CodePlane this is."""

import platform
import sys

import click

from codeplane.core.version import VERSION
from codeplane.surfaces.cli.main import OK
from codeplane.surfaces.cli.output import json_option, print_json


@click.command("version", short_help="Print the version.")
@json_option
def command(as_json: bool) -> int:  # noqa: FBT001 - click passes flags by name.
    """Print the version of CodePlane, and with --json that of Python and of the system."""
    if as_json:
        print_json({"version": VERSION, "python": platform.python_version(), "platform": sys.platform})
    else:
        sys.stdout.write(f"cpl {VERSION}\n")
    return OK
