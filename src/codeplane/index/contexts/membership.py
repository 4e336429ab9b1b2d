"""Which files belong to a candidate: what it includes, less what is excluded everywhere or belongs to one inside it."""

from collections.abc import Callable, Iterable

from codeplane.core.paths import RepoPath
from codeplane.index.contexts.globs import escape_glob
from codeplane.index.contexts.model import Candidate
from codeplane.index.contexts.nesting import Nesting, directory_text, relative_text
from codeplane.languages.families import family_of

UNIVERSAL_EXCLUDES = (
    "**/node_modules/**",
    "**/venv/**",
    "**/__pycache__/**",
    "**/.git/**",
    "**/target/**",
    "**/dist/**",
    "**/build/**",
    "**/vendor/**",
)
_EXCLUDED_NAMES = frozenset(glob.removeprefix("**/").removesuffix("/**") for glob in UNIVERSAL_EXCLUDES)


class UniversalExcludes:
    """The universal excludes for one tree: they cover no directory that holds tracked files.

    Invariant: what git tracks is asked once per directory; make a new instance when the tracked files change.
    """

    def __init__(self, holds_tracked: Callable[[RepoPath], bool]) -> None:
        self._holds_tracked = holds_tracked
        self._covered = {"": False}

    def covers(self, directory: str) -> bool:
        """Tell whether files in this directory are excluded because of its name or the name of one above it."""
        missing: list[str] = []
        while directory not in self._covered:
            missing.append(directory)
            directory = directory.rpartition("/")[0]
        is_covered = self._covered[directory]
        for below in reversed(missing):
            is_covered = is_covered or self._is_left_out(below)
            self._covered[below] = is_covered
        return is_covered

    def _is_left_out(self, directory: str) -> bool:
        return directory.rpartition("/")[2] in _EXCLUDED_NAMES and not self._holds_tracked(RepoPath(directory))


def exclude_specs(candidates: Iterable[Candidate]) -> dict[Candidate, tuple[str, ...]]:
    """Return the exclude globs of each candidate: the universal ones, then a hole for each candidate inside it.

    Detached candidates make holes too: their files have no owner.
    """
    by_family = _by_family(candidates)
    holes: dict[Candidate, list[str]] = {candidate: [] for nesting in by_family.values() for candidate in nesting}
    for family_candidates in by_family.values():
        nesting = nest_candidates(family_candidates)
        for child in family_candidates:
            child_text = directory_text(child.root)
            for parent in nesting.at_or_above(child_text)[1:]:
                below = relative_text(child_text, directory_text(parent.root))
                holes[parent].append(f"{escape_glob(below)}/**")
    return {candidate: (*UNIVERSAL_EXCLUDES, *sorted(globs)) for candidate, globs in holes.items()}


def members_by_candidate(
    candidates: Iterable[Candidate], files: Iterable[RepoPath], universal: UniversalExcludes
) -> dict[Candidate, list[RepoPath]]:
    """Return the files of each candidate.

    Each candidate leaves to those inside it all that is theirs, so a file belongs to the deepest one that holds it.
    """
    members: dict[Candidate, list[RepoPath]] = {}
    nestings = {family: nest_candidates(found) for family, found in _by_family(candidates).items()}
    for path in files:
        families = family_of(path)
        directory = path.text.rpartition("/")[0]
        if not families or universal.covers(directory):
            continue
        for family in families:
            holders = nestings[family].at_or_above(directory) if family in nestings else ()
            if holders:
                members.setdefault(holders[0], []).append(path)
    return members


def nest_candidates(candidates: Iterable[Candidate]) -> Nesting[Candidate]:
    """Return the candidates of one family by their roots."""
    return Nesting({directory_text(candidate.root): candidate for candidate in candidates})


def _by_family(candidates: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    found: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        found.setdefault(candidate.family, []).append(candidate)
    return found
