"""The name spaces of Java, as prefixes of the keys under which names are bound."""

from typing import Final

VARIABLE: Final = ""
TYPE: Final = "t "
METHOD: Final = "m "
STATIC: Final = "s "  # a static import, of which only its target tells the name spaces it is in
LABEL: Final = "l "
DOUBT: Final = "d "  # a method of several between which the number of arguments does not decide
ELSEWHERE: Final = "e "  # what a class may inherit that this file does not show
