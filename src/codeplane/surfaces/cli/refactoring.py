"""What `cpl rename`, `cpl move` and `cpl delete` share: plan, show, ask, apply."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from codeplane.operations.answer import Answer
from codeplane.operations.catalog import TOOLS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.call_command import cli_caller, run_tool
from codeplane.surfaces.cli.main import FAILURE, FINDINGS
from codeplane.surfaces.cli.output import finish, print_answer, print_json
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

_MAX_SHOWN = 200
_OPTIONS = (
    click.option("--only", multiple=True, metavar="WHAT", help="Only these files (a path or glob)."),
    click.option("--except", "exclude", multiple=True, metavar="WHAT", help="Not these files, sites or groups."),
    click.option("--questions", is_flag=True, help="Also the places that are not sure."),
    click.option("--dry-run", "-n", is_flag=True, help="Only show the plan."),
    click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation."),
)  # fmt: skip


def choices(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose what of a plan is applied."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def plan_and_apply(
    start: str, overrides: tuple[str, ...], operation: str, arguments: dict[str, Any], **chosen: Any
) -> int:
    """Plan a refactoring, show it, ask, and apply it; return the exit code.

    `chosen` holds the options: `only`, `exclude`, `questions`, `dry_run`, `yes` and `as_json`.
    """
    as_json = bool(chosen["as_json"])
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        door, caller = Door(workspace, TOOLS), cli_caller(workspace)
        answer = dispatch(door, operation, {**arguments, "limit": _MAX_SHOWN}, caller)
        if answer.is_error:
            return finish(answer, as_json=as_json)
        plan = answer.envelope()["result"]
        if chosen["dry_run"] or plan["status"] != "ready":
            _show(answer, plan, as_json=as_json)
            return 0 if plan["status"] == "ready" else FINDINGS
        if not chosen["yes"]:
            _show(answer, plan, as_json=False)
            if not sys.stdin.isatty():
                sys.stderr.write("Nothing was changed: no terminal to ask at. Use --yes.\n")
                return FAILURE
            if not click.confirm("Apply this?"):
                dispatch(door, "refactor_cancel", {"refactor_id": plan["refactor_id"]}, caller)
                return FINDINGS
        wanted = {
            "refactor_id": plan["refactor_id"],
            "include": [*chosen["only"], *(["questions"] if chosen["questions"] else [])],
            "exclude": list(chosen["exclude"]),
        }
        return finish(run_tool(workspace, "refactor_apply", wanted), as_json=as_json)


def _show(answer: Answer, plan: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(answer.envelope())
    elif sys.stdout.isatty():
        sys.stdout.write("\n".join(_coloured(plan)) + "\n")
    else:
        print_answer(answer, as_json=False)


def _coloured(plan: dict[str, Any]) -> list[str]:
    lines = [click.style(plan["summary"], bold=True), *(f"  {reason}" for reason in plan["reasons"])]
    lines += [f"  {one['id']} {one['description']}" for one in plan["candidates"]]
    lines += [f"  {one['from']} → {one['to']}" for one in plan["moves"]]
    docs = plan["doc_edits"]["matches"]
    for title, sites in (("", plan["edits"]), ("Questions (not applied)", plan["questions"]), ("Documentation", docs)):
        if title and sites:
            lines.append(click.style(title, fg="yellow"))
        path = ""
        for site in sites:
            if site["path"] != path:
                path = site["path"]
                lines.append(click.style(path, fg="cyan"))
            shown = _with_change(site)
            why = f"  ({site['why']})" if title else ""
            lines.append(f"{site['id']:>7} {site['line']:>5}  {shown}{why}")
    more = (
        sum(plan["counts"].values()) - len(plan["edits"]) - len(plan["questions"]) - len(plan["doc_edits"]["matches"])
    )
    return [*lines, *([f"… {more} more sites"] if more > 0 else []), *(f"note: {one}" for one in plan["warnings"])]


def _with_change(site: dict[str, Any]) -> str:
    """Return the line of a site with the old word struck out and the new one behind it."""
    text: str = site["text"]
    if not site["old"] or "\n" in site["new"]:
        return text
    change = click.style(site["old"], fg="red", strikethrough=True) + click.style(site["new"], fg="green")
    parts = re.split(rf"(?<!\w){re.escape(site['old'])}(?!\w)", text)
    return change.join(parts)
