"""Calls that an agent carries out itself, as operations: they pass the door in two parts, its work lies between.

What a tool does is told by its `ToolUse`; from it come the effects that the gate judges. Nothing here runs a tool.
"""

import difflib
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.line_matching import counted_changes
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.edit.records import Change
from codeplane.govern.shell_risk.report import RiskVerdict
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.ledger.fingerprints import FileChange
from codeplane.ledger.policy import ToolClass
from codeplane.operations.agent_events import ToolKind, ToolUse
from codeplane.operations.edited_symbols import touched_between
from codeplane.operations.file_access import check_readable
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.operations.write_access import writable
from codeplane.workspace.command_bracket import CommandBracket
from codeplane.workspace.workspace import Workspace

FAMILY: Final = "agents"
_MAX_CHANGED: Final = 200
_MAX_PARSED: Final = 40
_MAX_TESTS: Final = 50
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")


class OutsideRequest(Request):
    """One call of an agent's own tool, in the words of the repository."""

    reads: list[str] = Field(default_factory=list)
    writes: list[str] = Field(default_factory=list)
    deletes: list[str] = Field(default_factory=list)
    foreign: list[str] = Field(default_factory=list, description="Places outside of the working tree that it writes.")
    foreign_reads: list[str] = Field(default_factory=list, description="Such places that it reads.")
    is_anchored: bool = False
    command: str = ""
    hosts: list[str] = Field(default_factory=list)
    essence: dict[str, Any] = Field(default_factory=dict, description="What makes two calls the same call.")


class SyntaxProblem(Result):
    """A line of a changed file that no longer parses."""

    path: str
    line: int


class OutsideResult(Result):
    """What became of the call."""

    is_error: bool = False
    changed: list[str] = Field(default_factory=list)
    restored: list[str] = Field(default_factory=list, description="Protected files that were put back.")
    out_of_scope: list[str] = Field(default_factory=list, description="Changed files that the intent does not own.")
    overwritten: list[str] = Field(default_factory=list, description="Files that somebody changed in between.")
    syntax_errors: list[SyntaxProblem] = Field(default_factory=list)
    tests_affected: list[str] = Field(default_factory=list, description="Those that are sure.")


@dataclass(frozen=True, slots=True)
class Classes:
    """What a call may do at most, and whose tool it is."""

    effect: EffectClass
    tool_class: ToolClass


@dataclass(frozen=True, slots=True)
class Ending:
    """How the agent says that its call ended; `originals` are files as it found them just before it wrote."""

    is_error: bool = False
    originals: Mapping[str, bytes] = field(default_factory=dict)


_NO_ENDING: Final = Ending()


def request_of(workspace: Workspace, tool: ToolUse, cwd: str) -> OutsideRequest:
    """Return a tool call with its paths as the repository knows them."""
    base = _directory(workspace.root, os.path.join(cwd, tool.directory))  # noqa: PTH118 - text of an agent.
    named: dict[str, list[str]] = {"reads": [], "writes": [], "deletes": [], "foreign": [], "foreign_reads": []}
    for name, paths in (("reads", tool.reads), ("writes", tool.writes), ("deletes", tool.deletes)):
        for place in (one for text in paths for one in places_of(workspace.root, base, text)):
            if isinstance(place, RepoPath):
                named[name].append(place.text)
            else:
                named["foreign_reads" if name == "reads" else "foreign"].append(place)
    command = tool.command
    if command and base != workspace.root:
        # The command is judged as it would be from the top of the tree.
        command = f"cd {shlex.quote(os.path.relpath(base, workspace.root))} && {command}"
    return OutsideRequest(
        **named,
        is_anchored=tool.is_anchored,
        command=command,
        hosts=list(tool.hosts),
        essence=dict(tool.essence),
    )


def outside_operation(
    tool: ToolUse, request: OutsideRequest, classes: Classes, ending: Ending | None = None
) -> Operation[OutsideRequest, OutsideResult]:
    """Return the operation that a tool call is; at its end with what the agent said of it."""
    ended = ending or Ending()
    return Operation(
        name=tool.operation,
        family=FAMILY,
        summary=f"{tool.name}, carried out by the agent itself.",
        request_type=OutsideRequest,
        result_type=OutsideResult,
        effect=classes.effect,
        plan=lambda context, given: _plan(context, given, tool, ended),
        render=lambda result: result.model_dump_json(exclude_defaults=True),
        complete=lambda context, result: completed(context, result, tool, request, ended),
        snapshots=classes.effect.mutates,
        tool_class=classes.tool_class,
        examples=(Example("As an agent's hook tells it", {}),),
    )


