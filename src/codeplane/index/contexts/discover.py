"""Find the contexts of a tree: markers, authority, membership and probe, in this order."""

from collections.abc import Sequence
from dataclasses import replace

from codeplane.core.paths import RepoPath
from codeplane.index.contexts.authority import detach_unlisted, read_fences
from codeplane.index.contexts.markers import find_markers, make_candidates
from codeplane.index.contexts.membership import UniversalExcludes, exclude_specs, members_by_candidate
from codeplane.index.contexts.model import (
    Candidate,
    Context,
    ContextStatus,
    Tier,
    TreeView,
    context_id_of,
)
from codeplane.index.contexts.probe import probe_files
from codeplane.languages.families import FAMILY_BY_NAME


def discover_contexts(view: TreeView) -> tuple[Context, ...]:
    """Return all contexts, whatever their status, ordered by family and root.

    The order of the files makes no difference. All candidates are probed before this returns, so that a router is
    never built from a half-known tree.
    """
    universal = UniversalExcludes(view.holds_tracked)
    markers = find_markers(view.files, universal)
    fences = read_fences(markers, view.read_text)
    declared = [fence.marker for fence in fences if fence.marker.tier is Tier.PACKAGE]
    candidates = _with_declared(detach_unlisted(make_candidates(markers, declared), fences), view.declared)
    excludes = exclude_specs(candidates)
    members = members_by_candidate(candidates, view.files, universal)
    return tuple(_probed(view, item, excludes[item], members.get(item, ())) for item in candidates)


def _with_declared(
    candidates: tuple[Candidate, ...], declared: tuple[tuple[str, RepoPath], ...]
) -> tuple[Candidate, ...]:
    """Return the candidates with those that a person declares, which no workspace file detaches."""
    if not declared:
        return candidates
    by_place = {(one.family, one.root): one for one in candidates}
    for place in declared:
        known = by_place.get(place)
        by_place[place] = (
            replace(known, detached="") if known is not None else Candidate(*place, Tier.PACKAGE, is_package=True)
        )
    return tuple(by_place[place] for place in sorted(by_place))


def _probed(view: TreeView, candidate: Candidate, exclude: tuple[str, ...], members: Sequence[RepoPath]) -> Context:
    family = FAMILY_BY_NAME[candidate.family]
    status, reason = ContextStatus.DETACHED, candidate.detached
    if not candidate.detached:
        status, reason = probe_files(members, family.type, view.parse_quality)
    return Context(
        context_id=context_id_of(candidate.family, candidate.root),
        family=candidate.family,
        root_path=candidate.root,
        tier=candidate.tier,
        status=status,
        reason=reason,
        include=family.include,
        exclude=exclude,
    )
