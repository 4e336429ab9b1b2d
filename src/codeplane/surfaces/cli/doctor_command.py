"""`cpl doctor`: checks with a verdict each, what CodePlane cannot prevent, and a bundle for reports."""

import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import tail_lines
from codeplane.core.printable import counted
from codeplane.core.redaction import redact
from codeplane.core.version import VERSION
from codeplane.operations.agent_connections import connections
from codeplane.operations.manage_gateway import Upstream, upstreams
from codeplane.surfaces.agent_hooks.canary import gate_state
from codeplane.surfaces.cli.call_command import run_tool
from codeplane.surfaces.cli.main import FINDINGS, OK
from codeplane.surfaces.cli.output import json_option, print_json, repo_option, set_option
from codeplane.surfaces.cli.status_command import context_lines
from codeplane.surfaces.server.client import get_json
from codeplane.surfaces.server.facts import running_server
from codeplane.workspace.config import load_workspace_settings
from codeplane.workspace.places import Places
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, locate_places, open_workspace

_BUNDLE_LINES = 2000
LIMITS_OF_TRUST = (
    "A program that runs as the same user can read and write every file CodePlane keeps, its ledger included.",
    "It can read the operator token, or answer the code that a terminal asks for, and so approve as a person does.",
    "It can start its own `cpl`, stop the server, or edit the repository without CodePlane.",
    "It can read the key that seals the ledger, and so write rows that verify; a head anchored in git shows that.",
)


@dataclass(frozen=True, slots=True)
class Check:
    """One verdict: ok, problem, or not available."""

    name: str
    state: str
    text: str


