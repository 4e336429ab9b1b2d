"""The language families: which file names belong to each, and how strictly a file of it has to parse.

Everything is derived from the include globs, so that the family of a name and the globs cannot disagree.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from codeplane.core.paths import RepoPath


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


def _code(name: str, *patterns: str) -> Family:
    return Family(name, FamilyType.CODE, tuple(f"**/{pattern}" for pattern in patterns))


def _data(name: str, *patterns: str) -> Family:
    return Family(name, FamilyType.DATA, tuple(f"**/{pattern}" for pattern in patterns))


FAMILIES = (
    _code("c", "*.c", "*.h", "*.cc", "*.cpp", "*.cxx", "*.hh", "*.hpp", "*.hxx", "*.inl", "*.ipp", "*.tpp"),
    _data("config", "*.nix"),
    _data("docker", "Dockerfile", "*.Dockerfile", "docker-compose.yml", "docker-compose.yaml"),
    _code("dotnet", "*.cs", "*.fs", "*.fsx", "*.vb"),
    _code("elixir", "*.ex", "*.exs"),
    _code("go", "*.go"),
    _data("graphql", "*.graphql", "*.gql"),
    _code("haskell", "*.hs"),
    _code(
        "javascript",
        *("*.js", "*.jsx", "*.mjs", "*.cjs", "*.vue", "*.svelte", "*.astro", "*.ts", "*.tsx", "*.cts", "*.mts"),
    ),
    _data("json_yaml", "*.json", "*.yaml", "*.yml", "*.toml", "*.jsonc"),
    _code("jvm", "*.java", "*.kt", "*.kts", "*.scala", "*.sc"),
    _code("lua", "*.lua", "*.rockspec"),
    _data("markdown", "*.md", "*.markdown", "*.mdx"),
    _code("php", "*.php"),
    _data("protobuf", "*.proto"),
    _code("python", "*.py", "*.pyi", "*.pyw", "*.pyx", "*.pxd", "*.pxi"),
    _code("ruby", "*.rb", "*.rake", "Gemfile"),
    _code("rust", "*.rs"),
    _code("shell", "*.sh", "*.bash", "*.zsh", "*.ksh", ".bashrc", ".zshrc"),
    _data("sql", "*.sql"),
    _code("swift", "*.swift"),
    _data("terraform", "*.tf", "*.hcl"),
    _code("web", "*.html", "*.htm", "*.css"),
)
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
