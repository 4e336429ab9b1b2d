"""Everyday questions to tools that can do more: versions, help, lists of packages and processes."""

import re
from types import MappingProxyType
from typing import Final

from codeplane.govern.shell_risk.built_ins import PRINTABLE
from codeplane.govern.shell_risk.options import Given, Reader
from codeplane.govern.shell_risk.places import Location
from codeplane.govern.shell_risk.words import Word

_USUAL: Final = frozenset({"--version", "--help"})
_SHORT: Final = _USUAL | {"-V", "-h"}
_LOWER: Final = _USUAL | {"-v", "-h"}
# Tools that answer these single words without reading code of the tree.
_ANSWERS: Final = MappingProxyType(
    {
        **dict.fromkeys(
            ("apt", "bash", "black", "brew", "cc", "clang", "clang++", "cmake", "curl", "cypress", "dash", "docker",
             "dotnet", "fish", "flake8", "g++", "gawk", "gcc", "gdb", "gh", "glab", "gzip", "helm", "isort", "kubectl",
             "less", "lua", "make", "mawk", "nano", "ninja", "pdm", "perl", "php", "pipx", "poetry", "protoc", "psql",
             "pylint", "pyright", "rsync", "ruff", "shellcheck", "sqlite3", "ssh", "swift", "tar", "terraform", "tsc",
             "unzip", "vim", "wget", "zcat", "zip", "zsh", "ack", "ast-grep", "tokei", "sg", "cloc", "hyperfine"),
            _USUAL),
        **dict.fromkeys(("python", "python2", "python3", "mypy", "pip", "pip3", "uv", "gem", "fd", "fdfind"), _SHORT),
        **dict.fromkeys(("node", "npm", "ruby", "bun", "bat", "batcat", "redis-cli"), _LOWER),
        "cargo": _SHORT | {"--list"}, "rustc": _SHORT, "rustup": _SHORT, "rustfmt": _SHORT, "deno": _SHORT,
        "go": frozenset({"version", "help"}),
        "java": frozenset({"-version", "--version", "--help"}), "javac": frozenset({"-version", "--version", "--help"}),
    }
)  # fmt: skip


def _names_only(given: Given, _standing: Location) -> str | None:
    is_plain = all(re.fullmatch(r"[\w.,@/:-]+", word.value) for word in given.operands)
    return None if is_plain else "a name that is not plain"


_PIP: Final = Reader(long=("local", "user", "not-required", "files", "verbose"), long_valued=("format",),
                     first_path=-1, check=_names_only)  # fmt: skip
_NPM: Final = Reader("ag", long=("all", "json", "long", "parseable", "global", "link"), long_valued=("depth",),
                     first_path=-1, check=_names_only)  # fmt: skip
# Second words with which a tool only reads.
_LISTS: Final = MappingProxyType(
    {
        **{(tool, word): _PIP for tool in ("pip", "pip3") for word in ("list", "show", "freeze")},
        **{("npm", word): _NPM for word in ("ls", "list", "root", "prefix")},
        ("go", "env"): Reader(first_path=-1, check=_names_only),
    }
)
_UV_PIP: Final = ("list", "show", "freeze")
_PS_LETTERS: Final = re.compile(r"[acfhjlmrTuvwxX]+")
_PS_ALL: Final = re.compile(r"-[AadefFjlLMTwy]+")
_PS_COLUMNS: Final = re.compile(r"(?!.*env)[\w,%=:+-]+")


def reader_of(words: list[Word]) -> tuple[Reader, list[Word]] | None:
    """Return the options and the other words of a tool's reading sub-command, None when it is another command."""
    values = [word.value for word in words[:3]]
    if values[:2] == ["uv", "pip"] and len(values) > 2 and values[2] in _UV_PIP:
        return _PIP, words[3:]
    reader = _LISTS.get((values[0], values[1])) if len(values) > 1 else None
    return (reader, words[2:]) if reader is not None else None


def asks_for_version(words: list[Word], names: frozenset[str]) -> bool:
    """Tell whether a tool, or one of the names, gets nothing but a word that asks for its version or its help."""
    if len(words) != 2 or not words[1].is_static:
        return False
    name = re.sub(r"^(python|pip)[23](?:\.\d+)?$", r"\g<1>3", words[0].value)
    return words[1].value in _ANSWERS.get(name, _USUAL if name in names else frozenset())


def why_not_ps(words: list[Word]) -> str | None:
    """Return what speaks against a `ps`: some of its letters print environments."""
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        name, _, value = word.value.partition("=")
        if not word.is_static:
            return f"{word.raw} is only known when it runs"
        if _PS_LETTERS.fullmatch(word.value) or word.value == "-aux" or _PS_ALL.fullmatch(word.value):
            continue
        if name in {"-o", "-p", "-C", "-u", "-U", "-g", "-t", "--sort", "--pid", "--ppid", "--format"}:
            value = value or (waiting.pop().value if waiting else "")
            if _PS_COLUMNS.fullmatch(value):
                continue
        return f"ps {word.value[:40]} may print the environment of programs, which can hold secrets"
    return None


def why_not_printenv(words: list[Word]) -> str | None:
    """Return what speaks against a `printenv`: variables may hold secrets."""
    if words and all(word.is_static and word.value in PRINTABLE for word in words):
        return None
    return "prints variables that may hold secrets"
