"""What a changed file is for, told by its path."""

import re
from typing import Final

from codeplane.index.file_order import is_test_file
from codeplane.languages.catalog import language_of

PROD: Final = "prod"
_WORDS: Final = re.compile(r"[-_.]")
_TEST_WORDS: Final = frozenset(
    {"test", "tests", "testing", "spec", "specs", "e2e", "fixtures", "testdata", "bench", "benches", "benchmark",
     "benchmarks"}
)  # fmt: skip
_DOCS_FOLDERS: Final = frozenset({"doc", "docs", "documentation", "example", "examples", "sample", "samples"})
_BUILD_NAMES: Final = frozenset(
    {"makefile", "gnumakefile", "dockerfile", "containerfile", "setup.py", "setup.cfg", "pyproject.toml",
     "package.json", "cargo.toml", "go.mod", "go.sum", "pom.xml", "build.gradle", "build.gradle.kts", "cmakelists.txt",
     "tox.ini", "noxfile.py", "jenkinsfile", "build.rs", "build.sbt", "gemfile", "rakefile", "justfile"}
)  # fmt: skip
_BUILD_FOLDERS: Final = frozenset({".github", ".gitlab", ".circleci"})
_DOCS_LANGUAGES: Final = frozenset({"markdown", "rst", "text"})
_CONFIG_LANGUAGES: Final = frozenset({"json", "yaml", "toml", "ini", "xml", "hcl", "nix"})


def category_of(path: str) -> str:
    """Return `test`, `build`, `docs`, `config` or `prod`."""
    *folders, name = path.lower().split("/")
    language = language_of(name)
    if is_test_file(path) or name == "conftest.py" or any(_is_of_tests(folder) for folder in folders):
        return "test"
    if name in _BUILD_NAMES or not _BUILD_FOLDERS.isdisjoint(folders) or name.endswith(".lock"):
        return "build"
    if language in _DOCS_LANGUAGES or not _DOCS_FOLDERS.isdisjoint(folders):
        return "docs"
    if language in _CONFIG_LANGUAGES or name.startswith(".") or ".config." in name:
        return "config"
    return PROD


def _is_of_tests(folder: str) -> bool:
    return not _TEST_WORDS.isdisjoint(_WORDS.split(folder.strip("_")))
