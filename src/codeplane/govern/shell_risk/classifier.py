"""The verdict about a command: two parsers have to agree, and every segment has to be known."""

import re
from dataclasses import dataclass, field, replace
from typing import Final

from codeplane.core.printable import visible_text
from codeplane.govern.shell_risk.built_ins import why_not_echo, why_not_printf, why_not_test, why_not_type
from codeplane.govern.shell_risk.characters import check_characters
from codeplane.govern.shell_risk.checks import why_not_check
from codeplane.govern.shell_risk.consequences import consequence, unread_consequence
from codeplane.govern.shell_risk.context import ShellContext
from codeplane.govern.shell_risk.expressions import why_not_find
from codeplane.govern.shell_risk.git_readers import why_not_git
from codeplane.govern.shell_risk.options import why_not_operand, why_not_safe
from codeplane.govern.shell_risk.places import Location, why_not_read
from codeplane.govern.shell_risk.readers import READERS
from codeplane.govern.shell_risk.report import RiskReport, RiskVerdict, Segment, UnclearCommandError, strictest
from codeplane.govern.shell_risk.scripts import why_not_awk, why_not_jq, why_not_sed, why_not_yq
from codeplane.govern.shell_risk.syntax import Span, check_kinds
from codeplane.govern.shell_risk.tools import asks_for_version, reader_of, why_not_printenv, why_not_ps
from codeplane.govern.shell_risk.verification import is_named, is_verification
from codeplane.govern.shell_risk.words import Operator, Token, Word, read_tokens

MAX_SEGMENTS: Final = 100
_SHELLS: Final = frozenset({"bash", "sh"})
_SEPARATORS: Final = frozenset({"&&", "||", ";", "\n", "|", "|&"})
_JOINING: Final = frozenset({"&&", "||", "|", "|&"})
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^]]*\])?\+?=")
_LOCALE: Final = re.compile(r"[A-Za-z0-9_.@-]*")
_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z][A-Za-z0-9_+-]*){0,2}")
_DURATION: Final = re.compile(r"\d+(?:\.\d+)?[smh]?")
# Inherited variables that change what every program does, and those of single programs.
_PROGRAM_VARIABLES: Final = {
    "git": ("GIT_",), "rg": ("RIPGREP_",), "cd": ("CDPATH",), "less": ("LESS",), "more": ("LESS", "MORE"),
    "bat": ("BAT_", "LESS"), "batcat": ("BAT_", "LESS"),
    "--version": ("NODE_", "RUBYOPT", "PERL5", "PYTHON", "JAVA_", "_JAVA", "JDK_", "GOFLAGS", "GOTOOLCHAIN", "RUSTUP_"),
}  # fmt: skip
# Programs that look another one up on PATH.
_LOOKS_UP: Final = {"egrep": "grep", "fgrep": "grep"}
_ANSWERING: Final = frozenset({*READERS, "sed", "awk", "find", "jq", "yq", "timeout", "nice"})
_QUESTIONS: Final = {"ulimit": ("-a", "-n", "-u", "-s", "-f", "-v"), "umask": ("-S", "-p"), "dirs": (), "jobs": ("-l",)}
_FOR_CHECKS: Final = ("CI=", "RUST_BACKTRACE=", "NODE_ENV=", "PYTHONDONTWRITEBYTECODE=", "PYTHONUNBUFFERED=")


@dataclass(slots=True)
class _Command:
    """A simple command: words and redirects as written."""

    start: int
    end: int
    words: list[Word] = field(default_factory=list)
    redirects: list[tuple[Operator, Word]] = field(default_factory=list)
    in_pipe: bool = False
    after: str = ";"


def classify(command: str, shell: str = "bash", context: ShellContext = ShellContext()) -> RiskReport:  # noqa: B008 - frozen.
    """Return the verdict about a command; whatever cannot be understood is DESTRUCTIVE."""
    try:
        return _classified(command, shell, context)
    except UnclearCommandError as error:
        return RiskReport(RiskVerdict.DESTRUCTIVE, (), (_shown(unread_consequence(command, error.reason)),))
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        # A mistake in here must never let a command through.
        return RiskReport(RiskVerdict.DESTRUCTIVE, (), (f"cannot be understood ({type(error).__name__})",))


