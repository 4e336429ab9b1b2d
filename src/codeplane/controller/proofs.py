"""Proof chains of files, built when a plan needs them."""

from collections.abc import Callable


class Proofs:
    """Builds chains over the files in scope."""

    def __init__(self, paths: frozenset[str], read: Callable[[str], bytes | None]) -> None:
        self._paths = paths
        self._read = read

    def is_table_surface(self, path: str) -> bool:
        """Tell whether a file holds a part of a table."""
        del path
        return False

    def is_federation_surface(self, path: str) -> bool:
        """Tell whether a file is where one unit hands over to another."""
        del path
        return False

    def federation_unit(self, path: str) -> str | None:
        """Return the unit that a file belongs to."""
        del path
        return None

    def origin_chains(self, path: str) -> tuple[str, ...]:
        """Return the states of the chains of a table."""
        del path
        return ()

    def federation_chains(self, path: str) -> tuple[str, ...]:
        """Return the states of the chains of a federation surface."""
        del path
        return ()
