"""Globs: what fits and what does not, shape by shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.index.contexts.globs import compile_globs, escape_glob
from support.effort import examples

CASES = [
    ("**/*.py", ["a.py", "b/c.py", ".py", "a.b.py"], ["a.pyc", "py", "a.py/b", ""]),
    ("**/*.d.ts", ["a.d.ts", "x/b.d.ts"], ["a.ts", "d.ts"]),
    ("**/Gemfile", ["Gemfile", "a/Gemfile"], ["aGemfile", "Gemfile.lock", "Gemfile/x"]),
    ("**/build/**", ["build/x", "a/build/b/c", "build/"], ["build", "a/builds/x", "xbuild/y"]),
    ("apps/api/**", ["apps/api/x", "apps/api/a/b", "apps/api/"], ["apps/api", "apps/apis/x", "x/apps/api/y"]),
    ("a/b", ["a/b"], ["a/b/c", "a", "x/a/b"]),
    ("a/*", ["a/b", "a/.c"], ["a/b/c", "a", "b/c"]),
    ("a/*/c", ["a/b/c"], ["a/c", "a/b/b/c"]),
    ("a/**/c", ["a/c", "a/b/c", "a/b/b/c"], ["ac", "a/bc"]),
    ("**", ["a", "a/b", ""], []),
    ("a/**/", ["a/", "a/b/", "a/b/c/"], ["a", "b/"]),
    ("lib-?", ["lib-a"], ["lib-", "lib-ab", "lib-/"]),
    ("lib-[ab]", ["lib-a", "lib-b"], ["lib-c", "lib-"]),
    ("lib-[!ab]", ["lib-c"], ["lib-a", "lib-/"]),
    ("lib-[^ab]", ["lib-c"], ["lib-a"]),
    ("[]x]", ["]", "x"], ["y"]),
    ("{a,b/c}/*", ["a/x", "b/c/x"], ["b/x", "c/x"]),
    ("{a,{b,c}d}/**/", ["a/", "bd/x/", "cd/"], ["b/", "d/"]),
    ("{a,b", ["{a,b"], ["a", "b"]),
    ("a},{b", ["a},{b"], ["a"]),
    ("a,b*", ["a,b", "a,bc"], ["a"]),
    ("a[b", ["a[b"], ["ab"]),
    (r"app/\[id\]/**", ["app/[id]/x"], ["app/i/x", "app/[id]"]),
    (r"\*", ["*"], ["a"]),
    ("a**b", ["ab", "axxb"], ["a/b"]),
    ("a.b*", ["a.b", "a.bc"], ["axb"]),
]


@pytest.mark.parametrize(("glob", "fitting", "others"), CASES, ids=[case[0] for case in CASES])
def test_a_glob_fits_what_it_should(glob: str, fitting: list[str], others: list[str]) -> None:
    globs = compile_globs([glob])
    assert [path for path in fitting if not globs.matches(path)] == []
    assert [path for path in others if globs.matches(path)] == []


@pytest.mark.parametrize(("glob", "fitting", "others"), CASES, ids=[case[0] for case in CASES])
def test_a_set_matches_when_any_of_its_globs_fits(glob: str, fitting: list[str], others: list[str]) -> None:
    globs = compile_globs(["zzz/*", glob, "**/*.zzz", "zz/**"])
    assert all(globs.matches(path) for path in [*fitting, "zzz/a", "b.zzz", "zz/a/b"])
    assert not any(globs.matches(path) for path in others)


def test_no_globs_fit_nothing() -> None:
    assert not compile_globs([]).matches("a")
    assert not compile_globs([]).matches("")


def test_a_glob_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^a\[z-a\]$"):
        compile_globs(["ok/*", "a[z-a]"])


TEXTS = st.text("ab*?[]{}\\,!/.()^$é ", min_size=1, max_size=12)


@given(TEXTS, TEXTS)
@examples(100)
def test_an_escaped_text_fits_itself_only(text: str, other: str) -> None:
    globs = compile_globs([escape_glob(text)])
    assert globs.matches(text)
    assert globs.matches(other) == (text == other)


@given(TEXTS, TEXTS)
@examples(100)
def test_any_text_is_a_glob_or_is_refused(glob: str, path: str) -> None:
    try:
        globs = compile_globs([glob])
    except ValueError as error:
        assert error.args == (glob,)  # noqa: PT017 - both outcomes are fine, and this says which.
    else:
        globs.matches(path)


def test_a_hostile_glob_takes_linear_time() -> None:
    """With backtracking this would not end."""
    assert not compile_globs(["*a" * 40 + "b"]).matches("a" * 4000)
