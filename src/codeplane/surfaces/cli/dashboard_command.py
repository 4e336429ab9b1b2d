"""`cpl dashboard`: open the pages of the running server with a link that works once."""

import sys
import webbrowser
from pathlib import Path

import click

from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.cli.main import OK
from codeplane.surfaces.cli.output import json_option, print_json, repo_option
from codeplane.surfaces.cli.person import require_person
from codeplane.surfaces.server.client import post_json
from codeplane.surfaces.server.facts import running_server
from codeplane.surfaces.server.operator_token import operator_token
from codeplane.workspace.workspace import locate_places


@click.command("dashboard", short_help="Open the dashboard of the running server in a browser.")
@click.option("--print", "only_print", is_flag=True, help="Only print the address.")
@json_option
@repo_option
def command(only_print: bool, as_json: bool, start: str) -> int:  # noqa: FBT001 - click passes flags by name.
    """Open the dashboard: what every agent does, what waits for an answer, what changed and why.

    Only a person can do this: at a terminal a code is asked for, elsewhere the operator token is needed. The address
    works once, within two minutes.
    """
    places = locate_places(Path(start))
    facts = running_server(places)
    if facts is None or not facts.port:
        raise CodePlaneError("SERVER_UNREACHABLE", "No server runs here.", hint="Run `cpl up --detach` first.")
    require_person(places, "open the dashboard")
    answer = post_json(facts, "/dashboard/login-links", operator_token(places.user.operator_token))
    if "url" not in answer:
        message = str(answer.get("message", "The server gave no link."))
        raise CodePlaneError("OPERATOR_TOKEN_REQUIRED", message)
    if as_json:
        print_json(answer)
    elif only_print:
        sys.stdout.write(f"{answer['url']}\n")
    elif webbrowser.open(answer["url"]):
        sys.stdout.write("The dashboard opens in your browser. `cpl dashboard --print` prints an address instead.\n")
    else:
        sys.stdout.write(f"There is no browser here. Open this address within two minutes:\n{answer['url']}\n")
    return OK
