"""`search` against hostile questions and a tree that moves: an answer, a named refusal, never a wrong line."""

import contextlib
import itertools
import json
import random
import re
import shutil
import sysconfig
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.errors import CodePlaneError
from codeplane.index import text_search, update
from codeplane.index.lexical_index import LexicalIndex
from codeplane.index.reconcile import IndexState
from codeplane.index.text_search import TextQuery, find_lines
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.cursors import make_cursor, read_cursor
from codeplane.operations.map_repo import MapRepoRequest
from codeplane.operations.perform import Door
from codeplane.operations.search_models import SearchRequest
from support.doors import call, error_of, open_test_workspace, result_of
from support.effort import repeated
from support.repositories import git, make_repository, write


def all_pages(door: Door, **arguments: object) -> list[dict[str, Any]]:
    """Return the hits of all pages."""
    found: list[dict[str, Any]] = []
    while True:
        result = result_of(call(door, "search", arguments))
        found += result["results"]
        cursor = result["pagination"].get("next_cursor")
        if cursor is None:
            return found
        arguments["cursor"] = cursor


# Complete, whatever is asked.


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """Return the door of a repository with some real packages, and a file of odd characters."""
    root = tmp_path_factory.mktemp("library") / "repo"
    for name in ("json", "email", "html"):
        source = Path(sysconfig.get_paths()["stdlib"]) / name
        shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    odd = "".join(
        f"{chr(32 + i % 90)}\tÄ{i}é 中文{i % 7} \u00a0\u2028x\x0b\x0cy" + ("\r\n" if i % 3 else "\r\r\n")
        for i in range(300)
    )
    (root / "odd.txt").write_bytes(odd.encode())
    make_repository(root, {})
    with open_test_workspace(root) as workspace:
        yield Door(workspace, OPERATIONS)


def _literals(door: Door, count: int) -> list[str]:
    """Draw parts of lines: of words, of punctuation, single characters."""
    chance = random.Random("literals")
    files = sorted(path for path in door.workspace.root.rglob("*") if path.is_file() and ".git" not in path.parts)
    texts = [path.read_bytes().decode("utf-8", "replace") for path in files if path.suffix in {".py", ".txt"}]
    pool = [line for text in texts for line in text.split("\n") if line]
    found = ["\t", "é", "中文3", "\u2028", "\u00a0", "):", "__", " = ", "\x0c", "%", "\\", '"', "-", "\r"]
    while len(found) < count:
        line = chance.choice(pool)
        start = chance.randrange(len(line))
        found.append(line[start : start + chance.choice((1, 2, 3, 5, 8, 13, 40))])
    return found


def _lines_with(root: Path, paths: list[str], literal: str) -> set[tuple[str, int]]:
    needle = literal.encode()
    return {
        (path, number)
        for path in paths
        for number, line in enumerate((root / path).read_bytes().split(b"\n"), start=1)
        if needle in line
    }


@pytest.mark.slow
def test_literals_find_every_line_of_a_real_tree(library: Door) -> None:
    call(library, "search", {"query": "x"})
    state = library.workspace.index.state()
    paths = [path for path, file in state.files.items() if file.text_id is not None]
    assert len(paths) > 30
    for literal in _literals(library, repeated(20)):
        expected = _lines_with(library.workspace.root, paths, literal)
        if len(expected) > 400:
            # So many pages take long and show nothing that fewer do not.
            found = [(hit.path, hit.line) for hit in find_lines(state, TextQuery(literal), None)]
        else:
            found = [(hit["path"], hit["line"]) for hit in all_pages(library, query=literal, limit=100)]
        assert len(found) == len(set(found)), repr(literal)
        assert set(found) == expected, repr(literal)


@pytest.mark.parametrize("options", [{"ignore_case": True}, {"regex": True}, {"whole_word": True}])
def test_other_ways_to_ask_for_a_name_find_every_line(library: Door, options: dict[str, object]) -> None:
    call(library, "search", {"query": "x"})
    for name in ("policy", "JSONDecodeError", "_charref", "def"):
        exact = {(hit["path"], hit["line"]) for hit in all_pages(library, query=name, limit=100)}
        found = {(hit["path"], hit["line"]) for hit in all_pages(library, query=name, limit=100, **options)}
        if "whole_word" in options:
            word = re.compile(rf"\b{name}\b")
            root = library.workspace.root
            exact = {one for one in exact if word.search((root / one[0]).read_text().split("\n")[one[1] - 1])}
        assert found >= exact if "ignore_case" in options else found == exact


