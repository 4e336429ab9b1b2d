"""What an upstream answers, before anybody else sees it: checked, without its secrets, and not too long."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from codeplane.core.errors import CodePlaneError
from codeplane.operations.upstream_tools import UpstreamAnswer


def checked_answer(
    server: str, result: Mapping[str, Any], clean: Callable[[str], str], max_bytes: int
) -> UpstreamAnswer:
    """Return the answer to a call.

    Raises:
        CodePlaneError: UPSTREAM_FAILED when it is no answer to a tool call.
    """
    try:
        return _checked(server, result, clean, max_bytes)
    except RecursionError as error:
        raise CodePlaneError("UPSTREAM_FAILED", f"The answer of the MCP server {server} is nested too deep.") from error


def _checked(server: str, result: Mapping[str, Any], clean: Callable[[str], str], max_bytes: int) -> UpstreamAnswer:
    content = result.get("content")
    if not isinstance(content, list) or not all(isinstance(one, dict) and "type" in one for one in content):
        raise CodePlaneError("UPSTREAM_FAILED", f"The MCP server {server} sent an answer without content.")
    structured = result.get("structuredContent")
    structured = cleaned(structured, clean) if isinstance(structured, dict) else None
    # Before anything is cut: half of a secret would not be known for one.
    content = [cleaned(one, clean) for one in content]
    size = len(json.dumps([content, structured], ensure_ascii=False).encode("utf-8", "replace"))
    notes: tuple[str, ...] = ()
    if size > max_bytes:
        content, structured = _cut(content, max_bytes), None
        notes = (f"the answer of {server} had {size} bytes; it was cut to {max_bytes}",)
    return UpstreamAnswer(
        content,
        structured,
        result.get("isError") is True,
        notes,
    )


def _cut(content: list[dict[str, Any]], max_bytes: int) -> list[dict[str, Any]]:
    """Return the beginning of an answer; a block that is not text is kept whole or left out."""
    kept, room = [], max_bytes
    for one in content:
        size = len(json.dumps(one, ensure_ascii=False).encode("utf-8", "replace"))
        text = one.get("text")
        if size <= room:
            kept.append(one)
            room -= size
        elif one.get("type") == "text" and isinstance(text, str) and room > 0:
            shown = text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
            kept.append({"type": "text", "text": f"{shown}\n[cut here]"})
            room = 0
        else:
            kept.append({"type": "text", "text": f"[{one.get('type')} of {size} bytes left out]"})
    return kept[:1_000]


def cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """Return JSON with every text cleaned, keys included."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): cleaned(one, clean) for key, one in value.items()}
    return [cleaned(one, clean) for one in value] if isinstance(value, list) else value
