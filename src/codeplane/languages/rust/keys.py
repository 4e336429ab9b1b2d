"""The name spaces of Rust, as prefixes of the keys under which names are bound."""

from typing import Final

VALUE: Final = ""
TYPE: Final = "t "
MACRO: Final = "m "
ANY: Final = "u "  # an import, of which only its target tells the name spaces it is in
GLOB: Final = "g "  # a variant that a glob of its enum brings; everything else hides it
LABEL: Final = "'"
PATH: Final = "p "  # `crate`, `self` and `super` at the start of a path
ELSEWHERE: Final = "e "  # what an inline module may see that this file does not show
