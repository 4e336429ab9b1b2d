"""Stage 2: a plan belongs to this work and this state of the tree, and stays inside the allowlist."""

import re
from collections.abc import Iterator
from typing import Final

from codeplane.controller.case import Case, node_fault
from codeplane.controller.codes import Code, Violation
from codeplane.controller.plan import Node
from codeplane.controller.world import World
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.paths import RepoPath
from codeplane.index.contexts.globs import compile_globs

# Ids become parts of paths.
ID_FORM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_WILDCARD: Final = re.compile(r"[*?\[]")
_ENVELOPE_IDS: Final = ("workId", "agentId", "runSessionId")
# Fields that must equal what the world says, with the detail of a difference.
_CURRENT: Final = (
    ("workId", "work_id", "work_mismatch"),
    ("runSessionId", "run_session_id", "session_mismatch"),
    ("worktreeRoot", "worktree_root", "root_mismatch"),
    ("repoSnapshotId", "repo_snapshot_id", "snapshot_stale"),
    ("scopeAllowlistRef", "scope_allowlist_ref", "allowlist_stale"),
)


def check_scope(case: Case) -> Iterator[Violation]:
    """Yield ids of a wrong form, stale references to the world, and targets out of scope."""
    document, world = case.plan.document, case.world
    malformed = {name for name in _ENVELOPE_IDS if not ID_FORM.fullmatch(document[name])}
    for name in sorted(malformed):
        yield Violation(Code.SCOPE, "id_form", f"{name} is not a valid id.", f"/{name}")
    for name, attribute, detail in _CURRENT:
        expected = getattr(world, attribute)
        if document[name] != expected and name not in malformed:
            message = f"{name} is not the current one."
            yield Violation(Code.SCOPE, detail, message, f"/{name}", expected=expected, actual=document[name][:200])
    for node in case.plan.nodes:
        yield from _check_ids(node)
        is_deleted = node.document.get("operation") == "delete_file" and case.is_done(node)
        if node.kind == "change" and not is_deleted:
            yield from _check_target(node, world)


def allowlist_ref(paths: frozenset[str]) -> str:
    """Return the name of an allowlist: the same paths give the same name."""
    return f"scope:{sha256_text(chr(10).join(sorted(paths)))[:12]}"


def is_repo_path(text: str) -> bool:
    """Tell whether the text is a path below the root in its one spelling."""
    try:
        return text != "." and RepoPath.parse(text).text == text
    except CodePlaneError:
        return False


def target_fault(node: Node, world: World) -> str | None:
    """Return why the file of a change node is out of scope."""
    path = node.target_file
    if _WILDCARD.search(path):
        return "wildcard"
    if not is_repo_path(path):
        return "path_invalid"
    if any(path == link or path.startswith(f"{link}/") for link in world.links_outside):
        return "path_outside"
    if path in world.files:
        return None
    is_new = node.is_creation and compile_globs(world.creatable).matches(path)
    return None if is_new and not compile_globs(world.never_created).matches(path) else "outside_allowlist"


def _check_ids(node: Node) -> Iterator[Violation]:
    names = ["nodeId", *(["commitGateId"] if node.document.get("commitGateId") else [])]
    for name in names:
        if not ID_FORM.fullmatch(node.document[name]):
            yield node_fault(Code.SCOPE, "id_form", node, name, f"{name} is not a valid id.")
    for number, hook in enumerate(node.document.get("verificationHooks", ())):
        if not ID_FORM.fullmatch(hook["hookId"]):
            place = f"verificationHooks/{number}/hookId"
            yield node_fault(Code.SCOPE, "id_form", node, place, "hookId is not a valid id.")


def _check_target(node: Node, world: World) -> Iterator[Violation]:
    detail = target_fault(node, world)
    if detail is not None:
        message = f"targetFile is not in scope: {node.target_file[:200]!r}."
        yield node_fault(Code.SCOPE, detail, node, "targetFile", message)
    for number, symbol in enumerate(node.document["targetSymbols"]):
        if _WILDCARD.search(symbol):
            message = "A target symbol is a name, not a pattern."
            yield node_fault(Code.SCOPE, "wildcard", node, f"targetSymbols/{number}", message)
