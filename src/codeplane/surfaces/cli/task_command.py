"""`cpl task`: open, close, list and show tasks, with or without a running server."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from codeplane.ledger.callers import CallerKind
from codeplane.ledger.task_book import TaskFilter
from codeplane.ledger.tasks import Task
from codeplane.surfaces.cli.call_command import cli_caller
from codeplane.surfaces.cli.main import OK
from codeplane.surfaces.cli.output import json_option, print_facts, print_json, print_table, repo_option, set_option
from codeplane.surfaces.cli.person import require_person
from codeplane.surfaces.task_requests import LIMIT_NAMES, any_state, close_task, limits_given, open_task
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace


@click.group("task", short_help="Open, close, reset, list and show tasks.")
def command() -> None:
    """Group calls into tasks and bound what they may do.

    A session gets a task of its own at its first changing call; `cpl task open` opens one for a session or for every
    session of this working tree, with limits of its own. A closed task is never opened again.
    """


@command.command("open", short_help="Open a task.")
@click.option("--session", default=None, metavar="LABEL", help="For this session only (`cpl status` shows labels).")
@click.option("--max-mutations", type=int, default=None, metavar="N", help="Changing calls it may make.")
@click.option("--max-test-runs", type=int, default=None, metavar="N", help="Test runs it may make.")
@click.option("--max-duration-sec", type=int, default=None, metavar="N", help="Seconds it may take.")
@json_option
@repo_option
@set_option
def open_command(as_json: bool, start: str, overrides: tuple[str, ...], **given: Any) -> int:  # noqa: FBT001
    """Open a task for one session or, without --session, for every session of this working tree.

    What a session does from here on counts in the newest open task that is meant for it. Limits above those of the
    settings take a person. A task that a person opened has a budget of its own; one that an agent opened counts in the
    24-hour budget of the working tree, too.
    """
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        caller = cli_caller(workspace)
        opened_by = {"surface": caller.surface, "caller": caller.kind.value}
        if caller.kind is not CallerKind.PERSON and _wants_more_than_configured(workspace, given):
            opened_by |= {"caller": "person", "by": require_person(workspace, "open a task with larger limits")}
        _print_task(workspace, open_task(workspace, given, opened_by), as_json=as_json)
    return OK


def _wants_more_than_configured(workspace: Workspace, given: Mapping[str, Any]) -> bool:
    """Tell whether limits are given that only a person may set: a caller cannot give itself a larger budget."""
    wanted, configured = limits_given(workspace, given), workspace.task_limits()
    return any(getattr(wanted, name) > getattr(configured, name) for name in LIMIT_NAMES)


@command.command("reset", short_help="Let the budget of this working tree start again.")
@json_option
@repo_option
@set_option
def reset_command(as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Let the 24-hour budget of this working tree start again. Only a person can do this.

    Calls outside of a person's task are summed over the working tree, whatever session makes them.
    """
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        by = require_person(workspace, "reset the budget of this working tree")
        used = workspace.tasks.reset(workspace.repository.worktree_id, by).used
    if as_json:
        print_json({"reset": True, "mutations_before": used.mutations, "test_runs_before": used.test_runs})
    else:
        click.echo(f"The budget starts again; {used.mutations} mutations and {used.test_runs} test runs were used.")
    return OK


@command.command("close", short_help="Close a task.")
@click.argument("task_id")
@click.option("--state", default="success", metavar="STATE", help="success (default), failed or interrupted.")
@click.option("--reason", default=None, metavar="TEXT", help="Why, for the record.")
@json_option
@repo_option
@set_option
def close_command(task_id: str, as_json: bool, start: str, overrides: tuple[str, ...], **given: Any) -> int:  # noqa: FBT001
    """Close an open task; the next changing call of its sessions opens another. A person's task takes a person."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        if workspace.tasks.is_persons(task_id):
            require_person(workspace, f"close the task {task_id[:80]}")
        _print_task(workspace, close_task(workspace, task_id, given), as_json=as_json)
    return OK


@command.command("list", short_help="List tasks, newest first.")
@click.option("--state", default=None, metavar="STATE", help="open, success, failed or interrupted.")
@click.option("--session", default=None, metavar="LABEL", help="Only tasks of this session.")
@click.option("--limit", type=click.IntRange(1, 500), default=20, show_default=True, help="How many.")
@json_option
@repo_option
@set_option
def list_command(
    state: str | None,
    session: str | None,
    limit: int,
    as_json: bool,  # noqa: FBT001 - click passes flags by name.
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """List tasks with their counters, newest first."""
    wanted = TaskFilter(any_state(state) if state is not None else None, session, limit=limit + 1)
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        found = workspace.tasks.tasks(wanted)
        now = workspace.clock.now_ms()
    tasks = found[:limit]
    if as_json:
        print_json({"results": [task.as_document(now) for task in tasks], "more": len(found) > limit})
        return OK
    print_table(["task", "state", "of", "mutations", "test runs", "opened"], [_line(task, now) for task in tasks])
    if len(found) > limit:
        click.echo(f"There are more than {limit}; --limit shows more.", err=True)
    if not tasks:
        click.echo("There are no such tasks.", err=True)
    return OK


def _line(task: Task, now_ms: int) -> list[str]:
    document = task.as_document(now_ms)
    return [
        task.task_id,
        task.state.value,
        task.session or f"working tree {task.worktree}",
        f"{task.mutation_count}/{task.limits.max_mutations}",
        f"{task.test_run_count}/{task.limits.max_test_runs}",
        str(document["opened_at"]),
    ]


@command.command("show", short_help="Show one task.")
@click.argument("task_id")
@json_option
@repo_option
@set_option
def show_command(task_id: str, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Show one task: state, limits, counters, fingerprints."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        _print_task(workspace, workspace.tasks.find(task_id), as_json=as_json)
    return OK


def _print_task(workspace: Workspace, task: Task, *, as_json: bool) -> None:
    document = task.as_document(workspace.clock.now_ms())
    if as_json:
        print_json(document)
        return
    ended = f"{document['closed_at']} ({task.reason})" if task.closed_ms is not None else "still open"
    print_facts(
        [
            ("task", task.task_id),
            ("state", task.state.value),
            ("of", task.session or f"every session of the working tree {task.worktree}"),
            ("opened", f"{document['opened_at']}, {'by a person' if task.is_explicit else 'by itself'}"),
            ("closed", ended),
            ("mutations", f"{task.mutation_count} of {task.limits.max_mutations}"),
            ("test runs", f"{task.test_run_count} of {task.limits.max_test_runs}"),
            ("seconds", f"{document['elapsed_sec']} of {task.limits.max_duration_sec}"),
            ("HEAD at opening", task.repo_snapshot.git_head or "unborn"),
            ("last mutation", task.last_mutation_fingerprint or "none"),
            ("last failure", task.last_failure_fingerprint or "none"),
        ]
    )
