"""What a file exports, by the rule of its language."""

from collections.abc import Callable, Iterator
from typing import Final

from codeplane.index.facts.outline import DECORATORS, NAME_START, START, Outline
from codeplane.index.facts.reader import FactFile
from codeplane.languages.facts import BindTarget, Certainty
from codeplane.languages.public_names import PublicNames, public_names

DEFAULT_MODULE: Final = "default_module"
_ALL_LIST: Final = "__all__"
# Name, target kind, target, certainty, evidence.
Offer = tuple[str, int, int, int, str]


def exported_names(file: FactFile, outline: Outline, read_text: Callable[[], bytes]) -> Iterator[Offer]:
    """Yield what a file exports: an explicit list if it has one, otherwise what its language makes public.

    For a language without a rule every name is given, and all of them are uncertain.
    """
    listed = {row[0]: row for row in outline.export_rows if row[0]}
    rules = public_names(file.language)
    accepts = _acceptance(file, outline, read_text, rules)
    for name, (kind, target, certainty) in outline.file_binds.items():
        if name in listed:
            yield name, kind, target, max(certainty, listed[name][3]), listed[name][4]
        elif kind != BindTarget.UNKNOWN and accepts(name, kind, target):
            doubt = certainty if rules is not None else max(certainty, int(Certainty.UNCERTAIN))
            yield name, kind, target, doubt, DEFAULT_MODULE if kind == BindTarget.DEF else "reexport"
    for name, row in listed.items():
        if name not in outline.file_binds:
            yield name, row[1], row[2], row[3], row[4]


def reexported_stars(file: FactFile, outline: Outline, read_text: Callable[[], bytes]) -> list[str]:
    """Return the sources from which a file offers everything on."""
    rules = public_names(file.language)
    if rules is None or not outline.stars:
        return []
    text = read_text()
    ones = [outline.imported(number) for number in outline.stars]
    return [one.source for one in ones if one.scope == 0 and rules.is_reexport(one, text, _is_package(file.path))]


def _acceptance(
    file: FactFile, outline: Outline, read_text: Callable[[], bytes], rules: PublicNames | None
) -> Callable[[str, int, int], bool]:
    if rules is None:
        return lambda _name, _kind, _target: True
    has_list = any(row[4].startswith(_ALL_LIST) for row in outline.export_rows)
    is_whole = all(row[0] for row in outline.export_rows)
    if has_list and is_whole:
        return lambda _name, _kind, _target: False
    text = read_text()
    starts, names = outline.definition_rows.column(START), outline.definition_rows.column(NAME_START)
    decorators = outline.definition_rows.column(DECORATORS)

    def accepts(name: str, kind: int, target: int) -> bool:
        if target < 0:
            return False
        if kind == BindTarget.IMPORT:
            return not name.startswith("_") and rules.is_reexport(
                outline.imported(target), text, _is_package(file.path)
            )
        head = text[starts[target] : names[target]].decode("utf-8", "replace")
        return rules.is_public(name, head, tuple(decorators[target]))

    return accepts


def _is_package(path: str) -> bool:
    return path.rpartition("/")[2].startswith("__init__.")
