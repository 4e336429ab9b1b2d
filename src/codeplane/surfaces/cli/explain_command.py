"""`cpl explain`: why a call was let through or not."""

from pathlib import Path
from typing import Any

import click

from codeplane.govern.explanation import Explanation, explain
from codeplane.surfaces.cli.main import FINDINGS, OK
from codeplane.surfaces.cli.output import json_option, print_facts, print_json, repo_option, set_option
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace


@click.command("explain", short_help="Tell why a call was let through or not.")
@click.argument("call_id", metavar="CALL|ROW")
@json_option
@repo_option
@set_option
def command(call_id: str, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Show rule, inputs and rules of a decision, and decide again from the record.

    CALL is the `request_id` of an answer, or a call or row number of `cpl ledger log`. Exit code 1: the record gives
    another answer than was given then.
    """
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        found = explain(workspace.chain, call_id)
    if as_json:
        print_json(found.as_document())
    else:
        _print(found)
    return OK if found.is_same else FINDINGS


def _print(found: Explanation) -> None:
    call: dict[str, Any] = dict(found.call)
    decision = found.recorded
    told = [
        ("call", f"{found.call_id} ({found.operation}), {found.outcome}"),
        ("decided by", f"{decision['policy']}: {decision['verdict']}"),
        ("intent", str(call.get("selected_intent") or "none")),
        ("session", str(call["session"])),
        ("touches", ", ".join([*call.get("writes", ()), *call.get("deletes", ())]) or "no file"),
        ("rules", found.rules_digest),
        ("decided again", "the same" if found.is_same else "DIFFERENT"),
    ]
    print_facts(told)
    for one in decision["opinions"]:
        where = f" [{one['segment']}]" if "segment" in one else ""
        rule = f" ({one['rule']})" if "rule" in one else ""
        click.echo(f"  {one['policy']}: {one['verdict']}{rule}{where}: {one['reason']}")
