"""`cpl git`: the git tools of agents, for people; commands and options are made from the operations themselves."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from codeplane.core.errors import CodePlaneError
from codeplane.operations.catalog import TOOLS
from codeplane.operations.operation import AnyOperation
from codeplane.surfaces.cli.call_command import run_tool
from codeplane.surfaces.cli.generated import choices_of, is_list, option
from codeplane.surfaces.cli.output import finish, json_option, repo_option, set_option
from codeplane.surfaces.cli.paths import path_from_here
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

PREFIX = "git_"
_PATH_FIELDS = frozenset({"path", "paths"})
# What words without an option's name mean, where it is not `paths`.
_MAIN_FIELDS = {
    "git_branch": "name",
    "git_checkout": "ref",
    "git_history": "path",
    "git_inspect": "ref",
    "git_merge": "ref",
    "git_pull": "remote",
    "git_push": "remote",
    "git_rebase": "upstream",
    "git_remote": "name",
    "git_reset": "ref",
    "git_worktree": "path",
}


class GitGroup(click.Group):
    """One command per git tool."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's interface.
        """Return the names of the tools without their prefix."""
        return sorted(name.removeprefix(PREFIX).replace("_", "-") for name in TOOLS if name.startswith(PREFIX))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's interface.
        """Make one command."""
        operation = TOOLS.get(PREFIX + cmd_name.replace("-", "_"))
        return tool_command(operation) if operation is not None else None


@click.group(cls=GitGroup, short_help="Use git as agents do: checked, recorded, undoable.")
def command() -> None:
    """Run a git tool through the door: checked, recorded, and undone by `cpl undo`.

    Paths are relative to the current directory.

    \b
      cpl git status
      cpl git stage-and-commit src --message "Fix the parser"
      cpl git branch create topic
      cpl git log --limit 5 --json
    """


def tool_command(operation: AnyOperation) -> click.Command:
    """Return the command of a tool; its options are the fields of its request."""
    fields = operation.request_type.model_fields
    name = operation.name.removeprefix(PREFIX).replace("_", "-")

    @json_option
    @repo_option
    @set_option
    def run(as_json: bool, start: str, overrides: tuple[str, ...], words: tuple[str, ...], **given: Any) -> int:  # noqa: FBT001 - click passes flags by name.
        arguments = {key: value for key, value in given.items() if value not in (None, ())}
        arguments |= _from_words(operation, words)
        with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
            answer = run_tool(workspace, operation.name, _with_paths(workspace.root, start, arguments))
        return finish(answer, as_json=as_json)

    words = [key.upper() for key in ("action", _main_field(operation)) if key in fields]
    made = click.command(name, help=operation.summary, short_help=operation.summary)(run)
    made.params[:0] = [
        click.Argument(["words"], nargs=-1, metavar=" ".join(f"[{word}]" for word in words) or "[]"),
        *(option(key, field) for key, field in fields.items()),
    ]
    return made


def _with_paths(root: Path, start: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments whose paths, given relative to the current directory, are relative to the root."""
    found = dict(arguments)
    for name in _PATH_FIELDS & found.keys():
        value = found[name]
        is_one = isinstance(value, str)
        paths = [path_from_here(root, start, one) for one in ([value] if is_one else value)]
        found[name] = paths[0] if is_one else paths
    return found


def _main_field(operation: AnyOperation) -> str:
    return _MAIN_FIELDS.get(operation.name, "paths")


def _from_words(operation: AnyOperation, words: Sequence[str]) -> dict[str, Any]:
    fields = operation.request_type.model_fields
    found: dict[str, Any] = {}
    rest = list(words)
    if rest and "action" in fields and rest[0].replace("-", "_") in choices_of(fields["action"]):
        found["action"] = rest.pop(0).replace("-", "_")
    main = _main_field(operation)
    if not rest:
        return found
    if main not in fields:
        raise CodePlaneError("INVALID_ARGUMENTS", f"`{rest[0]}` is not the name of an option.")
    if is_list(fields[main]):
        found[main] = rest
    elif len(rest) == 1:
        found[main] = rest[0]
    else:
        raise CodePlaneError("INVALID_ARGUMENTS", f"Only one {main} can be given; `{rest[1]}` is one too many.")
    return found
