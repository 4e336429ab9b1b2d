"""What operations that read files share: the access check, and suggestions for a missing file."""

import os

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath, repo_path_of
from codeplane.core.secrets import MAX_SCANNED_BYTES, holds_private_key
from codeplane.index.ignore_rules import IgnoreRules, RuleKind
from codeplane.index.near_names import near_paths
from codeplane.index.source_text import locate, open_source
from codeplane.operations.operation import CallContext
from codeplane.workspace.workspace import Workspace


def check_readable(rules: IgnoreRules, path: RepoPath, *, is_directory: bool = False) -> None:
    """Refuse what a hard rule excludes, also behind a symlink; soft rules only shorten listings.

    Raises:
        CodePlaneError: SECRET_FILE or FILE_IGNORED with the rule and its place; as `locate`.
    """
    real_path = repo_path_of(rules.root, locate(rules.root, path))
    for named in (path, real_path):
        rule = rules.block(named, is_directory=is_directory)
        if rule is None:
            continue
        details = {"path": path.text, "rule": rule.line, "source": rule.source}
        where = f"the rule `{rule.line}` ({rule.source})"
        if rule.kind is RuleKind.SECRET:
            hint = f"If it holds no secret, a person can add `!{named.name}` to .cplignore."
            raise CodePlaneError("SECRET_FILE", f"{path} is withheld by {where}.", hint=hint, details=details)
        raise CodePlaneError("FILE_IGNORED", f"{path} is excluded by {where}.", details=details)
    if not is_directory and not rules.is_let_in(path):
        _check_content(rules, path)


def _check_content(rules: IgnoreRules, path: RepoPath) -> None:
    try:
        descriptor = open_source(rules.root, path)
    except CodePlaneError:
        # Problems with the file are reported where it is read.
        return
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if holds_private_key(file.read(MAX_SCANNED_BYTES)):
            hint = f"If it is harmless, a person can add `!{path.name}` to .cplignore."
            details = {"path": path.text, "rule": "private key", "source": "content"}
            raise CodePlaneError("SECRET_FILE", f"{path} holds a private key.", hint=hint, details=details)


def with_near_paths(workspace: Workspace, wanted: str, error: CodePlaneError) -> CodePlaneError:
    """Return FILE_NOT_FOUND with the files that were probably meant; any other error as it is."""
    if error.code != "FILE_NOT_FOUND":
        return error
    near = near_paths(wanted, workspace.tracked().files)
    if not near:
        return error
    hint = "Did you mean " + " or ".join(f"`{path}`" for path in near) + "?"
    return CodePlaneError(error.code, error.message, hint=hint, details={**error.details, "nearest": near})


def spend_read_budget(context: CallContext, n_bytes: int) -> None:
    """Count what a session reads; warn it before its budget is used up."""
    budget = context.workspace.settings.sessions.read_budget_bytes
    context.session.spend_read(n_bytes, budget)
    if budget and context.session.read_bytes > budget * 0.8:
        context.warnings.append(f"{context.session.read_bytes} of {budget} bytes of the read budget are used")
