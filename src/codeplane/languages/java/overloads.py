"""Choose between methods of one name by the number of arguments.

The types of arguments are not known, so that a call is left open unless the number of arguments leaves one method, or
the others are only overridden by it.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from codeplane.languages.facts import CALLED, DefinitionKind
from codeplane.languages.linking import Choice, MethodOffer, OpenType

# Methods with parameters that every class has, and every enum besides.
_OF_OBJECT: Final = {"equals": ("Object",), "wait": ("long",)}
_OF_ENUM: Final = frozenset({"compareTo", "valueOf"})
_OVERRIDE: Final = "Override"
_NEVER_COMPLETE: Final = frozenset({DefinitionKind.INTERFACE, DefinitionKind.TYPE})
_STRING: Final = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+'""")
_OPENING: Final = "(<[{"
_CLOSING: Final = ")>]}"


class Parameters(NamedTuple):
    """The types of a method's parameters as written; with `is_variadic` the last takes any number of arguments."""

    types: tuple[str, ...]
    is_variadic: bool

    def take(self, n_arguments: int) -> bool:
        """Say whether a call with so many arguments may mean the method."""
        if n_arguments == CALLED:
            return True
        return n_arguments >= len(self.types) - 1 if self.is_variadic else n_arguments == len(self.types)


def choose_method(choice: Choice) -> int | None:
    """Return which of the methods a call means, None when the number of arguments does not tell."""
    offers = choice.offers
    parameters = [read_parameters(offer.signature) for offer in offers]
    fitting = [i for i, one in enumerate(parameters) if one is not None and one.take(choice.n_arguments)]
    if None in parameters:
        return None
    known = [one for one in parameters if one is not None]
    alive = _not_overridden(offers, known, fitting)
    if choice.n_arguments == 0:
        # Without arguments there are no types to choose by, and what takes any number is asked last.
        plain = [i for i in alive if not known[i].types]
        if plain:
            return plain[0] if len(plain) == 1 else None
    if len(alive) != 1:
        return None
    return alive[0] if not _may_be_another(choice, known[alive[0]], offers[alive[0]]) else None


def _may_be_another(choice: Choice, parameters: Parameters, offer: MethodOffer) -> bool:
    """Say whether a method that is not among the offers may be meant."""
    if choice.name in _OF_OBJECT and parameters.types != _OF_OBJECT[choice.name]:
        return True
    if choice.name in _OF_ENUM and offer.holder_kind is DefinitionKind.ENUM:
        return True
    if not choice.open_types:
        return False
    # What overrides something unknown may have overloads there that fit better, and so may what extends it. A class
    # that implements an unknown interface has all of its methods itself.
    is_doubtful = _OVERRIDE in offer.decorators or parameters.is_variadic or offer.holder_kind in _NEVER_COMPLETE
    return is_doubtful or any(_extends_unknown(one) for one in choice.open_types)


def _extends_unknown(one: OpenType) -> bool:
    if one.kind is DefinitionKind.CLASS:
        return one.unknown_base == 0 and "extends" in one.signature
    return one.kind is not DefinitionKind.ENUM


def _not_overridden(offers: tuple[MethodOffer, ...], parameters: list[Parameters], fitting: list[int]) -> list[int]:
    """Return the methods that no other one overrides; types are compared as written.

    A method marked as overriding overrides the only one of its length above it, whatever the types are called there.
    """
    alive: list[int] = []
    for i in reversed(fitting):
        above = [j for j in alive if offers[j].holder in offers[i].above]
        overridden = {j for j in above if parameters[j] == parameters[i]}
        if not overridden and _OVERRIDE in offers[i].decorators:
            alike = [j for j in above if len(parameters[j].types) == len(parameters[i].types)]
            overridden = set(alike) if len(alike) == 1 else set()
        alive = [i, *(j for j in alive if j not in overridden)]
    # What a class has implements what the interfaces beside it ask for.
    of_classes = [i for i in alive if offers[i].holder_kind is not DefinitionKind.INTERFACE]
    return [i for i in alive if i in of_classes or all(parameters[i] != parameters[j] for j in of_classes)]


@lru_cache(maxsize=4096)
def read_parameters(signature: str) -> Parameters | None:
    """Return the parameters that a signature `(final A<B> a, int... b): C` declares, None when it has none to read."""
    if not signature.startswith("("):
        return None
    signature = _STRING.sub("", signature)
    depth, begin = 0, 1
    parts: list[str] = []
    for i, character in enumerate(signature):
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        if depth == 0 or (depth == 1 and character == ","):
            parts.append(signature[begin:i])
            begin = i + 1
            if depth == 0:
                break
    else:
        return None
    found = [_read_type(part) for part in parts if part.strip()]
    types = tuple(one for one in found if one)
    return Parameters(types, bool(types) and types[-1].endswith("..."))


def _read_type(parameter: str) -> str:
    """Return the type of a parameter without annotations; empty for the receiver `A this`."""
    text = parameter.strip()
    while text.startswith(("@", "final ")):
        text = _without_first_word(text).lstrip()
    head, _, name = text.replace("...", "... ").rpartition(" ")
    bare = name.rstrip("[]")
    if bare == "this" or bare.endswith(".this"):
        return ""
    return head.replace(" ", "") + name[len(bare) :]


def _without_first_word(text: str) -> str:
    """Drop a modifier or an annotation with its arguments."""
    depth = 0
    for i, character in enumerate(text):
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
            if depth == 0 and text[i + 1 : i + 2] != " ":
                return text[i + 1 :]
        elif character == " " and depth == 0:
            return text[i + 1 :]
    return ""
