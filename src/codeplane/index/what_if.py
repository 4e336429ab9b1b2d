"""What references would mean if some files had other contents: facts and links in memory; nothing is written.

A refactoring compares this state with the indexed one: every reference must still mean the same definition.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from codeplane.index.facts.columns import Columns
from codeplane.index.facts.compiling import CompiledFacts, compile_facts
from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import Outline
from codeplane.index.facts.outline_storage import decode_outline, encode_outline
from codeplane.index.facts.reader import FactFile, FactReader
from codeplane.index.linking.resolve import Resolver
from codeplane.index.linking.stored_links import Target
from codeplane.index.linking.update import FamilyLinks, LinkChanges, OutlineCache, TreeFile, resolution_of
from codeplane.index.structure import SELECT_FILES, tree_file
from codeplane.index.units import unit_roots
from codeplane.languages.catalog import dialect_of, language_of, linking_rules, load_language
from codeplane.languages.facts import FileFacts


class _Assumed(NamedTuple):
    """A file with other contents."""

    text: bytes
    facts: FileFacts
    compiled: CompiledFacts


class WhatIf:
    """The state of one language family if some files had other contents; None means that there is no such file.

    `new_place` says where the root of a context goes. `reached` are the paths of files whose references may mean
    something else than before.
    """

    def __init__(
        self,
        reader: FactReader,
        language: str,
        texts: Mapping[str, bytes | None],
        new_place: Callable[[str], str] | None = None,
    ) -> None:
        self._reader = reader
        self._new_place = new_place or str
        self._rules = linking_rules(language)
        self._assumed: dict[int, _Assumed] = {}
        self._texts = texts
        known = [tree_file(row) for row in reader.connection.execute(SELECT_FILES)]
        before = {
            one.path: one for one in known if self._takes_part(one.path, one.dialect) and one.facts_id is not None
        }
        self._files = {path: one for path, one in before.items() if path not in texts}
        for number, (path, text) in enumerate(sorted(texts.items()), start=1):
            if text is not None:
                self._assume(-number, path, text, before.get(path))
        self._paths = {one.file_id: path for path, one in self._files.items()}
        self._resolver: Resolver | None = None
        self.reached: frozenset[str] = frozenset(path for path in texts if path in self._files)
        if self._rules is not None:
            self._link(before)

    def _takes_part(self, path: str, dialect: str) -> bool:
        if self._rules is None:
            return path in self._texts
        return linking_rules(dialect) is self._rules

    def _assume(self, facts_id: int, path: str, text: bytes, known: TreeFile | None) -> None:
        dialect = dialect_of(path)
        language = load_language(dialect)
        if language is None or not self._takes_part(path, dialect):
            return
        facts = language.extract(text)
        compiled = compile_facts(facts, text)
        if not len(compiled.outline.definition_rows):
            # Without rows there are no columns either; the stored form has them.
            compiled = replace(compiled, outline=decode_outline(encode_outline(compiled.outline)))
        self._assumed[facts_id] = _Assumed(text, facts, compiled)
        file_id = known.file_id if known is not None else facts_id
        unit_id, modules = (known.unit_id, known.modules) if known is not None else (None, "")
        self._files[path] = TreeFile(
            file_id, path, dialect, facts_id, unit_id, modules, compiled.link_hash, compiled.outline.package
        )

    def _link(self, before: Mapping[str, TreeFile]) -> None:
        rules = self._rules
        if rules is None:
            return
        roots = unit_roots(self._reader.connection)
        names = {roots[one.unit_id][0] for one in before.values() if one.unit_id is not None and one.unit_id in roots}
        links = FamilyLinks(
            self._reader.connection,
            rules,
            self._files.values(),
            sorted({self._new_place(root) if root else root for name, root in roots.values() if name in names}),
            self._text_at,
            _Outlines(self),
        )
        files = links.unit.files
        self._resolver = Resolver(links.unit)
        for path, one in self._files.items():
            self._files[path] = one._replace(modules="\n".join(files[one.file_id].modules))
        differing = {path for path in self._texts if _offer(before.get(path)) != _offer(self._files.get(path))}
        sides = [side[path] for path in differing for side in (before, self._files) if path in side]
        changes = LinkChanges(
            changed=frozenset(self._files[path].file_id for path in self._texts if path in self._files),
            modules=frozenset(module for one in sides for module in one.modules.split("\n") if module),
            set_changed=before.keys() != self._files.keys(),
            everything=False,
        )
        self.reached = frozenset(files[file_id].path for file_id in links.reached_by(changes))

    def _text_at(self, path: str) -> str | None:
        if path in self._texts:
            text = self._texts[path]
        else:
            file = self._reader.file_at(path)
            text = self._reader.text(file) if file is not None and file.text_id is not None else None
        return text.decode("utf-8", "replace") if text is not None else None

    def file_at(self, path: str) -> FactFile | None:
        """Return a file by its path."""
        one = self._files.get(path)
        if one is None:
            return None
        known = self._reader.file_at(path)
        text_id = known.text_id if known is not None else None
        return FactFile(one.file_id, path, language_of(path), text_id, one.facts_id, one.unit_id, one.modules)

    def path_of(self, file_id: int) -> str:
        """Return the path of a file by its id."""
        return self._paths[file_id]

    def outline_of(self, path: str) -> Outline:
        """Return the outline of a file."""
        return self.outline(self._files[path].facts_id or 0)

    def view(self, path: str) -> FileView | None:
        """Return the references of a file with what they would mean."""
        file = self.file_at(path)
        return FileView(self, file) if file is not None and file.facts_id is not None else None

    def assumed_facts(self) -> Iterator[tuple[str, FileFacts]]:
        """Yield the files with other contents, with their facts."""
        for path in self._texts:
            one = self._files.get(path)
            if one is not None and one.facts_id in self._assumed:
                yield path, self._assumed[one.facts_id].facts

    def outline(self, facts_id: int) -> Outline:
        """Return the outline of some facts."""
        return self._assumed[facts_id].compiled.outline if facts_id < 0 else self._reader.outline(facts_id)

    def columns(self, facts_id: int) -> Columns:
        """Return the columns of some facts."""
        return self._assumed[facts_id].compiled.columns if facts_id < 0 else self._reader.columns(facts_id)

    def resolution(self, file_id: int) -> "tuple[list[Target], array[int]]":
        """Return what the expressions of a file would mean."""
        if self._resolver is None:
            return [], array("I")
        return resolution_of(file_id, self._resolver.meanings(file_id))

    def text(self, file: FactFile) -> bytes:
        """Return the text of a file."""
        if file.facts_id is not None and file.facts_id < 0:
            return self._assumed[file.facts_id].text
        return self._reader.text(file)


class _Outlines(OutlineCache):
    """Outlines of assumed files, and of the others as the index has them."""

    def __init__(self, state: WhatIf) -> None:
        self._state = state

    def outline(self, facts_id: int) -> Outline:
        return self._state.outline(facts_id)


def _offer(one: TreeFile | None) -> tuple[bytes, str] | None:
    """Return what other files can see of a file."""
    return (one.link_hash, one.modules) if one is not None else None
