"""The languages: what is known about each as data, and how the code of one is loaded.

A grammar is loaded when the first file of its language is met: importing all thirty would cost every start 60 ms.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from codeplane.languages.linking import LinkingRules

if TYPE_CHECKING:
    # 30 ms that a client which only lists its tools need not wait for.
    from tree_sitter import Language as Grammar

    from codeplane.languages.parsing import Extract

UNKNOWN: Final = "unknown"


class Depth(Enum):
    """How much is known of a language's files."""

    FULL = "definitions, references, imports, resolved across files"
    SYMBOLS = "definitions, references, scopes, imports"
    STRUCTURE = "structure"
    TEXT = "text only"


@dataclass(frozen=True, slots=True)
class LanguageRow:
    """One language as data.

    `family` groups languages that one context owns together; `files` are the patterns of their file names, `unowned`
    those that belong to no family: `*.<suffix>` with one dot, or a whole name. `grammar` is the module and the function
    that give the grammar, `comments` the marks of comments to the end of the line, the longest first, then those around
    others. `folder` holds the code, if not the one with the language's own name.
    """

    name: str
    family: str = ""
    files: str = ""
    unowned: str = ""
    depth: Depth = Depth.TEXT
    grammar: str = ""
    comments: str = ""
    block_comments: str = ""
    folder: str = ""


def _full(name: str, family: str, files: str, grammar: str, folder: str = "") -> LanguageRow:
    return LanguageRow(name, family, files, depth=Depth.FULL, grammar=grammar, folder=folder or name)


def _symbols(  # noqa: PLR0913, PLR0917 - the columns of the table
    name: str,
    family: str,
    files: str,
    grammar: str,
    comments: str = "/// //",
    block_comments: str = "/* */",
    unowned: str = "",
) -> LanguageRow:
    return LanguageRow(name, family, files, unowned, Depth.SYMBOLS, grammar, comments, block_comments)


def _structure(name: str, family: str, files: str, grammar: str, unowned: str = "") -> LanguageRow:
    return LanguageRow(name, family, files, unowned, Depth.STRUCTURE, grammar)


def _text(name: str, unowned: str, family: str = "", files: str = "") -> LanguageRow:
    return LanguageRow(name, family, files, unowned)


# Within a family the files keep the order of the specification's include globs (section 8.4.4).
LANGUAGE_ROWS: Final = (
    _symbols("c", "c", "*.c *.h", "tree_sitter_c"),
    _symbols("cpp", "c", "*.cc *.cpp *.cxx *.hh *.hpp *.hxx *.inl *.ipp *.tpp", "tree_sitter_cpp"),
    _structure("nix", "config", "*.nix", "tree_sitter_nix"),
    _structure("dockerfile", "docker", "Dockerfile *.Dockerfile", "tree_sitter_containerfile", "Containerfile"),
    _symbols("csharp", "dotnet", "*.cs", "tree_sitter_c_sharp"),
    _text("fsharp", "", "dotnet", "*.fs *.fsx"),
    _text("vb", "", "dotnet", "*.vb"),
    _symbols("elixir", "elixir", "*.ex *.exs", "tree_sitter_elixir", "#", ""),
    _full("go", "go", "*.go", "tree_sitter_go"),
    _structure("graphql", "graphql", "*.graphql *.gql", "tree_sitter_graphql"),
    _symbols("haskell", "haskell", "*.hs", "tree_sitter_haskell", "--", "{- -}"),
    _full("javascript", "javascript", "*.js *.jsx *.mjs *.cjs", "tree_sitter_javascript"),
    _text("vue", "", "javascript", "*.vue"),
    _structure("svelte", "javascript", "*.svelte", "tree_sitter_svelte"),
    _text("astro", "", "javascript", "*.astro"),
    _full("typescript", "javascript", "*.ts *.tsx *.cts *.mts", "tree_sitter_typescript", "javascript"),
    # A dialect that only its suffix asks for.
    _full("tsx", "", "", "tree_sitter_typescript", "javascript"),
    _structure("json", "json_yaml", "*.json", "tree_sitter_json"),
    _structure("yaml", "json_yaml", "*.yaml *.yml", "tree_sitter_yaml"),
    _structure("toml", "json_yaml", "*.toml", "tree_sitter_toml", "Cargo.lock"),
    _structure("json", "json_yaml", "*.jsonc", "tree_sitter_json"),
    _full("java", "jvm", "*.java", "tree_sitter_java"),
    _symbols("kotlin", "jvm", "*.kt *.kts", "tree_sitter_kotlin"),
    _symbols("scala", "jvm", "*.scala *.sc", "tree_sitter_scala"),
    _text("groovy", "*.groovy *.gradle Jenkinsfile"),
    _symbols("lua", "lua", "*.lua *.rockspec", "tree_sitter_lua", "--- --", "--[[ ]]"),
    _structure("markdown", "markdown", "*.md *.markdown *.mdx", "tree_sitter_markdown"),
    _symbols("php", "php", "*.php", "tree_sitter_php:language_php", "// #"),
    _text("proto", "", "protobuf", "*.proto"),
    _full("python", "python", "*.py *.pyi *.pyw", "tree_sitter_python"),
    _text("cython", "", "python", "*.pyx *.pxd *.pxi"),
    _symbols("ruby", "ruby", "*.rb *.rake Gemfile", "tree_sitter_ruby", "#", "", "Rakefile"),
    _full("rust", "rust", "*.rs", "tree_sitter_rust"),
    _symbols("shell", "shell", "*.sh *.bash *.zsh *.ksh .bashrc .zshrc", "tree_sitter_bash", "#", "", "*.fish"),
    _text("powershell", "*.ps1"),
    _structure("sql", "sql", "*.sql", "tree_sitter_sql"),
    _symbols("swift", "swift", "*.swift", "tree_sitter_swift"),
    _structure("hcl", "terraform", "*.tf *.hcl", "tree_sitter_hcl"),
    _structure("html", "web", "*.html *.htm", "tree_sitter_html"),
    _structure("css", "web", "*.css", "tree_sitter_css", "*.scss *.less"),
    _text("perl", "*.pl"),
    _text("r", "*.r"),
    _text("make", "Makefile GNUmakefile"),
    _text("cmake", "CMakeLists.txt"),
    _text("xml", "*.xml"),
    _text("ini", "*.ini *.cfg"),
    _text("rst", "*.rst"),
    _text("text", "*.txt"),
)
_ROWS: Final[Mapping[str, LanguageRow]] = MappingProxyType({row.name: row for row in reversed(LANGUAGE_ROWS)})
_LANGUAGE_BY_PATTERN: Final = {
    pattern.lower(): row.name for row in LANGUAGE_ROWS for pattern in f"{row.files} {row.unowned}".split()
}
# The languages whose files have more than text, in alphabetical order.
LANGUAGES: Final = tuple(sorted(name for name, row in _ROWS.items() if row.depth is not Depth.TEXT))


