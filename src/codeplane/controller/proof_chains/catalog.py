"""All kinds of chains, and the questions that plan validation asks about a file."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from codeplane.controller.proof_chains import ag_grid, federation
from codeplane.controller.proof_chains.ag_grid import ORIGIN
from codeplane.controller.proof_chains.chains import Chain, ChainKind, Hint, build
from codeplane.controller.proof_chains.django_urls import DJANGO
from codeplane.controller.proof_chains.federation import FEDERATION
from codeplane.controller.proof_chains.source_files import SourceFiles

KINDS: Final[Mapping[str, ChainKind]] = MappingProxyType(
    {
        ORIGIN.name: ORIGIN,
        DJANGO.name: DJANGO,
        FEDERATION.name: FEDERATION,
    }
)


def build_chains(kind: str, target_file: str, files: SourceFiles, hints: Sequence[Hint] = ()) -> tuple[Chain, ...]:
    """Return the chains of a kind that pass through a file; a hint chooses among what matchers found."""
    return build(KINDS[kind], target_file, files, hints)


def is_table_surface(path: str, files: SourceFiles) -> bool:
    """Tell whether a file contains a table or a column, or is a renderer."""
    return ag_grid.is_table_surface(files, path)


def is_federation_surface(path: str, files: SourceFiles) -> bool:
    """Tell whether a file is a federation configuration, a manifest, an exposed file, or holds a host's route."""
    return federation.is_federation_surface(files, path)


def federation_unit_of(path: str, files: SourceFiles) -> str | None:
    """Return the directory of the federation unit that a file lies in, None when it lies in none."""
    return federation.federation_unit_of(files, path)
