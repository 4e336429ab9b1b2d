"""What tools print, one row per tool: recorded output, and what has to be read from it.

Rows of ruff, mypy, eslint, tsc, go vet and clippy are cut from real runs; the others follow the tools' documentation.
"""

import json
from typing import Any, NamedTuple


class Row(NamedTuple):
    """Output of a tool; `found` are path, line, column, rule, message, severity and whether it can be repaired."""

    tool: str
    stdout: str
    found: list[tuple[str, int, int, str, str, str, bool]]
    stderr: str = ""


def _ruff(row: int, code: str | None, message: str, applicability: str | None) -> dict[str, Any]:
    fix = {"applicability": applicability, "edits": [], "message": "x"} if applicability else None
    place = {"row": row, "column": 8}
    return {"code": code, "filename": "/r/a.py", "fix": fix, "location": place, "message": message, "cell": None}


def _clippy(level: str, code: str | None, message: str, line: int) -> str:
    span = {"file_name": "src/lib.rs", "line_start": line, "column_start": 5, "is_primary": True}
    other = {"file_name": "src/other.rs", "line_start": 1, "column_start": 1, "is_primary": False}
    inner = {"code": {"code": code} if code else None, "level": level, "message": message, "spans": [other, span]}
    return json.dumps({"reason": "compiler-message", "message": inner})


def _rubocop(line: int, cop: str, message: str, severity: str, *, correctable: bool) -> dict[str, Any]:
    place = {"start_line": line, "start_column": 3, "line": line, "column": 3, "length": 4}
    return {
        "severity": severity, "message": message, "cop_name": cop, "corrected": False, "correctable": correctable,
        "location": place,
    }  # fmt: skip


MYPY = [
    {"file": "a.py", "line": 2, "column": 9, "message": 'has type "str"', "hint": None, "code": "assignment",
     "severity": "error"},
    {"file": "a.py", "line": 3, "column": 0, "message": "See docs", "hint": None, "code": None, "severity": "note"},
]  # fmt: skip
ESLINT = [
    {"filePath": "/r/a.js", "messages": [
        {"ruleId": "prefer-const", "severity": 2, "message": "'a' is never reassigned.", "line": 1, "column": 5,
         "fix": {"range": [0, 9], "text": "const a = 1"}},
        {"ruleId": "semi", "severity": 1, "message": "Missing semicolon.", "line": 1, "column": 10},
        {"ruleId": None, "fatal": True, "severity": 2, "message": "Parsing error: x", "line": 4, "column": 2},
    ]},
    {"filePath": "/r/b.js", "messages": []},
    {"filePath": "/r/c.ts", "messages": [
        {"ruleId": None, "fatal": False, "severity": 1, "message": "File ignored because no matching configuration."},
    ]},
]  # fmt: skip
PYRIGHT = {"version": "1.1", "generalDiagnostics": [
    {"file": "/r/a.py", "severity": "error", "message": "not defined\n  more", "rule": "reportUndefinedVariable",
     "range": {"start": {"line": 4, "character": 2}, "end": {"line": 4, "character": 5}}},
    {"file": "/r/a.py", "severity": "information", "message": "whole file"},
]}  # fmt: skip
STYLELINT = [{"source": "/r/a.css", "warnings": [
    {"line": 2, "column": 3, "rule": "color-no-invalid-hex", "severity": "error", "text": "Unexpected hex"},
    {"line": 5, "column": 1, "rule": "block-no-empty", "severity": "warning", "text": "Unexpected empty block"},
]}]  # fmt: skip
GO_VET = {"ex": {"printf": [{"posn": "/r/a.go:6:14", "end": "/r/a.go:6:16", "message": 'format %d has arg "x"'}],
                 "assign": [{"posn": "/r/b.go:9:2", "message": "self-assignment of x"}]}}  # fmt: skip
SHELLCHECK = [
    {"file": "x.sh", "line": 3, "endLine": 3, "column": 6, "level": "info", "code": 2086, "message": "Double quote",
     "fix": None},
    {"file": "x.sh", "line": 9, "column": 1, "level": "error", "code": 1072, "message": "Expected done", "fix": None},
]  # fmt: skip
HADOLINT = [
    {"line": 1, "code": "DL3006", "message": "Always tag the version", "column": 1, "file": "Dockerfile",
     "level": "warning"},
    {"line": 4, "code": "SC2046", "message": "Quote this", "column": 1, "file": "Dockerfile", "level": "style"},
]  # fmt: skip
MARKDOWNLINT = [
    {"fileName": "a.md", "lineNumber": 3, "ruleNames": ["MD009", "no-trailing-spaces"],
     "ruleDescription": "Trailing spaces", "errorDetail": "Expected: 0; Actual: 1", "errorRange": [5, 1]},
    {"fileName": "a.md", "lineNumber": 1, "ruleNames": ["MD041"], "ruleDescription": "First line", "errorRange": None},
]  # fmt: skip
RUBOCOP = {"files": [{"path": "a.rb", "offenses": [
    _rubocop(2, "Style/StringLiterals", "Prefer single-quoted", "convention", correctable=True),
    _rubocop(7, "Lint/Syntax", "unexpected token", "fatal", correctable=False),
]}, {"path": "b.rb", "offenses": []}]}  # fmt: skip

