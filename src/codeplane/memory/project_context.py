"""`.orchestration/project-context.json`: what a team wants every agent to see with a prompt."""

import json
from collections.abc import Mapping
from typing import Any, Final

from codeplane.core.redaction import redact_value

PROJECT_CONTEXT_FILE: Final = ".orchestration/project-context.json"
LISTS: Final = ("highlights", "reminders", "preImplementation", "postImplementation")
_MAX_SHOWN: Final = 600


def as_file(context: Mapping[str, Any]) -> bytes:
    """Return the file's content, secrets redacted."""
    return (json.dumps(redact_value(dict(context)), indent=2, ensure_ascii=False, sort_keys=True) + "\n").encode()


def parse(data: bytes) -> dict[str, Any] | None:
    """Return what a file says, with every field; None when it is not such a file."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    found: dict[str, Any] = {"enabled": document.get("enabled") is True}
    found |= {name: value if isinstance(value := document.get(name), str) else "" for name in ("summary", "updated_at")}
    for name in LISTS:
        listed = document.get(name)
        found[name] = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    return found


def as_prompt(context: Mapping[str, Any] | None) -> str:
    """Return the lines that go with a prompt, cut to 600 characters; empty when it is switched off."""
    if context is None or not context["enabled"]:
        return ""
    lines = [context["summary"], *(f"- {one}" for one in (*context["highlights"], *context["reminders"]))]
    lines += [f"Before: {one}" for one in context["preImplementation"]]
    return "\n".join(line for line in lines if line)[:_MAX_SHOWN]
