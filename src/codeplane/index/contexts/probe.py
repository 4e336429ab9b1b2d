"""Decide from a few parsed files whether a context holds what its family says."""

import heapq
from collections.abc import Callable, Iterable

from codeplane.core.paths import RepoPath
from codeplane.index.contexts.model import ContextStatus, ParseQuality
from codeplane.languages.families import FamilyType

MAX_SAMPLES = 5
# A tenth of the nodes, as a whole number so that the comparison is exact.
_NODES_PER_ERROR = 10


def probe_files(
    members: Iterable[RepoPath], family_type: FamilyType, parse_quality: Callable[[RepoPath], ParseQuality | None]
) -> tuple[ContextStatus, str]:
    """Parse samples until one is good, which makes the context valid; return the status and the reason."""
    samples = sample_files(members)
    if not samples:
        return ContextStatus.EMPTY, "It holds no file of its family."
    for path in samples:
        if is_good_sample(parse_quality(path), family_type):
            return ContextStatus.VALID, f"`{path}` parses."
    noun = "sampled file" if len(samples) == 1 else f"{len(samples)} sampled files"
    return ContextStatus.FAILED, f"No good parse among its {noun}, the first is `{samples[0]}`."


def sample_files(members: Iterable[RepoPath]) -> tuple[RepoPath, ...]:
    """Return the files to parse: shortest paths first, because fixtures and generated code lie deep, then by name."""
    return tuple(heapq.nsmallest(MAX_SAMPLES, members, key=lambda path: (len(path.text), path.text)))


def is_good_sample(quality: ParseQuality | None, family_type: FamilyType) -> bool:
    """Tell whether a parse is good enough: some errors are allowed in code, none in data."""
    if quality is None:
        return False
    if family_type is FamilyType.DATA:
        return quality.n_errors == 0 and quality.n_root_children > 0
    has_few_errors = quality.n_errors == 0 or quality.n_errors * _NODES_PER_ERROR < quality.n_nodes
    return has_few_errors and quality.has_named