def classes_of(workspace: Workspace, tool: ToolUse, request: OutsideRequest) -> Classes:
    """Return what a call may do and whose tool it is, by the tool and the rules in force."""
    rules = workspace.gate.rules()
    names = (tool.operation, tool.name)
    usual: ToolClass = "mcp" if tool.kind is ToolKind.FOREIGN else "native"
    if tool.kind in {ToolKind.READ, ToolKind.NETWORK}:
        effect = EffectClass.READ
    elif tool.kind is ToolKind.WRITE:
        effect = EffectClass.DELETE if request.deletes and not request.writes else EffectClass.WRITE
    elif tool.kind is ToolKind.COMMAND:
        is_safe = workspace.command_verdict(request.command) is RiskVerdict.SAFE
        effect = EffectClass.READ if is_safe else EffectClass.EXECUTE
    else:
        effect = EffectClass.READ if any(map(rules.is_read_only_tool, names)) else EffectClass.EXECUTE
    return Classes(effect, rules.tool_class_of(names) or usual)


def _plan(context: CallContext, request: OutsideRequest, tool: ToolUse, ending: Ending) -> Plan[OutsideResult]:
    workspace = context.workspace
    _check_reads(workspace, request)
    writes = tuple(writable(workspace, text, follow=True).real for text in request.writes)
    deletes = tuple(writable(workspace, text, follow=False).real for text in request.deletes)
    is_known = tool.kind in {ToolKind.WRITE, ToolKind.COMMAND}
    effects = Effects(
        reads=tuple(RepoPath.parse(text) for text in request.reads),
        writes=writes,
        deletes=deletes,
        commands=((request.command,),) if request.command else (),
        network=tuple(request.hosts),
        foreign=tuple(request.foreign),
        destructive=not is_known,
        anchored=writes if request.is_anchored else (),
        overwrites=() if request.is_anchored else writes,
    )

    def work() -> OutsideResult:
        seen = {path.text: workspace.working_hash(path.text) for path in effects.reads}
        context.seen |= {path: sha256 for path, sha256 in seen.items() if sha256 is not None}
        return OutsideResult(is_error=ending.is_error)

    return Plan(work, effects, preview=lambda: _preview(workspace, request, tool))


def _check_reads(workspace: Workspace, request: OutsideRequest) -> None:
    """Refuse secrets of the tree and CodePlane's own of the user.

    Raises:
        CodePlaneError: SECRET_FILE or PROTECTED_PATH; a file that does not exist is the agent's business.
    """
    for text in request.reads:
        try:
            check_readable(workspace.ignore_rules(), RepoPath.parse(text))
        except CodePlaneError as error:
            if error.code == "SECRET_FILE":
                raise
    state = os.path.realpath(workspace.places.user.state)
    if any(f"{os.path.realpath(text)}/".startswith(f"{state}/") for text in request.foreign_reads):
        raise CodePlaneError("PROTECTED_PATH", "The secrets of CodePlane are not read by tools.")


def completed(
    context: CallContext, result: OutsideResult, tool: ToolUse, request: OutsideRequest, ending: Ending = _NO_ENDING
) -> OutsideResult:
    """Add what the snapshot shows, what it means, and what it was not to do."""
    bracket = context.bracket
    if not isinstance(bracket, CommandBracket):
        return result
    written = bracket.written()
    changes = written.outcome.changes
    problems: list[SyntaxProblem] = []
    symbols: dict[str, Sequence[str]] = {}
    for change in changes[:_MAX_PARSED]:
        before, after = (None if one is None or one.is_link else one.data for one in (change.before, change.after))
        path = change.path.text
        touched = touched_between(path, before, after)
        symbols[path] = touched.symbols
        problems += [SyntaxProblem(path=printable_name(path), line=line) for line in touched.error_lines]
        if touched.facts is not None:
            context.definitions[path] = touched.facts.definitions
    context.changes.extend(_file_change(one, symbols.get(one.path.text, ())) for one in changes)
    for path in written.restored:
        context.warnings.append(f"{path} is protected; it was put back")
    if written.restored:
        restored = [printable_name(path) for path in written.restored]
        context.workspace.alarm("protected files changed", {"paths": restored}, context.session.label, context.call_id)
    if written.has_git_settings:
        context.warnings.append("the configuration of git (.git/config) was changed; it can make git run programs")
        context.noted["git_settings_changed"] = True
    outside = _out_of_scope(context, [one.path for one in changes], request)
    overwritten = _overwritten(context, changes, tool, ending)
    tests = _tests(context, [one.path.text for one in changes], symbols)
    return result.model_copy(
        update={
            "changed": [printable_name(one.path.text) for one in changes][:_MAX_CHANGED],
            "restored": [printable_name(path) for path in written.restored],
            "out_of_scope": outside,
            "overwritten": overwritten,
            "syntax_errors": problems,
            "tests_affected": tests,
        }
    )


