"""Whether a changed signature breaks those who use it: one row per rule.

| what changed | breaking |
|---|---|
| a parameter was removed, moved to another place, or must now be given | yes |
| a new parameter with a default, an optional or a variadic one, at the end | no |
| a parameter has another name | only where calls may name it (Python, Kotlin, Swift, C#, Scala) |
| the type of a parameter, result, field or alias | in typed languages; not a wider parameter or narrower result |
| an annotation in Python | no: nothing checks it at run time |
| a default value, a decorator | no, except decorators that change how it is called |
| async or not | yes, unless the declared result stays the same |
| static or not; abstract, final, sealed, unsafe or readonly added; const taken from a Rust function | yes |
| a base was removed | yes; a new base is not breaking |
| fewer can see it | yes; more is not breaking |
| another kind of definition, such as method to property | yes; among values, or from a function to a value, no |
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from codeplane.diff.model import CALLABLE, TYPES, VALUES, Entity
from codeplane.diff.signatures import (
    MAX_DEPTH,
    Parameter,
    Signature,
    bases_of,
    colons_in,
    parse_signature,
    tidy_type,
    union_of,
)
from codeplane.diff.visibility import is_narrower
from codeplane.languages.facts import DefinitionKind

# A tag, and whether what it says breaks others.
Finding = tuple[str, bool]

_PLACED: Final = frozenset({"plain", "positional"})
_UNTYPED: Final = frozenset({"python", "javascript", "ruby", "lua", "elixir", "shell", "php"})
_NAMED_CALLS: Final = frozenset({"python", "kotlin", "swift", "csharp", "scala"})
_HAS_UNIONS: Final = frozenset({"typescript", "tsx", "python", "php"})
_BINDING_DECORATORS: Final = ("property", "staticmethod", "classmethod", "cached_property", "contextmanager")
_ALIASES: Final = frozenset({DefinitionKind.TYPE})
_MEMBER: Final = re.compile(r"(?:readonly )?([\w$\"'-]+\??)$")
# Words before a name that take something from those who use it.
_NARROWING: Final = ("static", "abstract", "final", "sealed", "unsafe", "readonly")
_MAX_MEMBER: Final = 100
# Words of types that are computed from others.
_COMPUTED: Final = frozenset({"infer", "keyof", "in", "?", "typeof"})
_MODIFIERS: Final = frozenset(
    {"public", "private", "protected", "internal", "static", "final", "readonly", "const", "let", "var", "val", "pub",
     "export", "abstract", "override", "declare", "volatile", "transient", "mut", "(crate)"}
)  # fmt: skip


def signature_findings(old: Entity, new: Entity) -> list[Finding]:
    """Return how the declaration differs, apart from names, and what of that is breaking."""
    return list(dict.fromkeys(_findings(old, new)))


def _findings(old: Entity, new: Entity) -> Iterator[Finding]:
    if old.kind is not new.kind:
        yield "kind_changed", _is_other_kind(old.kind, new.kind)
    if old.visibility is not new.visibility:
        yield "visibility_changed", is_narrower(new.visibility, old.visibility)
    yield from _modifier_findings(old, new)
    if _decorators(old) != _decorators(new):
        yield "decorators_changed", _binding(old) != _binding(new)
    if old.dialect == "go" and _receiver(old) != _receiver(new):
        yield "receiver_changed", _receiver(new).startswith("*")
    if old.kind in _ALIASES and new.kind in _ALIASES:
        yield from _alias_findings(old, new)
    elif old.kind in TYPES or new.kind in TYPES:
        yield from _type_findings(old, new)
    elif old.signature and new.signature:
        yield from _callable_findings(old, new)
    if old.kind in VALUES and new.kind in VALUES and not (old.signature or new.signature):
        yield from _value_findings(old, new)


def _modifier_findings(old: Entity, new: Entity) -> Iterator[Finding]:
    if old.dialect in {"c", "cpp"}:
        return
    before, after = (set(one.head.split()) for one in (old, new))
    for word in _NARROWING:
        if (word in before) != (word in after):
            yield "modifiers_changed", word == "static" or word in after
    if old.dialect == "rust" and old.kind in CALLABLE and ("const" in before) != ("const" in after):
        yield "modifiers_changed", "const" in before


def _is_other_kind(old: DefinitionKind, new: DefinitionKind) -> bool:
    if new in VALUES:
        return old in {DefinitionKind.METHOD, DefinitionKind.INTERFACE}
    return not (old in CALLABLE and new in CALLABLE) and not {old, new} <= TYPES and not (
        old in VALUES and new in CALLABLE
    )  # fmt: skip


def _decorators(entity: Entity) -> list[str]:
    return sorted(" ".join(one.replace("'", '"').split()) for one in entity.decorators)


def _binding(entity: Entity) -> frozenset[str]:
    names = (one.partition("(")[0].rpartition(".")[2] for one in entity.decorators)
    return frozenset("property" if name == "cached_property" else name for name in names if name in _BINDING_DECORATORS)


def _type_findings(old: Entity, new: Entity) -> Iterator[Finding]:
    before, after = (bases_of(one.signature, one.dialect) for one in (old, new))
    if before != after:
        yield "bases_changed", bool(before - after)
    if old.dialect == "python":
        return
    first, second = (parse_signature(one.signature, one.dialect) for one in (old, new))
    yield from _type_parameter_findings(first, second)
    if first.has_parameters and second.has_parameters:
        yield from _parameter_findings(first, second, old.dialect)


def _callable_findings(old: Entity, new: Entity) -> Iterator[Finding]:
    dialect = old.dialect
    first, second = (_without_receiver(parse_signature(one.signature, dialect), one) for one in (old, new))
    is_same_result = first.result == second.result
    if _is_async(old) != _is_async(new):
        yield "async_changed", not (is_same_result and bool(first.result) and dialect != "python")
    yield from _type_parameter_findings(first, second)
    if first.has_parameters and second.has_parameters:
        yield from _parameter_findings(first, second, dialect)
    elif first.has_parameters != second.has_parameters and (first.parameters or second.parameters):
        yield "parameters_changed", True
    if not is_same_result:
        is_said = bool(first.result) and bool(second.result)
        is_checked = dialect not in _UNTYPED and (is_said or dialect not in {"typescript", "tsx", "kotlin", "scala"})
        yield "return_type_changed", is_checked and not _is_part(second.result, first.result, dialect)
    elif first.result_names != second.result_names:
        yield "result_renamed", False
    if first.clauses != second.clauses:
        yield "clauses_changed", dialect in {"java", "rust", "cpp"} and len(second.clauses) >= len(first.clauses)


def _is_async(entity: Entity) -> bool:
    """Tell whether a function is asynchronous: by the word before its name or before its parameters."""
    if "async" in entity.head.split():
        return True
    opening = entity.own.index("(") if "(" in entity.own else 0
    return "async" in entity.own[: min(opening, 6)]


def _without_receiver(signature: Signature, entity: Entity) -> Signature:
    is_bound = entity.dialect == "python" and "." in entity.lexical_path and entity.kind is not DefinitionKind.FUNCTION
    if not is_bound or "staticmethod" in entity.decorators or not signature.parameters:
        return signature
    if signature.parameters[0].role not in {"plain", "positional"}:
        return signature
    return replace(signature, parameters=signature.parameters[1:])


def _type_parameter_findings(old: Signature, new: Signature) -> Iterator[Finding]:
    if old.type_parameters != new.type_parameters:
        kept = new.type_parameters[: len(old.type_parameters)] == old.type_parameters
        added = new.type_parameters[len(old.type_parameters) :]
        yield "type_parameters_changed", not (kept and all("=" in one for one in added))


def _parameter_findings(old: Signature, new: Signature, dialect: str) -> Iterator[Finding]:
    if old.parameters == new.parameters:
        return
    before, after = old.parameters, new.parameters
    if dialect == "python":
        yield from _python_findings(before, after)
    else:
        yield from _positional_findings(before, after, dialect)
    by_name = {one.name: one for one in after}
    for number, one in enumerate(before):
        other = by_name.get(one.name) if one.name else after[number] if number < len(after) else None
        if other is not None and one.default is not None and other.default not in {None, one.default}:
            yield "default_changed", False


def _python_findings(before: tuple[Parameter, ...], after: tuple[Parameter, ...]) -> Iterator[Finding]:
    """Ask of every call that worked whether it still does: by position, by keyword, with what was left out."""
    shapes = [[(one.name, one.role, one.is_required) for one in side] for side in (before, after)]
    if shapes[0] != shapes[1]:
        yield "parameters_changed", False
    yield from _by_position(before, after)
    yield from _by_keyword(before, after)
    known = {one.name for one in before}
    n_places = sum(one.role in _PLACED for one in before)
    for number, one in enumerate(after):
        is_in_old_place = one.role in _PLACED and number < n_places
        if one.name not in known and one.is_required and not is_in_old_place:
            yield "parameter_required", True


def _by_position(before: tuple[Parameter, ...], after: tuple[Parameter, ...]) -> Iterator[Finding]:
    by_name = {one.name: one for one in after}
    roles = {one.role for one in after}
    placed = [one for one in after if one.role in _PLACED]
    for number, one in enumerate(one for one in before if one.role in _PLACED):
        other = placed[number] if number < len(placed) else None
        if other is None and "rest" in roles and (one.role == "positional" or "keywords" in roles):
            continue
        if other is None or (one.role == "plain" and other.name != one.name):
            yield _why_moved(one, by_name), True
        elif one.role == "plain" and other.role == "positional":
            yield "keyword_calls_refused", True


def _by_keyword(before: tuple[Parameter, ...], after: tuple[Parameter, ...]) -> Iterator[Finding]:
    by_name = {one.name: one for one in after}
    roles = {one.role for one in after}
    for one in before:
        other = by_name.get(one.name)
        is_gone = one.role == "keyword" and other is None and "keywords" not in roles
        if is_gone or (one.role in {"rest", "keywords"} and one.role not in roles):
            yield "parameter_removed", True
        if other is None:
            continue
        if one.role == "keyword" and other.role == "positional":
            yield "keyword_calls_refused", True
        if not one.is_required and other.is_required:
            yield "parameter_required", True
        if one.type != other.type:
            yield "parameter_type_changed", False


def _why_moved(one: Parameter, by_name: dict[str, Parameter]) -> str:
    other = by_name.get(one.name)
    if other is None:
        return "parameter_removed"
    return "parameter_keyword_only" if other.role == "keyword" else "parameters_reordered"


def _positional_findings(
    before: tuple[Parameter, ...], after: tuple[Parameter, ...], dialect: str
) -> Iterator[Finding]:
    """Compare place by place, in languages whose calls give most arguments by position."""
    both = list(zip(before, after, strict=False))
    if len(before) != len(after) or any(one.is_required != other.is_required for one, other in both):
        yield "parameters_changed", False
    if len(before) > len(after):
        yield "parameter_removed", True
    for one, other in both:
        if one.name != other.name:
            yield _renaming(one, other, (before, after), dialect)
        if not one.is_required and other.is_required:
            yield "parameter_required", True
        if one.role == "rest" and other.role != "rest":
            yield "parameters_changed", True
        if one.type != other.type:
            is_said = dialect not in _UNTYPED and bool(one.type)
            yield "parameter_type_changed", is_said and not _is_part(one.type, other.type, dialect)
    if any(one.is_required for one in after[len(before) :]):
        yield "parameter_required", True


def _renaming(
    one: Parameter, other: Parameter, sides: tuple[tuple[Parameter, ...], tuple[Parameter, ...]], dialect: str
) -> Finding:
    """Return what another name in the same place means."""
    if one.name and other.name and one.name in {side.name for side in sides[1]}:
        return "parameters_reordered", True
    if one.keys or other.keys:
        return "parameters_changed", bool(set(one.keys) - set(other.keys))
    return "parameter_renamed", dialect in _NAMED_CALLS


def _is_part(part: str, whole: str, dialect: str, depth: int = 0) -> bool:
    """Tell whether whatever fits one type fits another: fewer alternatives, or an object with the same members."""
    if dialect not in _HAS_UNIONS or not part or not whole:
        return False
    first, second = union_of(part, dialect), union_of(whole, dialect)
    if whole in {"any", "unknown"} or first <= second:
        return True
    if len(first) + len(second) > 2 or not (part[0] == whole[0] == "{") or depth > MAX_DEPTH:
        return False
    given, wanted = _object_members(part, dialect), _object_members(whole, dialect)
    return all(
        (name in given and (given[name] == kind or _is_part(given[name], kind, dialect, depth + 1)))
        or (name not in given and name.endswith("?"))
        for name, kind in wanted.items()
    )


def _object_members(text: str, dialect: str) -> dict[str, str]:
    """Return the members of an object type; the name of an optional one ends with a question mark.

    Members may be written in lines, of which the text of a signature keeps only the spaces.
    """
    inside = text[1:-1]
    places = ((max(0, at - _MAX_MEMBER), at) for at in colons_in(inside, dialect))
    names = [found for start, at in places if (found := _MEMBER.search(inside, start, at)) is not None]
    ends = [*(found.start() for found in names[1:]), len(inside)]
    return {
        found[1]: inside[found.end() + 1 : end].strip(" ;,") for found, end in zip(names, ends, strict=True)
    }  # fmt: skip


def _alias_findings(old: Entity, new: Entity) -> Iterator[Finding]:
    """Compare what a name stands for; a computed type is like the body of a function."""
    first, second = (parse_signature(one.signature, one.dialect) for one in (old, new))
    if old.dialect in {"typescript", "tsx"}:
        yield from _type_parameter_findings(first, second)
    before, after = (tidy_type(" ".join(one.own).partition("=")[2] or one.signature, one.dialect) for one in (old, new))
    if before != after and _COMPUTED.isdisjoint((*old.own, *new.own)):
        yield "type_changed", not _is_part(before, after, old.dialect)


def _receiver(entity: Entity) -> str:
    """Return the type before the name of a Go method, without the name of the receiver."""
    words = entity.head.partition("(")[2].partition(")")[0].split()
    return words[-1].partition("[")[0] if words else ""


def _value_findings(old: Entity, new: Entity) -> Iterator[Finding]:
    """Compare what is declared before the value: the type, and in Python the annotation."""
    before, after = _declared(old), _declared(new)
    if before != after:
        is_said = bool(before) and bool(after)
        yield "type_changed", old.dialect not in _UNTYPED and is_said and not _is_part(before, after, old.dialect)


def _declared(entity: Entity) -> str:
    """Return the declared type of a variable or field, empty when there is none."""
    texts = list(entity.own)
    depth = 0
    for number, text in enumerate(texts):
        depth += (text in "([{<") - (text in ")]}>") if text else 0
        if text in {"=", ":="} and depth <= 0:
            texts = texts[:number]
            break
    if entity.dialect == "go":
        texts = [text for text in texts if not text.startswith("`")]
    words = [text for text in texts if text not in _MODIFIERS and text not in {";", ","}]
    if entity.name in words:
        words.remove(entity.name)
    text = " ".join(words).strip()
    if entity.dialect in {"python", "typescript", "tsx", "rust", "kotlin", "swift", "scala", "javascript"}:
        text = text.lstrip("?! ").removeprefix(":").strip() if ":" in text[:4] else ""
    return tidy_type(text, entity.dialect)
