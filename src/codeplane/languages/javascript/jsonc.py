"""Read JSON as tools write it: with comments, trailing commas and a byte order mark."""

import json
import re
from typing import Final

_STRING_OR_NOISE: Final = re.compile(
    r"""("(?>(?:[^"\\\n]|\\.)*)")|//[^\n]*|/\*(?>(?:[^*]|\*(?!/))*)\*/|,(?=(?>(?:\s|//[^\n]*\n|/\*(?>(?:[^*]|\*(?!/))*)\*/)*)[}\]])"""
)

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
JsonObject = dict[str, Json]


def read_object(text: str | None) -> JsonObject:
    """Return the object that a text holds, an empty one when it holds none."""
    if text is None:
        return {}
    try:
        value = json.loads(_STRING_OR_NOISE.sub(_keep_strings, text.removeprefix("\ufeff")))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def as_object(value: Json) -> JsonObject:
    """Return a value if it is an object, an empty one otherwise."""
    return value if isinstance(value, dict) else {}


def as_texts(value: Json) -> tuple[str, ...]:
    """Return the texts in a list, or the one text itself."""
    if isinstance(value, str):
        return (value,)
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _keep_strings(match: re.Match[str]) -> str:
    return match.group(1) or " "