def _out_of_scope(context: CallContext, paths: Sequence[RepoPath], request: OutsideRequest) -> list[str]:
    """Return the changed files that the session's intent does not own; they stay, and the record says so."""
    workspace = context.workspace
    rules = workspace.gate.rules()
    intent = workspace.gate.selected_of(context.session.label, context.caller, workspace.repository.worktree_id)
    if not rules.is_enforced or rules.intents is None or intent is None or request.writes or request.deletes:
        return []
    found = [printable_name(path.text) for path in paths if not rules.owns(intent, path.text)]
    if found:
        context.noted["out_of_scope"] = found[:_MAX_CHANGED]
        context.warnings.append(f"{found[0]} is not in the scope of {intent}")
    return found[:_MAX_CHANGED]


def _overwritten(context: CallContext, changes: Sequence[Change], tool: ToolUse, ending: Ending) -> list[str]:
    """Return files that somebody changed between the hook and the agent's write.

    Where the agent tells what it overwrote, undo brings that back; otherwise its edits tell that there was a change.
    """
    found = []
    for one in changes:
        original = ending.originals.get(one.path.text)
        if one.before is None or one.after is None:
            continue
        before, after = (image.data.decode("utf-8", "replace") for image in (one.before, one.after))
        if original is not None and original != one.before.data:
            found.append(one.path.text)
            context.workspace.editor.records.correct(context.call_id, one.path, replace(one.before, data=original))
        elif original is None and tool.replacements and tool.new_text(before) != after:
            found.append(one.path.text)
    if found:
        context.noted["changed_in_between"] = [printable_name(path) for path in found]
    return found


def _tests(context: CallContext, paths: list[str], symbols: Mapping[str, Sequence[str]]) -> list[str]:
    if not paths or not context.is_index_fresh:
        return []
    found = context.workspace.index.affected_tests(paths, {path: names for path, names in symbols.items() if names})
    return [one.path for one in found.matches if one.confidence == "high"][:_MAX_TESTS]


def _file_change(change: Change, symbols: Sequence[str]) -> FileChange:
    before, after = (one.data if one is not None else b"" for one in (change.before, change.after))
    added, removed = counted_changes(before.splitlines(), after.splitlines())
    return FileChange(
        printable_name(change.path.text),
        change.before.sha256 if change.before is not None else None,
        change.after.sha256 if change.after is not None else None,
        added,
        removed,
        tuple(symbols),
    )


def _preview(workspace: Workspace, request: OutsideRequest, tool: ToolUse) -> str:
    """Return what a person is to judge: the command, or the change as a diff."""
    if request.command:
        return request.command
    parts = []
    for path in request.writes:
        found = workspace.editor.look(RepoPath.parse(path))
        old = found.image.data.decode("utf-8", "replace") if found is not None else ""
        new = tool.new_text(old)
        if new is not None:
            lines = difflib.unified_diff(old.splitlines(), new.splitlines(), f"a/{path}", f"b/{path}", lineterm="")
            parts.append("\n".join(lines))
    parts += [f"delete {path}" for path in request.deletes] + ([tool.patch] if tool.patch else [])
    return "\n".join(parts)


def _directory(root: Path, cwd: str) -> Path:
    """Return the directory that an agent works in; the top of the tree when it says nothing that makes sense."""
    real, top = os.path.realpath(cwd), os.path.realpath(root)
    if not cwd.startswith("/") or not Path(real).is_dir():
        return root
    return root / os.path.relpath(real, top) if f"{real}/".startswith(f"{top}/") else Path(real)


def places_of(root: Path, base: Path, text: str) -> tuple[RepoPath | str, ...]:
    """Return paths of the repository, or absolute paths of places outside of it, links resolved.

    `link/../name` means two files: programs take `..` out of the text, the system follows the link first.
    """
    text = text.removeprefix("file://")
    if _DRIVE.match(text):
        return (text,)
    if "\\" in text and not os.path.lexists(base / text):
        text = text.replace("\\", "/")
    joined = os.path.join(base, os.path.expanduser(text) if text.startswith("~/") else text)  # noqa: PTH111, PTH118
    forms = (os.path.normpath(joined), joined if "/../" in joined else "")
    return tuple(dict.fromkeys(_resolved(root, one) for one in forms if one and os.path.basename(one) != ".."))  # noqa: PTH119


def _resolved(root: Path, text: str) -> RepoPath | str:
    parent, name = os.path.split(text.rstrip("/") or "/")
    real, top = os.path.join(os.path.realpath(parent), name), os.path.realpath(root)  # noqa: PTH118 - text stays text.
    if real == top or not real.startswith(f"{top}/"):
        return real
    return RepoPath.parse(os.path.relpath(real, top))
