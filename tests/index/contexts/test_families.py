"""The table of language families, row by row, and the family of a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.paths import RepoPath
from codeplane.index.contexts.globs import compile_globs
from codeplane.languages.catalog import UNKNOWN, language_of
from codeplane.languages.families import FAMILIES, FAMILY_BY_NAME, FamilyType, family_of
from support.effort import examples

# The master include spec of §8.4.4, then the rows added in the design.
ROWS = {
    "javascript": ("Code", "*.js *.jsx *.mjs *.cjs *.vue *.svelte *.astro *.ts *.tsx *.cts *.mts"),
    "python": ("Code", "*.py *.pyi *.pyw *.pyx *.pxd *.pxi"),
    "go": ("Code", "*.go"),
    "rust": ("Code", "*.rs"),
    "jvm": ("Code", "*.java *.kt *.kts *.scala *.sc"),
    "dotnet": ("Code", "*.cs *.fs *.fsx *.vb"),
    "ruby": ("Code", "*.rb *.rake Gemfile"),
    "php": ("Code", "*.php"),
    "terraform": ("Data", "*.tf *.hcl"),
    "sql": ("Data", "*.sql"),
    "docker": ("Data", "Dockerfile *.Dockerfile docker-compose.yml docker-compose.yaml"),
    "markdown": ("Data", "*.md *.markdown *.mdx"),
    "json_yaml": ("Data", "*.json *.yaml *.yml *.toml *.jsonc"),
    "protobuf": ("Data", "*.proto"),
    "graphql": ("Data", "*.graphql *.gql"),
    "config": ("Data", "*.nix"),
    "swift": ("Code", "*.swift"),
    "elixir": ("Code", "*.ex *.exs"),
    "haskell": ("Code", "*.hs"),
    "c": ("Code", "*.c *.h *.cc *.cpp *.cxx *.hh *.hpp *.hxx *.inl *.ipp *.tpp"),
    "lua": ("Code", "*.lua *.rockspec"),
    "shell": ("Code", "*.sh *.bash *.zsh *.ksh .bashrc .zshrc"),
    "web": ("Code", "*.html *.htm *.css"),
}
PATTERNS = [(family, pattern) for family, (_, patterns) in ROWS.items() for pattern in patterns.split()]
WORDS = st.sampled_from([pattern.replace("*", stem) for _, pattern in PATTERNS for stem in ("x", "a.b", "")])
NAMES = st.one_of(WORDS, st.text("abcDdkpyrst.-_", min_size=1, max_size=12).filter(lambda name: name.strip(".")))


def test_the_families_are_those_of_the_specification_and_the_design() -> None:
    assert set(FAMILY_BY_NAME) == set(ROWS)
    assert [family.name for family in FAMILIES] == sorted(FAMILY_BY_NAME)


@pytest.mark.parametrize("family", ROWS)
def test_a_family_has_the_type_and_the_globs_of_its_row(family: str) -> None:
    family_type, patterns = ROWS[family]
    assert FAMILY_BY_NAME[family].type is FamilyType(family_type)
    assert FAMILY_BY_NAME[family].include == tuple(f"**/{pattern}" for pattern in patterns.split())


@pytest.mark.parametrize(("family", "pattern"), PATTERNS)
def test_each_glob_gives_its_family_at_the_root_and_below(family: str, pattern: str) -> None:
    name = pattern.replace("*", "some.name")
    assert family in family_of(RepoPath(name))
    assert family in family_of(RepoPath(f"deep/down/{name}"))


@pytest.mark.parametrize("pattern", [pattern for _, pattern in PATTERNS])
def test_a_file_that_has_a_family_has_a_language(pattern: str) -> None:
    assert language_of(f"deep/down/{pattern.replace('*', 'some.name')}") != UNKNOWN


def test_a_compose_file_has_two_families() -> None:
    assert family_of(RepoPath("deploy/docker-compose.yml")) == ("docker", "json_yaml")


@pytest.mark.parametrize("name", ["LICENSE", "a.unknown", "x.PY", "py", "Gemfile.txt", "dockerfile", "a.py.bak"])
def test_a_name_that_no_glob_fits_has_no_family(name: str) -> None:
    assert family_of(RepoPath(name)) == ()


@given(NAMES, st.sampled_from(["", "src/", "a.py/b/"]))
@examples(100)
def test_the_family_of_a_name_agrees_with_the_include_globs(name: str, directory: str) -> None:
    path = RepoPath(directory + name)
    by_globs = [family.name for family in FAMILIES if compile_globs(family.include).matches(path.text)]
    assert list(family_of(path)) == by_globs