@pytest.mark.parametrize(
    ("line", "word", "is_there"),
    [
        ("x = élan", "élan", True),
        ("x = éclair", "clair", False),
        ("größe = 1", "größe", True),
        ("größe = 1", "gr", False),
        ("中文 = 1", "中文", True),
        ("中文字 = 1", "中文", False),
        ("f(--flag)", "--flag", True),
        ("f(--flags)", "--flag", False),
        ("naming name", "name", True),
        ("name", "name", True),
        ("a_name", "name", False),
        ("e\u0301a", "a", False),
    ],
)
def test_whole_words_are_words_of_any_script(door: Door, line: str, word: str, is_there: bool) -> None:
    write(door.workspace.root, {"words.txt": f"first\n{line}\n"})
    scope = {"paths": ["words.txt"]}
    found = result_of(call(door, "search", {"query": word, "whole_word": True, "scope": scope}))["results"]
    assert [(hit["line"], hit["column"]) for hit in found] == ([(2, line.rindex(word))] if is_there else [])


def test_a_byte_order_mark_is_no_part_of_the_first_line(door: Door) -> None:
    write(door.workspace.root, {"marked.py": b"\xef\xbb\xbfimport marked_module\n"})
    hit = result_of(call(door, "search", {"query": "^import marked", "regex": True}))["results"][0]
    assert (hit["line"], hit["column"], hit["snippet"]) == (1, 0, "import marked_module")


# One very long line.


@pytest.mark.slow
def test_a_line_of_twenty_megabytes_is_searched_and_its_limit_named(repo: Path) -> None:
    unit = "var a=function(b){return b+1};"
    half = unit * (10_000_000 // len(unit))
    write(repo, {"lib/app.min.js": f"{half}needle_in_line{half}\nlast_needle()"})
    with open_test_workspace(repo) as workspace:
        door = Door(workspace, OPERATIONS)
        hits = result_of(call(door, "search", {"query": "needle"}))["results"]
        assert [(hit["line"], hit["column"]) for hit in hits] == [(1, len(half)), (2, 5)]
        assert len(hits[0]["snippet"]) <= text_search.SNIPPET_CHARACTERS
        assert "needle_in_line" in hits[0]["snippet"]
        for query in ("needle_in_[l]ine", "z*", "b{0}", "(?:needle|a|b)+_in"):
            found = all_pages(door, query=query, regex=True, scope={"paths": ["lib/"]})
            assert found[0]["line"] == 1
        assert len(all_pages(door, query="NEEDLE_IN_LINE", ignore_case=True, enrichment="function")) == 1
        answer = call(door, "search", {"query": "a", "mode": "definitions"})
        assert "larger than 4 MB: searched as text only" in json.dumps(result_of(answer)["not_searched"])


# Expressions.


@pytest.mark.parametrize("expression", ["x*", "", "|", "()", "^", "$", "a{0}", "\\b", "(?:)*", "^$|$"])
def test_an_expression_that_fits_nothing_finds_each_line_once(door: Door, expression: str) -> None:
    write(door.workspace.root, {"e/a.txt": "one\n\n\nfour", "e/b.txt": "\n", "e/c.txt": "", "e/d.txt": "one\ntwo\n"})
    arguments: dict[str, object] = {"query": expression or "(?:)", "regex": True, "scope": {"paths": ["e/"]}}
    found = [(hit["path"], hit["line"]) for hit in all_pages(door, limit=2, **arguments)]
    every = [("e/a.txt", 1), ("e/a.txt", 2), ("e/a.txt", 3), ("e/a.txt", 4), ("e/b.txt", 1)]
    words = [("e/a.txt", 1), ("e/a.txt", 4), ("e/d.txt", 1), ("e/d.txt", 2)]
    assert found == (words if expression == "\\b" else [*every, ("e/d.txt", 1), ("e/d.txt", 2)])


def test_pieces_of_a_file_count_lines_as_the_whole(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"{'x' * (number % 37)}{'needle' if number % 11 == 0 else ''}\n" for number in range(500))
    write(door.workspace.root, {"many.txt": f"{text}needle"})
    scope = {"paths": ["many.txt"]}
    whole = all_pages(door, query="needle", scope=scope, limit=100)
    monkeypatch.setattr(text_search, "_MAX_PIECE", 64)
    in_pieces = all_pages(door, query="n[e]edle", regex=True, scope=scope, limit=100)
    assert sorted(in_pieces, key=lambda hit: hit["line"]) == sorted(whole, key=lambda hit: hit["line"])
    assert len(all_pages(door, query="^", regex=True, scope=scope, limit=100)) == 501


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("(", "missing )"),
        ("a**", "bad repetition"),
        ("[[:nope:]]", "invalid character class"),
        ("a{100000}", "repetition size"),
        ("((a{100}){100}){100}", "repetition size"),
        ("\\pL{500}", "too large"),
        ("\\", "trailing"),
        ("(?<=a)b", "not valid"),
        ("(a)\\1", "not valid"),
        ("one\\ntwo", "inside one line"),
        ("a[\\n]b\\n", "inside one line"),
        ("a\nb", "more than one line"),
    ],
)
def test_an_expression_that_cannot_be_searched_is_refused_with_the_reason(door: Door, query: str, message: str) -> None:
    answer = call(door, "search", {"query": query, "regex": True})
    assert error_of(answer) == "INVALID_ARGUMENTS"
    assert answer.error is not None
    assert message in answer.error.message
    assert "(?m)" not in answer.error.message


