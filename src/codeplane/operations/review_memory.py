"""What people do with the memories of friction: look at them, decide, and apply override files."""

import os
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from pydantic import Field

from codeplane.core.clock import ms_from_iso
from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.edit.images import FileImage
from codeplane.edit.records import Change
from codeplane.ledger.chain import RowFilter
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.memory.anchors import folder_of, seed_anchors
from codeplane.memory.digest import friction_digest
from codeplane.memory.friction import count_of
from codeplane.memory.overrides import Override, apply_override, parse_override
from codeplane.memory.records import OPEN_STATES, command, is_anything_due, listed, promote
from codeplane.memory.store import Writing
from codeplane.operations.command import Command, Document, Facts, Route, Shown, Table
from codeplane.operations.edit_recovery import recover_edit
from codeplane.operations.memory_access import memory_of, memory_writing
from codeplane.operations.models import Request
from codeplane.operations.operation import Audience, CallContext, Example, Operation, Plan, planned
from codeplane.workspace.workspace import Workspace

_FAMILY = "memory"
OVERRIDES: Final = RepoPath.parse(".orchestration/memory/overrides")
_ALL_STATES: Final = (*OPEN_STATES, "rejected", "expired")
_DECISIONS: Final = ("approve", "reject", "contest", "retire")
_HOUR_MS: Final = 3_600_000
_MAX_SEEN_ROWS: Final = 500


class ReviewRequest(Request):
    """What is decided; nothing lists the memories."""

    approve: list[str] = Field(default_factory=list, max_length=100, description="Memories to enforce from now on.")
    reject: list[str] = Field(default_factory=list, max_length=100, description="Memories that never count.")
    contest: list[str] = Field(default_factory=list, max_length=100, description="Memories that wait for a person.")
    retire: list[str] = Field(default_factory=list, max_length=100, description="Enforced memories to end.")
    apply_overrides: bool = Field(False, description=f"Accept and apply the files in {OVERRIDES}.")

    @property
    def decisions(self) -> list[tuple[str, str]]:
        """Return the commands with their memories, in the order of the fields."""
        return [(name, one) for name in _DECISIONS for one in getattr(self, name)]

    @property
    def changes_something(self) -> bool:
        """Tell whether the request is more than a look."""
        return bool(self.decisions) or self.apply_overrides


class MemoriesRequest(Request):
    """Which memories."""

    is_all: bool = Field(False, description="Rejected and expired ones, too.")


class FrictionRequest(Request):
    """Which friction."""

    session: str | None = Field(None, max_length=200, description="Only that of one session, by its label.")


@dataclass(frozen=True, slots=True)
class _File:
    """An override file as it was read; `problem` says why it cannot be used."""

    path: RepoPath
    image: FileImage
    override: Override | None
    problem: str = ""

    @property
    def name(self) -> str:
        return self.path.text.rpartition("/")[2]

    def document(self) -> dict[str, Any]:
        asks = self.override.summary if self.override is not None else "nothing that can be used"
        # What arrives with the repository counts only when a person has accepted it.
        found = {"file": self.path.text, "digest": self.image.sha256, "asks": asks, "state": "pending", "trust": 1}
        return found | ({"problem": self.problem} if self.problem else {})


def _override_files(workspace: Workspace) -> list[_File]:
    """Return the files that wait, in byte order of their names."""
    place = workspace.root / OVERRIDES.text
    if not place.is_dir() or place.resolve() != (workspace.root.resolve() / OVERRIDES.text):
        return []
    names = sorted((one.name for one in place.iterdir() if one.suffix == ".json"), key=os.fsencode)
    return [found for name in names if (found := _read(workspace, RepoPath.known(f"{OVERRIDES}/{name}"))) is not None]


def _read(workspace: Workspace, path: RepoPath) -> _File | None:
    try:
        found = workspace.editor.look(path)
    except CodePlaneError:
        return None
    if found is None or found.image.is_link:
        return None
    try:
        return _File(path, found.image, parse_override(found.image.data))
    except CodePlaneError as error:
        return _File(path, found.image, None, error.message)


