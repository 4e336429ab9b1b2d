"""The files of one language in one context, by the modules they provide."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from codeplane.index.facts.outline import Outline
from codeplane.languages.linking import Linker, LinkingRules


@dataclass(frozen=True, slots=True)
class LinkedFile:
    """A file that takes part in linking; the first of its modules names its definitions."""

    file_id: int
    path: str
    modules: tuple[str, ...]


class LinkUnit:
    """What linking knows of one unit.

    Invariant: `files_of` gives the files of a module in path order, so that no answer depends on their discovery.
    """

    def __init__(
        self,
        rules: LinkingRules,
        linker: Linker,
        files: Iterable[tuple[int, str]],
        outline_of: Callable[[int], Outline],
    ) -> None:
        self.rules = rules
        self.linker = linker
        self.outline_of = outline_of
        self.files: dict[int, LinkedFile] = {}
        self._by_module: dict[str, list[int]] = {}
        for file_id, path in sorted(files, key=lambda pair: pair[1]):
            modules = linker.modules_of(path)
            self.files[file_id] = LinkedFile(file_id, path, modules)
            for module in modules:
                self._by_module.setdefault(module, []).append(file_id)

    def name_of(self, module: str) -> str:
        """Return the name that a module's definitions begin with; for one without files its place in dots."""
        files = self.files_of(module)
        return self.files[files[0]].modules[0] if files else module.strip("/").replace("/", ".")

    def files_of(self, module: str) -> list[int]:
        """Return the files that provide a module."""
        return self._by_module.get(module, [])
