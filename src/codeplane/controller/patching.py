"""The new content of a node's file, worked out in memory, and the proof that it stays inside the node."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from jsonschema import Draft202012Validator

from codeplane.controller.codemods.catalog import find_codemod
from codeplane.controller.codemods.codemod import CodemodError
from codeplane.controller.codes import Code
from codeplane.controller.knowledge import FileText
from codeplane.controller.plan import Node
from codeplane.controller.verb import FaultError, denied, wrong_argument
from codeplane.core.line_matching import matching_blocks
from codeplane.languages.catalog import dialect_of, load_language

_CUSTOM: Final = "codemod:"
_REPLACE: Final = "replace_text"
_CREATE: Final = "create_file"
_DELETE: Final = "delete_file"


def new_content(node: Node, before: FileText | None, edits: Sequence[Any]) -> bytes | None:
    """Return what the file of a node becomes; None when it is deleted.

    Raises:
        DeniedError: the edits are not those of the node, or do not fit the file.
    """
    operation = node.document["operation"]
    if operation == _DELETE:
        if edits:
            raise wrong_argument("edits", "delete_file takes an empty list of edits.")
        return None
    if operation == _CREATE:
        return _created(node, edits)
    if before is None:
        raise FaultError("file_not_found", f"{node.target_file} cannot be read.")
    if not edits:
        raise wrong_argument("edits", "edits is empty.")
    data = before.data
    for number, edit in enumerate(edits):
        data = _edited(node, data, edit, number)
    if data == before.data:
        message = f"The edits leave {node.target_file} as it is."
        raise denied(Code.POLICY, "no_change", message, "/args/edits", node_id=node.node_id)
    return data


def check_inside(node: Node, before: FileText, after: bytes) -> None:
    """Refuse a change outside of the node's symbols and anchors: all other lines must still be there, in order.

    Raises:
        DeniedError: PLAN_SCOPE_VIOLATION/outside_node with the first such line.
    """
    if node.document["operation"] in {_CREATE, _DELETE}:
        return
    line = _first_outside(before.data.split(b"\n"), after, _allowed_lines(node, before))
    if line is not None:
        message = f"Line {line} of {node.target_file} is outside of the symbols and anchors of {node.node_id}."
        raise denied(Code.SCOPE, "outside_node", message, "/args/edits", node_id=node.node_id)


def _first_outside(old: Sequence[bytes], after: bytes, allowed: set[int]) -> int | None:
    """Return the first line that had to stay and did not; how the texts are aligned does not matter."""
    new, position = b"\n" + after + b"\n", 0
    runs = list(_runs_outside(len(old), allowed))
    for first, last in runs:
        text = b"\n" + b"\n".join(old[first - 1 : last]) + b"\n"
        is_first, is_last = first == 1, last == len(old)
        if is_first and is_last:
            return None if new == text else _first_difference(old, after)
        if is_first:
            found = 0 if new.startswith(text) else -1
        elif is_last:
            start = len(new) - len(text)
            found = start if start >= position and new.endswith(text) else -1
        else:
            found = new.find(text, position)
        if found < 0:
            return first
        # The newline between two runs belongs to both.
        position = found + len(text) - 1
    return None


def _runs_outside(n_lines: int, allowed: set[int]) -> Iterator[tuple[int, int]]:
    first = 0
    for line in range(1, n_lines + 2):
        is_outside = line <= n_lines and line not in allowed
        if is_outside and not first:
            first = line
        elif not is_outside and first:
            yield first, line - 1
            first = 0


def _first_difference(old: Sequence[bytes], after: bytes) -> int:
    new = after.split(b"\n")
    return next((n for n, (one, other) in enumerate(zip(old, new, strict=False), 1) if one != other), len(old))


def new_syntax_errors(path: str, before: bytes | None, after: bytes) -> tuple[int, ...]:
    """Return the lines that no longer parse after a change."""
    language = load_language(dialect_of(path))
    if language is None:
        return ()
    new = language.extract(after)
    if not new.n_errors or (before is not None and language.extract(before).n_errors >= new.n_errors):
        return ()
    return tuple(sorted({after.count(b"\n", 0, start) + 1 for start in new.error_starts}))


def _created(node: Node, edits: Sequence[Any]) -> bytes:
    first = edits[0] if len(edits) == 1 and isinstance(edits[0], Mapping) else None
    content = first.get("content", first.get("replace")) if first is not None and not first.get("find") else None
    if not isinstance(content, str):
        message = "create_file takes one edit: {type: create_file, content}."
        raise wrong_argument("edits", message)
    del node
    return content.encode("utf-8", "surrogatepass")


def _edited(node: Node, data: bytes, edit: Any, number: int) -> bytes:
    place = f"edits/{number}"
    kind = edit.get("type") if isinstance(edit, Mapping) else None
    operation = node.document["operation"]
    if kind == _REPLACE and operation == _REPLACE:
        return _replaced(node, data, edit, place)
    if kind == "codemod":
        return _with_codemod(node, data, edit, place)
    message = f"The operation of {node.node_id} is {operation}; this edit is of another type."
    raise denied(Code.SCOPE, "outside_node", message, f"/args/{place}", node_id=node.node_id)


def _replaced(node: Node, data: bytes, edit: Mapping[str, Any], place: str) -> bytes:
    find, replacement, expected = edit.get("find"), edit.get("replace"), edit.get("expectCount", 1)
    if not isinstance(find, str) or not find or not isinstance(replacement, str):
        raise wrong_argument(place, "replace_text takes find and replace as texts.")
    if not isinstance(expected, int) or isinstance(expected, bool) or expected < 1:
        raise wrong_argument(place, "expectCount is a whole number of at least 1.")
    old, new = _as_in(data, find), _as_in(data, replacement)
    n_found = data.count(old)
    if n_found != expected:
        message = f"The text of {place} occurs {n_found} times in {node.target_file}, not {expected}."
        raise denied(Code.POLICY, "find_count", message, f"/args/{place}", node_id=node.node_id)
    return data.replace(old, new)


def _as_in(data: bytes, text: str) -> bytes:
    """Return a text with the line ends of a file; answers show lines without them."""
    found = text.encode("utf-8", "surrogatepass")
    is_crlf = b"\r\n" in data and data.count(b"\n") == data.count(b"\r\n")
    return found.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") if is_crlf else found


def _with_codemod(node: Node, data: bytes, edit: Mapping[str, Any], place: str) -> bytes:
    codemod_id, params = edit.get("codemodId"), edit.get("params")
    operation = str(node.document["operation"])
    if codemod_id != operation.removeprefix(_CUSTOM):
        message = f"The operation of {node.node_id} is {operation}."
        raise denied(Code.SCOPE, "outside_node", message, f"/args/{place}/codemodId", node_id=node.node_id)
    codemod = find_codemod(str(codemod_id))
    if codemod is None:
        raise denied(Code.POLICY, "codemod_unknown", f"There is no codemod {codemod_id!r}.", f"/args/{place}")
    problems = sorted(Draft202012Validator(codemod.params).iter_errors(params), key=str)
    if problems:
        raise denied(
            Code.POLICY, "recipe_params", f"{codemod_id}: {problems[0].message[:300]}", f"/args/{place}/params"
        )
    try:
        after, n_changed = codemod.apply(node.target_file, data, params or {})
    except CodemodError as error:
        raise denied(Code.POLICY, "codemod_refused", str(error), f"/args/{place}") from error
    expected = (params or {}).get("expectCount", 1)
    if n_changed != expected:
        message = f"{codemod_id} finds {n_changed} places in {node.target_file}, not {expected}."
        raise denied(Code.POLICY, "find_count", message, f"/args/{place}", node_id=node.node_id)
    return after


def _allowed_lines(node: Node, text: FileText) -> set[int]:
    allowed: set[int] = set()
    names = list(node.document["targetSymbols"])
    for anchor in node.document["editIntent"]["anchors"]:
        if anchor.get("symbol"):
            names.append(anchor["symbol"])
        elif anchor.get("text"):
            allowed |= set(_lines_with(text.data, anchor["text"].encode("utf-8", "surrogatepass")))
    for name in names:
        for definition in text.named(name):
            first, last = text.lines_of(definition)
            allowed |= set(range(first, last + 1))
    return allowed


def _lines_with(data: bytes, wanted: bytes) -> Iterator[int]:
    start = data.find(wanted)
    if start >= 0:
        first = data.count(b"\n", 0, start) + 1
        yield from range(first, first + wanted.count(b"\n") + (not wanted.endswith(b"\n")))


def summary(
    path: str, before: bytes | None, after: bytes | None, hashes: tuple[str | None, str | None]
) -> dict[str, Any]:
    """Return what `diff.summary.json` says about a file."""
    old, new = (before or b"").split(b"\n"), (after or b"").split(b"\n")
    kept = sum(block[2] for block in matching_blocks(old, new))
    return {
        "path": path,
        "added": len(new) - kept if after is not None else 0,
        "removed": len(old) - kept if before is not None else 0,
        "beforeHash": hashes[0],
        "afterHash": hashes[1],
    }
