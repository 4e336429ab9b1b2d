"""Tell a file's language family from its name."""

from types import MappingProxyType

_BY_SUFFIX = MappingProxyType(
    {
        ".py": "python", ".pyi": "python", ".pyw": "python",
        ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript",
        ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescript",
        ".go": "go", ".rs": "rust", ".java": "java", ".kt": "kotlin", ".kts": "kotlin",
        ".scala": "scala", ".sc": "scala", ".groovy": "groovy", ".gradle": "groovy",
        ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp",
        ".cs": "csharp", ".fs": "fsharp", ".vb": "vb", ".rb": "ruby", ".php": "php", ".swift": "swift",
        ".ex": "elixir", ".exs": "elixir", ".hs": "haskell", ".lua": "lua", ".pl": "perl", ".r": "r",
        ".sh": "shell", ".bash": "shell", ".zsh": "shell", ".fish": "shell", ".ps1": "powershell",
        ".html": "html", ".htm": "html", ".css": "css", ".scss": "css", ".less": "css",
        ".svelte": "svelte", ".vue": "vue",
        ".json": "json", ".jsonc": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".xml": "xml",
        ".ini": "ini", ".cfg": "ini", ".md": "markdown", ".markdown": "markdown", ".rst": "rst", ".txt": "text",
        ".sql": "sql", ".tf": "hcl", ".hcl": "hcl", ".nix": "nix", ".proto": "proto", ".graphql": "graphql",
    }
)  # fmt: skip
_BY_NAME = MappingProxyType(
    {
        "dockerfile": "dockerfile", "containerfile": "dockerfile", "makefile": "make", "gnumakefile": "make",
        "cmakelists.txt": "cmake", "gemfile": "ruby", "rakefile": "ruby", "jenkinsfile": "groovy",
        "cargo.lock": "toml", ".bashrc": "shell", ".zshrc": "shell",
    }
)  # fmt: skip
UNKNOWN = "unknown"


def language_of(name: str) -> str:
    """Return the language family for a file name, `unknown` when no rule fits."""
    lowered = name.rpartition("/")[2].lower()
    if lowered in _BY_NAME:
        return _BY_NAME[lowered]
    _, dot, suffix = lowered.rpartition(".")
    return _BY_SUFFIX.get(dot + suffix, UNKNOWN)
