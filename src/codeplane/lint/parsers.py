"""Parsers of what tools print. Each takes standard output and standard error and returns what was reported.

Output is data from a program: a parser raises `UnreadableOutputError` for what does not have the expected form, and
nothing else.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from codeplane.lint.model import ERROR, NOTE, WARNING, Parser, Reported, UnreadableOutputError

_LINE: Final = re.compile(
    r"(?P<path>(?:[A-Za-z]:)?[^\s:][^:\n]*):(?P<line>\d+)(?::(?P<column>\d+))?:?[ \t]+(?P<message>\S.*)"
)
_SEVERITY_WORD: Final = re.compile(
    r"\[?(?P<word>fatal error|error|warning|warn|note|info|style)\]?:?[ \t]+", re.IGNORECASE
)
_RULE_FIRST: Final = re.compile(r"(?P<rule>[A-Z]+\d+)[ \t:]+(?P<message>.+)")
_RULE_LAST: Final = re.compile(r"(?P<message>.+?)[ \t]+[(\[](?P<rule>[\w./@-]+)[)\]]")
_TSC: Final = re.compile(
    r"(?P<path>[^\n(]+)\((?P<line>\d+),(?P<column>\d+)\): (?P<word>\w+) (?P<rule>TS\d+): (?P<message>.+)"
)
_GITHUB: Final = re.compile(r"::(?P<word>error|warning|notice)[ ](?P<facts>[^\n]*?)::(?P<message>.*)")
_SEVERITIES: Final = {
    "error": ERROR, "fatal error": ERROR, "fatal": ERROR, "failure-note": NOTE, "warning": WARNING, "warn": WARNING,
    "convention": WARNING, "refactor": WARNING, "style": NOTE, "info": NOTE, "information": NOTE, "note": NOTE,
    "notice": NOTE, "help": NOTE, "hint": NOTE,
}  # fmt: skip


def severity_of(word: object) -> str:
    """Return our word for a tool's severity; what is not known is an error."""
    return _SEVERITIES.get(str(word).lower(), ERROR)


def _reading(parse: Callable[[str, str], Iterator[Reported]]) -> Parser:
    """Return a parser that turns every wrong form of a document into one exception."""

    def read(stdout: str, stderr: str) -> list[Reported]:
        try:
            return list(parse(stdout, stderr))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            raise UnreadableOutputError(str(error)) from error

    return read


def _document(text: str) -> Any:
    """Return a JSON document; nothing at all is an empty list."""
    return json.loads(text) if text.strip() else []


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def lines(stdout: str, stderr: str) -> list[Reported]:
    """Read `path:line:column: message`, with a severity before the message and a rule at either end of it."""
    found = []
    for line in (stdout + "\n" + stderr).split("\n"):
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            continue
        message, severity, rule = match["message"], ERROR, ""
        if (word := _SEVERITY_WORD.match(message)) is not None:
            message, severity = message[word.end() :], severity_of(word["word"])
        if (named := _RULE_FIRST.fullmatch(message) or _RULE_LAST.fullmatch(message)) is not None:
            message, rule = named["message"], named["rule"]
        found.append(Reported(match["path"], int(match["line"]), int(match["column"] or 0), rule, message, severity))
    return found


@_reading
def ruff(stdout: str, _stderr: str) -> Iterator[Reported]:
    """Read `ruff check --output-format=json`."""
    for one in _document(stdout):
        place, fix = one["location"], one.get("fix") or {}
        # A file that cannot be parsed has no rule.
        yield Reported(
            one["filename"], place["row"], place["column"], one.get("code") or "syntax", one["message"],
            fixable=fix.get("applicability") == "safe",
        )  # fmt: skip


@_reading
def mypy(stdout: str, _stderr: str) -> Iterator[Reported]:
    """Read `mypy --output=json`: one object per line; notes belong to the error before them."""
    for line in stdout.split("\n"):
        if line.startswith("{"):
            one = json.loads(line)
            # Columns are counted from 0.
            yield Reported(
                one["file"], _number(one["line"]), one["column"] + 1, one.get("code") or "", one["message"],
                severity_of(one["severity"]),
            )  # fmt: skip


@_reading
def pyright(stdout: str, _stderr: str) -> Iterator[Reported]:
    """Read `pyright --outputjson`."""
    for one in json.loads(stdout)["generalDiagnostics"]:
        start = one.get("range", {}).get("start", {"line": -1, "character": -1})
        yield Reported(
            one["file"], start["line"] + 1, start["character"] + 1, one.get("rule", ""), one["message"],
            severity_of(one["severity"]),
        )  # fmt: skip


@_reading
def eslint(stdout: str, _stderr: str) -> Iterator[Reported]:
    """Read `eslint --format json`; that a file is ignored is not a finding."""
    for file in json.loads(stdout):
        for one in file["messages"]:
            if one.get("ruleId") is None and one["message"].startswith("File ignored "):
                continue
            yield Reported(
                file["filePath"], _number(one.get("line")), _number(one.get("column")), one.get("ruleId") or "syntax",
                one["message"], ERROR if one["severity"] == 2 else WARNING, "fix" in one,
            )  # fmt: skip


