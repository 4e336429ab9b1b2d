"""Judge extracted Python facts by the standard library: `ast` for positions, `symtable` for scopes.

Known differences that are no disagreement: `__class__` and `.0`, which no source names; identifiers inside f-strings,
whose positions `ast` gets wrong before Python 3.12; `*` of star imports; names in annotations under
`from __future__ import annotations`, which `symtable` leaves out unless the import is masked; scopes called `top`,
which `symtable` takes for the module.
"""

import ast
import symtable
import sys
import unicodedata
import warnings
from collections import Counter

from codeplane.languages.facts import NONE, DefinitionKind, ReferenceRole
from codeplane.languages.python.extract import extract
from languages.reading import ReadFacts

ScopeNames = tuple[int, str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]
GRAMMAR_ERROR = "Python compiles it, the grammar does not understand all of it"
_IMPLICIT = {"__class__", "__classdict__", ".0"}


def judge(source: bytes) -> list[str] | None:
    """Return the disagreements about one file; None when Python itself cannot compile it."""
    if b"\r" in source.replace(b"\r\n", b"") or b"\x0c" in source:
        source = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\x0c", b" ")
    source = source.removeprefix(b"\xef\xbb\xbf")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source.decode("utf-8")
            tree = ast.parse(source)
            masked = source.replace(b"import annotations\n", b"import generators \n")
            table = symtable.symtable(masked.decode(), "judged", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = extract(source)
    facts = ReadFacts(found, source)
    # Types in quotes are references here and constants there.
    strings = _strings(tree)
    quoted = {
        (reference.span.start_line, reference.span.start_col)
        for reference in facts.references
        if any(start <= (reference.span.start_line, reference.span.start_col) < end for start, end in strings)
    }
    found.references = [
        row
        for row in found.references
        if facts.span(row[0], row[0])[:2] not in quoted or row[3] != ReferenceRole.REFERENCE
    ]
    if found.n_errors:
        return [GRAMMAR_ERROR]
    return [*judge_positions(facts, tree), *judge_definitions(facts, tree), *judge_scopes(facts, table)]


def _strings(tree: ast.AST) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return where plain strings are."""
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts
    ]


def judge_positions(facts: ReadFacts, tree: ast.AST) -> list[str]:
    """Every name that `ast` places must be a reference there, and the other way round."""
    references = facts.references
    ours = {(reference.span.start_line, reference.span.start_col): reference for reference in references}
    wanted = _wanted_names(tree)
    missing = [
        f"{line}:{column}: no reference {name}"
        for (line, column), name in wanted.items()
        if (line, column) not in ours or _normal(ours[line, column].name) != name
    ]
    f_lines = _f_string_lines(tree)
    extra = [
        f"{line}:{column}: not a name in ast: {reference.name}"
        for (line, column), reference in ours.items()
        if reference.role is ReferenceRole.REFERENCE and line not in f_lines and (line, column) not in wanted
    ]
    return missing + extra if len(ours) == len(references) else ["two references at one place"]


def judge_definitions(facts: ReadFacts, tree: ast.AST) -> list[str]:
    """Every function and class must be a definition with the same span."""
    kinds = {DefinitionKind.CLASS, DefinitionKind.FUNCTION, DefinitionKind.METHOD, DefinitionKind.PROPERTY}
    ours = Counter(
        (_normal(one.name), *facts.span(one.start, one.end)) for one in facts.definitions if one.kind in kinds
    )
    theirs = Counter(
        (node.name, node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    return [f"definition only here: {one}" for one in ours - theirs] + [
        f"definition missing: {one}" for one in theirs - ours
    ]


def judge_scopes(facts: ReadFacts, table: symtable.SymbolTable) -> list[str]:
    """Every function, class, lambda and comprehension must have the same local, global and free names."""
    ours = Counter(_our_scopes(facts))
    theirs = Counter(_their_scopes(table))
    return [f"scope only here: {one}" for one in ours - theirs] + [f"scope missing: {one}" for one in theirs - ours]


def _wanted_names(tree: ast.AST) -> dict[tuple[int, int], str]:
    wanted: dict[tuple[int, int], str] = {}
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr) and sys.version_info < (3, 12):
            continue
        waiting.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Name):
            wanted[node.lineno, node.col_offset] = node.id
        elif isinstance(node, ast.arg | ast.keyword) and node.arg is not None:
            wanted[node.lineno, node.col_offset] = node.arg
        elif isinstance(node, ast.alias) and node.name != "*":
            wanted[node.lineno, node.col_offset] = node.name.split(".")[0]
        elif isinstance(node, ast.Attribute):
            column = (node.end_col_offset or 0) - len(node.attr.encode())
            wanted[node.end_lineno or 0, column] = node.attr
    return wanted


def _f_string_lines(tree: ast.AST) -> set[int]:
    """Return lines where `ast` gives no position for some names: f-strings, `except`, `match`, `global`."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr | ast.Global | ast.Nonlocal | ast.pattern):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.ExceptHandler):
            lines.update(range(node.lineno, node.body[0].lineno + 1))
    return lines


def _our_scopes(facts: ReadFacts) -> list[ScopeNames]:
    bound: list[set[str]] = [set() for _ in facts.scopes]
    for bind in facts.binds:
        bound[bind.scope].add(bind.name)
    free: list[set[str]] = [set() for _ in facts.scopes]
    unknown: list[set[str]] = [set() for _ in facts.scopes]
    classes = _class_names(facts)
    for reference in facts.references:
        if reference.receiver is not None or reference.role is ReferenceRole.EXPORT:
            continue
        name = _mangled(_normal(reference.name), classes[reference.scope])
        home = facts.binds[reference.bind].scope if reference.bind is not None else 0
        if name in bound[reference.scope] or reference.role is ReferenceRole.IMPORT:
            continue
        (free if home else unknown)[reference.scope].add(name)
    _spread_free_names(facts, bound, free)
    names = {one.body_scope: _normal(one.name) for one in facts.definitions if one.body_scope != NONE}
    return [
        (
            facts.line(scope.start),
            "class" if scope.kind == "class" else "function",
            _scope_name(names.get(number, scope.kind)),
            _known(bound[number]),
            _known(unknown[number] - free[number]),
            _known(free[number]),
        )
        for number, scope in enumerate(facts.scopes)
        if number and scope.kind != "type_parameters" and names.get(number) != "top"
    ]


def _spread_free_names(facts: ReadFacts, bound: list[set[str]], free: list[set[str]]) -> None:
    """A name that an inner scope takes from further out is free in the scopes between as well."""
    for number in range(len(facts.scopes) - 1, 0, -1):
        parent = facts.scopes[number].parent
        if parent > 0:
            free[parent] |= free[number] - (bound[parent] if facts.scopes[parent].kind != "class" else set())
    for number, scope in enumerate(facts.scopes):
        if scope.kind == "class":
            free[number] -= bound[number]


def _their_scopes(table: symtable.SymbolTable) -> list[ScopeNames]:
    found: list[ScopeNames] = []
    waiting = list(table.get_children())
    while waiting:
        child = waiting.pop()
        waiting.extend(child.get_children())
        symbols = child.get_symbols()
        if child.get_name() == "top":
            continue
        found.append(
            (
                child.get_lineno(),
                str(child.get_type()),
                _scope_name(child.get_name()),
                _known({symbol.get_name() for symbol in symbols if symbol.is_local()}),
                _known({symbol.get_name() for symbol in symbols if symbol.is_global()}),
                _known({symbol.get_name() for symbol in symbols if symbol.is_free()}),
            )
        )
    return found


def _class_names(facts: ReadFacts) -> list[str]:
    names = {one.body_scope: one.name for one in facts.definitions if one.kind is DefinitionKind.CLASS}
    found: list[str] = []
    for number, scope in enumerate(facts.scopes):
        found.append(names[number] if number in names else found[scope.parent] if scope.parent != NONE else "")
    return found


def _mangled(name: str, class_name: str) -> str:
    stem = class_name.lstrip("_")
    return f"_{stem}{name}" if stem and name.startswith("__") and not name.endswith("__") else name


def _scope_name(name: str) -> str:
    return "comprehension" if name in {"listcomp", "setcomp", "dictcomp", "genexpr"} else name


def _known(names: set[str]) -> tuple[str, ...]:
    return tuple(sorted(names - _IMPLICIT))


def _normal(name: str) -> str:
    return unicodedata.normalize("NFKC", name)