@pytest.mark.parametrize("query", [r"one\\ntwo", r"[\r\n]?one\\n", r"\\\\none|\\none"])
def test_a_backslash_before_an_n_is_no_newline(door: Door, query: str) -> None:
    write(door.workspace.root, {"path.txt": "one\\ntwo \\\\none\n"})
    assert len(result_of(call(door, "search", {"query": query, "regex": True}))["results"]) == 1


class _HurryingClock(ManualClock):
    """A clock on which every look takes ten seconds."""

    def monotonic(self) -> float:
        self.advance(10.0)
        return super().monotonic()


def test_an_expression_that_takes_too_long_is_given_up_and_said(repo: Path) -> None:
    write(repo, {f"many/f{number}.txt": "some text\n" for number in range(5)})
    with open_test_workspace(repo, clock=_HurryingClock()) as workspace:
        answer = call(Door(workspace, OPERATIONS), "search", {"query": "(x+x+)+y", "regex": True})
    assert error_of(answer) == "TIMED_OUT"
    assert answer.error is not None
    assert "simpler" in answer.text()


def test_a_long_line_is_tried_on_its_beginning_before_all_of_it_is_searched(repo: Path) -> None:
    write(repo, {"long.txt": "ab" * 1_000_000})
    with open_test_workspace(repo) as workspace:
        workspace.index.refresh()
        query = TextQuery("(?:a|b)*a(?:a|b){30}c", is_regex=True)
        with pytest.raises(CodePlaneError, match="too long"):
            list(find_lines(workspace.index.state(), query, None, _HurryingClock()))


# Questions that cannot be meant.


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": ""},
        {"query": "", "regex": True},
        {"query": None},
        {"query": 5},
        {"query": [5]},
        {"query": "x" * 1_000_000},
        {"query": "x" * 10_001},
        {"query": "\ud800"},
        {"query": "x", "mode": "fuzzy"},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": -5},
        {"query": "x", "limit": 101},
        {"query": "x", "limit": 10**30},
        {"query": "x", "limit": "many"},
        {"query": "x", "limit": 1.5},
        {"query": "x", "scope": "src"},
        {"query": "x", "scope": {"paths": [""]}},
        {"query": "x", "scope": {"paths": ["["]}},
        {"query": "x", "scope": {"paths": ["!"]}},
        {"query": "x", "scope": {"paths": [5]}},
        {"query": "x", "scope": {"languages": [5]}},
        {"query": "x", "scope": {"unknown": 1}},
        {"query": "x", "mode": "symbol", "scope": {"kinds": ["nope"]}},
        {"query": "x", "enrichment": "everything"},
        {"query": "x", "certainty": "maybe"},
        {"query": "x", "regex": "perhaps"},
        {"query": "x", "unknown": 1},
    ],
    ids=lambda arguments: str(arguments)[:60],
)
def test_a_question_that_cannot_be_meant_is_refused(door: Door, arguments: dict[str, object]) -> None:
    answer = call(door, "search", arguments)
    assert error_of(answer) == "INVALID_ARGUMENTS"
    assert answer.error is not None
    assert len(answer.error.message) < 2000


def test_arguments_of_several_megabytes_are_refused(door: Door) -> None:
    assert error_of(call(door, "search", {"query": "x" * 20_000_000})) in {"PAYLOAD_TOO_LARGE", "INVALID_ARGUMENTS"}


@pytest.mark.parametrize(
    "query", ["   ", "\t", "\x00", "!!! ???", "-> =>", '""', '" "', "... ,,,", "\u2028 \u2029", "é ü"]
)
def test_an_odd_text_that_stands_nowhere_is_answered_with_nothing(door: Door, query: str) -> None:
    answer = call(door, "search", {"query": query, "scope": {"paths": ["docs/"]}})
    assert result_of(answer)["results"] == []
    assert answer.text().startswith("No line in 1 file.")


