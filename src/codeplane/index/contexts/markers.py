"""The files and directories that mark workspaces and packages, and the candidates they make."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType

from codeplane.core.paths import RepoPath
from codeplane.index.contexts.membership import UniversalExcludes
from codeplane.index.contexts.model import Candidate, Tier
from codeplane.languages.families import FAMILIES, FamilyType


@dataclass(frozen=True, slots=True)
class MarkerRow:
    """The markers of one family: names, or `*.suffix`.

    A name in `declaring` marks a package, and a workspace as well when the file declares one.
    """

    family: str
    workspace: tuple[str, ...]
    package: tuple[str, ...]
    declaring: str = ""


MARKER_ROWS = (
    MarkerRow("config", ("flake.lock",), ("flake.nix",)),
    MarkerRow("dotnet", ("*.sln",), ("*.csproj", "*.fsproj", "*.vbproj")),
    MarkerRow("go", ("go.work",), ("go.mod",)),
    MarkerRow(
        "javascript",
        ("pnpm-workspace.yaml", "lerna.json", "nx.json", "turbo.json", "rush.json", "yarn.lock", "pnpm-lock.yaml"),
        ("package.json", "deno.json", "deno.jsonc", "tsconfig.json", "jsconfig.json"),
        declaring="package.json",
    ),
    MarkerRow(
        "jvm",
        ("settings.gradle", "settings.gradle.kts", ".mvn"),
        ("build.gradle", "build.gradle.kts", "pom.xml", "build.sbt"),
    ),
    MarkerRow("php", ("composer.lock",), ("composer.json",)),
    MarkerRow("protobuf", ("buf.work.yaml",), ("buf.yaml",)),
    MarkerRow(
        "python",
        ("uv.lock", "poetry.lock", "Pipfile.lock"),
        ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"),
    ),
    MarkerRow("ruby", ("Gemfile.lock",), ("Gemfile",)),
    MarkerRow("rust", ("Cargo.lock",), ("Cargo.toml",), declaring="Cargo.toml"),
    MarkerRow("terraform", (".terraform.lock.hcl",), ("main.tf", "versions.tf")),
)
DIRECTORY_MARKER = ".mvn"
AMBIENT_FAMILIES = ("docker", "graphql", "json_yaml", "markdown", "sql")
AMBIENT_WITHOUT_PACKAGES = "protobuf"
FALLBACK_FAMILIES = tuple(family.name for family in FAMILIES if family.type is FamilyType.CODE)


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker that is there; `path` is the marker itself, its directory is the root it marks."""

    family: str
    tier: Tier
    path: RepoPath

    @property
    def root(self) -> RepoPath:
        """The directory that is marked."""
        return self.path.parent


# These configure a compiler for a directory and make it no package that a workspace could list or leave out.
CONFIGURATION_ONLY = frozenset({"tsconfig.json", "jsconfig.json"})


def find_markers(files: Iterable[RepoPath], universal: UniversalExcludes) -> tuple[Marker, ...]:
    """Return the markers among the files in a fixed order; those in excluded directories mark nothing."""
    found: dict[RepoPath, Marker] = {}
    for path in files:
        for marker in _markers_on(path):
            if not universal.covers(marker.path.text.rpartition("/")[0]):
                found[marker.path] = marker
    return tuple(found[path] for path in sorted(found))


def marker_families(path: RepoPath) -> tuple[str, ...]:
    """Return the families for which this file, or a directory above it, is a marker."""
    return tuple(marker.family for marker in _markers_on(path))


def make_candidates(markers: Iterable[Marker], declared: Iterable[Marker]) -> tuple[Candidate, ...]:
    """Return one candidate per family and root, ordered by both.

    `declared` are the package markers that declare a workspace. Families without reliable markers, and all code
    families, get a candidate at the repository's root in any case.
    """
    tiers: dict[tuple[str, RepoPath], set[Tier]] = {}
    packages: set[tuple[str, RepoPath]] = set()
    for marker in markers:
        tiers.setdefault((marker.family, marker.root), set()).add(marker.tier)
        if marker.tier is Tier.PACKAGE and marker.path.name not in CONFIGURATION_ONLY:
            packages.add((marker.family, marker.root))
    for marker in declared:
        tiers[marker.family, marker.root].add(Tier.WORKSPACE)
    has_packages = any(
        family == AMBIENT_WITHOUT_PACKAGES and Tier.PACKAGE in found for (family, _), found in tiers.items()
    )
    at_root = (*AMBIENT_FAMILIES, *FALLBACK_FAMILIES, *(() if has_packages else (AMBIENT_WITHOUT_PACKAGES,)))
    for family in at_root:
        tiers.setdefault((family, RepoPath.ROOT), {Tier.FALLBACK})
    return tuple(
        Candidate(family, root, min(found, key=lambda tier: tier.value), is_package=(family, root) in packages)
        for (family, root), found in sorted(tiers.items(), key=lambda item: item[0])
    )


_BY_NAME = MappingProxyType(
    {
        name: (row.family, tier)
        for row in MARKER_ROWS
        for tier, names in ((Tier.WORKSPACE, row.workspace), (Tier.PACKAGE, row.package))
        for name in names
        if name != DIRECTORY_MARKER
    }
)
_DIRECTORY_FAMILY = next(row.family for row in MARKER_ROWS if DIRECTORY_MARKER in row.workspace)


def _markers_on(path: RepoPath) -> Iterator[Marker]:
    text = path.text
    name = text.rpartition("/")[2]
    _, dot, suffix = name.rpartition(".")
    kind = _BY_NAME.get(name) or _BY_NAME.get(f"*{dot}{suffix}")
    if kind is not None:
        yield Marker(*kind, path)
    if f"{DIRECTORY_MARKER}/" in text:
        segments = path.parts
        for depth in (i for i, segment in enumerate(segments[:-1]) if segment == DIRECTORY_MARKER):
            yield Marker(_DIRECTORY_FAMILY, Tier.WORKSPACE, RepoPath("/".join(segments[: depth + 1])))