def eslint_fixed(stdout: str) -> str | None:
    """Return the repaired text of `eslint --fix-dry-run --format json`; None when nothing was repaired."""
    output = json.loads(stdout)[0].get("output")
    return output if isinstance(output, str) else None


@_reading
def stylelint(stdout: str, stderr: str) -> Iterator[Reported]:
    """Read `stylelint --formatter json`; newer versions print it to standard error."""
    for file in json.loads(stdout if stdout.strip() else stderr):
        for one in file["warnings"]:
            yield Reported(
                file["source"], _number(one.get("line")), _number(one.get("column")), one["rule"], one["text"],
                severity_of(one["severity"]),
            )  # fmt: skip


@_reading
def github(stdout: str, _stderr: str) -> Iterator[Reported]:
    """Read annotations such as `::error title=rule,file=a.ts,line=1,col=2::message` (biome)."""
    for line in stdout.split("\n"):
        match = _GITHUB.fullmatch(line.strip())
        if match is None:
            continue
        facts = dict(part.partition("=")[::2] for part in match["facts"].split(","))
        yield Reported(
            _unescaped(facts["file"]), int(facts.get("line") or 0), int(facts.get("col") or 0),
            facts.get("title", ""), _unescaped(match["message"]), severity_of(match["word"]),
        )  # fmt: skip


def _unescaped(text: str) -> str:
    for code, character in (("%0A", " "), ("%0D", ""), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def tsc(stdout: str, _stderr: str) -> list[Reported]:
    """Read `tsc --pretty false`: `path(line,column): error TS1: message`; indented lines explain the one before."""
    return [
        Reported(
            one["path"], int(one["line"]), int(one["column"]), one["rule"], one["message"], severity_of(one["word"])
        )
        for line in stdout.split("\n")
        if (one := _TSC.fullmatch(line.rstrip())) is not None
    ]


@_reading
def go_vet(stdout: str, stderr: str) -> Iterator[Reported]:
    """Read `go vet -json`: objects by package and analyzer; what does not compile is in lines of standard error."""
    text = "\n".join(line for line in f"{stdout}\n{stderr}".split("\n") if line[:1] in {"{", "}", "\t", " "})
    for package in _objects(text):
        for analyzer, found in package.items():
            # An analyzer that failed has an object with its error in place of the list.
            for one in found if isinstance(found, list) else ():
                path, line, column = one["posn"].rsplit(":", 2)
                yield Reported(path, int(line), int(column), analyzer, one["message"])
    for one in lines("", stderr.replace("vet: ", "")):
        yield Reported(one.path, one.line, one.column, "compile", one.message)


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield what is reported about each package, from JSON documents one after the other."""
    decoder, at = json.JSONDecoder(), 0
    while (at := _next_object(text, at)) < len(text):
        document, at = decoder.raw_decode(text, at)
        yield from document.values()


def _next_object(text: str, at: int) -> int:
    found = text.find("{", at)
    return found if found >= 0 else len(text)


@_reading
def clippy(stdout: str, _stderr: str) -> Iterator[Reported]:
    """Read `cargo clippy --message-format=json`: the messages of the compiler that have a place."""
    for line in stdout.split("\n"):
        document = json.loads(line) if line.startswith("{") else {}
        one = document.get("message") if document.get("reason") == "compiler-message" else None
        span = next((span for span in one["spans"] if span["is_primary"]), None) if one else None
        if one is not None and span is not None:
            code = (one.get("code") or {}).get("code", "")
            yield Reported(
                span["file_name"], span["line_start"], span["column_start"], code, one["message"],
                severity_of(one["level"]),
            )  # fmt: skip


@_reading
def shellcheck(stdout: str, _stderr: str) -> Iterator[Reported]:
    """Read `shellcheck -f json`."""
    for one in _document(stdout):
        yield Reported(
            one["file"], one["line"], one["column"], f"SC{one['code']}", one["message"], severity_of(one["level"])
        )


@_reading
def hadolint(stdout: str, _stderr: str) -> Iterator[Reported]:
    """Read `hadolint -f json`."""
    for one in _document(stdout):
        yield Reported(one["file"], one["line"], one["column"], one["code"], one["message"], severity_of(one["level"]))


@_reading
def markdownlint(stdout: str, stderr: str) -> Iterator[Reported]:
    """Read `markdownlint --json`, which is printed to standard error."""
    for one in _document(stderr if stderr.strip() else stdout):
        detail = f" ({one['errorDetail']})" if one.get("errorDetail") else ""
        column = (one.get("errorRange") or [0])[0]
        yield Reported(
            one["fileName"], one["lineNumber"], column, one["ruleNames"][0], one["ruleDescription"] + detail, WARNING
        )


@_reading
def rubocop(stdout: str, _stderr: str) -> Iterator[Reported]:
    """Read `rubocop --format json`."""
    for file in json.loads(stdout)["files"]:
        for one in file["offenses"]:
            place = one["location"]
            yield Reported(
                file["path"], place["line"], place["column"], one["cop_name"], one["message"],
                severity_of(one["severity"]), bool(one.get("correctable")),
            )  # fmt: skip
