"""`cpl delete`: delete a symbol or a file that nothing refers to."""

import click

from codeplane.surfaces.cli.output import json_option, repo_option, set_option
from codeplane.surfaces.cli.refactoring import choices, plan_and_apply


@click.command("delete", short_help="Delete a symbol or file that nothing refers to.")
@click.argument("target")
@choices
@json_option
@repo_option
@set_option
def command(  # noqa: PLR0913, PLR0917 - one parameter per option.
    target: str,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    questions: bool,  # noqa: FBT001 - click passes flags by name.
    dry_run: bool,  # noqa: FBT001
    yes: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """Delete TARGET: a definition (path::Name.path, path:line, a unique name), a file or a directory.

    What still refers to it is shown instead, and nothing is deleted; imports that only it used go with it.
    """
    return plan_and_apply(
        start, overrides, "refactor_impact", {"target": target},
        only=only, exclude=exclude, questions=questions, dry_run=dry_run, yes=yes, as_json=as_json,
    )  # fmt: skip
