"""Change the text of an intents file so that nothing but the wanted part differs."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import yaml

from codeplane.core.errors import CodePlaneError
from codeplane.govern.intents import Intent, IntentsDocument, parse_intents

_FIELDS = ("owned_scope", "constraints", "acceptance_criteria", "requirements")


def with_intent(text: str | None, intent: Intent) -> str:
    """Return the file with one more intent at its end.

    Raises:
        CodePlaneError: CONFIG_INVALID when the id is taken or the file is not valid.
    """
    before = parse_intents(text or "")
    wanted = IntentsDocument((*before.active_intents, intent))
    if text is None or not text.strip() or not before.active_intents:
        comments = "".join(line for line in (text or "").splitlines(keepends=True) if line.lstrip().startswith("#"))
        return _checked(f"{comments}active_intents:\n{_item(intent, 2)}", wanted)
    items = _list_node(text)
    if items.flow_style:
        message = "The intents are on one line; write them as a list with dashes first."
        raise CodePlaneError("CONFIG_INVALID", message)
    indent = items.value[0].start_mark.column - 2
    head = text if text.endswith("\n") else f"{text}\n"
    end = _end_of(head, items)
    return _checked(head[:end] + _item(intent, max(indent, 0)) + head[end:], wanted)


def with_status(text: str, intent_id: str, status: str) -> str:
    """Return the file with another status of one intent.

    Raises:
        CodePlaneError: NOT_FOUND or CONFIG_INVALID.
    """
    document = parse_intents(text)
    wanted = _replaced(document, intent_id, status=status)
    node = _field(_item_node(text, intent_id), "status")
    if node is None:
        item = _item_node(text, intent_id)
        place = item.value[0][0].start_mark
        changed = f"{text[: place.index]}status: {status}\n{' ' * place.column}{text[place.index :]}"
    else:
        changed = text[: node.start_mark.index] + status + text[node.end_mark.index :]
    return _checked(changed, wanted)


def widened(text: str, intent_id: str, paths: Sequence[str]) -> str:
    """Return the file with more globs in the scope of one intent.

    Raises:
        CodePlaneError: NOT_FOUND or CONFIG_INVALID.
    """
    document = parse_intents(text)
    intent = document.find(intent_id)
    if intent is None:
        raise CodePlaneError("NOT_FOUND", f"There is no intent {intent_id[:80]}.")
    new = [path for path in paths if path not in intent.owned_scope]
    wanted = _replaced(document, intent_id, owned_scope=(*intent.owned_scope, *new))
    item = _item_node(text, intent_id)
    node = _field(item, "owned_scope")
    if not new:
        return text
    if node is None:
        place = item.value[0][0].start_mark
        line = f"owned_scope: {json.dumps(new)}\n{' ' * place.column}"
        return _checked(text[: place.index] + line + text[place.index :], wanted)
    if node.flow_style:
        at = node.end_mark.index - 1
        comma = ", " if node.value and not text[:at].rstrip().endswith(",") else ""
        return _checked(text[:at] + comma + ", ".join(map(json.dumps, new)) + text[at:], wanted)
    dash = " " * (node.value[0].start_mark.column - 2) if node.value else "  "
    head = text if text.endswith("\n") else f"{text}\n"
    at = _end_of(head, node)
    lines = "".join(f"{dash}- {json.dumps(path)}\n" for path in new)
    return _checked(head[:at] + lines + head[at:], wanted)


def _checked(text: str, wanted: IntentsDocument) -> str:
    """Return a text that says exactly what is wanted."""
    if parse_intents(text) != wanted:
        raise CodePlaneError(
            "CONFIG_INVALID",
            "The format of the file does not allow a safe change.",
            hint="Change .orchestration/active_intents.yaml by hand, then `cpl policy accept`.",
        )
    return text


def _replaced(document: IntentsDocument, intent_id: str, **changed: Any) -> IntentsDocument:
    if document.find(intent_id) is None:
        raise CodePlaneError("NOT_FOUND", f"There is no intent {intent_id[:80]}.")
    return IntentsDocument(
        tuple(replace(one, **changed) if one.id == intent_id else one for one in document.active_intents)
    )


def _list_node(text: str) -> Any:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    return next(value for key, value in root.value if key.value == "active_intents")


def _item_node(text: str, intent_id: str) -> Any:
    for item in _list_node(text).value:
        named = _field(item, "id")
        if named is not None and named.value == intent_id:
            return item
    raise CodePlaneError("NOT_FOUND", f"There is no intent {intent_id[:80]}.")


def _field(item: Any, name: str) -> Any:
    return next((value for key, value in item.value if key.value == name), None)


def _end_of(text: str, node: Any) -> int:
    """Return where the line after a block list's last item begins."""
    last = node.value[-1]
    while getattr(last, "value", None) and not isinstance(last.value, str) and not last.flow_style:
        inner = last.value[-1]
        last = inner[1] if isinstance(inner, tuple) else inner
    at: int = last.end_mark.index
    # The mark of a block text is behind the line end already.
    if at and text[at - 1 : at] == "\n":
        return at
    end = re.compile(r"[^\n]*(?:\n|$)").match(text, at)
    return end.end() if end is not None else len(text)


def _item(intent: Intent, indent: int) -> str:
    lines = [f"id: {intent.id}", f"name: {json.dumps(intent.name, ensure_ascii=False)}", f"status: {intent.status}"]
    for name in _FIELDS:
        values = getattr(intent, name)
        if values:
            lines.append(f"{name}: {json.dumps(list(values), ensure_ascii=False)}")
    lines += [f"parent: {intent.parent}"] if intent.parent is not None else []
    lines += [f'expires: "{intent.expires}"'] if intent.expires is not None else []
    space = " " * indent
    first, *rest = lines
    return "".join([f"{space}- {first}\n", *(f"{space}  {line}\n" for line in rest)])
