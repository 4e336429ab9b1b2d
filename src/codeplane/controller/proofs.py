"""Proof chains of files, built when a plan needs them."""

from collections.abc import Callable
from functools import cached_property

from codeplane.controller.proof_chains.ag_grid import ORIGIN
from codeplane.controller.proof_chains.catalog import (
    build_chains,
    federation_unit_of,
    is_federation_surface,
    is_table_surface,
)
from codeplane.controller.proof_chains.chains import Chain, Hint
from codeplane.controller.proof_chains.federation import FEDERATION
from codeplane.controller.proof_chains.source_files import SourceFiles


class Proofs:
    """Builds chains over the files in scope; `hints` of a plan are tried first and verified."""

    def __init__(
        self, paths: frozenset[str], read: Callable[[str], bytes | None], hints: tuple[Hint, ...] = ()
    ) -> None:
        self._paths = paths
        self._read = read
        self._hints = hints
        self._chains: dict[tuple[str, str], tuple[Chain, ...]] = {}

    @cached_property
    def _files(self) -> SourceFiles:
        return SourceFiles(tuple(sorted(self._paths)), self._text)

    def _text(self, path: str) -> str | None:
        data = self._read(path)
        return data.decode("utf-8", "replace") if data is not None else None

    def is_table_surface(self, path: str) -> bool:
        """Tell whether a file holds a part of a table."""
        return is_table_surface(path, self._files)

    def is_federation_surface(self, path: str) -> bool:
        """Tell whether a file is where one unit hands over to another."""
        return is_federation_surface(path, self._files)

    def federation_unit(self, path: str) -> str | None:
        """Return the unit that a file belongs to."""
        return federation_unit_of(path, self._files)

    def origin_chains(self, path: str) -> tuple[str, ...]:
        """Return the states of the chains of a table."""
        return tuple(one.status for one in self.chains(ORIGIN.name, path))

    def federation_chains(self, path: str) -> tuple[str, ...]:
        """Return the states of the chains of a federation surface."""
        return tuple(one.status for one in self.chains(FEDERATION.name, path))

    def chains(self, kind: str, path: str) -> tuple[Chain, ...]:
        """Return the chains of a kind through a file."""
        if (kind, path) not in self._chains:
            self._chains[kind, path] = build_chains(kind, path, self._files, self._hints)
        return self._chains[kind, path]
