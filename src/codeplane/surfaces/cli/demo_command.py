"""`cpl demo`: a sample repository, a server, a real MCP client on both transports, and the story of what happened."""

import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, TextContent

from codeplane.core.errors import CodePlaneError
from codeplane.core.processes import ProcessRequest, run_process
from codeplane.surfaces.cli.main import FINDINGS, OK
from codeplane.surfaces.cli.output import json_option, print_json
from codeplane.surfaces.server.embedded import start_embedded
from codeplane.surfaces.server.facts import read_facts
from codeplane.workspace.workspace import WorkspaceRequest, ensure_ignore_file, locate_places, open_workspace

_FILES = {
    "README.md": "# Orders\n\nA small order service.\n",
    "src/orders/totals.py": (
        '"""Totals of an order."""\n\n\ndef total(lines: list[tuple[int, int]]) -> int:\n'
        '    """Return the sum of quantity times price."""\n'
        "    return sum(quantity * price for quantity, price in lines)\n"
    ),
    "tests/test_totals.py": "from orders.totals import total\n\n\ndef test_total():\n    assert total([(2, 5)]) == 10",
    ".env": "PAYMENT_KEY=not-a-real-key\n",
    "build/report.log": "noise\n",
}

Say = Callable[[str], None]


@click.command("demo", short_help="Show CodePlane at work on a sample repository.")
@click.argument("what", type=click.Choice(["tour", "govern", "memory", "controller", "dashboard"]), default="tour")
@click.option("--print", "only_print", is_flag=True, help="With `dashboard`: only print the address.")
@json_option
def command(what: str, only_print: bool, as_json: bool) -> int:  # noqa: FBT001 - click passes flags by name.
    """Open a sample repository, start the server, drive it with a real MCP client, tell what happened, and end.

    `govern` plays the script of the governance specification: intent, scope, stale write, approval, explanation.
    `memory` records lessons, finds them again and runs a guarded cycle.
    `controller` lets a weak model get a plan wrong three times, then succeed and commit.
    `dashboard` plays a day of several agents, opens the dashboard and serves it until Ctrl+C.
    """
    if what == "dashboard":
        # As for govern.
        from codeplane.surfaces.cli.dashboard_demo import show_dashboard_demo  # noqa: PLC0415

        show_dashboard_demo(only_print=only_print, as_json=as_json)
        return OK
    if what == "controller":
        # As for govern.
        from codeplane.surfaces.cli.controller_demo import show_controller_demo  # noqa: PLC0415

        return show_controller_demo(as_json=as_json)
    if what == "memory":
        # As for govern.
        from codeplane.surfaces.cli.memory_demo import show_memory_demo  # noqa: PLC0415

        return show_memory_demo(as_json=as_json)
    if what == "govern":
        return _play_govern(as_json=as_json)
    story: list[str] = []
    _play(story.append if as_json else _say)
    if as_json:
        print_json({"story": story})
    return OK


def _play_govern(*, as_json: bool) -> int:
    # Both demos share the sample repository, which is defined here.
    from codeplane.surfaces.cli.govern_demo import play_govern_demo  # noqa: PLC0415 - a circle otherwise

    story: list[str] = []
    steps = play_govern_demo(story.append if as_json else _say)
    is_fine = all(step.is_as_specified for step in steps)
    if as_json:
        print_json({"story": story, "as_specified": is_fine})
    return OK if is_fine else FINDINGS


def _play(say: Say) -> None:
    with tempfile.TemporaryDirectory(prefix="codeplane-demo-") as directory:
        root = Path(directory).resolve() / "orders"
        make_sample(root)
        say(f"1. A sample repository with {len(_FILES)} files, one of them a secret.")
        with open_workspace(WorkspaceRequest(root)) as workspace:
            ensure_ignore_file(workspace.places)
        server = start_embedded(str(root), ("logging.level=error",))
        if server is None:
            raise CodePlaneError("SERVER_ALREADY_RUNNING")
        try:
            asyncio.run(_story(root, say))
        finally:
            server.stop()
        _tell_ledger(root, say)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def make_sample(root: Path) -> None:
    """Create the sample repository; the README's first screen shows it too."""
    for name, text in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    identity = ("-c", "user.name=Demo", "-c", "user.email=demo@example.invalid")
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), (*identity, "commit", "-q", "-m", "First")):
        result = run_process(ProcessRequest(argv=("git", *arguments), cwd=root, timeout_seconds=30))
        if result.returncode:
            raise CodePlaneError("GIT_FAILED", f"git {arguments[0]} failed: {result.stderr_text.strip()}")


async def _story(root: Path, say: Say) -> None:
    facts = None
    while facts is None:
        await asyncio.sleep(0.02)
        facts = read_facts(locate_places(root))
    say(f"2. The server runs on {facts.url}. An agent connects over HTTP:")
    async with Client(facts.mcp_url) as agent:
        tools = (await agent.list_tools()).tools
        say(f"   it is offered {len(tools)} tools: {', '.join(tool.name for tool in tools)}")
        await _show(agent, say, "call", {"operation": "describe"})
        await _show(agent, say, "search", {"query": "total("})
        await _show(agent, say, "read_source", {"targets": "src/orders/totals.py:4-6"})
        await _show(agent, say, "call", {"operation": "list_files", "arguments": {"pattern": "*"}})
        await _show(agent, say, "read_source", {"targets": ".env"})
        await _show(agent, say, "read_source", {"targts": "README.md"})
    say("3. A second agent speaks stdio through `cpl mcp`, bridged to the same server:")
    bridge = StdioServerParameters(command=sys.executable, args=["-m", "codeplane", "mcp", "--repo", str(root)])
    async with Client(stdio_client(bridge)) as agent:
        await _show(agent, say, "read_source", {"targets": ["README.md"]})


async def _show(agent: Client, say: Say, tool: str, arguments: dict[str, object]) -> None:
    answer = await agent.call_tool(tool, arguments)
    text = (
        answer.content[0].text
        if isinstance(answer, CallToolResult) and isinstance(answer.content[0], TextContent)
        else ""
    )
    lines = text.splitlines()
    shown = lines[:9] + ([f"… {len(lines) - 9} more lines"] if len(lines) > 9 else [])
    say(f"   > {tool} {arguments}")
    for line in shown:
        say(f"     {line[:140]}")


def _tell_ledger(root: Path, say: Say) -> None:
    with open_workspace(WorkspaceRequest(root)) as workspace:
        found = workspace.chain.verify()
    verdict = "verified" if found.first_bad_seq is None else f"broken at row {found.first_bad_seq}"
    say(f"4. The server stopped. Its ledger has {found.rows} rows, and the event chain is {verdict}.")
    say("   Next: `cpl init` in your own repository, then the README's section on connecting an agent.")