@click.command("doctor", short_help="Check that everything CodePlane needs is in order.")
@click.option("--logs", is_flag=True, help="Add versions, settings and the server's log, for a report.")
@json_option
@repo_option
@set_option
def command(logs: bool, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Check git, configuration, ledger and server; exit code 1 when something is wrong."""
    places = locate_places(Path(start))
    checks = run_checks(places, overrides)
    document = {"checks": [asdict(check) for check in checks], "limits_of_trust": list(LIMITS_OF_TRUST)}
    if logs:
        document["bundle"] = _bundle(places)
    if as_json:
        print_json(document)
    else:
        _print(checks, document.get("bundle"))
    return FINDINGS if any(check.state == "problem" for check in checks) else OK


def run_checks(places: Places, overrides: tuple[str, ...]) -> list[Check]:
    """Return all verdicts; one that fails does not keep the others from being made."""
    checks = [
        _verdict("git", lambda: f"working tree {places.root}"),
        _verdict("configuration", lambda: _configuration(places, overrides)),
    ]
    if checks[-1].state == "problem":
        return checks
    if not places.ledger.exists():
        return [*checks, Check("set up", "not available", "not set up yet (`cpl init`)")]
    try:
        with open_workspace(WorkspaceRequest(places.root, overrides)) as workspace:
            checks += [
                _verdict("head", lambda: _head(workspace)),
                _verdict("ledger file", lambda: _ledger_file(workspace)),
                _verdict("event chain", lambda: _event_chain(workspace)),
                _verdict("interrupted calls", lambda: _open_calls(workspace)),
                _verdict("index", lambda: _index(workspace)),
                _verdict("contexts", lambda: _contexts(workspace)),
                _verdict("test runners", lambda: _runners(workspace)),
            ]
            checks += gate_checks(workspace)
            checks += upstream_checks(workspace)
    except CodePlaneError as error:
        checks.append(Check("private directory", "problem", error.report().as_text()))
    checks.append(_verdict("server", lambda: _server(places)))
    return checks


def gate_checks(workspace: Workspace) -> list[Check]:
    """Return a verdict on the gate of each connected agent, proved by events through its own settings."""
    found = []
    for connection in connections(workspace).values():
        state = gate_state(workspace, connection)
        gaps = "".join(f"\n          not covered: {one}" for one in state.gaps)
        told = "; ".join(state.problems) or "blocks what is forbidden, lets reads pass"
        found.append(Check(f"gate of {connection.agent}", "problem" if state.problems else "ok", told + gaps))
    return found or [Check("gates", "not available", "no agent is connected (`cpl connect`)")]


def upstream_checks(workspace: Workspace) -> list[Check]:
    """Return a verdict on each MCP server of others: accepted, up, and whether its tools wait for a person."""
    is_served = running_server(workspace.places) is not None
    return [_upstream_check(one, is_served=is_served) for one in upstreams(workspace)]


def _upstream_check(one: Upstream, *, is_served: bool) -> Check:
    name = f"upstream {one.name}"
    if not one.accepted:
        return Check(name, "not available", f"no person has accepted it (cpl gateway accept {one.name})")
    pinned = sum(tool.state == "pinned" for tool in one.tools)
    told = f"{counted(pinned, 'tool')} pinned"
    if one.held:
        return Check(name, "problem", f"{told}, {one.held} held for a person (cpl gateway show {one.name})")
    if not is_served:
        return Check(name, "not available", f"{told}; it runs with the server")
    if one.state == "up":
        return Check(name, "ok", f"up, {told}")
    return Check(name, "problem", f"{one.state}: {one.error or 'no reason known'} (cpl gateway show {one.name})")


def _verdict(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, "ok", check())
    except CodePlaneError as error:
        return Check(name, "problem", error.report().as_text())


def _configuration(places: Places, overrides: tuple[str, ...]) -> str:
    loaded = load_workspace_settings(places, overrides)
    changed = sum(origin.where != "default" for origin in loaded.origins.values())
    return f"{len(loaded.origins)} settings, {changed} not at their default"


def _head(workspace: Workspace) -> str:
    head = workspace.head()
    return f"{head.branch or 'detached'} at {(head.commit or 'no commit yet')[:13]}"


def _ledger_file(workspace: Workspace) -> str:
    problems = workspace.chain.database.problems()
    if problems:
        raise CodePlaneError("STORE_CORRUPT", f"ledger.db: {problems[0]}")
    damaged = sorted(path.name for path in workspace.places.shared.glob("ledger.db.damaged-*[0-9]"))
    if damaged:
        hint = "A new chain has started. Keep the file elsewhere or delete it, then this check passes."
        raise CodePlaneError("STORE_CORRUPT", f"ledger.db was damaged and is kept as {damaged[-1]}.", hint=hint)
    return f"{counted(workspace.chain.last_seq(), 'row')}, repository id {workspace.repo_id}"


def _event_chain(workspace: Workspace) -> str:
    found = workspace.chain.verify()
    if found.first_bad_seq is not None:
        details = {"first_bad_row": found.first_bad_seq}
        raise CodePlaneError("CHAIN_BROKEN", f"Row {found.first_bad_seq}: {found.problem}.", details=details)
    return f"{counted(found.rows, 'row')} verified, head {found.head[:16]}"


def _open_calls(workspace: Workspace) -> str:
    return f"{len(workspace.chain.open_calls())} calls at work or waiting for recovery"


def _index(workspace: Workspace) -> str:
    """Bring the index up to date, which proves it against the files; damage heals itself and is said."""
    workspace.refresh_index()
    summary = workspace.index_summary()
    problems = workspace.index.store.database.problems()
    if problems:
        raise CodePlaneError("INDEX_CORRUPT", f"index.db: {problems[0]}")
    healed = f"; {summary['healed']}" if summary["healed"] else ""
    counts = workspace.index.counts()
    as_text = ", ".join(f"{count} {name}" for name, count in counts.text_only.items())
    left = f"; as text only: {as_text}" if as_text else ""
    return f"{counted(counts.files, 'file')} at epoch {summary['epoch']}{left}{healed}"


def _contexts(workspace: Workspace) -> str:
    lines = context_lines(workspace.index_summary())
    return lines[0][1] if lines else "none"


def _runners(workspace: Workspace) -> str:
    found = run_tool(workspace, "discover_test_targets", {"limit": 1})
    if found.error is not None:
        raise CodePlaneError(found.error.error, found.error.message)
    document = found.envelope()["result"]
    missing = [one["problem"] for one in document["runners"] if one.get("problem")]
    if missing:
        raise CodePlaneError("TEST_RUNNER_NOT_FOUND", "; ".join(missing[:5]))
    names = sorted({one["runner"] for one in document["runners"]})
    return f"{', '.join(names)}; {counted(document['total'], 'target')}" if names else "no tests found"


def _server(places: Places) -> str:
    facts = running_server(places)
    if facts is None:
        return "not running (`cpl up` starts it)"
    document = get_json(facts, "/health")
    return f"answers at {facts.url}, version {document['version']}"


def _bundle(places: Places) -> dict[str, object]:
    return {
        "codeplane": VERSION,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "settings": {
            key: f"{redact(str(origin.value))} ({origin.where})"
            for key, origin in sorted(load_workspace_settings(places).origins.items())
        },
        "log": [redact(line) for line in tail_lines(places.server_log, _BUNDLE_LINES)],
    }


def _print(checks: list[Check], bundle: object) -> None:
    marks = {"ok": "ok     ", "problem": "PROBLEM", "not available": "-      "}
    for check in checks:
        sys.stdout.write(f"{marks[check.state]} {check.name}: {check.text}\n")
    sys.stdout.write("What CodePlane cannot prevent:\n" + "".join(f"  {line}\n" for line in LIMITS_OF_TRUST))
    if isinstance(bundle, dict):
        for name, value in bundle.items():
            sys.stdout.write(f"--- {name}\n")
            lines = (
                value
                if isinstance(value, list)
                else [f"{k}: {v}" for k, v in value.items()]
                if isinstance(value, dict)
                else [str(value)]
            )
            sys.stdout.write("".join(f"{line}\n" for line in lines))