def _classified(command: str, shell: str, context: ShellContext) -> RiskReport:
    if shell not in _SHELLS:
        raise UnclearCommandError(f"the shell {str(shell)[:40]!a} is not supported; only bash and sh are")
    check_characters(command)
    source = command.encode("utf-8")
    text = source.decode("latin-1")
    commands = _commands(read_tokens(text, is_bash=shell == "bash"))
    if [_own_span(one) for one in commands] != _grouped(check_kinds(source), commands):
        raise UnclearCommandError("two parsers disagree about it")
    location = Location.of(context)
    segments = []
    for one in commands:
        if one.after not in {"&&", "|", "|&"}:
            location = location.in_doubt()
        segment, location = _segment(one, source, location, is_bash=shell == "bash")
        segments.append(segment)
    verdict = strictest([one.verdict for one in segments])
    reasons = tuple(dict.fromkeys(reason for one in segments if one.verdict is verdict for reason in one.reasons))
    return RiskReport(verdict, tuple(segments), reasons)


def _own_span(command: _Command) -> list[Span]:
    words = command.words[1:] if command.words and command.words[0].raw == "!" else command.words
    while words and _ASSIGNMENT.match(words[0].raw):
        words = words[1:]
    if words and words[0].raw in {"[", "[["}:
        return [(words[0].start, words[-1].end)]
    return [(word.start, word.end) for word in words]


def _grouped(spans: list[Span], commands: list[_Command]) -> list[list[Span]]:
    """Give each command the tree's words that lie in it."""
    groups: list[list[Span]] = [[] for _ in commands]
    position = 0
    # The grammar takes the number of `0<` for a word.
    numbers = {
        (operator.start, operator.start + len(operator.descriptor))
        for command in commands
        for operator, _ in command.redirects
    }
    for span in spans:
        if span in numbers:
            continue
        while position < len(commands) - 1 and span[0] >= commands[position + 1].start:
            position += 1
        groups[position].append(span)
    return groups


def _commands(tokens: list[Token]) -> list[_Command]:
    """Group words into simple commands.

    Raises:
        UnclearCommandError: Something is empty where a command has to be.
    """
    commands: list[_Command] = []
    current: _Command | None = None
    before = ";"
    waiting = list(reversed(tokens))
    while waiting:
        token = waiting.pop()
        if isinstance(token, Operator) and token.text in _SEPARATORS:
            before = _after_separator(token, current, before)
            if current is not None and token.text in {"|", "|&"}:
                current.in_pipe = True
            current = None
            continue
        if current is None:
            current = _Command(token.start, token.start, in_pipe=before in {"|", "|&"}, after=before)
            commands.append(current)
            if len(commands) > MAX_SEGMENTS:
                raise UnclearCommandError(f"has more than {MAX_SEGMENTS} commands")
        current.end = _add(current, token, waiting)
    if not commands or (current is None and before in _JOINING):
        raise UnclearCommandError("has no command to run")
    return commands


def _after_separator(token: Operator, current: _Command | None, before: str) -> str:
    if current is not None:
        return token.text
    # A new line may follow anything; the others need a command before them.
    if token.text != "\n":
        raise UnclearCommandError("has no command before a separator")
    return before


def _add(command: _Command, token: Token, waiting: list[Token]) -> int:
    if isinstance(token, Word):
        command.words.append(token)
        return token.end
    target = waiting.pop() if waiting else None
    if not isinstance(target, Word):
        raise UnclearCommandError("redirects to nothing")
    command.redirects.append((token, target))
    return target.end


def _segment(command: _Command, source: bytes, location: Location, *, is_bash: bool) -> tuple[Segment, Location]:
    """Return the verdict about one simple command, and where the next one runs."""
    text = source[command.start : command.end].decode("utf-8", "replace")
    for word in (*command.words, *(target for _, target in command.redirects)):
        word.value, word.pattern = _decoded(word.value), _decoded(word.pattern)
    words, reason = _without_prefix(command.words)
    reason = reason or _why_not_redirects(command, location) or _why_not_program(words[0].value, location)
    if reason is None and words[0].value == "cd" and words[0].is_static:
        return _change_directory(command, words[1:], text, location)
    n_prefix = len(command.words) - len(words)
    if reason is None:
        words, reason = _unwrapped(words, location)
    if reason is None and _is_check(words, location):
        return Segment(text, RiskVerdict.VERIFICATION, ("runs code of the repository to check it",)), location
    if reason is None and any(word.raw.startswith(_FOR_CHECKS) for word in command.words[:n_prefix]):
        reason = "sets a variable that only checks need"
    reason = reason or _why_not_command(words, location, is_bash=is_bash)
    if reason is None:
        return Segment(text, RiskVerdict.SAFE), location
    return Segment(text, RiskVerdict.DESTRUCTIVE, (_shown(reason),)), location


def _is_check(words: list[Word], location: Location) -> bool:
    """Tell whether a team has named the command, or whether it is a known check with harmless options."""
    if is_verification(location.context.verification, words):
        return True
    return not any(word.inner for word in words) and why_not_check(words, location) is None


