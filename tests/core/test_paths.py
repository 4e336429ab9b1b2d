"""A repository path has one spelling, and neither text nor symlink leads out of the tree."""

import os
import pickle
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import (
    RepoPath,
    repo_path_of,
    resolve_inside,
)

_TRICKY = st.text(st.sampled_from("ab.~/\\:C\u00e9e\u0301\u212a\x00\x85\ud800 "), max_size=12)
_SEGMENTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\~:"), min_size=1, max_size=8)
_SOUND_PATHS = st.lists(_SEGMENTS.filter(lambda s: s not in {".", ".."}), max_size=4).map("/".join).filter(bool)


def _code(text: str) -> str:
    with pytest.raises(CodePlaneError) as caught:
        RepoPath.parse(text)
    return caught.value.code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/a.py", "src/a.py"),
        ("./src/a.py", "src/a.py"),
        ("src//a.py", "src/a.py"),
        ("src/./a.py", "src/a.py"),
        ("src/", "src"),
        (".", "."),
        ("./", "."),
        (".//.", "."),
        ("cafe\u0301.txt", "caf\u00e9.txt"),
        ("~draft", "~draft"),
        ("./~draft", "~draft"),
        ("src/~/x", "src/~/x"),
        ("..a/b..", "..a/b.."),
        ("...", "..."),
        ("a:b", "a:b"),
        ("src/C:/x", "src/C:/x"),
        (" a b ", " a b "),
        (".github/workflows/ci.yml", ".github/workflows/ci.yml"),
        ("\u00e9" * 127, "\u00e9" * 127),
    ],
)
def test_a_path_is_brought_to_its_one_spelling(text: str, expected: str) -> None:
    assert RepoPath.parse(text).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\x00b",
        "a\nb",
        "a\x7f",
        "a\x85b",
        "a\\b",
        "C:",
        "C:/x",
        "./c:/x",
        "\u212a:/x",
        "//server/share",
        "\ud800",
        "a/\udcff",
        "x" * 256,
        "\u00e9" * 128,
        "/".join(["abcdefghi"] * 411),
        "e\u0301" * 100_000,
    ],
)
def test_what_is_no_path_is_invalid(text: str) -> None:
    assert _code(text) == "PATH_INVALID"


@pytest.mark.parametrize(
    "text",
    [
        "/",
        "/etc/passwd",
        "~",
        "~/x",
        "~root/x",
        "~root/",
        "~a/~a",
        "./~/x",
        "./~root/x",
        "..",
        "../x",
        "a/../b",
        "a/..",
    ],
)
def test_what_leads_out_is_outside(text: str) -> None:
    assert _code(text) == "PATH_OUTSIDE_REPOSITORY"


def test_the_error_names_the_path_shortened_and_the_reason() -> None:
    with pytest.raises(CodePlaneError) as caught:
        RepoPath.parse("x" * 300)
    assert len(caught.value.message) < 200
    assert "longer than 255 bytes" in caught.value.message
    assert caught.value.details == {"path": "x" * 300}


def test_a_path_cannot_be_built_around_the_parser() -> None:
    with pytest.raises(CodePlaneError):
        RepoPath("../x")
    with pytest.raises(CodePlaneError, match="normal form"):
        RepoPath("a//b")


@given(_TRICKY | _SOUND_PATHS)
def test_parsing_a_parsed_path_changes_nothing_and_nothing_leads_out(text: str) -> None:
    try:
        path = RepoPath.parse(text)
    except CodePlaneError:
        return
    assert RepoPath.parse(path.text) == path
    assert unicodedata.is_normalized("NFC", path.text)
    assert ".." not in path.parts
    assert not Path(path.text).is_absolute()


@given(_SOUND_PATHS)
def test_a_path_is_its_parent_joined_with_its_name(text: str) -> None:
    path = RepoPath.parse(text)
    assert path.parent.joined(path.name) == path
    assert path.is_inside(path.parent)
    assert path.is_inside(RepoPath.ROOT)
    assert pickle.loads(pickle.dumps(path)) == path


def test_the_parts_of_a_path_are_readable() -> None:
    path = RepoPath.parse("src/pkg/module.test.py")
    assert path.parts == ("src", "pkg", "module.test.py")
    assert (path.name, path.suffix, str(path.parent), str(path)) == (
        "module.test.py",
        ".py",
        "src/pkg",
        "src/pkg/module.test.py",
    )
    assert RepoPath.parse(".bashrc").suffix == ""


def test_the_root_has_no_parts_and_is_its_own_parent() -> None:
    root = RepoPath.ROOT
    assert (root.text, root.parts, root.name, root.suffix, root.parent) == (".", (), "", "", root)
    assert RepoPath.parse("./") == root
    assert root.joined("a") == RepoPath.parse("a")
    assert RepoPath.parse("a").joined(".") == RepoPath.parse("a")


def test_joining_cannot_climb_out() -> None:
    with pytest.raises(CodePlaneError):
        RepoPath.parse("a").joined("../b")


