"""The language families: which file names belong to each, and how strictly a file of it has to parse.

Everything is derived from the table of languages.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from codeplane.core.paths import RepoPath
from codeplane.languages.catalog import LANGUAGE_ROWS


class FamilyType(Enum):
    """Whether files of a family define and use names, or hold data."""

    CODE = "Code"
    DATA = "Data"


@dataclass(frozen=True, slots=True)
class Family:
    """One family; a file belongs to it when an include glob fits.

    Invariant: a glob is `**/*.<suffix>` with one dot, or `**/<name>`; case counts.
    """

    name: str
    type: FamilyType
    include: tuple[str, ...]


_DATA_FAMILIES = frozenset({"config", "docker", "graphql", "json_yaml", "markdown", "protobuf", "sql", "terraform"})
# Files that belong to a second family beside that of their language.
_FURTHER = {"docker": ("docker-compose.yml", "docker-compose.yaml")}


def _families() -> tuple[Family, ...]:
    patterns: dict[str, tuple[str, ...]] = {}
    for row in LANGUAGE_ROWS:
        if row.family:
            patterns[row.family] = (*patterns.get(row.family, ()), *row.files.split())
    return tuple(
        Family(
            name,
            FamilyType.DATA if name in _DATA_FAMILIES else FamilyType.CODE,
            tuple(f"**/{pattern}" for pattern in (*patterns[name], *_FURTHER.get(name, ()))),
        )
        for name in sorted(patterns)
    )


FAMILIES = _families()
FAMILY_BY_NAME: Mapping[str, Family] = MappingProxyType({family.name: family for family in FAMILIES})


def family_of(path: RepoPath) -> tuple[str, ...]:
    """Return the families whose include globs fit, in alphabetical order; a compose file has two, most files one."""
    name = path.name
    _, dot, suffix = name.rpartition(".")
    by_suffix = _BY_SUFFIX.get(dot + suffix, ()) if dot else ()
    by_name = _BY_NAME.get(name)
    return by_suffix if by_name is None else tuple(sorted({*by_suffix, *by_name}))


def _families_by(key_of: Callable[[str], str | None]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for family in FAMILIES:
        for key in filter(None, map(key_of, family.include)):
            found[key] = (*found.get(key, ()), family.name)
    return MappingProxyType(found)


def _suffix_in(glob: str) -> str | None:
    return glob.removeprefix("**/*") if glob.startswith("**/*.") else None


def _name_in(glob: str) -> str | None:
    return None if glob.startswith("**/*.") else glob.removeprefix("**/")


_BY_SUFFIX = _families_by(_suffix_in)
_BY_NAME = _families_by(_name_in)
