"""Compare the parameters of methods as they are written, for languages that tell methods apart by them."""

import re
from typing import Final

_JAVA_NOISE: Final = re.compile(r"@[\w.]+(?:\([^()]*\))?|\bfinal\b")
_TYPE_PARAMETER: Final = re.compile(r"^[A-Z][A-Z0-9]?(\[\]|\.\.\.)*$")
_QUALIFIER: Final = re.compile(r"\b[A-Za-z_]\w*\.(?=[A-Za-z_])")
_GO_SAME: Final = {"interface{}": "any", "byte": "uint8", "rune": "int32"}
_GO_TYPE_WORDS: Final = frozenset({"chan", "func", "map", "struct", "interface"})
_NAMED: Final = re.compile(r"^(\w+)\s+(.+)$", re.DOTALL)
_CLOSING: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}


def has_same_parameters(below: str, above: str) -> bool:
    """Tell whether a Java method overrides another of its name; a type parameter above fits any type below."""
    mine, theirs = _java_types(below), _java_types(above)
    return len(mine) == len(theirs) and all(
        one == other or _TYPE_PARAMETER.match(other) for one, other in zip(mine, theirs, strict=True)
    )


def go_shape(signature: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the types of the parameters and results of a Go method; names and package qualifiers are left out."""
    # The arrow of a channel is not a bracket.
    parameters, rest = _bracketed(signature.replace("<-", "~").strip())
    rest = rest.strip()
    results = _bracketed(rest)[0] if rest.startswith("(") else rest
    return _go_types(parameters), _go_types(results)


def _java_types(signature: str) -> list[str]:
    found = []
    for part in _parts(_bracketed(signature[signature.find("(") :])[0]):
        words = _JAVA_NOISE.sub(" ", _without_type_arguments(part)).split()
        if len(words) > 1:
            words.pop()
        found.append(_QUALIFIER.sub("", "".join(words)))
    return found


def _without_type_arguments(text: str) -> str:
    while text != (text := re.sub(r"<[^<>]*>", "", text)):
        pass
    return text


def _go_types(text: str) -> tuple[str, ...]:
    parts = _parts(text)
    named = [_NAMED.match(part) for part in parts]
    if not any(one is not None and one[1] not in _GO_TYPE_WORDS for one in named):
        return tuple(_go_type(part) for part in parts)
    types: list[str] = []
    for part, one in zip(reversed(parts), reversed(named), strict=True):
        # In `a, b int` the type follows the last name of the group.
        types.append(_go_type(one[2]) if one is not None else types[-1] if types else _go_type(part))
    return tuple(reversed(types))


def _go_type(text: str) -> str:
    text = re.sub(r"\s+", "", _QUALIFIER.sub("", text))
    text = text.replace("interface{}", "any")
    return re.sub(r"\w+", lambda found: _GO_SAME.get(found[0], found[0]), text)


def _bracketed(text: str) -> tuple[str, str]:
    """Return what is inside the bracket that a text begins with, and the rest."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter in _CLOSING) - (letter in _CLOSING.values())
        if not depth:
            return text[1:i], text[i + 1 :]
    return "", text


def _parts(text: str) -> list[str]:
    """Return what commas separate outside of all brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in _CLOSING) - (letter in _CLOSING.values())
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]
