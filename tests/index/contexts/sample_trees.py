"""Trees for the tests of contexts: files and texts in memory, with what git tracks and what does not parse."""

from collections.abc import Iterable, Mapping

from codeplane.core.paths import RepoPath
from codeplane.index.contexts.discover import discover_contexts
from codeplane.index.contexts.model import Context, ParseQuality, TreeView
from codeplane.index.contexts.router import ContextRouter

GOOD = ParseQuality(n_nodes=20, n_errors=0, has_named=True, n_root_children=3)
BROKEN = ParseQuality(n_nodes=20, n_errors=10, has_named=True, n_root_children=3)


def tree_view(files: Mapping[str, str], tracked: Iterable[str] = (), broken: Iterable[str] = ()) -> TreeView:
    """Return a view of a tree in which git tracks the files in `tracked` and those in `broken` do not parse."""
    tracked_files, broken_files = frozenset(tracked), frozenset(broken)

    def holds_tracked(directory: RepoPath) -> bool:
        return any(RepoPath(file).is_inside(directory) for file in tracked_files)

    def parse_quality(path: RepoPath) -> ParseQuality:
        return BROKEN if path.text in broken_files else GOOD

    def read_text(path: RepoPath) -> str | None:
        return files.get(path.text)

    return TreeView(tuple(map(RepoPath, files)), read_text, holds_tracked, parse_quality)


def router_of(view: TreeView) -> ContextRouter:
    """Return the router for the contexts of a view."""
    return ContextRouter(discover_contexts(view), view.holds_tracked)


def contexts_at(found: tuple[Context, ...], family: str) -> dict[str, Context]:
    """Return the contexts of a family by their roots."""
    return {context.root_path.text: context for context in found if context.family == family}


def statuses(found: tuple[Context, ...], family: str) -> dict[str, str]:
    """Return what became of the contexts of a family, by their roots."""
    return {root: context.status.value for root, context in contexts_at(found, family).items()}


def check_owners(view: TreeView, family: str, expected: Mapping[str, str | None]) -> None:
    """Check which root owns each of the files in a family; None is nobody."""
    router = router_of(view)
    owners = {path: router.context_for(RepoPath(path), family) for path in expected}
    assert {path: owner and owner.root_path.text for path, owner in owners.items()} == expected
