"""Settle what only the whole file can tell: which classes of the file extend which, and where names stay open."""

from collections import Counter, defaultdict
from typing import Final

from codeplane.languages.facts import NONE, STAR, BindTarget
from codeplane.languages.java.keys import DOUBT, ELSEWHERE, STATIC, TYPE
from codeplane.languages.java.structure import Method, Structure

# What every class has, and every enum besides.
OBJECT_METHODS: Final = frozenset(
    {
        "clone",
        "equals",
        "finalize",
        "getClass",
        "hashCode",
        "notify",
        "notifyAll",
        "toString",
        "wait",
    }
)
ENUM_METHODS: Final = frozenset(
    {"compareTo", "describeConstable", "getDeclaringClass", "name", "ordinal", "valueOf", "values"}
)
_OBJECT: Final = "Object"


class Hierarchy:
    """The classes of a file.

    `ancestors` gives for the scope of a class the scopes of those in this file that it extends, the nearest first;
    `open_classes` are the scopes of classes that inherit from something else. `unknown` is the place that represents
    what is known to be unknown. `doubts` gives the place for a method of several of one name by class and name,
    `doubtful` are the scopes and keys of pattern variables that may hide another one, `private` are definitions that
    are not inherited.
    """

    __slots__ = ("_structure", "_types", "ancestors", "doubtful", "doubts", "open_classes", "private", "unknown")

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        tables = structure.tables
        self._types: dict[int, dict[str, int]] = defaultdict(dict)
        for number, place in enumerate(tables.places):
            if place.key.startswith(TYPE):
                self._types[place.scope].setdefault(place.name, number)
        self.open_classes: set[int] = set()
        self.ancestors: dict[int, list[int]] = {}
        self._settle_ancestors()
        self.unknown = tables.bind_unknown(STAR, ELSEWHERE, 0)
        self.doubts = self._find_doubts()
        self.doubtful = self._find_doubtful()

    def methods(self, scope: int, name: str) -> list[Method]:
        """Return the methods of a name that a class has or inherits in this file, overridden ones left out."""
        classes = self._structure.classes
        found = list(classes[scope].methods.get(name, ()))
        for ancestor in self.ancestors[scope]:
            for method in classes[ancestor].methods.get(name, ()):
                if all(method.types != other.types for other in found):
                    found.append(method)
        return found

    def _settle_ancestors(self) -> None:
        classes = self._structure.classes
        direct: dict[int, list[int]] = {}
        for scope, body in classes.items():
            bases = [self._base_scope(scope, name) for name, _ in body.base_names if name != _OBJECT]
            direct[scope] = [base for base in bases if base is not None]
            if None in bases:
                self.open_classes.add(scope)
        for scope in classes:
            found: list[int] = []
            waiting = direct[scope][::-1]
            while waiting:
                base = waiting.pop()
                if base != scope and base not in found:
                    found.append(base)
                    waiting.extend(reversed(direct[base]))
            self.ancestors[scope] = found
        self.open_classes |= {
            scope for scope, bases in self.ancestors.items() if not self.open_classes.isdisjoint(bases)
        }

    def _base_scope(self, scope: int, name: str) -> int | None:
        """Return the scope of a base that is a class of this file."""
        tables = self._structure.tables
        current = tables.scopes[scope].parent
        while name and current != NONE:
            found = self._types.get(current, {}).get(name)
            if found is not None:
                place = tables.places[found]
                if place.target_kind is not BindTarget.DEF:
                    return None
                body = tables.definitions[place.target].body_scope
                return body if body in self._structure.classes else None
            current = tables.scopes[current].parent
        return None

    def _find_doubts(self) -> dict[tuple[int, str], int]:
        """Bind the methods that share their name once more, for calls that may mean several."""
        tables = self._structure.tables
        n_methods = Counter(
            name for body in self._structure.classes.values() for name, found in body.methods.items() for _ in found
        )
        found: dict[tuple[int, str], int] = {}
        for scope, body in list(self._structure.classes.items()):
            for name, methods in body.methods.items():
                if n_methods[name] > 1:
                    target = tables.places[methods[0].place].target
                    found[scope, name] = tables.bind_word(name, DOUBT + name, scope, target)
        return found

    def _find_doubtful(self) -> frozenset[tuple[int, str]]:
        """Return what is uncertain: methods that share their name, and pattern variables that may hide another."""
        tables = self._structure.tables
        found = {(scope, DOUBT + name) for scope, name in self.doubts}
        variables: dict[str, set[int]] = defaultdict(set)
        for place in tables.places:
            if place.key == place.name:
                variables[place.name].add(place.scope)
        for scope, name in self._structure.statements.pattern_variables:
            around = tables.scopes[scope].parent
            while around != NONE and not self._has_variable(around, variables[name]):
                around = tables.scopes[around].parent
            if around != NONE or self._has_static(name):
                found.add((scope, name))
        return frozenset(found)

    def _has_variable(self, scope: int, scopes: set[int]) -> bool:
        return scope in scopes or any(one in scopes for one in self.ancestors.get(scope, ()))

    def _has_static(self, name: str) -> bool:
        return any(place.key == STATIC + name for place in self._structure.tables.places)
