"""`cpl mcp`: help for the stdio bridge; the entry point starts the bridge itself before click is imported."""

import click

from codeplane.surfaces.bridge import main as run_bridge


@click.command("mcp", short_help="Speak MCP over stdio, for agents.")
@click.option("--profile", default="", help="Tools to offer: core (default), full, or operation names with commas.")
@click.option("--repo", "start", default=".", metavar="DIR", help="A directory in the working tree.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting once.")
def command(profile: str, start: str, overrides: tuple[str, ...]) -> int:
    """Speak MCP over stdio.

    Bridges to the running server of this working tree; without one, this process becomes the server until its client
    leaves. Agents start it; a person has no use for it.
    """
    options = [f"--repo={start}", *(f"--set={item}" for item in overrides)]
    return run_bridge([*options, f"--profile={profile}"] if profile else options)
