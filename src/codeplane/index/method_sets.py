"""Which Go types have the methods of an interface."""

from dataclasses import dataclass, field
from typing import Final

from codeplane.index.facts.outline import SIGNATURE
from codeplane.index.facts.reader import FactReader, Place
from codeplane.index.method_shapes import go_shape
from codeplane.index.relations import TypeGraph, members_of
from codeplane.languages.facts import DefinitionKind

_CONCRETE: Final = frozenset({int(DefinitionKind.STRUCT), int(DefinitionKind.TYPE)})
_INTERFACE: Final = int(DefinitionKind.INTERFACE)
_TYPE: Final = int(DefinitionKind.TYPE)
_METHOD: Final = int(DefinitionKind.METHOD)
_BUILT_IN: Final = {"error": {"Error": "() string"}}


@dataclass(slots=True)
class Implementations:
    """The types that implement a Go interface, and what is not sure.

    `other_signatures` have all methods by name, but a parameter or result is written differently. `may_embed` have some
    methods and embed a type from outside that may have the rest. `unknown_parts` are embedded interfaces from outside.
    """

    methods: frozenset[str]
    sure: list[Place] = field(default_factory=list)
    other_signatures: list[Place] = field(default_factory=list)
    may_embed: list[Place] = field(default_factory=list)
    unknown_parts: list[str] = field(default_factory=list)


def go_implementations(reader: FactReader, graph: TypeGraph, interface: Place) -> Implementations:
    """Return the types whose method set, pointer receivers included, holds that of an interface."""
    wanted, unknown = _method_set(reader, graph, interface, set())
    answer = Implementations(frozenset(wanted), unknown_parts=unknown)
    home = reader.file(interface[0])
    for file in reader.files_with_facts(lambda language: language == "go") if wanted else ():
        outline = reader.outline(file.facts_id or 0)
        is_home = home is not None and file.modules == home.modules
        if not is_home and not all(name[:1].isupper() for name in wanted):
            # Only a type of the same package can have a method that is not exported.
            continue
        for number in range(outline.n_visible):
            is_alias = outline.kinds[number] == _TYPE and "=" in outline.definition_rows.column(SIGNATURE)[number]
            if outline.kinds[number] in _CONCRETE and not is_alias:
                _judge(reader, graph, (file.file_id, number), wanted, answer)
    return answer


def _judge(reader: FactReader, graph: TypeGraph, place: Place, wanted: dict[str, str], answer: Implementations) -> None:
    own, unknown = _method_set(reader, graph, place, set())
    shared = wanted.keys() & own.keys()
    if len(shared) < len(wanted):
        if shared and unknown:
            answer.may_embed.append(place)
    elif all(go_shape(own[name]) == go_shape(signature) for name, signature in wanted.items()):
        answer.sure.append(place)
    else:
        answer.other_signatures.append(place)


def _method_set(
    reader: FactReader, graph: TypeGraph, place: Place, seen: set[Place]
) -> tuple[dict[str, str], list[str]]:
    """Return the methods of a type with those it embeds, by name, and the embedded types that are not known."""
    seen.add(place)
    outline = reader.outline_of(place[0])
    found: dict[str, str] = {}
    for name, members in members_of(reader, place).items():
        for file_id, number in members:
            rows = reader.outline_of(file_id)
            if rows.kinds[number] == _METHOD:
                found[name] = str(rows.definition_rows.column(SIGNATURE)[number])
    unknown: list[str] = []
    for base in graph.bases.get(place, ()):
        kind = reader.outline_of(base[0]).kinds[base[1]]
        # A type made of a struct has none of its methods; one made of an interface has.
        if base in seen or (outline.kinds[place[1]] == _TYPE and kind != _INTERFACE):
            continue
        more, open_parts = _method_set(reader, graph, base, seen)
        found = more | found
        unknown += open_parts
    for name in (*graph.outside.get(place, ()), *graph.unresolved.get(place, ())):
        found = _BUILT_IN.get(name, {}) | found
        if name not in _BUILT_IN and outline.kinds[place[1]] != _TYPE:
            unknown.append(name)
    return found, unknown
