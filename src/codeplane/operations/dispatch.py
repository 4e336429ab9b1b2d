"""From a name and raw arguments to the door: find the operation, understand the arguments, perform, answer."""

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from codeplane.core.callers import Caller
from codeplane.core.errors import CodePlaneError
from codeplane.operations.answer import Answer
from codeplane.operations.call_record import CallControls
from codeplane.operations.catalog import OfferedTools
from codeplane.operations.cursors import FIELD, Position, check_same_question, has_cursor, read_cursor, with_first_page
from codeplane.operations.models import Request, Understanding
from codeplane.operations.operation import AnyOperation, Example
from codeplane.operations.perform import Door, perform, reject

CALL = "call"
_MAX_DEPTH = 32
_SURROGATE = re.compile("[\ud800-\udfff]")


def dispatch(
    door: Door, name: str, arguments: Mapping[str, Any], caller: Caller, controls: CallControls | None = None
) -> Answer:
    """Perform any operation by name, as every surface does.

    `call` is unwrapped here, so the operation it names passes the door like any other.
    """
    controls = controls or CallControls()
    understanding = Understanding(door.workspace.root)
    name = name.encode("utf-8", "backslashreplace").decode("utf-8")
    try:
        check_size(arguments, door.workspace.settings.mcp.max_argument_bytes)
        arguments = dict(arguments)
        if name == CALL:
            name, arguments = _unwrap(door, arguments, understanding)
            check_size(arguments, door.workspace.settings.mcp.max_argument_bytes)
        operation = find_operation(door, name)
        caller, arguments = _take_session(caller, operation, arguments)
        controls, arguments = _take_metadata(controls, operation, arguments)
        request, position = _understood(door, operation, arguments, understanding)
    except CodePlaneError as error:
        understood = (*understanding.notes, *understanding.obvious)
        return reject(door.workspace, name, caller, error.report(), understood)
    notes, obvious = tuple(understanding.notes), tuple(understanding.obvious)
    controls = replace(controls, understood=notes, obvious=obvious, position=position)
    return perform(door, operation, request, caller, controls)


def _understood(
    door: Door, operation: AnyOperation, arguments: dict[str, Any], understanding: Understanding
) -> tuple[Request, Position | None]:
    """Return the whole request and, with a cursor, the position to continue from."""
    request_type = operation.request_type
    if not isinstance(arguments.get(FIELD), str) or not has_cursor(request_type):
        return understand(operation, arguments, understanding), None
    first, position = read_cursor(door.workspace, operation.name, arguments[FIELD])
    request = understand(operation, with_first_page(request_type, first, arguments), understanding)
    check_same_question(request, first)
    return request, position


def find_operation(door: Door, name: str) -> AnyOperation:
    """Return the operation of that name.

    Raises:
        CodePlaneError: UNKNOWN_OPERATION with the nearest names, or what is wrong with the tool's upstream.
    """
    if name.startswith(door.workspace.switched_off):
        raise CodePlaneError("REFACTOR_DISABLED")
    operation = door.operations.get(name)
    if operation is not None:
        return operation
    problem = door.operations.why_missing(name) if isinstance(door.operations, OfferedTools) else None
    if problem is not None:
        raise problem
    near = nearest_names(name, door.operations)
    raise CodePlaneError(
        "UNKNOWN_OPERATION",
        f"There is no operation `{name[:80]}`.",
        hint=f"Nearest: {', '.join(near)}. `describe` lists all operations.",
        details={"nearest": list(near)},
    )


