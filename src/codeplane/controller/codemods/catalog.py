"""All codemods: the built-in ones, those of installed packages, and those registered while the program runs."""

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Final

from codeplane.controller.codemods import (
    rename_identifier_in_file,
    rewrite_template_tag,
    update_import_specifier,
    update_route_path_literal,
)
from codeplane.controller.codemods.codemod import Codemod

BUILT_IN: Final[Mapping[str, Codemod]] = {
    module.CODEMOD.codemod_id: module.CODEMOD
    for module in (
        rename_identifier_in_file,
        rewrite_template_tag,
        update_import_specifier,
        update_route_path_literal,
    )
}
# A package names its codemods under this group; each entry is a `Codemod`.
ENTRY_POINTS: Final = "codeplane.codemods"
# The one registry that a running program may extend; the specification asks for it.
_REGISTERED: Final[dict[str, Codemod]] = {}


def register_custom_codemod(codemod: Codemod) -> None:
    """Add a codemod of one's own; plans name it `codemod:<id>`.

    Raises:
        ValueError: a built-in codemod has that id.
    """
    if codemod.codemod_id in BUILT_IN:
        raise ValueError(f"{codemod.codemod_id} is a built-in codemod")
    _REGISTERED[codemod.codemod_id] = codemod


def find_codemod(codemod_id: str) -> Codemod | None:
    """Return a codemod by its id."""
    known = BUILT_IN.get(codemod_id) or _REGISTERED.get(codemod_id)
    if known is not None:
        return known
    for entry in entry_points(group=ENTRY_POINTS, name=codemod_id):
        loaded = entry.load()
        if isinstance(loaded, Codemod):
            return loaded
    return None
