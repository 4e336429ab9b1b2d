"""What is left out: the same as git would say for the same lines, with soft rules, hard rules and secrets on top."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.paths import RepoPath
from codeplane.git.repository import TrackedPaths, run_git
from codeplane.index import ignore_rules
from codeplane.index.ignore_rules import (
    BLOCK_END,
    BLOCK_START,
    IgnoreRules,
    Rule,
    RuleKind,
    default_ignore_text,
    matcher_for,
)
from support.effort import examples
from support.repositories import git, write

TREE = (
    "a.log", "b.log", "keep.log", "keep/a.log", "keep/b.txt", "made/x.py", "made/sub/y.py", "sub/made/z.py",
    "src/a.py", "src/b.txt", "src/deep/c.py", "src/deep/er/d.py", "foo/bar", "foo/baz/qux", "w/foo/bar", "foobar",
    "a b.txt", "trail ", "#hash", "!bang", "star*", "q?m", "[x]", "x", "y", "z1", "z9", "za", "Zed", "back\\slash",
    "docs/a.md", "docs/b/c.md", "docs/b/docs/d.md", ".hidden", ".dir/file", "é.txt", "a/b/c/d/e", "a/e", "a/b/e",
    "a^b", "-", "a-b", "tab\tname", "keep2/keep",
)  # fmt: skip

CASES = (
    ["*.log"], ["*.log", "!keep.log"], ["*.log", "!keep/"], ["*.log", "!keep/*"], ["!keep.log", "*.log"],
    ["made"], ["made/"], ["/made"], ["/made/"], ["sub/made"], ["made/*"], ["made/*", "!made/sub"],
    ["made/", "!made/sub/y.py"], ["made/**", "!made/sub/"], ["src/*.py"], ["src/**/*.py"], ["src/**"],
    ["src/**", "!src/deep"], ["**/c.py"], ["**/deep/**"], ["**/er"], ["/src/deep/"], ["foo"], ["foo/bar"],
    ["/foo/bar"], ["foo/"], ["**/foo"], ["**/foo/bar"], ["foo/**"], ["foo/**/qux"], ["foo/*"], ["*/bar"], ["*"],
    ["*", "!*/", "!*.py"], ["/*", "!/src"], ["/*", "!/src", "/src/*", "!/src/deep"], ["a b.txt"], ["trail\\ "],
    ["trail "], ["trail"], ["\\#hash"], ["#hash"], ["\\!bang"], ["!bang"], ["star\\*"], ["star*"], ["q\\?m"], ["q?m"],
    ["\\[x\\]"], ["[x]"], ["[xy]"], ["[!xy]"], ["[^xy]"], ["z[0-9]"], ["z[!0-9]"], ["z[a-z0-8]"], ["[A-Z]ed"],
    ["[z-a]"], ["["], ["[]"], ["[]x]"], ["[!]x]"], ["back\\\\slash"], ["docs/"], ["/docs/**/d.md"], ["docs/**/d.md"],
    ["docs/b/**"], ["**/docs"], ["**/docs/"], ["docs/*", "!docs/a.md"], [".*"], [".hidden"], [".dir"], [".dir/"],
    ["é.txt"], ["a/**/e"], ["a/**"], ["a/*/e"], ["a/**/**/e"], ["**"], ["**/"], ["/**"], ["/"], ["//"],
    ["!"], ["\\"], ["foo\\"], ["a^b"], ["-"], ["[-]"], ["a[-]b"], ["tab\tname"], ["foo*"], ["*bar"], ["f*r"], ["fo?"],
    ["keep"], ["keep/"], ["keep2/keep"], ["**keep"], ["ke**ep"], ["foo/**bar"], ["/**/foo"], ["", " "],
    ["# comment", "x"], ["x", "!x"], ["!x", "x"], ["foo", "!foo/bar"], ["foo/*", "!foo/baz/", "foo/baz/qux"],
)  # fmt: skip


def _nothing_tracked() -> TrackedPaths:
    return TrackedPaths(frozenset(), frozenset())


def _ignored_by_git(root: Path, lines: list[str], paths: tuple[str, ...]) -> set[str]:
    (root / ".gitignore").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    listing = run_git(root, "ls-files", "--others", "--exclude-standard", "-z").stdout.decode().split("\0")
    return set(paths) - set(listing)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    git(root, "init", "--quiet")
    write(root, dict.fromkeys(TREE, ""))
    return root


def _ignored_by_us(root: Path, lines: list[str], paths: tuple[str, ...]) -> set[str]:
    (root / ".cplignore").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    rules = IgnoreRules(root, _nothing_tracked)
    return {path for path in paths if _hard(_exclusion(rules, path))}


def _exclusion(rules: IgnoreRules, path: str) -> Rule | None:
    """Ask entry by entry, as the walk does, because some names here are no repository paths."""
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        rule = rules.exclusion_of_entry("/".join(parts[:depth]), is_directory=depth < len(parts))
        if rule is not None:
            return rule
    return None


def _hard(rule: Rule | None) -> bool:
    return rule is not None and rule.kind is RuleKind.HARD


@pytest.mark.parametrize("lines", CASES, ids=lambda lines: " ".join(lines).encode("unicode_escape").decode())
def test_lines_leave_out_what_git_leaves_out(tree: Path, lines: list[str]) -> None:
    assert _ignored_by_us(tree, lines, TREE) == _ignored_by_git(tree, lines, TREE)


@pytest.mark.parametrize(("line", "path", "by_us"), [("?.txt", "é.txt", True), ("foo**/bar", "foobar", False)])
def test_two_oddities_of_git_are_not_copied(tree: Path, line: str, path: str, by_us: bool) -> None:
    """Git counts bytes for `?`, and lets two stars beside letters swallow the slash after them."""
    assert (path in _ignored_by_us(tree, [line], TREE)) is by_us
    assert (path in _ignored_by_git(tree, [line], TREE)) is not by_us


_NAMES = st.sampled_from(["a", "b", "foo", "*", "?", "**", "*.py", "a*", "[ab]", "x.py", "f?o"])
_LINES = st.builds(
    lambda negated, anchored, parts, slash: f"{negated}{anchored}{'/'.join(parts)}{slash}",
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "/"]),
    st.lists(_NAMES, min_size=1, max_size=3),
    st.sampled_from(["", "/"]),
)


@given(lines=st.lists(_LINES, min_size=1, max_size=4))
@examples(25)
def test_any_lines_leave_out_what_git_leaves_out(small_tree: Path, lines: list[str]) -> None:
    paths = tuple(str(path.relative_to(small_tree)) for path in small_tree.rglob("*.py") if path.is_file())
    assert _ignored_by_us(small_tree, lines, paths) == _ignored_by_git(small_tree, lines, paths)


@pytest.fixture(scope="module")
def small_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("small")
    git(root, "init", "--quiet")
    names = ["a", "b", "foo", "fxo"]
    write(root, {f"{name}/x.py": "" for name in names})
    write(root, {f"{one}/{two}/x.py": "" for one in names for two in names})
    write(root, {"a.py": "", "x.py": "", "a/a.py": "", "a/b/a.py": ""})
    return root


PACKAGE_NAMES = ("pkg", "build", "bin", "env", "target", "vendor", "dist", "coverage", "venv", "node_modules")


def _tracked(*files: str) -> TrackedPaths:
    directories = {str(parent) for file in files for parent in Path(file).parents if str(parent) != "."}
    return TrackedPaths(frozenset(files), frozenset(directories))


def _rule(root: Path, path: str, tracked: TrackedPaths | None = None) -> Rule | None:
    return IgnoreRules(root, lambda: tracked or _nothing_tracked()).exclusion(RepoPath.parse(path), is_directory=False)


@given(st.from_regex(ignore_rules._SIMPLE, fullmatch=True), st.booleans())
def test_a_line_that_is_a_name_is_read_as_the_library_reads_it(name: str, is_negated: bool) -> None:
    line = f"!{name}" if is_negated else name
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ignore_rules, "_SIMPLE", re.compile("(?!)"))
        by_library = ignore_rules._translated(line)
    assert ignore_rules._translated(line) == by_library


@pytest.mark.parametrize("name", PACKAGE_NAMES)
@pytest.mark.parametrize("has_file", [False, True])
def test_a_soft_rule_never_hides_a_directory_with_tracked_files(tmp_path: Path, name: str, has_file: bool) -> None:
    if has_file:
        (tmp_path / ".cplignore").write_text(default_ignore_text(), encoding="utf-8")
    tracked = _tracked(f"{name}/code.py", f"src/{name}/code.py")
    assert _rule(tmp_path, f"{name}/code.py", tracked) is None
    assert _rule(tmp_path, f"src/{name}/code.py", tracked) is None
    assert _rule(tmp_path, f"{name}/not_added_yet.py", tracked) is None


@pytest.mark.parametrize("name", ["build", "node_modules", "target", "vendor", ".venv", "__pycache__"])
def test_a_soft_rule_hides_a_directory_that_git_does_not_track(tmp_path: Path, name: str) -> None:
    rule = _rule(tmp_path, f"{name}/code.py")
    assert rule == Rule(f"{name}/", RuleKind.SOFT, "built-in")


def test_a_submodule_named_like_noise_is_not_hidden(tmp_path: Path) -> None:
    assert _rule(tmp_path, "vendor/code.py", TrackedPaths(frozenset({"vendor"}), frozenset())) is None


def test_a_line_that_a_person_wrote_hides_tracked_directories_too(tmp_path: Path) -> None:
    (tmp_path / ".cplignore").write_text("# mine\nbuild/\n", encoding="utf-8")
    assert _rule(tmp_path, "build/code.py", _tracked("build/code.py")) == Rule("build/", RuleKind.HARD, ".cplignore:2")


def test_lines_after_the_marked_block_are_hard(tmp_path: Path) -> None:
    text = f"{BLOCK_START}\nsoft/\n{BLOCK_END}\nhard/\n"
    (tmp_path / ".cplignore").write_text(text, encoding="utf-8")
    tracked = _tracked("soft/a.py", "hard/a.py")
    assert _rule(tmp_path, "soft/a.py", tracked) is None
    assert _rule(tmp_path, "hard/a.py", tracked) == Rule("hard/", RuleKind.HARD, ".cplignore:4")


SECRETS = (
    ".env", ".env.production", "sub/.env", "server.pem", "server.key", "a/id_rsa", "id_ed25519", ".netrc", ".pypirc",
    ".aws/credentials", ".ssh/config", ".docker/config.json", "secrets.yaml", "service-account-prod.json", "x.p12",
    "x.kdbx", ".git-credentials", ".vault-token",
)  # fmt: skip


@pytest.mark.parametrize("path", SECRETS)
@pytest.mark.parametrize("has_file", [False, True])
def test_a_secret_is_blocked_also_when_git_tracks_it(tmp_path: Path, path: str, has_file: bool) -> None:
    if has_file:
        (tmp_path / ".cplignore").write_text(default_ignore_text(), encoding="utf-8")
    rule = _rule(tmp_path, path, _tracked(path))
    assert rule is not None
    assert rule.kind is RuleKind.SECRET


@pytest.mark.parametrize("path", [".env.example", ".env.sample", ".env.template", "sub/.env.example", "environment.py"])
@pytest.mark.parametrize("has_file", [False, True])
def test_an_example_of_a_secret_is_in(tmp_path: Path, path: str, has_file: bool) -> None:
    if has_file:
        (tmp_path / ".cplignore").write_text(default_ignore_text(), encoding="utf-8")
    assert _rule(tmp_path, path) is None


@pytest.mark.parametrize("directory", ["dist", "build", "node_modules", "vendor"])
@pytest.mark.parametrize("is_tracked", [False, True])
def test_a_soft_directory_does_not_take_the_block_from_a_secret_in_it(
    tmp_path: Path, directory: str, is_tracked: bool
) -> None:
    path = f"{directory}/.env"
    rules = IgnoreRules(tmp_path, lambda: _tracked(path) if is_tracked else _nothing_tracked())
    blocked = rules.block(RepoPath.parse(path), is_directory=False)
    assert blocked is not None
    assert blocked.kind is RuleKind.SECRET


def test_a_persons_line_lets_a_secret_in(tmp_path: Path) -> None:
    (tmp_path / ".cplignore").write_text(default_ignore_text() + "!.env\n", encoding="utf-8")
    assert _rule(tmp_path, ".env") is None
    assert _rule(tmp_path, "sub/.env") is None
    assert _rule(tmp_path, "server.pem") is not None


def test_a_nested_file_rules_over_the_one_above(tmp_path: Path) -> None:
    write(tmp_path, {".cplignore": "*.txt\n", "sub/.cplignore": "!keep.txt\n/only_here.py\n"})
    assert _hard(_rule(tmp_path, "keep.txt"))
    assert _rule(tmp_path, "sub/keep.txt") is None
    assert _rule(tmp_path, "sub/only_here.py") == Rule("/only_here.py", RuleKind.HARD, "sub/.cplignore:2")
    assert _rule(tmp_path, "sub/deep/only_here.py") is None
    assert _rule(tmp_path, "only_here.py") is None


def test_a_nested_line_lets_in_a_secret_only_below_it(tmp_path: Path) -> None:
    write(tmp_path, {"fixtures/.cplignore": "!*.pem\n"})
    assert _rule(tmp_path, "fixtures/test.pem") is None
    assert _rule(tmp_path, "real.pem") is not None


@pytest.mark.parametrize("path", [".git/config", ".codeplane/ledger.db", "sub/.git/HEAD", "vendor/.git/config"])
def test_nothing_lets_in_the_directories_of_git_and_codeplane(tmp_path: Path, path: str) -> None:
    (tmp_path / ".cplignore").write_text("!.git/\n!.codeplane/\n!*\n", encoding="utf-8")
    rules = IgnoreRules(tmp_path, _nothing_tracked)
    blocked = rules.block(RepoPath.parse(path), is_directory=False)
    assert blocked is not None
    assert blocked.kind is RuleKind.BUILT_IN


def test_a_byte_order_mark_before_the_first_line_is_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / ".cplignore").write_bytes(b"\xef\xbb\xbfx.py\n")
    assert _hard(_rule(tmp_path, "x.py"))


def test_git_is_asked_once_and_only_when_a_soft_rule_matches(tmp_path: Path) -> None:
    asked: list[int] = []

    def tracked() -> TrackedPaths:
        asked.append(1)
        return _nothing_tracked()

    rules = IgnoreRules(tmp_path, tracked)
    rules.exclusion(RepoPath.parse("src/a.py"), is_directory=False)
    rules.exclusion(RepoPath.parse(".env"), is_directory=False)
    assert asked == []
    rules.exclusion(RepoPath.parse("build/a.py"), is_directory=False)
    rules.exclusion(RepoPath.parse("dist/a.py"), is_directory=False)
    assert asked == [1]


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("*.py", "a/b.py", "a/b.txt"),
        ("src/**/*.py", "src/x/y.py", "lib/x.py"),
        ("src", "src/x/y.py", "lib/src.py"),
        ("/a.py", "a.py", "sub/a.py"),
        ("test_[ab].py", "t/test_a.py", "t/test_c.py"),
    ],
)
def test_a_glob_selects_as_in_a_gitignore_file(pattern: str, inside: str, outside: str) -> None:
    matches = matcher_for(pattern)
    assert (matches(inside), matches(outside)) == (True, False)


@pytest.mark.parametrize("pattern", ["", "#comment", "!", "\\", "[z-a]", "!*.py", "/"])
def test_a_glob_that_selects_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        matcher_for(pattern)


def test_a_cplignore_of_ones_own_does_not_switch_off_built_in_pruning(tmp_path: Path) -> None:
    (tmp_path / ".cplignore").write_text("secret/\n!dist/\n")
    rules = IgnoreRules(tmp_path, lambda: TrackedPaths(frozenset(), frozenset()))
    for name in ("node_modules", "build", ".venv", "__pycache__", "target", "secret"):
        assert rules.exclusion(RepoPath.parse(name), is_directory=True) is not None, name
    assert rules.exclusion(RepoPath.parse("a.pyc"), is_directory=False) is not None
    assert rules.exclusion(RepoPath.parse("dist"), is_directory=True) is None
