"""All tools, one row each. Linters come before formatters, so that a fix is formatted afterwards.

Options switch off caches in the tree, colours and downloads. Fixes are left out where a tool can only write in place.
"""

from typing import Final

from codeplane.lint import parsers
from codeplane.lint.model import FORMATTER, LINTER, TYPES, Tool
from codeplane.lint.settings import CustomLinter

_PYTHON: Final = ("*.py", "*.pyi")
_SCRIPT: Final = ("*.js", "*.jsx", "*.mjs", "*.cjs", "*.ts", "*.tsx", "*.mts", "*.cts")
_STYLE: Final = ("*.css", "*.scss", "*.sass", "*.less")
_RUFF_CACHE: Final = (("RUFF_CACHE_DIR", "{cache}/ruff"),)
_BIOME: Final = ("biome.json", "biome.jsonc")
# Go downloads modules and other versions of itself unless it is told not to.
_GO: Final = (("GOPROXY", "off"), ("GOTOOLCHAIN", "local"))
_RUST: Final = (("RUST_BACKTRACE", "0"),)

TOOLS: Final = (
    Tool(
        "ruff", LINTER, _PYTHON, ("ruff.toml", ".ruff.toml", "pyproject.toml#tool.ruff"),
        ("ruff", "check", "--output-format=json", "--no-fix", "--force-exclude", "{paths}"), parsers.ruff,
        ("ruff", "check", "--fix-only", "--quiet", "--force-exclude", "--stdin-filename", "{path}", "-"),
        environment=_RUFF_CACHE,
    ),
    Tool(
        "flake8", LINTER, _PYTHON, (".flake8", "setup.cfg#flake8", "tox.ini#flake8"),
        ("flake8", "--format=default", "{paths}"), parsers.lines,
    ),
    Tool(
        "mypy", TYPES, _PYTHON, ("mypy.ini", ".mypy.ini", "pyproject.toml#tool.mypy", "setup.cfg#mypy"),
        ("mypy", "--output=json", "--no-error-summary", "{paths}"), parsers.mypy,
        environment=(("MYPY_CACHE_DIR", "{cache}/mypy"),),
    ),
    Tool(
        "pyright", TYPES, _PYTHON, ("pyrightconfig.json", "pyproject.toml#tool.pyright"),
        ("pyright", "--outputjson", "{paths}"), parsers.pyright,
    ),
    Tool(
        "eslint", LINTER, (*_SCRIPT, "*.vue", "*.svelte"),
        ("eslint.config.*", ".eslintrc", ".eslintrc.*", "package.json#eslintConfig"),
        ("eslint", "--format", "json", "{paths}"), parsers.eslint,
        ("eslint", "--fix-dry-run", "--format", "json", "--stdin", "--stdin-filename", "{path}"), parsers.eslint_fixed,
    ),
    Tool(
        "tsc", TYPES, ("*.ts", "*.tsx", "*.mts", "*.cts"), ("tsconfig.json",),
        ("tsc", "--noEmit", "--pretty", "false", "--incremental", "--tsBuildInfoFile", "{cache}/tsc.tsbuildinfo"),
        parsers.tsc, done=(0, 1, 2),
    ),
    Tool(
        "biome", LINTER, (*_SCRIPT, "*.json", "*.jsonc", "*.css"), _BIOME,
        ("biome", "lint", "--reporter=github", "--max-diagnostics=none", "{paths}"), parsers.github,
    ),
    Tool(
        "stylelint", LINTER, _STYLE,
        (".stylelintrc", ".stylelintrc.*", "stylelint.config.*", "package.json#stylelint"),
        ("stylelint", "--formatter", "json", "{paths}"), parsers.stylelint,
        ("stylelint", "--fix", "--stdin", "--stdin-filename", "{path}"), done=(0, 2),
    ),
    Tool(
        "go vet", LINTER, ("*.go",), ("go.mod",), ("go", "vet", "-json", "{folders}"), parsers.go_vet,
        environment=_GO,
    ),
    Tool(
        "golangci-lint", LINTER, ("*.go",), (".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"),
        ("golangci-lint", "run", "--color", "never", "{folders}"), parsers.lines, environment=_GO,
    ),
    Tool(
        "clippy", LINTER, ("*.rs",), ("Cargo.toml",),
        ("cargo", "clippy", "--frozen", "--quiet", "--message-format=json", "--all-targets"), parsers.clippy,
        done=(0, 101), environment=(*_RUST, ("CARGO_TARGET_DIR", "{cache}/cargo")),
    ),
    Tool(
        "shellcheck", LINTER, ("*.sh", "*.bash", "*.ksh"), (".shellcheckrc", "shellcheckrc"),
        ("shellcheck", "-f", "json", "{paths}"), parsers.shellcheck,
    ),
    Tool(
        "hadolint", LINTER, ("Dockerfile", "Dockerfile.*", "*.dockerfile", "Containerfile"),
        (".hadolint.yaml", ".hadolint.yml"), ("hadolint", "-f", "json", "{paths}"), parsers.hadolint,
    ),
    Tool(
        "yamllint", LINTER, ("*.yml", "*.yaml"), (".yamllint", ".yamllint.yaml", ".yamllint.yml"),
        ("yamllint", "-f", "parsable", "{paths}"), parsers.lines, done=(0, 1, 2),
    ),
    Tool(
        "markdownlint", LINTER, ("*.md", "*.markdown"), (".markdownlint.*", ".markdownlintrc"),
        ("markdownlint", "--json", "{paths}"), parsers.markdownlint,
    ),
    Tool(
        "rubocop", LINTER, ("*.rb", "*.rake", "Gemfile", "Rakefile", "*.gemspec"), (".rubocop.yml",),
        ("rubocop", "--format", "json", "--cache", "false", "--force-exclusion", "{paths}"), parsers.rubocop,
        ("rubocop", "--autocorrect", "--stderr", "--cache", "false", "--stdin", "{path}"),
    ),
    Tool(
        "isort", FORMATTER, _PYTHON, (".isort.cfg", "pyproject.toml#tool.isort", "setup.cfg#isort", "tox.ini#isort"),
        ("isort", "--quiet", "--filename", "{path}", "-"),
    ),
    Tool(
        "black", FORMATTER, _PYTHON, ("pyproject.toml#tool.black",),
        ("black", "--quiet", "--stdin-filename", "{path}", "-"), done=(0,),
    ),
    Tool(
        "ruff format", FORMATTER, _PYTHON, ("pyproject.toml#tool.ruff.format", "ruff.toml#format", ".ruff.toml#format"),
        ("ruff", "format", "--quiet", "--force-exclude", "--stdin-filename", "{path}", "-"), environment=_RUFF_CACHE,
    ),
    Tool(
        "prettier", FORMATTER, (*_SCRIPT, *_STYLE, "*.json", "*.md", "*.yml", "*.yaml", "*.html", "*.vue"),
        (".prettierrc", ".prettierrc.*", "prettier.config.*", "package.json#prettier"),
        ("prettier", "--stdin-filepath", "{path}"),
    ),
    Tool(
        "biome format", FORMATTER, (*_SCRIPT, "*.json", "*.jsonc", "*.css"), _BIOME,
        ("biome", "format", "--stdin-file-path={path}"),
    ),
    Tool("gofmt", FORMATTER, ("*.go",), ("go.mod",), ("gofmt",)),
    Tool(
        "rustfmt", FORMATTER, ("*.rs",), ("Cargo.toml",),
        ("rustfmt", "--emit", "stdout", "--edition", "{edition}"),
        environment=_RUST,
    ),
)  # fmt: skip


def custom_tool(setting: CustomLinter) -> Tool:
    """Return the row of a command of the team's own; it is configured at the root."""
    return Tool(setting.name, LINTER, setting.files, (), setting.command, parsers.lines)
