"""A read-only view of a repository's files, with everything that was read or parsed kept for the next question."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

from codeplane.controller.proof_chains.script import Module, parse_module
from codeplane.controller.proof_chains.templates import Element, elements_of
from codeplane.languages.javascript.linking import JavaScriptLinker
from codeplane.languages.linking import UnitView

T = TypeVar("T")
SCRIPTS: Final = (".ts", ".mts", ".js", ".mjs", ".cjs")
TYPED: Final = (".ts",)
TEMPLATES: Final = (".html",)
_TESTS: Final = (".spec.ts", ".test.ts", ".stories.ts", ".d.ts", ".spec.js", ".test.js")
_MAX_CHARACTERS: Final = 1_000_000


@dataclass(slots=True)
class SourceFiles:
    """The files below a root by their paths; `read` returns None for what cannot be read.

    `n_read`, `n_characters` and `n_parsed` count the work.
    """

    paths: tuple[str, ...]
    read: Callable[[str], str | None]
    n_read: int = 0
    n_characters: int = 0
    n_parsed: int = 0
    _texts: dict[str, str] = field(default_factory=dict)
    _modules: dict[str, Module | None] = field(default_factory=dict)
    _elements: dict[str, tuple[Element, ...]] = field(default_factory=dict)
    _found: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...]] = field(default_factory=dict)
    _linker: JavaScriptLinker | None = None
    _sources: tuple[str, ...] | None = None
    # What matchers work out once for all files, by the name of the question.
    known: dict[str, object] = field(default_factory=dict)
    _path_set: frozenset[str] | None = None

    def __contains__(self, path: str) -> bool:
        if self._path_set is None:
            self._path_set = frozenset(self.paths)
        return path in self._path_set

    def once(self, question: str, work: Callable[[], T]) -> T:
        """Return the answer to a question about all files, worked out the first time."""
        if question not in self.known:
            self.known[question] = work()
        return cast("T", self.known[question])

    def text(self, path: str) -> str:
        """Return a file's text, empty when it cannot be read or is too large."""
        if path not in self._texts:
            text = self.read(path)
            self.n_read += 1
            self._texts[path] = text if text is not None and len(text) <= _MAX_CHARACTERS else ""
            self.n_characters += len(self._texts[path])
        return self._texts[path]

    def containing(self, words: tuple[str, ...], endings: tuple[str, ...] = TYPED) -> tuple[str, ...]:
        """Return the files, without tests, that hold one of some words."""
        key = (words, endings)
        if key not in self._found:
            self._found[key] = tuple(
                path
                for path in self._candidates()
                if path.endswith(endings) and any(word in self.text(path) for word in words)
            )
        return self._found[key]

    def module(self, path: str) -> Module | None:
        """Return a parsed script, None for what is none."""
        if path not in self._modules:
            is_script = path.endswith(SCRIPTS) and bool(self.text(path))
            self.n_parsed += is_script
            self._modules[path] = parse_module(path, self.text(path)) if is_script else None
        return self._modules[path]

    def modules(self, words: tuple[str, ...], endings: tuple[str, ...] = TYPED) -> Iterator[Module]:
        """Yield the parsed scripts that hold one of some words."""
        for path in self.containing(words, endings):
            module = self.module(path)
            if module is not None:
                yield module

    def elements(self, path: str) -> tuple[Element, ...]:
        """Return the elements of a template file."""
        if path not in self._elements:
            self.n_parsed += 1
            self._elements[path] = elements_of(self.text(path))
        return self._elements[path]

    def locate(self, path: str, source: str) -> str | None:
        """Return the file that an import in a file means."""
        if self._linker is None:
            scripts = tuple(one for one in self.paths if one.endswith((*SCRIPTS, ".tsx", ".jsx")))
            view = UnitView(scripts, ("",), lambda _: "", lambda one: self.text(one) or None if one in self else None)
            self._linker = JavaScriptLinker(view)
        return self._linker.locate(path, source)

    def _candidates(self) -> tuple[str, ...]:
        if self._sources is None:
            self._sources = tuple(
                path for path in self.paths if not path.endswith(_TESTS) and "node_modules" not in path.split("/")
            )
        return self._sources