def _plan_review(context: CallContext, request: ReviewRequest) -> Plan[Document]:
    files = _override_files(context.workspace)
    if not request.apply_overrides:
        return Plan(lambda: _review(context, request, files))
    targets = [place for one in files for place in _places(one)]
    return Plan(
        lambda: _review(context, request, files),
        Effects(writes=tuple(targets), deletes=tuple(one.path for one in files)),
    )


def _places(file: _File) -> tuple[RepoPath, ...]:
    """Return where a file may go: whether it can be applied is known only while it is."""
    processed, rejected = (RepoPath.known(f"{OVERRIDES}/{folder}/{file.name}") for folder in ("processed", "rejected"))
    return processed, rejected, RepoPath.known(f"{rejected}.error.txt")


def _review(context: CallContext, request: ReviewRequest, files: list[_File]) -> Document:
    workspace = context.workspace
    settings, now_ms = workspace.settings.memory.friction, workspace.clock.now_ms()
    with memory_of(context).read() as connection:
        is_due = is_anything_due(connection, settings, now_ms)
    applied: list[dict[str, Any]] = []
    if is_due or request.changes_something:
        with memory_writing(context) as writing:
            seed_anchors(writing.connection, workspace.tracked().directories, settings)
            for name, memory_id in request.decisions:
                command(writing, name, memory_id, _person(context))
            if request.apply_overrides and files:
                applied = _apply_files(context, writing, files)
            promote(writing, settings, now_ms)
            if applied:
                # Last, so that a file that was changed meanwhile stops everything.
                workspace.editor.apply(context.call_id, _moves(workspace, files, applied))
    waiting = [] if request.apply_overrides else [one.document() for one in files]
    return Document(memories=_memories(context, OPEN_STATES), overrides=waiting, applied=applied)


def _person(context: CallContext) -> str:
    return f"person:{context.caller.proof or context.caller.client}"


def _apply_files(context: CallContext, writing: Writing, files: list[_File]) -> list[dict[str, Any]]:
    """Apply the files in order; one that cannot be used stops none of the others."""
    settings = context.workspace.settings.memory.friction
    context.noted["accepted_overrides"] = {printable_name(one.name): one.image.sha256 for one in files}
    done: list[dict[str, Any]] = []
    for file in files:
        memory_id, problem = None, file.problem
        if file.override is not None:
            try:
                memory_id = apply_override(writing, file.override, settings, _person(context))
            except CodePlaneError as error:
                problem = error.message
        done.append({"file": file.path.text, "memory": memory_id, "problem": problem or None})
    return done


def _moves(workspace: Workspace, files: list[_File], applied: list[dict[str, Any]]) -> list[Change]:
    changes: list[Change] = []
    for file, done in zip(files, applied, strict=True):
        processed, rejected, error = _places(file)
        new = {processed: file.image.data}
        if done["problem"]:
            new = {rejected: file.image.data, error: f"{done['problem']}\n".encode()}
        changes.append(Change(file.path, file.image, None))
        changes += [
            Change(path, found.image if (found := workspace.editor.look(path)) is not None else None, FileImage(data))
            for path, data in new.items()
        ]
    return [one for one in changes if one.after is None or not one.after.is_like(one.before)]


def _memories(context: CallContext, states: tuple[str, ...]) -> list[dict[str, Any]]:
    now_ms = context.workspace.clock.now_ms()
    with memory_of(context).read() as connection:
        found = listed(connection, states)
        for one in found:
            keys = [(code, anchor) for code in one["rejectionCodes"] for anchor in one["domainAnchorIds"]]
            one["rejectionsSince"] = sum(count_of(connection, *key) for key in keys)
            one["ageHours"] = max(0, now_ms - ms_from_iso(one["createdAt"])) // _HOUR_MS
    return found


def _show_review(result: Document) -> Shown:
    document = result.model_dump()
    rows = tuple(
        (
            one["id"],
            one["state"] + (" (contested)" if one.get("contestedBy") else ""),
            one["enforcementType"],
            ", ".join(printable_name(folder_of(anchor)) for anchor in one["domainAnchorIds"]),
            str(one["rejectionsSince"]),
            f"{one['ageHours']} h",
            printable_name(one.get("note") or ""),
        )
        for one in document["memories"]
    )
    headers = ("id", "state", "type", "folder", "since", "age", "note")
    shown: list[Table | Facts | str] = [
        Table(headers, rows, "" if rows else "Nothing to review: no mistake was repeated often enough in a folder.")
    ]
    shown += [
        f"{printable_name(one['file'])} waits for a person; it asks for {printable_name(one['asks'])}."
        " Accept it with `cpl memory review --apply-overrides`."
        for one in document.get("overrides", ())
    ]
    shown += [
        f"{printable_name(one['file'])}: {one['problem'] or 'applied to ' + str(one['memory'])}"
        for one in document.get("applied", ())
    ]
    return tuple(shown)


