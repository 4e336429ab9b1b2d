"""Programs inside of words: `sed`, `awk`, `jq` and `yq`. Only what is clearly harmless is let through."""

import re
from typing import Final

from codeplane.govern.shell_risk.characters import PRINTS_CONTROL, makes_control
from codeplane.govern.shell_risk.options import Given, Reader, read_options, why_not_operand
from codeplane.govern.shell_risk.places import Location
from codeplane.govern.shell_risk.words import Word

_SED: Final = Reader(
    "nErsuz", "e", long=("quiet", "silent", "regexp-extended", "separate", "unbuffered", "null-data"),
    long_valued=("expression",),
)  # fmt: skip
# Brackets that every program ends at the same place: no slash, no backslash, no bracket but a whole class.
_BRACKET: Final = r"\[\^?(?:\[:[a-z]+:\]|[^]\[/\\\n^])(?:\[:[a-z]+:\]|[^]\[/\\\n])*\]"
_SED_ADDRESS: Final = re.compile(rf"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n\[]|\\.|{_BRACKET})+/[IM]*)")
_SED_SECOND: Final = re.compile(r"\s*,\s*(?:[+~]\d+|" + _SED_ADDRESS.pattern + ")")
_SED_PLAIN: Final = frozenset("pdqQ=PNn{}")
_SED_FLAGS: Final = re.compile(r"[gpiI0-9]*")
_SED_DELIMITERS: Final = frozenset("/|#,:@%!~")

_AWK: Final = Reader("", "Fv", long_attached=("field-separator", "assign"))
_AWK_FUNCTIONS: Final = frozenset(
    {
        "length", "substr", "index", "split", "sub", "gsub", "gensub", "match", "sprintf", "toupper", "tolower", "int",
        "sqrt", "exp", "log", "sin", "cos", "atan2", "rand", "srand", "strftime", "systime", "mktime", "asort",
        "asorti", "strtonum", "and", "or", "xor", "lshift", "rshift", "compl",
    }
)  # fmt: skip
_AWK_KEYWORDS: Final = frozenset(
    {"if", "else", "for", "in", "print", "printf", "next", "exit", "delete", "break", "continue", "return", "nextfile"}
)
_AWK_REFUSED: Final = frozenset(
    {
        "system", "getline", "close", "fflush", "function", "func", "while", "do", "switch", "case", "ARGV", "ARGC",
        "ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB", "include", "load", "namespace",
    }
)  # fmt: skip
_AWK_TOKEN: Final = re.compile(
    r"(?P<space>[ \t]+|\\\n)|(?P<comment>\#[^\n]*)|(?P<name>[A-Za-z_]\w*)|(?P<number>\d+(?:\.\d*)?|\.\d+)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<operator>&&|\|\||>>|>=|<=|==|!=|!~|\+\+|--|[-+*%^]=|[-+*%^!~<>=?:,;(){}\[\]$\n|/&@])'
)
_AWK_REGEX: Final = re.compile(rf"/(?:[^/\\\n\[]|\\.|{_BRACKET})*/")
_BEFORE_REGEX: Final = frozenset({"(", ",", "~", "!~", "{", "}", ";", "&&", "||", "!", "\n", ""})

_JQ: Final = Reader(
    "rjcsSMCaRne", first_path=1,
    long=("raw-output", "join-output", "compact-output", "slurp", "sort-keys", "monochrome-output", "color-output",
          "ascii-output", "raw-input", "null-input", "exit-status", "tab", "seq", "stream", "raw-output0",
          "unbuffered"),
    long_valued=("indent",),
)  # fmt: skip
_JQ_RAW: Final = ("r", "j", "-raw-output", "-join-output", "-raw-output0")
_JQ_DECODING: Final = re.compile(r"implode|@base64d")
_YQ: Final = Reader(
    "rPjceCMNnyYx", "oIp", first_path=0,
    long=("raw-output", "prettyPrint", "colors", "no-colors", "no-doc", "null-input", "exit-status", "compact-output",
          "yaml-output", "yaml-roundtrip", "unwrapScalar", "tojson"),
    long_valued=("output-format", "input-format", "indent"),
)  # fmt: skip
_YQ_READING: Final = frozenset({"e", "eval", "ea", "eval-all"})
_YQ_OTHER: Final = frozenset({"shell-completion", "completion", "help", "w", "d", "m", "n", "p", "x", "validate"})
_FILTER_REFUSED: Final = re.compile(
    r"(?<![.\w])(?:import|include|modulemeta|get_search_list|env|strenv|envsubst|eval|load\w*)\b"
    r"|\$ENV|\$__|\bload\w*\s*\(|\bsystem\b"
)


