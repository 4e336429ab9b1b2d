"""Signatures as parameters, types and results, parsed from their text by the writing style of each language."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# Types inside so many others are compared as text.
MAX_DEPTH: Final = 20
_OPENING: Final = "([{"
_CLOSING: Final = ")]}"
_QUOTES: Final = "\"'`"
_TYPE_FIRST: Final = frozenset({"java", "c", "cpp", "csharp", "php"})
_ANGLES: Final = frozenset({"typescript", "tsx", "java", "rust", "cpp", "csharp", "kotlin", "swift", "php"})
_PREFIX: Final = re.compile(
    r"(?:@[\w.]+(?:\([^()]*\))?\s*|\b(?:public|private|protected|readonly|override|final|mut|ref|val|var|vararg|params"
    r"|noinline|crossinline|implicit|inout|in|out|this)\s+)+"
)
_WORD: Final = re.compile(r"[\w$]+$")
_SPACE: Final = re.compile(r"\s+")
_TIGHT: Final = re.compile(r"\s*([\[\](){}<>,:|&=*.?!;+-])\s*")
_OLD_TYPING: Final = re.compile(r"\b(?:t|typing|typing_extensions|te|collections\.abc|cabc|c)\.(?=[A-Z])")
_BUILT_IN: Final = re.compile(r"\b(List|Dict|Set|Tuple|FrozenSet|Type)\b(?=\[|$|[,\]|])")
_OPTIONAL: Final = re.compile(r"^(Optional|Union)\[(.*)\]$")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: `role` is `plain`, `positional`, `keyword`, `rest` or `keywords`; a pattern has `keys`."""

    name: str
    type: str = ""
    default: str | None = None
    role: str = "plain"
    is_optional: bool = False
    keys: tuple[str, ...] = ()

    @property
    def is_required(self) -> bool:
        """Tell whether a call must give it."""
        return self.default is None and not self.is_optional and self.role not in {"rest", "keywords"}


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature in parts; `clauses` are conditions and thrown types behind the parameters."""

    type_parameters: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    result: str = ""
    clauses: str = ""
    has_parameters: bool = False
    result_names: tuple[str, ...] = ()


def parse_signature(text: str, dialect: str) -> Signature:
    """Return the parts of a function's signature."""
    text = text.strip()
    type_parameters: tuple[str, ...] = ()
    if text[:1] in {"<", "["}:
        end = _match(text, 0, dialect)
        type_parameters = tuple(_tidy(part) for part in split_top(text[1:end], ",", dialect) if part.strip())
        text = text[end + 1 :].strip()
    if not text.startswith("("):
        return Signature(type_parameters, (), "", _tidy(text))
    end = _match(text, 0, dialect)
    parameters = tuple(_parameters(text[1:end], dialect))
    rest = text[end + 1 :].strip()
    result, clauses = _result(rest, dialect)
    names = tuple(one.name for one in _go_results(rest)) if dialect == "go" else ()
    return Signature(type_parameters, parameters, result, clauses, True, tuple(filter(None, names)))


def bases_of(signature: str, dialect: str) -> frozenset[str]:
    """Return what a type extends and implements, as written."""
    text = signature.strip()
    if dialect == "python":
        inside = text[1:-1] if text.startswith("(") else ""
        parts = (_tidy(part) for part in split_top(inside, ",", dialect))
        return frozenset(part for part in parts if part and part != "object" and not part.startswith("Generic["))
    if text.startswith("<"):
        text = text[_match(text, 0, dialect) + 1 :]
    if text.startswith("("):
        text = text[_match(text, 0, dialect) + 1 :]
    words = re.sub(r"\b(?:extends|implements|with|permits|public|private|virtual)\b|^\s*[:<]", ",", text)
    return frozenset(part for part in map(_tidy, split_top(words, ",", dialect)) if part)


