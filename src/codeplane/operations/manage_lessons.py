"""List lessons, add decisions, and write both into the files that agents read."""

from typing import Any, Final

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted
from codeplane.edit.images import FileImage
from codeplane.edit.managed_block import LESSONS, with_block
from codeplane.edit.records import Change
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.memory.lessons import Lesson, add_decision, lesson_lines, lessons
from codeplane.operations.command import Command, Document, NoArguments, Shown
from codeplane.operations.edit_recovery import recover_edit
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, Plan, planned
from codeplane.workspace.workspace import Workspace

_FAMILY: Final = "lessons"
FILES: Final = tuple(RepoPath.parse(name) for name in ("AGENTS.md", "CLAUDE.md", "AGENT.md"))
_NONE: Final = "None of AGENTS.md, CLAUDE.md and AGENT.md exists, so nothing is written; create one of them first."


class AddLessonRequest(Request):
    """The decision."""

    text: str = Field(max_length=2_000, description="One line, such as `Totals are kept in cents`.")


class LessonList(Result):
    """The lines that agents get to read."""

    lines: list[str]
    failures: int
    decisions: int
    files: list[str] = Field(description="The files that have or would get them.")


def _lines(workspace: Workspace) -> tuple[str, ...]:
    if not workspace.has_memory:
        return ()
    with workspace.memory.read() as connection:
        return lesson_lines(lessons(connection))


def _existing(workspace: Workspace) -> list[RepoPath]:
    found = [(path, workspace.editor.look(path)) for path in FILES]
    return [path for path, one in found if one is not None and not one.image.is_link]


def _list(context: CallContext, _request: NoArguments) -> LessonList:
    workspace = context.workspace
    found: tuple[Lesson, ...] = ()
    if workspace.has_memory:
        with workspace.memory.read() as connection:
            found = lessons(connection)
    return LessonList(
        lines=list(lesson_lines(found)),
        failures=sum(one.kind == "failure" for one in found),
        decisions=sum(one.kind == "decision" for one in found),
        files=[path.text for path in _existing(workspace)],
    )


def _list_text(result: LessonList) -> Shown:
    count = f"{counted(result.decisions, 'decision')}, {counted(result.failures, 'failure')} on record"
    where = f"`cpl lessons write` writes them into {', '.join(result.files)}." if result.files else _NONE
    return ("\n".join([*result.lines, f"({count}) {where}"]),)


def _add(context: CallContext, request: AddLessonRequest) -> Document:
    workspace = context.workspace
    with workspace.memory.write(workspace.origin(context.session.label, "person")) as writing:
        add_decision(writing, request.text)
    context.noted["memory"] = [*context.noted.get("memory", ()), *writing.noted]
    return Document(added=bool(writing.noted), lines=len(_lines(workspace)))


def _plan_write(context: CallContext, _request: NoArguments) -> Plan[Document]:
    workspace = context.workspace
    changes = [one for path in _existing(workspace) if (one := _change(workspace, path, _lines(workspace))) is not None]

    def work() -> Document:
        if changes:
            workspace.editor.apply(context.call_id, changes)
        existing = [path.text for path in _existing(workspace)]
        return Document(written=[one.path.text for one in changes], files=existing, note="" if existing else _NONE)

    return Plan(work, Effects(writes=tuple(one.path for one in changes)))


def _change(workspace: Workspace, path: RepoPath, lines: tuple[str, ...]) -> Change | None:
    found = workspace.editor.look(path)
    if found is None:
        return None
    try:
        text = found.image.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CodePlaneError("VALIDATION_ERROR", f"{path} is not UTF-8 text; it was left as it is.") from error
    wanted = with_block(text, *LESSONS, lines)
    after = FileImage(wanted.encode(), found.image.mode)
    return Change(path, found.image, after) if wanted != text else None


def _written_text(result: Document) -> Shown:
    found: dict[str, Any] = result.model_dump()
    if found["note"]:
        return (found["note"],)
    written = found["written"]
    return (f"Wrote {', '.join(written)}." if written else f"{', '.join(found['files'])}: nothing new.",)


ADD_LESSON = Operation(
    name="add_lesson",
    family=_FAMILY,
    summary="Add a decision that agents should know.",
    request_type=AddLessonRequest,
    result_type=Document,
    effect=EffectClass.RECORD,
    plan=planned(_add),
    examples=(Example("A decision", {"text": "Totals are kept in cents"}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, _request: "add a decision that agents read",
    command=Command(
        path=("lessons", "add"),
        help="Add an architectural decision; `cpl lessons write` shows it to agents.",
        shows=lambda result: ("Added." if result.model_dump()["added"] else "It was known already.",),
        arguments=("text",),
    ),
)

LIST_LESSONS = Operation(
    name="list_lessons",
    family=_FAMILY,
    summary="List lessons and decisions.",
    request_type=NoArguments,
    result_type=LessonList,
    effect=EffectClass.READ,
    plan=planned(_list),
    examples=(Example("All of them", {}),),
    audience=Audience.SHELL,
    command=Command(path=("lessons", "list"), help="Show what agents get to read.", shows=_list_text),
)

WRITE_LESSONS = Operation(
    name="write_lessons",
    family=_FAMILY,
    summary="Write lessons into AGENTS.md, CLAUDE.md and AGENT.md.",
    request_type=NoArguments,
    result_type=Document,
    effect=EffectClass.WRITE,
    plan=_plan_write,
    recover=recover_edit,
    examples=(Example("Write them", {}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, _request: "write lessons into the files that agents read",
    command=Command(
        path=("lessons", "write"),
        help="""Write the lessons into a managed block of those of AGENTS.md, CLAUDE.md and AGENT.md that exist.

        Text outside of the block is not touched; where none of the files exists nothing is created.""",
        shows=_written_text,
    ),
)