def nearest_names(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the three known names that look most like a wrong one."""
    return tuple(difflib.get_close_matches(name[:80], known, n=3, cutoff=0.0))


def understand(operation: AnyOperation, arguments: Mapping[str, Any], understanding: Understanding) -> Request:
    """Validate the arguments.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS naming every problem and showing a correct call.
    """
    try:
        request: Request = operation.request_type.model_validate(dict(arguments), context=understanding)
    except ValidationError as error:
        raise argument_error(operation, arguments, error) from error
    return request


def argument_error(operation: AnyOperation, arguments: Mapping[str, Any], error: ValidationError) -> CodePlaneError:
    """Return INVALID_ARGUMENTS for what pydantic found, in words a caller can act on."""
    items = error.errors(include_url=False, include_context=True)[:8]
    problems = [_problem(operation, item) for item in items]
    concerned = _names_in(error)

    def fits(example: Example) -> tuple[int, int]:
        n_as_given = sum(name in arguments and arguments[name] == value for name, value in example.params.items())
        return len(set(example.params) & concerned), n_as_given

    fitting = max(operation.examples, key=fits)
    example = json.dumps(dict(fitting.params), ensure_ascii=False)
    hint = f"A correct call: {operation.name} {example}"
    if any(item["type"] == "extra_forbidden" and not _nearest(operation, item) for item in items):
        # Another operation may know what this one does not.
        hint = "\n".join([hint, *operation.when_not_to_use])
    return CodePlaneError(
        _code(operation.request_type, items),
        f"{operation.name}: " + "; ".join(problems) + ".",
        hint=hint,
        details={"problems": problems, "example": dict(fitting.params)},
    )


def _code(request_type: type[Request], items: Sequence[Mapping[str, Any]]) -> str:
    """Return the code that the request names for its first problem, else INVALID_ARGUMENTS."""
    first = items[0] if items else {}
    if first.get("type") == "missing" and request_type.MISSING_CODE:
        return request_type.MISSING_CODE
    name = str(first["loc"][0]) if first.get("loc") else ""
    return request_type.FIELD_CODES.get(name, "INVALID_ARGUMENTS")


def _names_in(error: ValidationError) -> set[str]:
    """Return the names in the problems, including those that only the message mentions."""
    named: set[str] = set()
    for item in error.errors(include_url=False, include_context=False):
        named |= {str(part) for part in item["loc"]} | set(re.findall(r"`(\w+)`", item["msg"]))
    return named


def _problem(operation: AnyOperation, item: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in item["loc"]) or "the arguments"
    if item["type"] == "extra_forbidden":
        known = _known_names(operation)
        near = _nearest(operation, item)
        return f"`{where[:80]}` is unknown" + (
            f" (did you mean `{near[0]}`?)" if near else f" (known: {', '.join(known)})"
        )
    if item["type"] == "missing":
        return f"`{where[:80]}` is missing"
    message = str(item["msg"]).removeprefix("Value error, ")
    if not item["loc"]:
        return message[:300]
    return f"`{where[:80]}`: {message[:1].lower()}{message[1:300]}"


def _nearest(operation: AnyOperation, item: Mapping[str, Any]) -> list[str]:
    return difflib.get_close_matches(str(item["loc"][-1])[:80], _known_names(operation), n=1, cutoff=0.4)


def _known_names(operation: AnyOperation) -> list[str]:
    return list(operation.request_type.model_fields)


def _unwrap(door: Door, arguments: dict[str, Any], understanding: Understanding) -> tuple[str, dict[str, Any]]:
    """Return the operation and arguments inside a `call`."""
    call = find_operation(door, CALL)
    known = set(call.request_type.model_fields) | {"session_id"}
    stray = {key: value for key, value in arguments.items() if key not in known and key not in _CALL_ALIASES}
    if stray and "arguments" not in arguments:
        # Arguments beside the name instead of inside `arguments` are unambiguous.
        arguments = {key: value for key, value in arguments.items() if key not in stray} | {"arguments": stray}
        understanding.note("fields beside `operation` were read as its arguments")
    session = {key: arguments.pop(key) for key in ("session_id",) if key in arguments}
    request = understand(call, arguments, understanding)
    inner = request.model_dump()
    if inner["operation"] == CALL:
        raise CodePlaneError("INVALID_ARGUMENTS", "`call` cannot call itself.", hint="Name the operation you want.")
    return inner["operation"], {**inner["arguments"], **session}


_CALL_ALIASES = frozenset({"name", "tool", "op", "params", "args", "input"})


def _take_session(caller: Caller, operation: AnyOperation, arguments: dict[str, Any]) -> tuple[Caller, dict[str, Any]]:
    """Take `session_id` out of the arguments; any operation accepts it, unless it has a field of that name."""
    if "session_id" not in arguments or "session_id" in operation.own_arguments:
        return caller, arguments
    rest = {key: value for key, value in arguments.items() if key != "session_id"}
    session_id = arguments["session_id"]
    if session_id is None:
        return caller, rest
    if not isinstance(session_id, str):
        raise CodePlaneError("INVALID_ARGUMENTS", "`session_id` must be a string.", hint="Leave session_id out.")
    return replace(caller, session_id=session_id), rest


def _take_metadata(
    controls: CallControls, operation: AnyOperation, arguments: dict[str, Any]
) -> tuple[CallControls, dict[str, Any]]:
    """Take the description of a change out of the arguments; every changing operation accepts it."""
    if not operation.effect.mutates:
        return controls, arguments
    known = operation.own_arguments
    given = {
        name: arguments[name] for name in ("intent_id", "mutation_class") if name in arguments and name not in known
    }
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise CodePlaneError("INVALID_ARGUMENTS", f"`{name}` is a text.", hint=f"Leave {name} out.")
    rest = {name: value for name, value in arguments.items() if name not in given}
    changed = replace(controls, given_intent=given.get("intent_id"), given_class=given.get("mutation_class"))
    return changed, rest


def check_size(arguments: Mapping[str, Any], limit: int) -> None:
    """Refuse arguments that are too large, too deeply nested or not Unicode, before anything else reads them.

    Raises:
        CodePlaneError: PAYLOAD_TOO_LARGE or INVALID_ARGUMENTS.
    """
    size = 0
    stack: list[tuple[Any, int]] = [(arguments, 1)]
    while stack:
        value, depth = stack.pop()
        if depth > _MAX_DEPTH:
            raise CodePlaneError("PAYLOAD_TOO_LARGE", f"The arguments are nested more than {_MAX_DEPTH} levels deep.")
        if isinstance(value, str):
            size += _length(value)
        elif isinstance(value, Mapping):
            size += len(value)
            # A program's keys may be tuples of anything.
            stack.extend((item, depth + 1) for pair in value.items() for item in pair)
        elif isinstance(value, list | tuple | set | frozenset):
            size += len(value)
            stack.extend((item, depth + 1) for item in value)
        if size > limit:
            raise CodePlaneError(
                "PAYLOAD_TOO_LARGE",
                f"The arguments have more than {limit} characters.",
                details={"limit": limit},
            )


def _length(text: str) -> int:
    # Half a surrogate pair can be neither recorded nor answered.
    if _SURROGATE.search(text):
        shown = text[:80].encode("utf-8", "backslashreplace").decode("utf-8")
        raise CodePlaneError("INVALID_ARGUMENTS", f"`{shown}` is not valid Unicode.", hint="Send valid UTF-8.")
    return len(text)