@dataclass(frozen=True, slots=True)
class Language:
    """The code of one language.

    Invariant: `linking` and `grammar` are given exactly for languages of full depth.
    """

    name: str
    depth: Depth
    extract: "Extract"
    linking: LinkingRules | None = None
    grammar: "Grammar | None" = None


def language_of(name: str) -> str:
    """Return the language of a file by its name, whatever its case; `unknown` when no pattern fits."""
    lowered = name.rpartition("/")[2].lower()
    _, dot, suffix = lowered.rpartition(".")
    by_suffix = _LANGUAGE_BY_PATTERN.get(f"*.{suffix}", UNKNOWN) if dot else UNKNOWN
    return _LANGUAGE_BY_PATTERN.get(lowered, by_suffix)


def dialect_of(path: str) -> str:
    """Return the language whose rules read a file: its own, or the dialect that its suffix asks for."""
    return "tsx" if path.lower().endswith(".tsx") else language_of(path)


def is_text_only(language: str) -> bool:
    """Tell whether files of a known language are searched as text and have no symbols."""
    return language not in LANGUAGES and language not in {UNKNOWN, "text"}


@cache
def load_language(name: str) -> Language | None:
    """Return a language by name, None when its files are known as text only."""
    row = _ROWS.get(name)
    if row is None or row.depth is Depth.TEXT:
        return None
    if row.depth is Depth.FULL:
        code = import_module(f"codeplane.languages.{row.folder}.extract")
        extract, grammar = code.DIALECTS[name]
        return Language(name, row.depth, extract, linking_rules(name), grammar)
    grammar = _grammar_of(row)
    is_outline = row.depth is Depth.STRUCTURE
    load_extract = import_module("codeplane.languages.queries.loading").load_extract
    extract = load_extract(name, grammar, row.comments, row.block_comments, is_outline=is_outline)
    return Language(name, row.depth, extract)


@cache
def load_grammar(name: str) -> "Grammar | None":
    """Return the grammar of a language, None when its files are known as text only."""
    language = load_language(name)
    return None if language is None else language.grammar or _grammar_of(_ROWS[name])


def _grammar_of(row: LanguageRow) -> "Grammar":
    module, _, function = row.grammar.partition(":")
    # Imported for the first file that is read, see above.
    from tree_sitter import Language as Grammar  # noqa: PLC0415

    return Grammar(getattr(import_module(module), function or "language")())


@cache
def linking_rules(name: str) -> LinkingRules | None:
    """Return how a language is linked, None when it is not; its grammar is not loaded for that."""
    row = _ROWS.get(name)
    if row is None or row.depth is not Depth.FULL:
        return None
    rules = import_module(f"codeplane.languages.{row.folder}.linking").LINKING
    if not isinstance(rules, LinkingRules):
        raise TypeError(f"codeplane.languages.{row.folder}.linking.LINKING is not a LinkingRules")
    return rules