def why_not_sed(words: list[Word], location: Location) -> str | None:
    """Return what speaks against a `sed`, None when it only prints."""
    given = read_options(_SED, words)
    if isinstance(given, str):
        return given
    scripts, files = _scripts(given, ("e", "-expression"))
    if not scripts or not all(is_harmless_sed(script) for script in scripts):
        return "the sed script may do more than print"
    return _why_not_files(files, location)


def why_not_awk(words: list[Word], location: Location) -> str | None:
    """Return what speaks against an `awk`, None when it only prints."""
    given = read_options(_AWK, words)
    if isinstance(given, str):
        return given
    scripts, files = _scripts(given, ())
    if not scripts or not all(is_harmless_awk(script) for script in scripts):
        return "the awk program may do more than print"
    if any(not re.fullmatch(r"[A-Za-z_]\w*=.*", value, re.DOTALL) for value in given.values("v", "-assign")):
        return "the value of -v is not an assignment"
    if any(makes_control(one) for one in (*given.values("v", "-assign"), *(word.value for word in files))):
        return PRINTS_CONTROL
    return _why_not_files(tuple(one for one in files if "=" not in one.value or "/" in one.value), location)


def why_not_jq(words: list[Word], location: Location) -> str | None:
    """Return what speaks against a `jq`, None when it only prints."""
    words, given_values = _without_arguments(words)
    given = read_options(_JQ, words)
    if isinstance(given, str):
        return given
    if given_values is None or not given.operands:
        return "jq has no plain program"
    program = given.operands[0]
    if program.has_glob and not re.fullmatch(r"[.\w\[\]-]*", program.value):
        return f"{program.raw} is only known when it runs"
    if _FILTER_REFUSED.search(program.value):
        return "the jq program reads something besides its input"
    if makes_control(program.value) or (given.has(*_JQ_RAW) and _JQ_DECODING.search(program.value)):
        return PRINTS_CONTROL
    return _why_not_files(given.operands[1:], location)


def why_not_yq(words: list[Word], location: Location) -> str | None:
    """Return what speaks against a `yq` of either kind, None when it only prints."""
    given = read_options(_YQ, words)
    if isinstance(given, str):
        return given
    operands = given.operands
    if operands and operands[0].value in _YQ_READING:
        operands = operands[1:]
    if not operands or operands[0].value in _YQ_OTHER:
        return "yq has no plain program"
    for word in operands:
        if word.has_glob and not re.fullmatch(r"[.\w\[\]/*-]*", word.value):
            return f"{word.raw} is only known when it runs"
        if _FILTER_REFUSED.search(word.value):
            return "the yq program reads something besides its input"
        if makes_control(word.value):
            return PRINTS_CONTROL
    files = operands[1:] if len(operands) > 1 else operands
    return _why_not_files(files, location)


def is_harmless_sed(script: str) -> bool:
    """Tell whether every command of a script only prints, deletes from the output or substitutes there."""
    position = 0
    while position < len(script):
        if script[position] in " \t\n;":
            position += 1
            continue
        position = _after_address(script, position)
        command = script[position : position + 1]
        if command == "s":
            end = _after_substitution(script, position + 1)
        elif command and command in _SED_PLAIN:
            end = position + 1
        else:
            return False
        if end is None or not _ends_command(script, end, command):
            return False
        position = end
    return True


def _ends_command(script: str, position: int, command: str) -> bool:
    rest = script[position:].lstrip(" \t")
    return command in "{}" or not rest or rest[0] in ";\n}"


def _after_address(script: str, position: int) -> int:
    first = _SED_ADDRESS.match(script, position)
    if first is not None:
        second = _SED_SECOND.match(script, first.end())
        position = (second or first).end()
    while script[position : position + 1] in (" ", "!"):
        position += 1
    return position


