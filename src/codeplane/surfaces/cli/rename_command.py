"""`cpl rename`: rename a symbol everywhere, after showing every place."""

import click

from codeplane.surfaces.cli.output import json_option, repo_option, set_option
from codeplane.surfaces.cli.refactoring import choices, plan_and_apply


@click.command("rename", short_help="Rename a symbol everywhere it is proved to be used.")
@click.argument("symbol")
@click.argument("new_name")
@click.option("--at", default="", metavar="PATH:LINE", help="Where the name is.")
@click.option("--docs", is_flag=True, help="Also in documentation and comments, of medium confidence and above.")
@click.option("--force-syntactic", is_flag=True, help="List every other occurrence of the word as a question.")
@choices
@json_option
@repo_option
@set_option
def command(  # noqa: PLR0913, PLR0917 - one parameter per option.
    symbol: str,
    new_name: str,
    at: str,
    docs: bool,  # noqa: FBT001 - click passes flags by name.
    force_syntactic: bool,  # noqa: FBT001
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    questions: bool,  # noqa: FBT001
    dry_run: bool,  # noqa: FBT001
    yes: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
    start: str,
    overrides: tuple[str, ...],
) -> int:
    """Rename SYMBOL to NEW_NAME.

    SYMBOL is path::Name.path, path:line[:column], or a name that only one definition has. Places that are not sure
    are shown as questions and stay as they are, unless --questions is given.

    \b
      cpl rename src/app.py::Store.get fetch
      cpl rename make_response build_response --docs --except CHANGES.rst
    """
    arguments = {
        "symbol": symbol,
        "new_name": new_name,
        "at": at,
        "include_docs": docs,
        "force_syntactic": force_syntactic,
    }
    return plan_and_apply(
        start, overrides, "refactor_rename", arguments,
        only=only, exclude=exclude, questions=questions, dry_run=dry_run, yes=yes, as_json=as_json,
    )  # fmt: skip
