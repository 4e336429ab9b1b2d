"""What the packages of a repository offer to their users: the names that can be reached from a package's entries.

The entries come from manifests (`pyproject.toml`, `package.json`, `go.mod`, `Cargo.toml`); where a manifest says
nothing, from what the language's build tools do without it. Tests, examples and build files are never entries.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from codeplane.index.facts.exported_names import reexported_stars
from codeplane.index.facts.model import ExportEntry
from codeplane.index.facts.outline import Outline
from codeplane.index.facts.queries import FactQueries
from codeplane.index.facts.reader import FactFile, FactReader
from codeplane.index.file_order import is_test_file
from codeplane.index.symbol_names import qualifier
from codeplane.languages.facts import DefinitionKind
from codeplane.languages.families import FAMILIES, FamilyType
from codeplane.languages.javascript.packages import Packages
from codeplane.languages.javascript.places import Places
from codeplane.languages.public_names import is_rust_public
from codeplane.languages.python.manifest import distributed_places
from codeplane.languages.rust.manifest import read_package, read_toml

# Families whose code others use by name; scripts and pages offer nothing.
_LIBRARY_FAMILIES: Final = frozenset(family.name for family in FAMILIES if family.type is FamilyType.CODE) - {
    "shell",
    "web",
}
# Directories whose packages are not for users.
_ASIDE: Final = frozenset(
    {
        "bench", "benchmark", "benchmarks", "demo", "demos", "doc", "docs", "e2e", "example", "examples",
        "_examples", "fixtures", "sample", "samples", "test", "testdata", "tests", "__tests__",
        "third_party", "vendor", "vendored", "website",
    }
)  # fmt: skip
_INTERNAL: Final = "internal"
_GENERATED_BY_STAR: Final = "default"


@dataclass(frozen=True, slots=True)
class ApiName:
    """A name that users of a package can import: from which module, and which file offers it."""

    module: str
    name: str
    def_uid: str | None
    certainty: str
    evidence: str
    path: str


@dataclass(slots=True)
class PublicApi:
    """The names, and what keeps the list from being complete."""

    names: list[ApiName] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def public_api(reader: FactReader) -> PublicApi:
    """Return what the packages of a repository offer, each definition once, by its shortest path."""
    offers = _Offers(reader)
    found = PublicApi()
    for family, root in reader.connection.execute(
        "SELECT family, root FROM units WHERE status = 'valid' AND unit_id IN (SELECT unit_id FROM files)"
        " ORDER BY root, family"
    ).fetchall():
        read = _READERS.get(family)
        if not _ASIDE.isdisjoint(root.split("/")):
            continue
        if read is not None:
            read(offers, root, found)
        elif family in _LIBRARY_FAMILIES:
            found.unknown.append(f"public_api: no rule tells what {family} code offers (context {root or '.'})")
    found.names = _each_once(found.names)
    return found


def _each_once(names: Iterable[ApiName]) -> list[ApiName]:
    """Return every definition once, under the shortest module that offers it under that name."""
    by_depth = sorted(names, key=_depth)
    seen: set[tuple[str, str]] = set()
    found = []
    for one in by_depth:
        keys = {(one.name, one.def_uid or one.module), (one.name, one.module)}
        if seen.isdisjoint(keys):
            found.append(one)
        seen |= keys
    return found


def _depth(one: ApiName) -> tuple[int, str]:
    return one.module.count(".") + one.module.count("/") + one.module.count("::"), one.module


class _Offers:
    """What files export, followed through re-exports of everything."""

    def __init__(self, reader: FactReader) -> None:
        self.reader = reader
        self._queries = FactQueries(reader)
        rows = reader.connection.execute(
            "SELECT file_id, path, language, text_id, facts_id, unit_id, module, family, root"
            " FROM files JOIN units USING (unit_id) WHERE facts_id IS NOT NULL AND status = 'valid' ORDER BY path"
        ).fetchall()
        self.files = {row[1]: FactFile(*row[:7]) for row in rows}
        self._unit_of = {row[1]: (row[7], row[8]) for row in rows}
        self._by_module: dict[str, list[FactFile]] = {}
        for file in self.files.values():
            for module in file.modules.split("\n") if file.modules else ():
                self._by_module.setdefault(module, []).append(file)

    def of_unit(self, family: str, root: str) -> list[FactFile]:
        """Return the files of a context that are not tests."""
        return [
            file
            for path, file in self.files.items()
            if self._unit_of[path] == (family, root) and not is_test_file(path)
        ]

    def outline(self, file: FactFile) -> Outline:
        """Return the outline of a file."""
        return self.reader.outline(file.facts_id or 0)

    def text_of(self, path: str) -> str | None:
        """Return the text of any indexed file."""
        file = self.reader.file_at(path)
        if file is None or file.text_id is None:
            return None
        return self.reader.text(file).decode("utf-8", "replace")

    def entries(self, file: FactFile, seen: frozenset[str] = frozenset()) -> list[ExportEntry]:
        """Return what a file exports, what it offers on from other files included."""
        outline = self.outline(file)
        own = list(self._queries.export_entries_of(file, outline))
        listed = {one.exported_name: one for one in own}
        has_list = any(one.evidence_kind.startswith("__all__literal") for one in own)
        for source in reexported_stars(file, outline, lambda: self.reader.text(file)):
            for target in self._located(file, source):
                if target.path in seen:
                    continue
                for one in self.entries(target, seen | {file.path}):
                    self._take_star(listed, one, has_list=has_list)
        return list(listed.values())

    @staticmethod
    def _take_star(listed: dict[str, ExportEntry], one: ExportEntry, *, has_list: bool) -> None:
        known = listed.get(one.exported_name)
        if known is not None and known.def_uid is None:
            listed[one.exported_name] = known._replace(def_uid=one.def_uid)
        elif known is None and not has_list and one.exported_name != _GENERATED_BY_STAR:
            listed[one.exported_name] = one

    def named(self, module: str, file: FactFile) -> Iterator[ApiName]:
        """Yield what a file exports under the name of the module by which users import it."""
        for one in self.entries(file):
            yield ApiName(module, one.exported_name, one.def_uid, one.certainty, one.evidence_kind, file.path)

    def members(self, file: FactFile, number: int) -> Iterator[tuple[int, str, str]]:
        """Yield number, name and preceding words of each definition in a module that is written inside a file."""
        outline, text = self.outline(file), self.reader.text(file)
        scope = outline.definition(number).body_scope
        for other in range(outline.n_visible):
            one = outline.definition(other)
            if one.scope == scope:
                yield other, one.name, text[one.start : one.name_start].decode("utf-8", "replace")

    def uid(self, file: FactFile, number: int) -> str:
        """Return the identity of a definition."""
        return self._queries.uid_of(file, self.outline(file), number)

    def of_module(self, module: str) -> list[FactFile]:
        """Return the files that make a module."""
        return self._by_module.get(module, [])

    def _located(self, file: FactFile, source: str) -> list[FactFile]:
        row = self.reader.connection.execute(
            "SELECT module FROM located WHERE file_id = ? AND source = ?", (file.file_id, source)
        ).fetchone()
        return self.of_module(row[0]) if row is not None and row[0] is not None else []


def _python(offers: _Offers, root: str, found: PublicApi) -> None:
    """Take the packages that are distributed: their first file, then every module whose path has no underscore."""
    files = offers.of_unit("python", root)
    paths = [file.path for file in files]
    for place in distributed_places(root, paths, offers.text_of):
        for file in files:
            if file.path == place or (file.path.startswith(f"{place}/") and _is_public_module(file.path, place)):
                found.names.extend(offers.named(qualifier(file.modules, file.path), file))


def _is_public_module(path: str, place: str) -> bool:
    *folders, name = path[len(place) + 1 :].split("/")
    is_first = name.partition(".")[0] == "__init__"
    is_private = any(part.startswith("_") for part in (*folders, *([] if is_first else [name])))
    return not is_private and "tests" not in folders and name != "conftest.py"


def _javascript(offers: _Offers, root: str, found: PublicApi) -> None:
    places = Places(tuple(offers.files), offers.text_of)
    packages = Packages(places)
    package = packages.at(root)
    if package is None:
        return
    entries, missing = packages.entries(package)
    for module, path in entries:
        if path in offers.files:
            found.names.extend(offers.named(module, offers.files[path]))
        elif not path.endswith(".json"):
            missing.append(module)
    if missing:
        shown = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        found.unknown.append(f"public_api: no source file was found for {shown}")


def _go(offers: _Offers, root: str, found: PublicApi) -> None:
    for file in offers.of_unit("go", root):
        folders = _below(root, file.path).split("/")[:-1]
        is_aside = not _ASIDE.isdisjoint(folders) or any(one.startswith(("_", ".")) for one in folders)
        if not is_aside and _INTERNAL not in folders and offers.outline(file).package != "main":
            found.names.extend(offers.named(qualifier(file.modules, file.path), file))


def _rust(offers: _Offers, root: str, found: PublicApi) -> None:
    paths = frozenset(path for path in offers.files if path.endswith(".rs"))
    table = read_toml(offers.text_of(f"{root}/Cargo.toml" if root else "Cargo.toml") or "")
    package = read_package(table, root, table, root, paths) if table is not None else None
    for target in package.targets if package is not None else ():
        if target.kind == "lib":
            first = offers.files[target.path]
            _rust_module(offers, qualifier(first.modules, target.name), first, found, set())


def _rust_module(offers: _Offers, module: str, file: FactFile, found: PublicApi, seen: set[str]) -> None:
    """Take the public names of a module and of the public modules in it."""
    if module in seen:
        return
    seen.add(module)
    outline = offers.outline(file)
    for one in offers.named(module, file):
        inner = offers.of_module(f"{module}::{one.name}")
        if inner and one.def_uid is None:
            for other in inner:
                _rust_module(offers, f"{module}::{one.name}", other, found, seen)
            continue
        found.names.append(one)
        bound = outline.file_binds.get(one.name)
        if bound is not None and bound[0] == 0 and outline.kinds[bound[1]] == DefinitionKind.MODULE:
            _rust_inline(offers, f"{module}::{one.name}", file, bound[1], found)


def _rust_inline(offers: _Offers, module: str, file: FactFile, number: int, found: PublicApi) -> None:
    kinds = offers.outline(file).kinds
    for other, name, head in offers.members(file, number):
        if is_rust_public(head):
            uid = offers.uid(file, other)
            found.names.append(ApiName(module, name, uid, "CERTAIN", "default_module", file.path))
            if kinds[other] == DefinitionKind.MODULE:
                _rust_inline(offers, f"{module}::{name}", file, other, found)


def _java(offers: _Offers, root: str, found: PublicApi) -> None:
    others: dict[str, int] = {}
    for file in offers.of_unit("jvm", root):
        module = qualifier(file.modules, file.path)
        before = file.path.rpartition("/")[0].removesuffix(module.replace(".", "/"))
        if not _ASIDE.isdisjoint(before.split("/")):
            continue
        if file.language == "java":
            found.names.extend(offers.named(module, file))
        else:
            others[file.language] = others.get(file.language, 0) + 1
    for language, count in sorted(others.items()):
        found.unknown.append(f"public_api: no rule tells what {language} code offers ({count} files)")


def _below(root: str, path: str) -> str:
    return path[len(root) + 1 :] if root else path


_READERS: Final[Mapping[str, Callable[[_Offers, str, PublicApi], None]]] = MappingProxyType(
    {"go": _go, "javascript": _javascript, "jvm": _java, "python": _python, "rust": _rust}
)