def test_white_space_is_a_text_like_any_other(door: Door) -> None:
    found = all_pages(door, query="    ")
    assert [(hit["path"], hit["line"]) for hit in found] == [("src/pkg/mod.py", 2)]


def test_a_language_that_no_file_has_is_said(door: Door) -> None:
    answer = call(door, "search", {"query": "line_1", "scope": {"languages": ["klingon"]}})
    assert result_of(answer)["results"] == []
    assert "no file here has the language `klingon`; there are markdown, python" in answer.meta.warnings
    assert call(door, "search", {"query": "line_1", "scope": {"languages": ["PY"]}}).meta.warnings == ()


def test_a_broken_ranked_index_costs_its_own_part_of_the_answer_only(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object) -> None:
        raise CodePlaneError("INDEX_CORRUPT", "The ranked text index cannot be read: broken")

    monkeypatch.setattr(LexicalIndex, "rank", broken)
    answer = call(door, "search", {"query": "three nowhere"})
    assert result_of(answer)["results"] == []
    assert "not listed" in answer.meta.warnings[0]


# Cursors.


def _cursor(door: Door, **arguments: object) -> str:
    cursor: str = result_of(call(door, "search", arguments))["pagination"]["next_cursor"]
    return cursor


@pytest.mark.parametrize("cursor", ["", "x", "é" * 50, "0" * 500_000, "AAAA" * 10, "\x00"])
def test_a_cursor_that_is_none_is_refused(door: Door, cursor: str) -> None:
    assert error_of(call(door, "search", {"query": "line_", "cursor": cursor})) == "CURSOR_INVALID"


@pytest.mark.parametrize("arguments", [{"query": "line_"}, {"query": "line", "mode": "symbol"}])
@pytest.mark.parametrize("forged", [None, "x", -1, 1.5, [], {}, True, 10**30, "1"])
def test_a_forged_cursor_is_refused_or_expired_and_never_breaks(
    door: Door, arguments: dict[str, object], forged: object
) -> None:
    arguments = {**arguments, "limit": 3}
    state = read_cursor(door.workspace, "search", _cursor(door, **arguments))[1].values
    request = SearchRequest.model_validate(arguments)
    for name in state:
        for changed in ({**state, name: forged}, {key: value for key, value in state.items() if key != name}):
            cursor = make_cursor(door.workspace, "search", request, changed)
            answer = call(door, "search", {**arguments, "cursor": cursor})
            assert answer.error is None or answer.error.error in {"CURSOR_INVALID", "CURSOR_EXPIRED"}


def test_a_cursor_of_another_operation_is_refused(door: Door) -> None:
    write(door.workspace.root, {f"tests/test_{number}.py": "x = 1\n" for number in range(3)})
    result = result_of(call(door, "map_repo", {"include": ["test_layout"], "limit": 1}))
    cursor = result["pagination"]["next_cursor"]
    assert error_of(call(door, "search", {"query": "x", "cursor": cursor})) == "CURSOR_INVALID"
    foreign = _cursor(door, query="line_", limit=3)
    arguments = {"include": ["test_layout"], "limit": 1}
    assert error_of(call(door, "map_repo", {**arguments, "cursor": foreign})) == "CURSOR_INVALID"
    for forged in ({"offset": -1}, {"offset": "x"}, {"epoch": None}, {"offset": None}):
        known = read_cursor(door.workspace, "map_repo", cursor)[1].values
        changed = make_cursor(door.workspace, "map_repo", MapRepoRequest.model_validate(arguments), {**known, **forged})
        assert error_of(call(door, "map_repo", {**arguments, "cursor": changed})) == "CURSOR_INVALID"


