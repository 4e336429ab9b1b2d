"""What a chain is, and how any kind of chain is built from the matchers of its links."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from codeplane.controller.proof_chains.source_files import SourceFiles

COMPLETE: Final = "complete"
_MAX_CHAINS: Final = 200


class Via(StrEnum):
    """How a link was found; `graph` is for callers that bring links of their own."""

    GRAPH = "graph"
    AST = "ast"
    LEXICAL = "lexical"
    HINT = "hint"


_CONFIDENCE: Final = {Via.GRAPH: 100, Via.AST: 100, Via.HINT: 80, Via.LEXICAL: 50}


@dataclass(frozen=True, slots=True)
class Link:
    """One link of a chain; lines count from 1."""

    link: str
    file: str
    line: int
    name: str
    via: Via

    @property
    def confidence(self) -> int:
        """Return how sure the link is: 100, 80 or 50."""
        return _CONFIDENCE[self.via]

    def as_dict(self) -> dict[str, Any]:
        """Return the link as it is answered."""
        place = {"link": self.link, "file": self.file, "line": self.line, "name": self.name}
        return {**place, "via": str(self.via), "confidence": self.confidence}


@dataclass(frozen=True, slots=True)
class Chain:
    """The links that were found, what joins each to the one before it, and how the chain ends.

    `status` is `complete`, `terminated:{reason}` or `broken_at:{link}`. The first relation is empty.
    """

    kind: str
    status: str
    links: tuple[Link, ...]
    relations: tuple[str, ...]
    hops: tuple[str, ...] = ()

    @property
    def is_proved(self) -> bool:
        """Whether it is complete or ends where nothing can follow."""
        return self.status == COMPLETE or self.status.startswith("terminated")

    def as_dict(self) -> dict[str, Any]:
        """Return the chain as it is answered."""
        return {
            "kind": self.kind,
            "status": self.status,
            "links": [link.as_dict() for link in self.links],
            "relations": list(self.relations[1:]),
            "hops": list(self.hops),
        }


@dataclass(frozen=True, slots=True)
class Hint:
    """Where a plan believes a link to be."""

    link: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Found:
    """An entity that fits a link: where it is, what joins it to the link before, and what the next matcher needs."""

    file: str
    line: int
    name: str
    relation: str
    entity: Any = None
    via: Via = Via.AST
    hops: tuple[str, ...] = ()
    end_line: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """Proof that no further link can exist."""

    reason: str


Matcher = Callable[[SourceFiles, tuple[Found, ...]], Sequence[Found] | Ended]


@dataclass(frozen=True, slots=True)
class LinkType:
    """A link's name and its matcher.

    Of several entities the first that leads to a proof is taken; with `is_each` every one of them is a chain.
    """

    name: str
    match: Matcher
    is_each: bool = False


@dataclass(frozen=True, slots=True)
class ChainKind:
    """A kind of chain; `orphans` yields what a file holds that no chain may reach, with the link that is missing."""

    name: str
    links: tuple[LinkType, ...]
    # How many links, from the first on, make a file a surface of this kind of chain.
    n_surface: int
    may_concern: Callable[[SourceFiles, str], bool]
    orphans: Callable[[SourceFiles, str], Sequence[tuple[str, Found, str]]] = lambda _files, _path: ()


def build(kind: ChainKind, target: str, files: SourceFiles, hints: Sequence[Hint] = ()) -> tuple[Chain, ...]:
    """Return the chains that pass through a file, and a broken one for each orphan in it."""
    if not kind.may_concern(files, target):
        return ()
    chains = []
    for chain in _chains(kind, files, (), tuple(hints)):
        if any(link.file == target for link in chain.links):
            chains.append(chain)
        if len(chains) >= _MAX_CHAINS:
            break
    reached = {(link.file, link.line) for chain in chains for link in chain.links}
    for name, found, missing in kind.orphans(files, target):
        end = max(found.line, found.end_line)
        if not any(file == target and found.line <= line <= end for file, line in reached):
            link = Link(name, found.file, found.line, found.name, found.via)
            chains.append(Chain(kind.name, f"broken_at:{missing}", (link,), ("",)))
    return tuple(dict.fromkeys(chains))


def _chains(kind: ChainKind, files: SourceFiles, so_far: tuple[Found, ...], hints: tuple[Hint, ...]) -> Iterator[Chain]:
    if len(so_far) == len(kind.links):
        yield _chain(kind, so_far, COMPLETE)
        return
    link = kind.links[len(so_far)]
    matched = link.match(files, so_far)
    if isinstance(matched, Ended):
        yield _chain(kind, so_far, f"terminated:{matched.reason}")
        return
    usable = _usable(link.name, matched, hints)
    if not usable:
        if so_far:
            yield _chain(kind, so_far, f"broken_at:{link.name}")
        return
    if link.is_each:
        for found in usable:
            yield from _chains(kind, files, (*so_far, found), hints)
        return
    yield from _first_proved(kind, files, [(*so_far, found) for found in usable], hints)


def _first_proved(
    kind: ChainKind, files: SourceFiles, alternatives: list[tuple[Found, ...]], hints: tuple[Hint, ...]
) -> Iterator[Chain]:
    """Yield the chains of the first alternative that proves something, otherwise those that come furthest."""
    best: list[Chain] = []
    for so_far in alternatives:
        chains = list(_chains(kind, files, so_far, hints))
        if all(chain.is_proved for chain in chains):
            yield from chains
            return
        if not best or max(len(chain.links) for chain in chains) > max(len(chain.links) for chain in best):
            best = chains
    yield from best


def _usable(name: str, matched: Sequence[Found], hints: tuple[Hint, ...]) -> list[Found]:
    """Return what may be taken: what a hint names first; matches by name alone only if there is just one."""
    hinted = [
        found
        for found in matched
        for hint in hints
        if hint.link == name and hint.file == found.file and found.line <= hint.line <= max(found.line, found.end_line)
    ]
    sure = [found for found in matched if found.via is not Via.LEXICAL]
    if hinted:
        rest = [found for found in sure if found not in hinted]
        return [replace(found, via=Via.HINT) if found.via is Via.LEXICAL else found for found in hinted] + rest
    return sure or (list(matched) if len(matched) == 1 else [])


def _chain(kind: ChainKind, so_far: tuple[Found, ...], status: str) -> Chain:
    links = tuple(
        Link(link.name, found.file, found.line, found.name, found.via)
        for link, found in zip(kind.links, so_far, strict=False)
    )
    hops = tuple(hop for found in so_far for hop in found.hops)
    return Chain(kind.name, status, links, tuple(found.relation for found in so_far), hops)