def test_being_inside_goes_by_whole_segments() -> None:
    inside = RepoPath.parse("src/a.py").is_inside
    assert inside(RepoPath.parse("src"))
    assert inside(RepoPath.parse("src/a.py"))
    assert not inside(RepoPath.parse("sr"))
    assert not inside(RepoPath.parse("src/a.py/b"))
    assert not RepoPath.ROOT.is_inside(RepoPath.parse("src"))


def test_paths_sort_and_hash_by_their_text() -> None:
    texts = ["b", "a/b", "a", "a-b"]
    assert [path.text for path in sorted(map(RepoPath.parse, texts))] == sorted(texts)
    assert len({RepoPath.parse("a/b"), RepoPath.parse("./a//b/")}) == 1


def _tree(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("a", encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.py").write_text("b", encoding="utf-8")
    return root


def _resolve_code(root: Path, text: str) -> str:
    with pytest.raises(CodePlaneError) as caught:
        resolve_inside(root, RepoPath.parse(text))
    return caught.value.code


def test_a_file_resolves_to_its_real_path(tmp_path: Path) -> None:
    root = _tree(tmp_path)
    real_root = Path(os.path.realpath(root))
    assert resolve_inside(root, RepoPath.parse("src/a.py"), must_exist=True) == real_root / "src/a.py"
    assert resolve_inside(root, RepoPath.ROOT) == real_root


def test_a_root_reached_through_a_symlink_is_resolved(tmp_path: Path) -> None:
    root = _tree(tmp_path)
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    assert resolve_inside(alias, RepoPath.parse("src/a.py")) == resolve_inside(root, RepoPath.parse("src/a.py"))


def test_symlinks_that_stay_inside_are_followed(tmp_path: Path) -> None:
    root = _tree(tmp_path)
    (root / "link.py").symlink_to("src/a.py")
    (root / "src" / "up").symlink_to("..")
    real = resolve_inside(root, RepoPath.parse("src/a.py"))
    assert resolve_inside(root, RepoPath.parse("link.py")) == real
    assert resolve_inside(root, RepoPath.parse("src/up/src/up/src/a.py")) == real


@pytest.mark.parametrize(
    ("target", "asked"),
    [
        ("../elsewhere/b.py", "link"),
        ("../elsewhere", "link/b.py"),
        ("../elsewhere", "link/new/file.py"),
        ("../elsewhere/missing", "link"),
        ("../repo-sibling", "link"),
        ("/", "link/etc"),
        ("src/../../elsewhere", "link"),
    ],
)
def test_a_symlink_that_leads_out_is_refused(tmp_path: Path, target: str, asked: str) -> None:
    root = _tree(tmp_path)
    (root / "link").symlink_to(target)
    assert _resolve_code(root, asked) == "PATH_OUTSIDE_REPOSITORY"


def test_a_chain_of_symlinks_that_ends_outside_is_refused(tmp_path: Path) -> None:
    root = _tree(tmp_path)
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("src/three")
    (root / "src" / "three").symlink_to(tmp_path / "elsewhere")
    assert _resolve_code(root, "one/b.py") == "PATH_OUTSIDE_REPOSITORY"


def test_a_loop_of_symlinks_is_invalid(tmp_path: Path) -> None:
    root = _tree(tmp_path)
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "self").symlink_to("self")
    assert _resolve_code(root, "a") == "PATH_INVALID"
    assert _resolve_code(root, "self/x") == "PATH_INVALID"


def test_a_missing_file_is_an_error_only_when_it_must_exist(tmp_path: Path) -> None:
    root = _tree(tmp_path)
    for text in ("missing/new.py", "src/a.py/below"):
        path = RepoPath.parse(text)
        assert resolve_inside(root, path) == Path(os.path.realpath(root)) / text
        with pytest.raises(CodePlaneError) as caught:
            resolve_inside(root, path, must_exist=True)
        assert caught.value.code == "FILE_NOT_FOUND"


def test_an_absolute_path_below_the_root_becomes_a_repository_path(tmp_path: Path) -> None:
    root = _tree(tmp_path)
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    assert repo_path_of(root, root / "src" / "a.py") == RepoPath.parse("src/a.py")
    assert repo_path_of(alias, alias / "src") == RepoPath.parse("src")
    assert repo_path_of(alias, Path(os.path.realpath(root)) / "src") == RepoPath.parse("src")
    assert repo_path_of(root, root) == RepoPath.ROOT


def test_an_absolute_path_elsewhere_has_no_repository_path(tmp_path: Path) -> None:
    root = _tree(tmp_path)
    for outside in (tmp_path / "elsewhere", tmp_path / "repo-sibling", root / "src" / ".." / ".." / "elsewhere"):
        with pytest.raises(CodePlaneError) as caught:
            repo_path_of(root, outside)
        assert caught.value.code == "PATH_OUTSIDE_REPOSITORY"
    with pytest.raises(CodePlaneError, match="not absolute"):
        repo_path_of(root, Path("src"))