def _after_substitution(script: str, position: int) -> int | None:
    """Return where `s/…/…/flags` ends; None when it cannot be told for every sed."""
    delimiter = script[position : position + 1]
    if not delimiter or delimiter not in _SED_DELIMITERS:
        return None
    position += 1
    for is_pattern in (True, False):
        start = position
        while position < len(script) and script[position] != delimiter:
            if script[position] == "\n":
                return None
            position += 2 if script[position] == "\\" else 1
        if position >= len(script):
            return None
        part = script[start:position]
        # Systems differ in whether a delimiter in brackets ends the part.
        if is_pattern and "[" in re.sub(rf"\\.|{_BRACKET}", "", part):
            return None
        if not is_pattern and makes_control(part):
            return None
        position += 1
    flags = _SED_FLAGS.match(script, position)
    return flags.end() if flags is not None else None


def is_harmless_awk(program: str) -> bool:  # noqa: C901, PLR0911, PLR0912 - a scanner: one way out per danger.
    """Tell whether a program computes and prints, and does nothing else."""
    position, n_braces, n_brackets = 0, 0, 0
    before, is_printing = "", False
    while position < len(program):
        if program[position] == "/" and before in _BEFORE_REGEX:
            found = _AWK_REGEX.match(program, position)
            if found is None:
                return False
            position, before = found.end(), "regex"
            continue
        token = _AWK_TOKEN.match(program, position)
        if token is None:
            return False
        position = token.end()
        kind, text = token.lastgroup, token.group()
        if kind in {"space", "comment"}:
            continue
        if kind == "name":
            following = program[position : position + 1]
            if text in _AWK_REFUSED or (following == "(" and text not in _AWK_FUNCTIONS | _AWK_KEYWORDS):
                return False
            if text in {"print", "printf"}:
                # The third part of a `for` may print, and so write.
                if n_brackets:
                    return False
                is_printing = True
            before = "keyword" if text in _AWK_KEYWORDS else "value"
            continue
        if kind in {"number", "string"}:
            if kind == "string" and (makes_control(text) or "%c" in text):
                return False
            before = "value"
            continue
        if text in {"@", "|", ">>", "&"}:
            return False
        if text == "/" and before not in {"value", "]"}:
            return False
        if text == ">" and (is_printing and n_brackets == 0):
            return False
        if text == ">" and n_braces > 0 and n_brackets == 0:
            return False
        if text in {";", "\n", "{", "}"} and n_brackets == 0:
            is_printing = False
        n_braces += {"{": 1, "}": -1}.get(text, 0)
        n_brackets += {"(": 1, ")": -1}.get(text, 0)
        if n_brackets < 0 or n_braces < 0 or (text in {"{", "}"} and n_brackets):
            return False
        if text == ";" and re.match(r"\s*;\s*\)", program[position:]):
            return False
        before = text
    return n_braces == 0 and n_brackets == 0


def _scripts(given: Given, names: tuple[str, ...]) -> tuple[list[str], tuple[Word, ...]]:
    """Return the scripts and the files; a first operand that is not static cannot be read as a script."""
    scripts = given.values(*names)
    if scripts:
        return scripts, given.operands
    if not given.operands or not given.operands[0].is_static:
        return [], ()
    return [given.operands[0].value], given.operands[1:]


def _why_not_files(files: tuple[Word, ...], location: Location) -> str | None:
    reasons = (why_not_operand(word, location) for word in files)
    return next((reason for reason in reasons if reason is not None), None)


def _without_arguments(words: list[Word]) -> tuple[list[Word], list[str] | None]:
    """Take out `--arg name value` and `--argjson name value`; None when one is not complete or not static."""
    kept: list[Word] = []
    values: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        if word.value in {"--arg", "--argjson"} and "--" not in [one.value for one in kept]:
            taken = words[position + 1 : position + 3]
            if len(taken) < 2 or not all(one.is_static and not one.value.startswith("-") for one in taken):
                return words, None
            values += [one.value for one in taken]
            position += 3
        else:
            kept.append(word)
            position += 1
    return kept, values
