"""What of the history may be shown: rules that withhold files also apply to their old versions."""

import os
import re
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.secrets import MAX_SCANNED_BYTES, holds_private_key
from codeplane.git.differences import FileDifference
from codeplane.git.repository import run_git
from codeplane.index.ignore_rules import IgnoreRules, Rule, RuleKind
from codeplane.index.near_names import near_paths
from codeplane.index.source_text import open_source
from codeplane.workspace.workspace import Workspace

_ODD: Final = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\\\\ud800-\udfff]")
_KEY_MARK: Final = b"PRIVATE KEY-----"
# Lines that look like the body of a key.
_KEY_LINES: Final = re.compile(rb"\n[ +-][A-Za-z0-9+/=]{60,76}\r?\n(?:[\\@][^\n]*\n)?[ +-][A-Za-z0-9+/=]{1,76}\r?\n")


def check_history_readable(rules: IgnoreRules, path: RepoPath) -> None:
    """Refuse a path that a hard rule withholds, in any version.

    Raises:
        CodePlaneError: SECRET_FILE or FILE_IGNORED with the rule and its place.
    """
    rule = rules.block(path, is_directory=False)
    if rule is not None:
        code = "SECRET_FILE" if rule.kind is RuleKind.SECRET else "FILE_IGNORED"
        details = {"path": path.text, "rule": rule.line, "source": rule.source}
        raise CodePlaneError(code, f"{path} is withheld by the rule `{rule.line}` ({rule.source}).", details=details)


def path_unknown(workspace: Workspace, path: RepoPath, message: str) -> CodePlaneError:
    """Return GIT_PATH_UNKNOWN with the names that are nearest among the tracked ones."""
    near = near_paths(path.text, workspace.tracked().files)
    hint = "Did you mean " + " or ".join(f"`{name}`" for name in near) + "?" if near else ""
    return CodePlaneError("GIT_PATH_UNKNOWN", message, hint=hint, details={"path": path.text, "nearest": near})


def check_no_private_key(rules: IgnoreRules, path: RepoPath, content: bytes) -> None:
    """Refuse a private key, whatever its name, unless a person allowed the path.

    Raises:
        CodePlaneError: SECRET_FILE.
    """
    if holds_private_key(content) and not rules.is_let_in(path):
        details = {"path": path.text, "rule": "private key", "source": "content"}
        raise CodePlaneError("SECRET_FILE", f"{path} contains a private key at that revision.", details=details)


def why_kept_back(root: Path, rules: IgnoreRules, file: FileDifference) -> str | None:
    """Return why the lines of a changed file are not shown; None when they are."""
    names = [name for name in (file.change.path, file.change.old_path, file.former_path) if name is not None]
    for name in names:
        rule = rule_for_name(rules, name)
        if rule is not None:
            return f"withheld by the rule `{rule.line}` ({rule.source})"
    may_be_key = _KEY_MARK in file.patch or _KEY_LINES.search(file.patch) is not None
    if not may_be_key or all(_is_allowed(rules, name) for name in names):
        return None
    if any(holds_private_key(head) for head in _heads(root, file)):
        return "it contains a private key"
    return None


def rule_for_name(rules: IgnoreRules, name: str) -> Rule | None:
    """Return the rule that withholds a name; a name that is not a repository path is judged by its closest path."""
    for spelling in dict.fromkeys((_ODD.sub("", name), _ODD.sub(".", name))):
        try:
            path = RepoPath.parse(spelling)
        except CodePlaneError:
            continue
        rule = rules.block(path, is_directory=False)
        if rule is not None:
            return rule
    return None


def _is_allowed(rules: IgnoreRules, name: str) -> bool:
    try:
        return rules.is_let_in(RepoPath.parse(name))
    except CodePlaneError:
        return False


def _heads(root: Path, file: FileDifference) -> list[bytes]:
    """Return both versions, as far as they are looked at."""
    change = file.change
    heads = [_head_of_blob(root, change.old_oid)] if change.old_oid is not None else []
    if change.status == "deleted":
        return heads
    stored = _head_of_blob(root, change.new_oid) if change.new_oid is not None else b""
    # Git sometimes names the content of a working file without storing it.
    return [*heads, stored or _head_of_file(root, file)]


def _head_of_blob(root: Path, oid: str) -> bytes:
    return run_git(root, "cat-file", "blob", oid, output_limit=MAX_SCANNED_BYTES).stdout


def _head_of_file(root: Path, file: FileDifference) -> bytes:
    try:
        descriptor = open_source(root, RepoPath.parse(file.change.path))
    except CodePlaneError:
        # A link or an odd name: it cannot be read by name, so only the patch itself can be checked.
        return b"".join(line[1:] for line in re.findall(rb"(?m)^\+(?!\+\+ ).*\n", file.patch)[:4])
    with os.fdopen(descriptor, "rb", buffering=0) as opened:
        return opened.read(MAX_SCANNED_BYTES)
