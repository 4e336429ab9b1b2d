"""Search is complete: the same lines as grep, for any literal, and the same as `re` for expressions."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.clock import SystemClock
from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import RandomIds
from codeplane.index.text_search import LineHit, TextQuery, find_lines
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace
from support.effort import examples
from support.repositories import make_repository, write

_ALPHABET = "ab_A1 .(:->\té\u4e2d\r"
_text = st.text(_ALPHABET + "\n", max_size=120)


def _search(root: Path, query: TextQuery) -> list[LineHit]:
    with open_workspace(WorkspaceRequest(root, (), SystemClock(), RandomIds())) as workspace:
        workspace.index.refresh()
        return list(find_lines(workspace.index.state(), query, None))


def _grep(root: Path, needle: str) -> set[tuple[str, int]]:
    names = sorted(path.name for path in root.glob("f*"))
    command = ["grep", "-n", "-H", "-a", "-F", "-e", needle, *names]
    output = subprocess.run(command, cwd=root, capture_output=True, check=False, env={"LC_ALL": "C"}).stdout
    rows = [line.split(b":", 2) for line in output.split(b"\n") if line]
    return {(row[0].decode(), int(row[1])) for row in rows}


@examples(15)
@given(texts=st.lists(_text, min_size=1, max_size=4), needle=st.text(_ALPHABET, min_size=1, max_size=4))
def test_a_literal_finds_the_same_lines_as_grep(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], needle: str
) -> None:
    root = make_repository(tmp_path_factory.mktemp("r") / "repo", {"keep": "x\n"})
    write(root, {f"f{i}.txt": text.encode() for i, text in enumerate(texts)})
    found = {(hit.path, hit.line) for hit in _search(root, TextQuery(needle)) if hit.path.startswith("f")}
    assert found == _grep(root, needle)


@pytest.mark.parametrize(
    ("query", "pattern"),
    [
        (TextQuery(r"line_1\d = ", is_regex=True), r"line_1\d = "),
        (TextQuery(r"^def ", is_regex=True), r"^def "),
        (TextQuery(r"\d$", is_regex=True), r"\d$"),
        (TextQuery("LINE_7 ", ignore_case=True), "(?i)line_7 "),
        (TextQuery("one", whole_word=True), r"\bone\b"),
        (TextQuery(r"[^a]", is_regex=True), r"[^a\n]"),
    ],
)
def test_an_expression_finds_the_same_lines_as_the_standard_library(repo: Path, query: TextQuery, pattern: str) -> None:
    expected = {
        (path.relative_to(repo).as_posix(), number)
        for path in sorted(repo.rglob("*"))
        if path.is_file() and ".git" not in path.parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(pattern, line)
    }
    assert {(hit.path, hit.line) for hit in _search(repo, query)} == expected


def test_code_comes_before_tests_and_tests_before_prose(repo: Path) -> None:
    write(repo, {"a.md": "needle\n", "tests/test_a.py": "needle\n", "zz.py": "needle\n"})
    assert [hit.path for hit in _search(repo, TextQuery("needle"))] == ["zz.py", "tests/test_a.py", "a.md"]


def test_columns_count_characters(repo: Path) -> None:
    write(repo, {"a.py": "x = 'é中' + needle\n"})
    assert [(hit.line, hit.column) for hit in _search(repo, TextQuery("needle"))] == [(1, 11)]


def test_a_long_line_is_cut_around_its_match(repo: Path) -> None:
    write(repo, {"a.js": "x" * 5000 + "needle" + "y" * 5000 + "\n"})
    hit = _search(repo, TextQuery("needle"))[0]
    assert (len(hit.snippet) <= 160, "needle" in hit.snippet) == (True, True)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (TextQuery(""), "empty"),
        (TextQuery("a\nb"), "more than one line"),
        (TextQuery("(", is_regex=True), "not valid"),
        (TextQuery("(?=x)", is_regex=True), "not valid"),
    ],
)
def test_a_query_that_cannot_be_searched_says_why(repo: Path, query: TextQuery, message: str) -> None:
    with pytest.raises(CodePlaneError, match=message):
        _search(repo, query)


def test_an_expression_that_would_explode_elsewhere_ends(repo: Path) -> None:
    write(repo, {"a.txt": "a" * 100_000 + "\n"})
    assert _search(repo, TextQuery("(a+)+b", is_regex=True)) == []
