"""`cpl move`: move a file, a directory or a symbol; imports follow."""

import click

from codeplane.surfaces.cli.output import json_option, repo_option, set_option
from codeplane.surfaces.cli.refactoring import choices, plan_and_apply


@click.command("move", short_help="Move a file, a directory or a symbol; imports follow.")
@click.argument("from_path")
@click.argument("to_path")
@choices
@json_option
@repo_option
@set_option
def command(  # noqa: PLR0913, PLR0917 - one parameter per option.
    from_path: str,
    to_path: str,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    questions: bool,  # noqa: FBT001 - click passes flags by name.
    dry_run: bool,  # noqa: FBT001
    yes: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """Move FROM_PATH to TO_PATH: a file, a directory, or a top-level symbol (path::Name) to another file.

    Tracked files that are not modified move in git's index too; nothing is committed.

    \b
      cpl move src/app/helpers.py src/app/text.py
      cpl move src/app/helpers.py::slugify src/app/text.py
    """
    return plan_and_apply(
        start, overrides, "refactor_move", {"from_path": from_path, "to_path": to_path},
        only=only, exclude=exclude, questions=questions, dry_run=dry_run, yes=yes, as_json=as_json,
    )  # fmt: skip
