"""Which definitions are alternatives of one symbol: a name that one scope defines several times.

The definitions under `if` and `else`, in `try` and `except`, overload signatures, a getter and its setter, items under
different `#[cfg]`, and the files of a Go package for different systems all define one symbol. Its first definition
represents the others in links.
"""

from typing import Final

from codeplane.index.facts.compiling import CLASS_LIKE
from codeplane.index.facts.outline import DECORATORS, NAME, OWNER, PATH, SCOPE, Outline
from codeplane.index.facts.reader import FactReader
from codeplane.index.symbol_names import folded
from codeplane.languages.catalog import linking_rules
from codeplane.languages.facts import DefinitionKind
from codeplane.languages.linking import LinkingRules

UNDER_CONDITION: Final = "cfg"
_STATIC: Final = "static"
_TYPES: Final = frozenset(int(kind) for kind in (*CLASS_LIKE, DefinitionKind.TYPE))


def alternatives_in(outline: Outline, number: int, rules: LinkingRules) -> tuple[int, ...]:
    """Return the definitions of a file that are one symbol with a definition, itself included."""
    rows = outline.definition_rows
    names, scopes, owners = rows.column(NAME), rows.column(SCOPE), rows.column(OWNER)
    own = (names[number], scopes[number], owners[number])
    found = [one for one, name in enumerate(names) if name == own[0] and (name, scopes[one], owners[one]) == own]
    if len(found) == 1 or rules.choose_method is not None:
        # Overloads that a call chooses between are symbols of their own.
        return (number,)
    if not rules.last_star_wins:
        kinds = outline.kinds
        # Outside of Python a type and a value of one name are two things, and so are static and other members.
        is_static = _STATIC in rows.column(DECORATORS)[number]
        found = [
            one
            for one in found
            if (kinds[one] in _TYPES) == (kinds[number] in _TYPES)
            and (_STATIC in rows.column(DECORATORS)[one]) == is_static
        ]
    if rules.methods_are_apart and not all(_is_under_condition(outline, one) for one in found):
        return (number,)
    return tuple(found)


def alternatives_of(reader: FactReader, file_id: int, number: int) -> tuple[tuple[int, int], ...]:
    """Return the definitions that are one symbol with a definition, itself included, by path and number."""
    file = reader.file(file_id)
    rules = linking_rules(file.language) if file is not None else None
    if file is None or file.facts_id is None or rules is None:
        return ((file_id, number),)
    outline = reader.outline(file.facts_id)
    found = [(file.path, file_id, one) for one in alternatives_in(outline, number, rules)]
    if rules.members_stand_in_module and number < outline.n_visible and file.modules:
        found += _in_other_files(reader, file_id, outline.definition_rows.column(PATH)[number], file.modules)
    return tuple((place, one) for _, place, one in sorted(set(found)))


def _in_other_files(reader: FactReader, file_id: int, path: str, modules: str) -> list[tuple[str, int, int]]:
    """Return the definitions of a path in the other files of a module."""
    rows = reader.connection.execute(
        "SELECT path, file_id, facts_id, number FROM definitions JOIN files USING (file_id)"
        " WHERE folded = ? AND module = ? AND file_id <> ?",
        (folded(path.rpartition(".")[2]), modules, file_id),
    ).fetchall()
    return [
        (place, other, number)
        for place, other, facts_id, number in rows
        if reader.outline(facts_id).definition_rows.column(PATH)[number] == path
    ]


def _is_under_condition(outline: Outline, number: int) -> bool:
    return any(one.startswith(UNDER_CONDITION) for one in outline.definition_rows.column(DECORATORS)[number])
