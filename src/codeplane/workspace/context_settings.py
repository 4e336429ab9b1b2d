"""Contexts that a person declares, in `.codeplane/contexts.yaml` or under `contexts:` in a configuration file."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.setting_sources import FileSource
from codeplane.core.settings import load_settings, nested, setting
from codeplane.languages.catalog import LANGUAGE_ROWS
from codeplane.languages.families import FAMILY_BY_NAME
from codeplane.workspace.places import Places

FILE_NAME: Final = "contexts.yaml"
_VERSION: Final = 1
_FAMILY_OF: Final = {row.name: row.family for row in LANGUAGE_ROWS if row.family} | {
    name: name for name in FAMILY_BY_NAME
}


@dataclass(frozen=True, slots=True)
class ContextEnvironment:
    """Where a context is built; stored for other tools, CodePlane builds nothing."""

    build_root: str = setting("", doc="Directory in which the context is built; not used.")


@dataclass(frozen=True, slots=True)
class ContextIndexer:
    """Which indexer a context wants; there is only one, so the name is only stored."""

    name: str = setting("", doc="Name of an indexer; not used.")


@dataclass(frozen=True, slots=True)
class ContextSetting:
    """A context that a person declares: it exists whatever markers and workspace files say."""

    id: str = setting("", doc="A name for people; required.")
    language: str = setting("", doc="Required. A language or language family, such as `java` or `rust`.")
    workspace_roots: tuple[str, ...] = setting((".",), doc="Directories of the repository, each one context.")
    env: ContextEnvironment = nested(ContextEnvironment, doc="Where it is built; not used.")
    indexer: ContextIndexer = nested(ContextIndexer, doc="For other tools; not used.")

    def __post_init__(self) -> None:
        if not self.id.strip():
            raise ValueError("id must not be empty")
        if self.language.lower() not in _FAMILY_OF:
            raise ValueError(f"language {self.language!r} is not known; one of {', '.join(sorted(_FAMILY_OF))}")
        if not self.workspace_roots:
            raise ValueError("workspace_roots must name at least one directory; `.` is the repository itself")
        for root in self.workspace_roots:
            try:
                RepoPath.parse(root)
            except CodePlaneError as error:
                raise ValueError(f"workspace_roots: {error.message}") from error

    def declared(self) -> tuple[tuple[str, str], ...]:
        """Return family and root of each context."""
        family = _FAMILY_OF[self.language.lower()]
        return tuple((family, RepoPath.parse(root).text) for root in self.workspace_roots)


@dataclass(frozen=True, slots=True)
class ContextDefaults:
    """What the specification lists for all contexts; nothing here runs contexts in parallel."""

    max_parallel_contexts: int = setting(4, doc="Not used.", minimum=1, maximum=256)
    divergence_behavior: str = setting("fail", doc="Not used.", choices=("fail",))


@dataclass(frozen=True, slots=True)
class ContextsFile:
    """The content of `contexts.yaml`."""

    version: int = setting(_VERSION, doc="The version of this file's format.", minimum=_VERSION, maximum=_VERSION)
    contexts: tuple[ContextSetting, ...] = setting((), doc="The contexts.")
    defaults: ContextDefaults = nested(ContextDefaults, doc="For all contexts.")


def read_contexts_file(places: Places) -> tuple[ContextSetting, ...]:
    """Return the contexts that the file declares, none when there is no file.

    Raises:
        CodePlaneError: CONFIG_INVALID with every problem found.
    """
    source = FileSource(places.private / FILE_NAME, f".codeplane/{FILE_NAME}")
    return load_settings(ContextsFile, (source,)).values.contexts


def declared_contexts(contexts: Iterable[ContextSetting]) -> tuple[tuple[str, str], ...]:
    """Return family and root of every declared context, ordered.

    Raises:
        CodePlaneError: CONFIG_INVALID when two contexts have the same id, or the same language and root.
    """
    contexts = tuple(contexts)
    ids = [one for one, count in Counter(item.id for item in contexts).items() if count > 1]
    places = Counter(pair for item in contexts for pair in item.declared())
    twice = [f"{family} at {root or '.'}" for (family, root), count in places.items() if count > 1]
    if ids or twice:
        what = ", ".join([*(f"the id `{one}`" for one in ids), *twice])
        raise CodePlaneError(
            "CONFIG_INVALID",
            f"Contexts are declared twice: {what}.",
            hint=f"Keep one of them, in .codeplane/{FILE_NAME} or under `contexts:` in .codeplane/config.yaml.",
        )
    return tuple(sorted(places))