def _needs_person(workspace: Workspace, request: ReviewRequest) -> str | None:
    asked = [f"{name} {printable_name(one[:80])}" for name, one in request.decisions]
    if request.apply_overrides:
        files = [
            f"{printable_name(one.name)} ({printable_name(one.document()['asks'])}, {one.image.sha256[:12]})"
            for one in _override_files(workspace)
        ]
        asked.append(f"apply the override files {', '.join(files) or '(none)'}")
    return " and ".join(asked) or None


REVIEW_MEMORY = Operation(
    name="review_memory",
    family=_FAMILY,
    summary="Look at what repeated failures taught, and decide about it.",
    request_type=ReviewRequest,
    result_type=Document,
    effect=EffectClass.WRITE,
    plan=_plan_review,
    recover=recover_edit,
    examples=(Example("Enforce one", {"approve": ["mem-1"]}),),
    audience=Audience.SHELL,
    only_a_person_can=_needs_person,
    is_dry_run=lambda request: not request.changes_something,
    command=Command(
        path=("memory", "review"),
        help="List memories that are pending, provisional or approved; options decide about them.",
        shows=_show_review,
    ),
    routes=(Route(method="POST", path="/memory/review", summary="Decide about memories."),),
)

LIST_MEMORIES = Operation(
    name="list_memories",
    family=_FAMILY,
    summary="List the memories that repeated failures or people made.",
    request_type=MemoriesRequest,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(
        lambda context, request: Document(memories=_memories(context, _ALL_STATES if request.is_all else OPEN_STATES))
    ),
    examples=(Example("Ended ones, too", {"is_all": True}),),
    audience=Audience.SHELL,
    command=Command(
        path=("memory", "records"),
        help="List memories with all their fields (--json).",
        shows=_show_review,
        flags={"is_all": "--all"},
    ),
    routes=(Route(method="GET", path="/memory/records", summary="Memories of friction; filter is_all."),),
)


def _friction(context: CallContext, request: FrictionRequest) -> Document:
    workspace = context.workspace
    rows = workspace.chain.rows(RowFilter(session=request.session, body_holds='"seen":', limit=_MAX_SEEN_ROWS))
    retrieved = Counter(path for row in rows if isinstance(seen := row.body.get("seen"), dict) for path in seen)
    with memory_of(context).read() as connection:
        found = friction_digest(connection, workspace.settings.memory.friction, retrieved, request.session)
    return Document(**found)


def _show_friction(result: Document) -> Shown:
    found = result.model_dump()
    heat = tuple((one["code"], printable_name(folder_of(one["anchor"])), str(one["n"])) for one in found["heat_map"])
    facts = (
        ("rejections", str(found["rejections"])),
        ("not yet corrected", str(found["pending_corrections"])),
        (
            "most read",
            ", ".join(f"{printable_name(one['path'])} ({one['n']})" for one in found["retrieval_hot_spots"]) or "none",
        ),
        ("by hour", ", ".join(f"{one['hour']} {one['n']}" for one in found["trend"]) or "none"),
        ("pending memories", str(len(found["memories"]["pending"]))),
    )
    return (
        Facts(facts),
        Table(("code", "folder", "times"), heat, "" if heat else "Nothing was refused."),
        *(printable_name(one["text"]) for one in found["suggestions"]),
    )


SHOW_FRICTION = Operation(
    name="show_friction",
    family=_FAMILY,
    summary="Show what agents do wrong again and again, and where.",
    request_type=FrictionRequest,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_friction),
    examples=(Example("Look", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("memory", "friction"),
        help="Count rejections by code and folder, with their trend and what could be done.",
        shows=_show_friction,
    ),
    routes=(Route(method="GET", path="/memory/friction", summary="What goes wrong again and again; filter session."),),
)