ROWS = (
    Row(
        "ruff",
        json.dumps([_ruff(1, "F401", "`os` imported", "safe"), _ruff(2, "B006", "mutable", "unsafe"),
                    _ruff(3, None, "SyntaxError: x", None)]),
        [("/r/a.py", 1, 8, "F401", "`os` imported", "error", True), ("/r/a.py", 2, 8, "B006", "mutable", "error", False),
         ("/r/a.py", 3, 8, "syntax", "SyntaxError: x", "error", False)],
    ),
    Row(
        "flake8",
        "./a.py:1:1: F401 'os' imported but unused\nsub dir/b.py:10:80: E501 line too long (90 > 79 characters)\n",
        [("./a.py", 1, 1, "F401", "'os' imported but unused", "error", False),
         ("sub dir/b.py", 10, 80, "E501", "line too long (90 > 79 characters)", "error", False)],
    ),
    Row(
        "mypy", "".join(f"{json.dumps(one)}\n" for one in MYPY),
        [("a.py", 2, 10, "assignment", 'has type "str"', "error", False), ("a.py", 3, 1, "", "See docs", "note", False)],
    ),
    Row(
        "pyright", json.dumps(PYRIGHT),
        [("/r/a.py", 5, 3, "reportUndefinedVariable", "not defined\n  more", "error", False),
         ("/r/a.py", 0, 0, "", "whole file", "note", False)],
    ),
    Row(
        "eslint", json.dumps(ESLINT),
        [("/r/a.js", 1, 5, "prefer-const", "'a' is never reassigned.", "error", True),
         ("/r/a.js", 1, 10, "semi", "Missing semicolon.", "warning", False),
         ("/r/a.js", 4, 2, "syntax", "Parsing error: x", "error", False)],
    ),
    Row(
        "tsc",
        "b.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.\n"
        "  Types of property 'x' are incompatible.\nsrc/c d.ts(2,1): error TS2304: Cannot find name 'foo'.\n",
        [("b.ts", 1, 7, "TS2322", "Type 'string' is not assignable to type 'number'.", "error", False),
         ("src/c d.ts", 2, 1, "TS2304", "Cannot find name 'foo'.", "error", False)],
    ),
    Row(
        "biome",
        "::error title=lint/suspicious/noDoubleEquals,file=a.ts,line=4,endLine=4,col=3,endColumn=5::Use === instead\n"
        "Checked 2 files.\n::warning title=lint/style/useConst,file=src/b%2Cc.ts,line=1,col=1::50%25 sure%0Aof it\n",
        [("a.ts", 4, 3, "lint/suspicious/noDoubleEquals", "Use === instead", "error", False),
         ("src/b,c.ts", 1, 1, "lint/style/useConst", "50% sure of it", "warning", False)],
    ),
    Row(
        "stylelint", "",
        [("/r/a.css", 2, 3, "color-no-invalid-hex", "Unexpected hex", "error", False),
         ("/r/a.css", 5, 1, "block-no-empty", "Unexpected empty block", "warning", False)],
        stderr=json.dumps(STYLELINT),
    ),
    Row(
        "go vet", json.dumps(GO_VET, indent="\t"),
        [("/r/a.go", 6, 14, "printf", 'format %d has arg "x"', "error", False),
         ("/r/b.go", 9, 2, "assign", "self-assignment of x", "error", False),
         ("./c.go", 3, 12, "compile", "undefined: y", "error", False)],
        stderr="# ex\nvet: ./c.go:3:12: undefined: y\n",
    ),
    Row(
        "golangci-lint",
        "a.go:5:2: ineffectual assignment to x (ineffassign)\n\tx = 1\n\t^\nb/c.go:9: exported F should have comment (revive)\n"
        "2 issues:\n* ineffassign: 1\n",
        [("a.go", 5, 2, "ineffassign", "ineffectual assignment to x", "error", False),
         ("b/c.go", 9, 0, "revive", "exported F should have comment", "error", False)],
    ),
    Row(
        "clippy",
        "\n".join([_clippy("warning", "clippy::len_zero", "length comparison to zero", 1),
                   _clippy("error", "E0425", "cannot find value `x`", 7),
                   json.dumps({"reason": "build-finished", "success": False}),
                   json.dumps({"reason": "compiler-message", "message": {
                       "code": None, "level": "warning", "message": "2 warnings emitted", "spans": []}})]),
        [("src/lib.rs", 1, 5, "clippy::len_zero", "length comparison to zero", "warning", False),
         ("src/lib.rs", 7, 5, "E0425", "cannot find value `x`", "error", False)],
    ),
    Row(
        "shellcheck", json.dumps(SHELLCHECK),
        [("x.sh", 3, 6, "SC2086", "Double quote", "note", False), ("x.sh", 9, 1, "SC1072", "Expected done", "error", False)],
    ),
    Row(
        "hadolint", json.dumps(HADOLINT),
        [("Dockerfile", 1, 1, "DL3006", "Always tag the version", "warning", False),
         ("Dockerfile", 4, 1, "SC2046", "Quote this", "note", False)],
    ),
    Row(
        "yamllint",
        'a.yml:1:1: [warning] missing document start "---" (document-start)\nb.yml:6:2: [error] too many spaces (braces)\n',
        [("a.yml", 1, 1, "document-start", 'missing document start "---"', "warning", False),
         ("b.yml", 6, 2, "braces", "too many spaces", "error", False)],
    ),
    Row(
        "markdownlint", "",
        [("a.md", 3, 5, "MD009", "Trailing spaces (Expected: 0; Actual: 1)", "warning", False),
         ("a.md", 1, 0, "MD041", "First line", "warning", False)],
        stderr=json.dumps(MARKDOWNLINT),
    ),
    Row(
        "rubocop", json.dumps(RUBOCOP),
        [("a.rb", 2, 3, "Style/StringLiterals", "Prefer single-quoted", "warning", True),
         ("a.rb", 7, 3, "Lint/Syntax", "unexpected token", "error", False)],
    ),
)  # fmt: skip
