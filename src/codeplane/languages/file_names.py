"""The one table of file names: which language a file has, and to which family that language belongs."""

from typing import Final

# Language, family (empty when no context owns such files), patterns: `*.<suffix>` with one dot, or a whole name.
# Within a family the patterns keep the order of the specification's include globs (section 8.4.4).
LANGUAGE_FILES: Final = (
    ("c", "c", "*.c *.h"),
    ("cpp", "c", "*.cc *.cpp *.cxx *.hh *.hpp *.hxx *.inl *.ipp *.tpp"),
    ("nix", "config", "*.nix"),
    ("dockerfile", "docker", "Dockerfile *.Dockerfile"),
    ("dockerfile", "", "Containerfile"),
    ("csharp", "dotnet", "*.cs"),
    ("fsharp", "dotnet", "*.fs *.fsx"),
    ("vb", "dotnet", "*.vb"),
    ("elixir", "elixir", "*.ex *.exs"),
    ("go", "go", "*.go"),
    ("graphql", "graphql", "*.graphql *.gql"),
    ("haskell", "haskell", "*.hs"),
    ("javascript", "javascript", "*.js *.jsx *.mjs *.cjs"),
    ("vue", "javascript", "*.vue"),
    ("svelte", "javascript", "*.svelte"),
    ("astro", "javascript", "*.astro"),
    ("typescript", "javascript", "*.ts *.tsx *.cts *.mts"),
    ("json", "json_yaml", "*.json"),
    ("yaml", "json_yaml", "*.yaml *.yml"),
    ("toml", "json_yaml", "*.toml"),
    ("json", "json_yaml", "*.jsonc"),
    ("toml", "", "Cargo.lock"),
    ("java", "jvm", "*.java"),
    ("kotlin", "jvm", "*.kt *.kts"),
    ("scala", "jvm", "*.scala *.sc"),
    ("groovy", "", "*.groovy *.gradle Jenkinsfile"),
    ("lua", "lua", "*.lua *.rockspec"),
    ("markdown", "markdown", "*.md *.markdown *.mdx"),
    ("php", "php", "*.php"),
    ("proto", "protobuf", "*.proto"),
    ("python", "python", "*.py *.pyi *.pyw"),
    ("cython", "python", "*.pyx *.pxd *.pxi"),
    ("ruby", "ruby", "*.rb *.rake Gemfile"),
    ("ruby", "", "Rakefile"),
    ("rust", "rust", "*.rs"),
    ("shell", "shell", "*.sh *.bash *.zsh *.ksh .bashrc .zshrc"),
    ("shell", "", "*.fish"),
    ("powershell", "", "*.ps1"),
    ("sql", "sql", "*.sql"),
    ("swift", "swift", "*.swift"),
    ("hcl", "terraform", "*.tf *.hcl"),
    ("html", "web", "*.html *.htm"),
    ("css", "web", "*.css"),
    ("css", "", "*.scss *.less"),
    ("perl", "", "*.pl"),
    ("r", "", "*.r"),
    ("make", "", "Makefile GNUmakefile"),
    ("cmake", "", "CMakeLists.txt"),
    ("xml", "", "*.xml"),
    ("ini", "", "*.ini *.cfg"),
    ("rst", "", "*.rst"),
    ("text", "", "*.txt"),
)
UNKNOWN: Final = "unknown"
_LANGUAGE_BY_PATTERN: Final = {
    pattern.lower(): language for language, _, patterns in LANGUAGE_FILES for pattern in patterns.split()
}


def language_of(name: str) -> str:
    """Return the language of a file by its name, whatever its case; `unknown` when no pattern fits."""
    lowered = name.rpartition("/")[2].lower()
    _, dot, suffix = lowered.rpartition(".")
    by_suffix = _LANGUAGE_BY_PATTERN.get(f"*.{suffix}", UNKNOWN) if dot else UNKNOWN
    return _LANGUAGE_BY_PATTERN.get(lowered, by_suffix)