def tidy_type(text: str, dialect: str) -> str:
    """Return a type in one spelling, so that only real differences count."""
    text = _tidy(text)
    return _tidy_python(text.strip("\"'")) if dialect == "python" else text


def union_of(text: str, dialect: str) -> frozenset[str]:
    """Return the alternatives of a type."""
    return frozenset(part for part in (one.strip() for one in split_top(text, "|", dialect)) if part)


def split_top(text: str, separator: str, dialect: str) -> list[str]:
    """Split a text at a character that is not inside brackets or quotes."""
    parts = []
    start = 0
    for at in _top_level(text, dialect):
        if text[at] == separator:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def colons_in(text: str, dialect: str) -> list[int]:
    """Return the places of colons that are not inside brackets or quotes."""
    return [at for at in _top_level(text, dialect) if text[at] == ":"]


def _top_level(text: str, dialect: str) -> Iterator[int]:
    """Yield the places outside of all brackets and quotes; an arrow does not close anything."""
    depth = 0
    quote = ""
    has_angles = dialect in _ANGLES
    for at, mark in enumerate(text):
        if quote:
            quote = "" if mark == quote and text[at - 1] != "\\" else quote
        elif mark in _QUOTES and not (mark == "'" and dialect == "rust"):
            quote = mark
        elif mark in _OPENING or (has_angles and mark == "<"):
            depth += 1
        elif mark in _CLOSING or (has_angles and mark == ">" and text[at - 1 : at] not in {"=", "-"}):
            depth -= 1
        elif depth <= 0:
            yield at


def _match(text: str, at: int, dialect: str) -> int:
    """Return where the bracket at a place is closed, the end of the text when it is not."""
    depth = 0
    quote = ""
    is_angle = text[at] == "<" or dialect in _ANGLES
    for place in range(at, len(text)):
        mark = text[place]
        if quote:
            quote = "" if mark == quote and text[place - 1] != "\\" else quote
        elif mark in _QUOTES and not (mark == "'" and dialect == "rust"):
            quote = mark
        elif mark in _OPENING or (is_angle and mark == "<"):
            depth += 1
        elif mark in _CLOSING or (is_angle and mark == ">" and text[place - 1] not in {"=", "-"}):
            depth -= 1
            if depth == 0:
                return place
    return len(text)


def _parameters(text: str, dialect: str) -> Iterator[Parameter]:
    parts = [part.strip() for part in split_top(text, ",", dialect)]
    parts = [part for part in parts if part]
    if dialect == "python":
        yield from _python_parameters(parts)
    elif dialect == "go":
        yield from _go_parameters(parts)
    elif parts != ["void"]:
        for part in parts:
            one = _parameter(part, dialect)
            if not (one.name == "this" and dialect in {"typescript", "tsx"}):
                yield one


def _python_parameters(parts: list[str]) -> Iterator[Parameter]:
    slash = parts.index("/") if "/" in parts else -1
    role = "plain"
    for number, part in enumerate(parts):
        if part == "/":
            continue
        if part == "*":
            role = "keyword"
            continue
        head, default = _default(part, "python")
        name, _, kind = head.partition(":")
        name = name.strip()
        its_role = "keywords" if name.startswith("**") else "rest" if name.startswith("*") else role
        if number < slash:
            its_role = "positional"
        yield Parameter(name.lstrip("*"), tidy_type(kind, "python"), default, its_role)
        if its_role == "rest":
            role = "keyword"


def _go_parameters(parts: list[str]) -> Iterator[Parameter]:
    is_named = any(re.match(r"\w+\s+\S", part) and not part.startswith(("func", "chan ", "map[")) for part in parts)
    found: list[Parameter] = []
    kind = ""
    for part in reversed(parts):
        name, _, own = part.partition(" ") if is_named else ("", "", part)
        kind = _tidy(own) or kind
        role = "rest" if kind.startswith("...") else "plain"
        found.append(Parameter(name, kind, None, role))
    yield from reversed(found)


