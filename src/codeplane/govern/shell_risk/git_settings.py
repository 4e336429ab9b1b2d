"""Git's configuration files, read by git's own rules: only a line feed ends a line."""

import re
from collections.abc import Iterator
from typing import Final

# Settings after which reading with git starts a program, follows another file or reaches the network.
_HELPERS: Final = re.compile(
    r"core\.(?:fsmonitor|pager|sshcommand|gitproxy|worktree|alternaterefscommand|askpass)"
    r"|diff\.external|diff\..*\.(?:textconv|command)|filter\..*\.(?:clean|smudge|process)|pager\..*"
    r"|include\.path|includeif\..*\.path|gpg\.(?:.*\.)?program|log\.showsignature|interactive\.difffilter"
    r"|extensions\.partialclone|pretty\..*|format\.pretty|remote\..*\.(?:promisor|partialclonefilter|vcs)"
    r"|trailer\..*\.(?:command|cmd)|blame\.ignorerevsfile|submodule\.recurse|status\.submodulesummary",
    re.DOTALL,
)
_FALSE: Final = frozenset({"false", "no", "off", "0", ""})
_OFF_IS_FINE: Final = frozenset({"core.fsmonitor", "log.showsignature", "submodule.recurse", "status.submodulesummary"})
_SPACE: Final = re.compile(r"(?:[ \t\n\v\f\r]|[#;][^\n]*(?:\n|\Z))*")
_SECTION: Final = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t\v\f\r]+"((?:[^"\\\n]|\\[^\n])*)")?\]')
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*")
_ESCAPES: Final = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"', "\n": ""}


def settings_that_run(text: str) -> Iterator[str]:
    """Return the settings of a git configuration after which reading starts something.

    Raises:
        ValueError: Git could not read the file either.
    """
    for name, value in settings(text):
        is_off = (name in _OFF_IS_FINE or name.startswith("pager.")) and value.lower() in _FALSE
        if is_helper(name) and not is_off:
            yield name


def is_helper(name: str) -> bool:
    """Tell whether a setting of this name, in lower case, makes reading start something."""
    return _HELPERS.fullmatch(name) is not None


def settings(text: str) -> Iterator[tuple[str, str]]:
    """Return names (section and key in lower case) and values, in order.

    Raises:
        ValueError: Git could not read the file either.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if "\0" in text:
        raise ValueError("a zero byte in the configuration")
    section: str | None = None
    position = _end_of_space(text, 0)
    while position < len(text):
        found = _SECTION.match(text, position)
        if found is not None:
            subsection = "" if found[2] is None else "." + re.sub(r"\\(.)", r"\1", found[2], flags=re.DOTALL)
            section = found[1].lower() + subsection
            position = found.end()
        else:
            key = _KEY.match(text, position)
            if key is None or section is None:
                raise ValueError("a line of the configuration that is neither a section nor a setting")
            value, position = _value(text, key.end())
            yield f"{section}.{key[1].lower()}", value
        position = _end_of_space(text, position)


def _end_of_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found is not None else position


def _value(text: str, position: int) -> tuple[str, int]:  # noqa: C901 - one branch per character that means something.
    """Return the value behind a key and where the next line starts."""
    if text[position : position + 1] in {"", "\n"}:
        return "true", position + 1
    if text[position] != "=":
        raise ValueError("a setting without an equals sign")
    parts: list[str] = []
    # What is not quoted loses the blanks at its end.
    n_kept, is_quoted = 0, False
    position += 1
    while position < len(text) and text[position] != "\n":
        character = text[position]
        position += 1
        if character == '"':
            is_quoted = not is_quoted
            n_kept = len(parts)
        elif character == "\\":
            plain = _ESCAPES[_escaped(text, position)]
            position += 1
            if plain:
                parts.append(plain)
                n_kept = len(parts)
        elif character in "#;" and not is_quoted:
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif is_quoted or character not in " \t\v\f\r":
            parts.append(character)
            n_kept = len(parts)
        elif parts:
            parts.append(character)
    if is_quoted:
        raise ValueError("an open quote in the configuration")
    return "".join(parts[:n_kept]), position + 1


def _escaped(text: str, position: int) -> str:
    character = text[position : position + 1]
    if character not in _ESCAPES:
        raise ValueError("an unknown escape in the configuration")
    return character
