"""`cpl init`: set a repository up, once; running it again changes nothing."""

import sys
from pathlib import Path
from typing import Any

import click

from codeplane.core.printable import counted
from codeplane.surfaces.cli.main import OK
from codeplane.surfaces.cli.output import json_option, print_json, progress_line, repo_option, set_option
from codeplane.workspace.trace_files import ensure_attributes, ensure_trace_file
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, ensure_ignore_file, open_workspace


@click.command("init", short_help="Set this repository up for CodePlane.")
@json_option
@repo_option
@set_option
def command(as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001 - click passes flags by name.
    """Write `.codeplane/`, `.cplignore` and a block in `.gitattributes`, bind the repository id, say what was done."""
    document: dict[str, Any]
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        has_ledger = workspace.chain.last_seq() > 0
        wrote_ignore = ensure_ignore_file(workspace.places)
        wrote_attributes = ensure_attributes(workspace.editor, workspace.ids.new("init"))
        # A search or another call makes a ledger, too.
        was_known = has_ledger and not (wrote_ignore or wrote_attributes)
        if ensure_trace_file(workspace.root):
            workspace.trace.update_map(workspace.gate.rules().intents)
        if not has_ledger:
            workspace.record("initialised", {"repo_id": workspace.repo_id})
        document = {
            "repo_root": str(workspace.root),
            "repo_id": workspace.repo_id,
            "private_directory": str(workspace.places.private),
            "already_initialised": was_known,
            "wrote_cplignore": wrote_ignore,
            "wrote_gitattributes": wrote_attributes,
            "index": _build(workspace),
        }
    if as_json:
        print_json(document)
        return OK
    index: Any = document["index"]
    lines = [
        f"{'Already set up' if was_known else 'Set up'}: {document['repo_root']}",
        f"  .codeplane/  private data, hidden from git (repository id {document['repo_id']})",
        f"  .cplignore   {'written: what CodePlane never reads' if wrote_ignore else 'kept as it is'}",
        f"  .gitattributes  {'written: git merges' if wrote_attributes else 'kept: git merges'} the trace of branches",
        f"  index        {counted(index['files'], 'file')}, {counted(index['definitions'], 'definition')}",
        *(
            ["Commit what was written: it serves everybody who clones this."]
            if wrote_ignore or wrote_attributes
            else []
        ),
        "Next: `cpl up` starts the server, `cpl connect claude` connects an agent (`cpl connect --help` for others).",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return OK


def _build(workspace: Workspace) -> dict[str, object]:
    with progress_line("Indexing") as progress:
        workspace.refresh_index(progress)
    return workspace.index_summary()
