"""Every tool's output is read; what has another form is refused, never misread."""

from dataclasses import astuple

import pytest

from codeplane.lint.catalog import TOOLS
from codeplane.lint.model import Tool, UnreadableOutputError
from codeplane.lint.parsers import eslint_fixed, lines
from lint.recorded import ROWS, Row

PARSED = {tool.name: tool for tool in TOOLS if tool.parse is not None}
# Tools whose output is one JSON document or nothing.
DOCUMENTS = ("ruff", "pyright", "eslint", "stylelint", "shellcheck", "hadolint", "markdownlint", "rubocop")


def _parse(tool: Tool, stdout: str, stderr: str = "") -> list[tuple[object, ...]]:
    assert tool.parse is not None
    return [astuple(one) for one in tool.parse(stdout, stderr)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.tool)
def test_recorded_output_is_read(row: Row) -> None:
    assert _parse(PARSED[row.tool], row.stdout, row.stderr) == row.found


def test_every_tool_with_a_parser_has_recorded_output() -> None:
    assert {row.tool for row in ROWS} == set(PARSED)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("text", ["Traceback", "[{}]", '{"x": 1}', "[1]", '[{"file', "[" * 100_000])
def test_a_document_of_another_form_is_unreadable(name: str, text: str) -> None:
    with pytest.raises(UnreadableOutputError):
        _parse(PARSED[name], text)


@pytest.mark.parametrize("name", sorted(set(PARSED) - set(DOCUMENTS)))
@pytest.mark.parametrize("text", ["", "Oh no!\n", ":\n::\n:::1:\n", "\x00\x1b[31m\n", "Found 1 error in 1 file\n"])
def test_lines_of_another_form_are_not_findings(name: str, text: str) -> None:
    assert _parse(PARSED[name], text) == []


@pytest.mark.parametrize("name", ["mypy", "clippy", "go vet"])
def test_half_an_object_is_unreadable(name: str) -> None:
    with pytest.raises(UnreadableOutputError):
        _parse(PARSED[name], '{"file": "a.py", "li')


def test_lines_are_read_with_and_without_column_severity_and_rule() -> None:
    text = "a.c:3: warning: unused\na.c:3:4: error: bad [x-y]\nC:/a.c:1:2: note: seen\n a.c:1: indented\n"
    assert [(one.path, one.line, one.column, one.rule, one.message, one.severity) for one in lines(text, "")] == [
        ("a.c", 3, 0, "", "unused", "warning"),
        ("a.c", 3, 4, "x-y", "bad", "error"),
        ("C:/a.c", 1, 2, "", "seen", "note"),
    ]


def test_a_repaired_text_is_taken_from_eslint() -> None:
    assert eslint_fixed('[{"messages": [], "output": "const a;"}]') == "const a;"
    assert eslint_fixed('[{"messages": []}]') is None