def _shown(reason: str) -> str:
    """Names of files and settings end up in reasons, which are printed on one line."""
    return visible_text(reason).replace("\n", " ").replace("\t", " ")


def _decoded(value: str) -> str:
    return value.encode("latin-1").decode("utf-8")


def _without_prefix(words: list[Word]) -> tuple[list[Word], str | None]:
    """Take off `!` and harmless assignments before a command."""
    rest = list(words)
    if rest and rest[0].raw == "!":
        rest.pop(0)
    while rest and (found := _ASSIGNMENT.match(rest[0].raw)):
        word = rest.pop(0)
        if not word.is_static or not _is_harmless_variable(found[1], word.value[found.end() :], word.raw):
            return rest, f"sets {found[1]}"
    if not rest:
        return rest, "only sets variables"
    return rest, None


def _is_harmless_variable(name: str, value: str, raw: str) -> bool:
    if "[" in raw.partition("=")[0] or "+=" in raw:
        return False
    if name in {"LANG", "LANGUAGE"} or re.fullmatch(r"LC_[A-Z]+", name):
        return _LOCALE.fullmatch(value) is not None and ".." not in value
    if name == "TZ":
        return _ZONE.fullmatch(value) is not None
    if name == "GIT_OPTIONAL_LOCKS":
        return value == "0"
    if name in {"CI", "NO_COLOR", "RUST_BACKTRACE", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "NODE_ENV"}:
        return value in {"1", "true", "full", "test"}
    return False


def _why_not_redirects(command: _Command, location: Location) -> str | None:
    for operator, target in command.redirects:
        if not target.is_static:
            return f"redirects to {target.raw}, which is only known when it runs"
        if operator.text == "<":
            reason = (
                why_not_read(target.value, location) if operator.descriptor in {"", "0"} else "reads another descriptor"
            )
            if target.value.startswith("/") and not location.context.root:
                reason = reason or (None if target.value == "/dev/null" else "reads input from outside the repository")
        elif operator.text == ">&":
            is_copy = target.raw in {"1", "2"} and operator.descriptor in {"", "1", "2"}
            reason = None if is_copy else f"redirects to {target.value}"
        else:
            is_nowhere = target.value == "/dev/null" and operator.descriptor in {"", "1", "2"}
            reason = None if is_nowhere else f"writes {target.value}"
        if reason is not None:
            return reason
    return None


def _change_directory(command: _Command, words: list[Word], text: str, location: Location) -> tuple[Segment, Location]:
    options = [word for word in words if word.value in {"-L", "--"}]
    rest = [word for word in words if word not in options]
    reason = None
    if len(rest) != 1 or not rest[0].is_static or rest[0].value in {"", "-"} or rest[0].value.startswith("-"):
        reason = "changes to a directory that is only known when it runs"
    elif rest[0].value.startswith("/") and not location.context.root:
        reason = "changes to a directory outside the repository"
    elif _inherited("cd", location):
        reason = "CDPATH is set, so cd may go elsewhere"
    else:
        reason = why_not_read(rest[0].value, location)
    if reason is not None:
        return Segment(text, RiskVerdict.DESTRUCTIVE, (reason,)), location
    root = location.context.root.rstrip("/")
    path = rest[0].value
    if path.startswith("/") and path != root and not path.startswith(root + "/"):
        return Segment(text, RiskVerdict.DESTRUCTIVE, ("changes to a directory outside the repository",)), location
    moved = location.moved(path)
    # In a pipe the change is lost again, and after `!` the next one runs when it failed.
    is_doubtful = command.in_pipe or command.words[0].raw == "!"
    return Segment(text, RiskVerdict.SAFE), moved.in_doubt() if is_doubtful else moved


def _why_not_command(words: list[Word], location: Location, *, is_bash: bool) -> str | None:
    """Return what speaks against a command without prefix, None when it only reads."""
    name = words[0].value
    if words[0].has_glob or words[0].variables or words[0].inner:
        return "which program runs is only known when it runs"
    name = re.sub(r"^/(?:usr/)?bin/(?=[^/]+$)", "", name)
    reason = _why_not_program(name, location)
    reason = reason or _why_not_inner(name, words, location, is_bash=is_bash)
    if reason is not None:
        return reason
    if is_named(location.context.read_only, words):
        return None
    if asks_for_version([replace(words[0], value=name), *words[1:]], _ANSWERING):
        inherited = _inherited("--version", location)
        return f"the inherited variable {inherited} changes what it does" if inherited else None
    return _why_not_named(name, words, location, is_bash=is_bash)