def _parameter(part: str, dialect: str) -> Parameter:
    head, default = _default(part, dialect)
    is_rest = "..." in head or bool(re.match(r"\s*(?:vararg|params)\b|\*(?!\*)\w", head)) or head.endswith("*")
    head = _PREFIX.sub("", head, count=1) if _PREFIX.match(head) else head
    if dialect == "rust" and re.search(r"\bself\b", head):
        return Parameter("self", _tidy(head))
    if dialect in _TYPE_FIRST:
        head = head.replace("...", " ") if dialect == "php" else head
        found = _WORD.search(head)
        kind = head[: found.start()] if found is not None else head
        is_bare = not kind.strip()
        return Parameter(
            "" if is_bare or found is None else found[0], _tidy(head if is_bare else kind), default,
            "rest" if is_rest else "plain",
        )  # fmt: skip
    name, kind = _split_once(head, ":", dialect)
    name = name.strip().removeprefix("...").lstrip("&*").strip()
    is_optional = name.endswith("?")
    name = name.rstrip("?").strip()
    if dialect == "ruby" and head.endswith(":") and default is None:
        return Parameter(name, "", None, "keyword")
    if dialect == "swift" and " " in name:
        name = name.split()[0]
    keys = tuple(_keys(name)) if name.startswith("{") else ()
    return Parameter(name, _tidy(kind), default, "rest" if is_rest else "plain", is_optional, keys)


def _keys(pattern: str) -> Iterator[str]:
    for part in split_top(pattern.strip()[1:-1], ",", "javascript"):
        key = re.split(r"[:=]", part)[0].strip()
        if key:
            yield key


def _default(part: str, dialect: str) -> tuple[str, str | None]:
    """Split a parameter from its default."""
    for at in _top_level(part, dialect):
        if part[at] == "=" and part[at + 1 : at + 2] not in {"=", ">"} and part[at - 1] not in "=!<>":
            return part[:at].strip(), _tidy(part[at + 1 :])
    return part.strip(), None


def _split_once(text: str, separator: str, dialect: str) -> tuple[str, str]:
    for at in _top_level(text, dialect):
        if text[at] == separator:
            return text[:at], text[at + 1 :]
    return text, ""


def _result(text: str, dialect: str) -> tuple[str, str]:
    """Return the type of the result, and what else is behind the parameters."""
    if dialect == "go":
        kinds = [one.type for one in _go_results(text)]
        return (f"({','.join(kinds)})" if len(kinds) > 1 else "".join(kinds)), ""
    if dialect in {"rust", "c", "cpp", "python", "swift"}:
        before, arrow, after = text.partition("->")
        result, where, conditions = after.partition(" where ")
        clauses = before if arrow else text
        return tidy_type(result, dialect), _tidy(f"{clauses} {where}{conditions}")
    if dialect == "java":
        before, kind = _split_once(text, ":", dialect)
        return _tidy(kind), _tidy(before)
    return _tidy(text.removeprefix(":")), ""


def _go_results(text: str) -> list[Parameter]:
    if text.startswith("("):
        return list(_go_parameters([part.strip() for part in split_top(text[1:-1], ",", "go")]))
    return [Parameter("", _tidy(text))] if text else []


def _tidy(text: str) -> str:
    text = _TIGHT.sub(r"\1", _SPACE.sub(" ", text.strip()))
    return text.replace("'", '"').replace(",)", ")").replace(",]", "]")


def _tidy_python(text: str, depth: int = 0) -> str:
    text = _BUILT_IN.sub(lambda found: found[1].lower(), _OLD_TYPING.sub("", text.replace('"', "")))
    found = _OPTIONAL.match(text)
    if found is None or depth > MAX_DEPTH:
        return "|".join(sorted(union_of(text, "python"))) if "|" in text else text
    inside = [_tidy_python(part, depth + 1) for part in split_top(found[2], ",", "python")]
    return "|".join(sorted({*inside, *(["None"] if found[1] == "Optional" else [])}))
