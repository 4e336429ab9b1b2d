"""What one call changed, line by line, from the record that undo keeps."""

import difflib

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted, visible_text
from codeplane.core.redaction import redact
from codeplane.core.secrets import holds_private_key
from codeplane.edit.images import FileImage
from codeplane.edit.records import Change
from codeplane.ledger.effects import EffectClass
from codeplane.operations.command import Command, Route, Shown
from codeplane.operations.file_access import check_readable
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, planned

_MAX_FILES = 100
_MAX_FILE_BYTES = 400_000
_MAX_CHARS = 200_000


class ShowChangeRequest(Request):
    """Which call."""

    call: str = Field(description="The call's id.")


class ChangedFile(Result):
    """One file as it was before and after the call; `left_out` says why there is no diff."""

    path: str
    diff: str = ""
    left_out: str = ""


class CallChange(Result):
    """The files that a call changed. `left_out` says why there are none, or not all of them."""

    call: str
    files: list[ChangedFile]
    left_out: str = ""


def _show(context: CallContext, request: ShowChangeRequest) -> CallChange:
    kept = context.workspace.editor.records.find(request.call)
    if kept is None:
        reason = "The call changed no file, or its record is no longer kept."
        return CallChange(call=request.call, files=[], left_out=reason)
    changes = kept[0].changes
    files = [_file(context, change) for change in changes[:_MAX_FILES]]
    n_more = len(changes) - len(files)
    return CallChange(call=request.call, files=files, left_out=counted(n_more, "more file") if n_more else "")


def _file(context: CallContext, change: Change) -> ChangedFile:
    path, rules = visible_text(change.path.text), context.workspace.ignore_rules()
    # A file that is not there any more has only its name to be judged by.
    rule = rules.block(change.path, is_directory=False)
    if rule is not None:
        return ChangedFile(path=path, left_out=f"It is withheld by the rule `{rule.line}` ({rule.source}).")
    try:
        check_readable(rules, change.path)
    except CodePlaneError as error:
        if error.code in {"SECRET_FILE", "FILE_IGNORED"}:
            return ChangedFile(path=path, left_out=error.message)
    if any(holds_private_key(one.data) for one in (change.before, change.after) if one is not None):
        return ChangedFile(path=path, left_out="It holds a private key.")
    old, new = _lines(change.before), _lines(change.after)
    if old is None or new is None:
        return ChangedFile(path=path, left_out="It is binary or too large to compare.")
    names = (f"a/{path}" if change.before else "/dev/null", f"b/{path}" if change.after else "/dev/null")
    text = "\n".join(difflib.unified_diff(old, new, *names, lineterm=""))
    return ChangedFile(path=path, diff=visible_text(redact(text[:_MAX_CHARS])))


def _lines(image: FileImage | None) -> list[str] | None:
    """Return the lines of a text, none for no file; None when it cannot be shown."""
    if image is None:
        return []
    if len(image.data) > _MAX_FILE_BYTES or b"\0" in image.data:
        return None
    return image.data.decode("utf-8", "backslashreplace").splitlines()


def _diff_text(result: CallChange) -> Shown:
    parts = [one.diff or f"{one.path}: {one.left_out or 'its lines are the same'}" for one in result.files]
    return ("\n".join([*parts, *([result.left_out] if result.left_out else [])]),)


SHOW_CHANGE = Operation(
    name="show_change",
    family="ledger",
    summary="Show the lines that one call changed.",
    request_type=ShowChangeRequest,
    result_type=CallChange,
    effect=EffectClass.READ,
    plan=planned(_show),
    examples=(Example("Show it", {"call": "req_1"}),),
    audience=Audience.SHELL,
    command=Command(
        path=("ledger", "diff"),
        help="Show the lines that one call changed, as long as undo keeps its record.",
        shows=_diff_text,
        arguments=("call",),
        is_finding=lambda result: not result.files,
        needs_ledger=True,
    ),
    routes=(
        Route(
            method="GET",
            path="/operations/{call}/change",
            summary="The lines that one call changed; needs the operator token.",
            needs_token=True,
        ),
    ),
)
