"""Settle what only the whole file can tell: what `Self` and globs mean, and from where paths of imports start."""

from collections import Counter, defaultdict

from codeplane.languages.block_scopes.tables import EVERYWHERE, FILE, Place
from codeplane.languages.facts import NONE, STAR, BindReason, BindTarget, DefinitionKind
from codeplane.languages.rust.attributes import is_conditional
from codeplane.languages.rust.keys import ANY, ELSEWHERE, GLOB, MACRO, PATH, TYPE, VALUE
from codeplane.languages.rust.structure import MODULE, PATH_WORDS, Structure
from codeplane.languages.rust.uses import GLOBAL


class Settled:
    """What was settled.

    `globs` gives for a scope the scopes of modules all of whose names it imports; `elsewhere` gives for the scope of
    an inline module the place of names that the file does not explain. `veils` gives the
    same for blocks with globs that lead out of the file, and whether only names in upper case can come from there.
    `doubtful` are the scopes and keys of names that depend on the platform.
    """

    __slots__ = ("_names", "_structure", "doubtful", "elsewhere", "globs", "veils")

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._names: dict[int, dict[str, list[int]]] = defaultdict(dict)
        for number, place in enumerate(structure.tables.places):
            if place.since == EVERYWHERE:
                self._names[place.scope].setdefault(place.key, []).append(number)
        self.globs: dict[int, list[int]] = defaultdict(list)
        self.elsewhere: dict[int, int] = {}
        self.veils: dict[int, tuple[int, bool]] = {}
        self.doubtful = self._find_doubtful()
        self._settle_globs()
        self._settle_self()
        self._settle_sources()
        self._settle_owners()
        self._settle_name_spaces()
        self._settle_elsewhere()

    def _find_doubtful(self) -> frozenset[tuple[int, str]]:
        """Return what depends on the platform.

        These are macros that a scope defines more than once, variables under `#[cfg]`, and imports beside a definition
        of the same name when one of the two is under `#[cfg]`; without it they would be in different name spaces.
        """
        structure = self._structure
        places, definitions = structure.tables.places, structure.tables.definitions
        macros = Counter((one.scope, one.key) for one in places if one.key.startswith(MACRO))
        found = {place for place, n_times in macros.items() if n_times > 1}
        conditional = [places[number] for number in structure.statements.conditional]
        found.update((one.scope, one.key) for one in conditional if one.target_kind is BindTarget.DEF)
        conditional += [
            one
            for one in places
            if one.target_kind is BindTarget.DEF
            and definitions[one.target].decorators
            and is_conditional(definitions[one.target].decorators)
        ]
        for scope, _, name, _, _, _, _ in conditional:
            keys = {TYPE + name, VALUE + name, ANY + name, MACRO + name} & self._names.get(scope, {}).keys()
            if ANY + name in keys and len(keys) > 1:
                found.update((scope, key) for key in keys)
        return frozenset(found)

    def _settle_globs(self) -> None:
        """Follow the globs that lead to modules and enums of this file; modules first, through which enums are seen."""
        tables = self._structure.tables
        stars = [number for number, fact in enumerate(tables.imports) if fact.imported_name == STAR]
        for number in stars:
            scope = tables.imports[number].scope
            target = self._follow(scope, self._structure.paths.get(number, ()))
            if isinstance(target, int) and target != scope:
                self.globs[scope].append(target)
        for number in stars:
            scope, path = tables.imports[number].scope, self._structure.paths.get(number, ())
            target = self._follow(scope, path)
            if isinstance(target, tuple) and target[0] in self._structure.variants:
                self._add_variants(scope, self._structure.variants[target[0]])
            elif not isinstance(target, int) and tables.scopes[scope].kind not in {MODULE, FILE}:
                self._add_veil(scope, path)

    def _add_veil(self, scope: int, path: tuple[str, ...]) -> None:
        """Say that a glob inside a function may hide what is outside; one of a type brings variants only."""
        is_of_type = bool(path) and path[-1][:1].isupper()
        place = self._structure.tables.bind_unknown(STAR, ELSEWHERE, scope)
        before = self.veils.get(scope)
        self.veils[scope] = (place, is_of_type and (before is None or before[1]))

    def _follow(self, scope: int, path: tuple[str, ...]) -> int | tuple[int] | None:
        """Return the scope of the module that a path leads to, or the type as a tuple; None when it leaves the file."""
        module = self._module_of(scope)
        holder: int | tuple[int] | None = None
        for segment in path:
            if segment == "self" and holder is None:
                holder = module
            elif segment == "super" and (holder is None or isinstance(holder, int)):
                inner = module if holder is None else holder
                if inner == 0:
                    return None
                holder = self._module_of(self._structure.tables.scopes[inner].parent)
            elif segment in PATH_WORDS or segment == GLOBAL or isinstance(holder, tuple):
                return None
            else:
                holder = self._step(scope if holder is None else holder, segment, is_first=holder is None)
                if holder is None:
                    return None
        return holder

    def _step(self, scope: int, name: str, *, is_first: bool) -> int | tuple[int] | None:
        found = self._find_type(scope, name) if is_first else self._in_scope(scope, name)
        place = self._structure.tables.places[found] if found is not None else None
        if place is None or place.target_kind is not BindTarget.DEF:
            return None
        definition = self._structure.tables.definitions[place.target]
        if definition.kind is DefinitionKind.MODULE:
            return definition.body_scope if definition.body_scope != NONE else None
        return (place.target,)

    def _module_of(self, scope: int) -> int:
        scopes = self._structure.tables.scopes
        while scope and scopes[scope].kind != MODULE:
            scope = scopes[scope].parent
        return scope

    def _in_scope(self, scope: int, name: str) -> int | None:
        """Return the place that binds a type or module in a scope, None when there is none or more than one."""
        names = self._names.get(scope, {})
        for key in (TYPE + name, ANY + name):
            if key in names:
                return names[key][0] if len(names[key]) == 1 else None
        return None

    def _find_type(self, scope: int, name: str) -> int | None:
        """Return the place that a name of a type or module means in a scope."""
        scopes = self._structure.tables.scopes
        seen: set[int] = set()
        while True:
            waiting = [scope]
            while waiting:
                current = waiting.pop()
                if current in seen:
                    continue
                seen.add(current)
                names = self._names.get(current, {})
                if TYPE + name in names or ANY + name in names:
                    return self._in_scope(current, name)
                waiting.extend(self.globs.get(current, ()))
            if scopes[scope].kind == MODULE or scopes[scope].parent == NONE:
                return None
            scope = scopes[scope].parent

    def _add_variants(self, scope: int, variants: list[int]) -> None:
        definitions, places = self._structure.tables.definitions, self._structure.tables.places
        for number in variants:
            name = definitions[number].name
            places.append(Place(scope, GLOB + name, name, BindTarget.DEF, number, BindReason.DEF_IN_SCOPE, EVERYWHERE))

    def _settle_self(self) -> None:
        """Bind `Self` in each `impl` block to what its type is bound to."""
        tables = self._structure.tables
        for scope, (owner, type_start, around) in self._structure.implementations.items():
            if not owner or self._is_path(type_start):
                continue
            found = self._find_type(scope, owner)
            if found is not None:
                _, _, _, kind, target, reason, _ = tables.places[found]
                if kind is not BindTarget.UNKNOWN and around != NONE:
                    tables.places.append(Place(scope, TYPE + "Self", "Self", kind, target, reason, EVERYWHERE))

    def _is_path(self, start: int) -> bool:
        """Say whether a name follows `::`."""
        return self._structure.text.bytewise[:start].rstrip().endswith("::") if start > 0 else False

    def _settle_sources(self) -> None:
        """Write the paths of imports from the point of view of the file, whichever inline module they are in."""
        tables = self._structure.tables
        for number, path in self._structure.paths.items():
            fact = tables.imports[number]
            name = fact.imported_name
            if not path and name is not None and name != STAR and not self._is_bound_here(fact.scope, name, number):
                # `use a;` imports a crate, or else a name of the module itself under another name.
                tables.imports[number] = fact._replace(source=name, imported_name=None)
                continue
            source = self._source(fact.scope, path, number)
            if name is not None and name in PATH_WORDS:
                source, name = self._source(fact.scope, (*path, name), number), None
            tables.imports[number] = fact._replace(source=source, imported_name=name)

    def _source(self, scope: int, path: tuple[str, ...], number: int) -> str:
        around = [self._structure.tables.definitions[one].name for one in self._structure.modules_around(scope)]
        if not path:
            return "::".join(["self", *around])
        if path[0] in {"self", "super"}:
            n_words = next((i for i, one in enumerate(path) if one not in {"self", "super"}), len(path))
            level = len(around) - path[:n_words].count("super")
            start = ["self", *around[:level]] if level >= 0 else ["super"] * -level
            return "::".join([*start, *path[n_words:]])
        if path[0] not in {"crate", GLOBAL} and self._is_bound_here(scope, path[0], number):
            return "::".join(["self", *around, *path])
        return "::".join(path)

    def _is_bound_here(self, scope: int, name: str, number: int) -> bool:
        """Say whether the module around a scope binds a type or module of a name by anything but one import."""
        names = self._names.get(self._module_of(scope), {})
        places = self._structure.tables.places
        if TYPE + name in names:
            return True
        return any(
            places[one].target_kind is BindTarget.IMPORT and places[one].target != number
            for one in names.get(ANY + name, ())
        )

    def _settle_owners(self) -> None:
        """Say by its path which type of this file the members of an `impl` belong to.

        The path of another file's type is that of its name here, where no type of this file can be.
        """
        tables = self._structure.tables
        owners: dict[int, str] = {}
        for scope, (owner, type_start, around) in self._structure.implementations.items():
            if owner:
                found = self._find_type(around, owner) if not self._is_path(type_start) else None
                place = tables.places[found] if found is not None else None
                is_here = place is not None and place.target_kind is BindTarget.DEF
                own = tables.definitions[place.target].lexical_path if place is not None and is_here else ""
                owners[scope] = own or tables.path_of(around, owner)
        for number, scope in self._structure.member_homes.items():
            if scope in owners:
                tables.definitions[number] = tables.definitions[number]._replace(owner=owners[scope])

    def _settle_name_spaces(self) -> None:
        """Say of each name of the file that means different things as type, value or macro that it is open.

        References in this file know which they mean; others that ask for the name do not say. Several definitions in
        one name space are alternatives, one for each `#[cfg]`.
        """
        meanings: dict[str, set[tuple[int, int]]] = defaultdict(set)
        name_spaces: dict[str, set[str]] = defaultdict(set)
        for scope, key, name, kind, target, _, _ in self._structure.tables.places:
            if scope == 0 and not key.startswith((PATH, GLOB)):
                meanings[name].add((kind, target))
                name_spaces[name].add(key)
        for name, targets in meanings.items():
            if len(targets) > 1 and len(name_spaces[name]) > 1:
                self._structure.tables.bind_unknown(name, ELSEWHERE + name, 0)

    def _settle_elsewhere(self) -> None:
        """Find the inline modules that do not see what the file imports with globs."""
        tables = self._structure.tables
        if not any(fact.imported_name == STAR and fact.scope == 0 for fact in tables.imports):
            return
        for scope in self._structure.modules:
            if not self._sees_file(scope):
                self.elsewhere[scope] = tables.bind_unknown(STAR, ELSEWHERE, scope)

    def _sees_file(self, scope: int) -> bool:
        waiting, seen = [scope], {scope}
        while waiting:
            for other in self.globs.get(waiting.pop(), ()):
                if other == 0:
                    return True
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return False
