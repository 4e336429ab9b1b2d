"""The probe of §8.4.5: which files are sampled, and each outcome for code and for data."""

from dataclasses import replace

import pytest

from codeplane.core.paths import RepoPath
from codeplane.index.contexts.discover import discover_contexts
from codeplane.index.contexts.model import ContextStatus, ParseQuality
from codeplane.index.contexts.probe import is_good_sample, probe_files, sample_files
from codeplane.languages.families import FamilyType
from index.contexts.sample_trees import BROKEN, GOOD, contexts_at, statuses, tree_view

CODE, DATA = FamilyType.CODE, FamilyType.DATA
# Nodes, errors, has a named node, children of the root: is it good code, is it good data?
QUALITIES = [
    (20, 0, True, 3, True, True),
    (20, 1, True, 3, True, False),
    (20, 2, True, 3, False, False),
    (21, 2, True, 3, True, False),
    (100, 9, True, 3, True, False),
    (100, 10, True, 3, False, False),
    (20, 0, False, 3, False, True),
    (20, 1, False, 3, False, False),
    (1, 0, True, 0, True, False),
    (1, 0, False, 0, False, False),
    (1, 1, False, 1, False, False),
]


@pytest.mark.parametrize(("nodes", "errors", "named", "children", "is_code", "is_data"), QUALITIES)
def test_a_parse_is_judged_by_the_type_of_the_family(
    nodes: int, errors: int, named: bool, children: int, is_code: bool, is_data: bool
) -> None:
    quality = ParseQuality(nodes, errors, named, children)
    assert is_good_sample(quality, CODE) == is_code
    assert is_good_sample(quality, DATA) == is_data


@pytest.mark.parametrize("family_type", [CODE, DATA])
def test_a_file_without_a_tree_is_not_good(family_type: FamilyType) -> None:
    assert not is_good_sample(None, family_type)


def test_samples_are_the_shortest_paths_then_by_name() -> None:
    names = ["tests/fixtures/big.py", "b.py", "a.py", "src/app.py", "z/y.py", "c/d.py", "src/aaa.py"]
    assert [path.text for path in sample_files(map(RepoPath, names))] == [
        "a.py",
        "b.py",
        "c/d.py",
        "z/y.py",
        "src/aaa.py",
    ]


def probe(qualities: dict[str, ParseQuality | None], family_type: FamilyType) -> tuple[ContextStatus, list[str]]:
    """Return the outcome and which files were parsed."""
    parsed: list[str] = []

    def parse_quality(path: RepoPath) -> ParseQuality | None:
        parsed.append(path.text)
        return qualities[path.text]

    return probe_files(map(RepoPath, qualities), family_type, parse_quality)[0], parsed


@pytest.mark.parametrize("family_type", [CODE, DATA])
def test_the_first_good_sample_ends_the_probe(family_type: FamilyType) -> None:
    qualities: dict[str, ParseQuality | None] = {"c.x": GOOD, "a.x": BROKEN, "b.x": GOOD, "d.x": GOOD}
    assert probe(qualities, family_type) == (ContextStatus.VALID, ["a.x", "b.x"])


@pytest.mark.parametrize("family_type", [CODE, DATA])
def test_a_context_fails_when_all_samples_do(family_type: FamilyType) -> None:
    qualities = {"a.x": BROKEN, "b.x": None}
    assert probe(qualities, family_type) == (ContextStatus.FAILED, ["a.x", "b.x"])


def test_a_sixth_file_is_not_looked_at() -> None:
    qualities: dict[str, ParseQuality | None] = dict.fromkeys(["a.x", "b.x", "c.x", "d.x", "e.x"], BROKEN)
    qualities["f.x"] = GOOD
    assert probe(qualities, CODE) == (ContextStatus.FAILED, ["a.x", "b.x", "c.x", "d.x", "e.x"])


@pytest.mark.parametrize("family_type", [CODE, DATA])
def test_a_context_without_files_is_empty(family_type: FamilyType) -> None:
    assert probe({}, family_type) == (ContextStatus.EMPTY, [])


def test_each_outcome_reaches_the_context_with_a_reason() -> None:
    files = {"go.work": "use ./good\nuse ./bad\nuse ./none", "good/g.go": "", "bad/b.go": "", "off/o.go": ""}
    files |= {f"{root}/go.mod": "" for root in ("good", "bad", "none", "off")}
    found = discover_contexts(tree_view(files, broken=["bad/b.go"]))
    assert {root: (context.status.value, context.reason) for root, context in contexts_at(found, "go").items()} == {
        ".": ("empty", "It holds no file of its family."),
        "good": ("valid", "`good/g.go` parses."),
        "bad": ("failed", "No good parse among its sampled file, the first is `bad/b.go`."),
        "none": ("empty", "It holds no file of its family."),
        "off": ("detached", "It is not listed in `go.work`."),
    }


def test_a_detached_context_is_not_parsed() -> None:
    parsed: list[str] = []
    view = tree_view({"go.work": "", "a/go.mod": "", "a/a.go": ""})

    def parse_quality(path: RepoPath) -> ParseQuality:
        parsed.append(path.text)
        return GOOD

    found = discover_contexts(replace(view, parse_quality=parse_quality))
    assert statuses(found, "go")["a"] == "detached"
    assert parsed == []


def test_a_context_is_not_judged_by_the_files_of_one_inside_it() -> None:
    files = dict.fromkeys(["pyproject.toml", "a.py", "x/pyproject.toml", "x/b.py"], "")
    found = discover_contexts(tree_view(files, broken=["a.py"]))
    assert statuses(found, "python") == {".": "failed", "x": "valid"}