def test_a_cursor_of_another_repository_has_expired(door: Door, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other", {"else.py": "".join(f"line_{i} = 1\n" for i in range(9))})
    with open_test_workspace(other) as workspace:
        cursor = _cursor(Door(workspace, OPERATIONS), query="line_", limit=3)
    assert error_of(call(door, "search", {"query": "line_", "limit": 3, "cursor": cursor})) == "CURSOR_EXPIRED"


def test_an_older_page_is_explained_by_its_own_facts(door: Door) -> None:
    body = "".join(f"def first_{number}():\n    return needle\n" for number in range(6))
    write(door.workspace.root, {"page.py": body})
    arguments: dict[str, object] = {"query": "needle", "limit": 3, "enrichment": "function"}
    first = result_of(call(door, "search", arguments))
    write(door.workspace.root, {"page.py": "# other\n" * 3 + body.replace("first", "second")})
    second = call(door, "search", {**arguments, "cursor": first["pagination"]["next_cursor"]})
    assert "changed since" in second.meta.warnings[0]
    assert [(hit["line"], hit["symbol"]["name"], hit["symbol"]["source"]) for hit in result_of(second)["results"]] == [
        (2 * number + 2, f"first_{number}", f"def first_{number}():\n    return needle") for number in (3, 4, 5)
    ]


# What was not searched.


def test_an_answer_names_what_was_not_searched(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "MAX_TEXT_BYTES", 1000)
    write(
        door.workspace.root,
        {
            "n/latin.txt": "café".encode("latin-1"),
            "n/wide.txt": "needle".encode("utf-16"),
            "n/data.bin": b"\0needle",
            "n/large.txt": b"needle\n" * 200,
            "n/key.txt": "-----BEGIN " + "PRIVATE KEY-----\nneedle\n",
            "n/good.txt": "needle\n",
        },
    )
    result = result_of(call(door, "search", {"query": "needle", "scope": {"paths": ["n/"]}}))
    assert [hit["path"] for hit in result["results"]] == ["n/good.txt"]
    assert result["not_searched"] == {
        "a private key": 1,
        "binary": 1,
        "larger than 1000 bytes": 1,
        "not utf-8": 1,
        "utf-16": 1,
    }
    text = call(door, "search", {"query": "nowhere", "scope": {"paths": ["n/"]}}).text()
    assert all(f"not searched: 1 {reason}" in text for reason in result["not_searched"])


# HEAD moves while questions are asked.

_QUESTIONS: tuple[dict[str, Any], ...] = (
    {"query": "_marker_1"},
    {"query": "common", "limit": 100},
    {"query": "def common_\\d+", "regex": True, "limit": 100},
    {"query": "marker", "enrichment": "function", "limit": 30},
    {"query": "common_1", "mode": "definitions"},
    {"query": "common_1", "mode": "references", "certainty": "all"},
    {"query": "common", "mode": "symbol", "limit": 30},
    {"query": "filler common nowhere"},
)


def _branch(tag: str, n_files: int) -> dict[str, str | bytes]:
    return {
        f"pkg/m{i}.py": f"# {tag} filler\n" * ((i * 7 + len(tag)) % 23)
        + f"def common_{i}():\n    return '{tag}_marker_{i}'\n"
        for i in range(n_files)
    }


def _check_answer(question: dict[str, Any], result: dict[str, Any], state: IndexState) -> None:
    """Check every hit against the text of the epoch that the answer names."""
    for hit in result["results"]:
        file = state.files[hit["path"]]
        text = state.pack.text(file.offset, file.length)
        assert text is not None
        line = text.split("\n")[hit["line"] - 1]
        if "matched" in hit:
            assert hit["symbol"]["name"] in line
        else:
            assert hit["snippet"] == line.strip()
        if "enrichment" in question and "symbol" in hit:
            assert line in hit["symbol"]["source"]


@pytest.mark.slow
def test_answers_while_branches_change_are_each_of_one_state(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {"pkg/__init__.py": "", **_branch("main", 200)})
    git(root, "checkout", "-q", "-b", "other")
    for i in range(140, 200):
        (root / f"pkg/m{i}.py").unlink()
    write(root, {**_branch("other", 140), **{f"new/n{i}.py": "common = 1\n" for i in range(60)}})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "other")
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        index = workspace.index
        index.refresh()
        kept: dict[int, IndexState] = {}
        is_done = threading.Event()

        def ask(number: int) -> None:
            for question in itertools.islice(itertools.cycle(_QUESTIONS), number, number + 12):
                result = result_of(call(door, "search", question, connection=f"c{number}"))
                # Another thread may have published since; the state of the answer is still among the kept ones.
                with contextlib.suppress(CodePlaneError):
                    kept[result["epoch"]] = index.state(result["epoch"])
                if result["epoch"] in kept:
                    _check_answer(question, result, kept[result["epoch"]])

        def move() -> None:
            for branch in itertools.cycle(("main", "other")):
                git(root, "checkout", "-q", branch)
                if is_done.is_set():
                    return

        with ThreadPoolExecutor(4) as pool:
            mover = pool.submit(move)
            askers = [pool.submit(ask, number) for number in (0, 3, 5)]
            try:
                for asker in askers:
                    asker.result()
            finally:
                is_done.set()
            mover.result()
        found = {hit["path"] for hit in all_pages(door, query="_marker_", limit=100)}
        assert found == {path.relative_to(root).as_posix() for path in root.glob("pkg/m*.py")}