def _why_not_inner(name: str, words: list[Word], location: Location, *, is_bash: bool) -> str | None:
    """Return what speaks against the commands whose output becomes words of this one."""
    for word in words:
        if not word.inner:
            continue
        if name not in ({*READERS, "echo"} if word.is_listing else {"git"}):
            return f"passes the output of {word.inner} to {name[:60]}"
        inner = [one for one in read_tokens(word.inner, is_bash=is_bash) if isinstance(one, Word)]
        reason = _why_not_command(inner, location, is_bash=is_bash)
        for operand in inner[2:]:
            reason = reason or why_not_operand(operand, location, is_git=True)
        if reason is not None:
            return reason
    return None


def _why_not_named(  # noqa: C901, PLR0911, PLR0912 - one line per program with rules of its own.
    name: str, words: list[Word], location: Location, *, is_bash: bool
) -> str | None:
    rest = words[1:]
    if name in READERS:
        return why_not_safe(READERS[name], rest, location)
    if (found := reader_of(words)) is not None:
        return why_not_safe(found[0], found[1], location)
    if name == "ps":
        return why_not_ps(rest)
    if name == "printenv":
        return why_not_printenv(rest)
    if name in {"ulimit", "umask", "dirs", "jobs"}:
        is_question = not rest or (len(rest) == 1 and rest[0].raw in _QUESTIONS[name])
        return None if is_question else f"{name} in this form changes the shell"
    if name == "git":
        return why_not_git(rest, location)
    if name == "find":
        return why_not_find(rest, location)
    if name == "sed":
        return why_not_sed(rest, location)
    if name == "awk":
        return why_not_awk(rest, location)
    if name == "jq":
        return why_not_jq(rest, location)
    if name == "yq":
        return why_not_yq(rest, location)
    if name == "echo":
        return why_not_echo(rest, is_bash=is_bash)
    if name == "printf":
        return why_not_printf(rest)
    if name == "type":
        return why_not_type(rest)
    if name in {"true", "false", ":"}:
        return why_not_echo(rest)
    if name == "env":
        return "env runs another command" if rest else None
    if name == "test":
        return why_not_test(rest, location)
    if name == "[" or (name == "[[" and is_bash):
        is_closed = bool(rest) and rest[-1].raw == {"[": "]", "[[": "]]"}[name]
        return why_not_test(rest[:-1], location) if is_closed else "has a test without its closing bracket"
    return why_not_check(words, location) or consequence(name, rest)


def _unwrapped(words: list[Word], location: Location) -> tuple[list[Word], str | None]:
    """Take off wrappers that only run their operands: time, command, nice, timeout."""
    rest = list(words)
    for _ in range(4):
        reason = _why_not_program(rest[0].value, location) if rest else None
        if reason is not None:
            return rest, reason
        name = rest[0].value if rest and rest[0].is_static else ""
        is_bare = len(rest) > 1 and not rest[1].value.startswith("-")
        if name in {"time", "command", "nice"} and is_bare:
            rest = rest[1:]
        elif name == "nice" and len(rest) > 3 and rest[1].value == "-n" and rest[2].value.isdigit():
            rest = rest[3:]
        elif len(rest) > 2 and rest[1].is_static and _is_own_word(name, rest[1].value):
            rest = rest[2:]
        elif name == "command" and len(rest) == 3 and rest[1].value in {"-v", "-V"} and rest[2].is_static:
            return [Word(rest[0].start, rest[0].end, "true", "true")], None
        else:
            break
    if rest and rest[0].value in {"cd", "time", "command", "nice", "timeout", "[", "[["} and len(rest) < len(words):
        return rest, "wraps a command that cannot be checked there"
    return rest, None


def _is_own_word(wrapper: str, value: str) -> bool:
    """Tell whether a word after a wrapper belongs to it: how long it may take, or how time is shown."""
    if wrapper == "time":
        return value == "-p"
    return wrapper == "timeout" and _DURATION.fullmatch(value) is not None


def _why_not_program(name: str, location: Location) -> str | None:
    inherited = _inherited(name, location)
    if inherited:
        return f"the inherited variable {inherited} changes what it does"
    for program in (name, _LOOKS_UP.get(name, name)):
        if program in location.context.shadowed:
            return f"the repository or a shared directory has its own {program}, which would run instead"
    return None


def _inherited(name: str, location: Location) -> str:
    """Return an inherited variable that changes what a program does, empty when there is none."""
    own = tuple(prefix for prefixes in _PROGRAM_VARIABLES.values() for prefix in prefixes)
    for variable in location.context.variables:
        if not variable.startswith(own) or variable.startswith(_PROGRAM_VARIABLES.get(name, ())):
            return variable
    return ""
