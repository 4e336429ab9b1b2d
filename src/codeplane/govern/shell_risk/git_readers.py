"""Git's sub-commands in the forms that only read."""

import re
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from codeplane.govern.shell_risk.characters import PRINTS_CONTROL, formats_control
from codeplane.govern.shell_risk.consequences import git_consequence
from codeplane.govern.shell_risk.options import Given, Reader, why_not_operand, why_not_safe
from codeplane.govern.shell_risk.places import Location
from codeplane.govern.shell_risk.words import Word

_SIGNED: Final = re.compile(r"%G|signature")
_GLOBAL: Final = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"})

_DIFF_LONG: Final = (
    "patch", "no-patch", "raw", "patch-with-raw", "minimal", "patience", "histogram", "compact-summary", "numstat",
    "shortstat", "summary", "patch-with-stat", "name-only", "name-status", "no-color", "no-renames", "check",
    "full-index", "binary", "find-copies-harder", "pickaxe-all", "pickaxe-regex", "no-relative", "text",
    "ignore-cr-at-eol", "ignore-space-at-eol", "ignore-space-change", "ignore-all-space", "ignore-blank-lines",
    "function-context", "exit-code", "quiet", "no-ext-diff", "no-textconv", "no-prefix", "indent-heuristic",
    "no-indent-heuristic", "cc", "combined-all-paths", "no-color-moved", "rename-empty", "no-rename-empty",
    "ita-invisible-in-index", "default-prefix",
)  # fmt: skip
_DIFF_VALUED: Final = (
    "word-diff-regex", "diff-filter", "inter-hunk-context", "src-prefix", "dst-prefix", "line-prefix", "unified",
    "anchored", "diff-algorithm", "ws-error-highlight", "ignore-matching-lines",
)  # fmt: skip
_DIFF_ATTACHED: Final = (
    "stat", "dirstat", "color", "color-moved", "color-moved-ws", "word-diff", "color-words", "abbrev",
    "break-rewrites", "find-renames", "find-copies", "relative", "ignore-submodules", "submodule", "stat-width",
    "stat-count", "stat-name-width",
)  # fmt: skip
_DIFF_FLAGS: Final = "puszDRabwW"
_DIFF_LETTERS: Final = "SGIUl"
_DIFF_LETTERS_ATTACHED: Final = "BMC"

_REVISION_LONG: Final = (
    "all", "all-match", "invert-grep", "regexp-ignore-case", "basic-regexp", "extended-regexp", "fixed-strings",
    "perl-regexp", "remove-empty", "merges", "no-merges", "no-min-parents", "no-max-parents", "first-parent", "not",
    "reflog", "walk-reflogs", "boundary", "left-right", "left-only", "right-only", "cherry", "cherry-mark",
    "cherry-pick", "simplify-by-decoration", "show-pulls", "full-history", "dense", "sparse", "simplify-merges",
    "date-order", "author-date-order", "topo-order", "reverse", "do-walk", "abbrev-commit", "no-abbrev-commit",
    "no-abbrev", "oneline", "no-notes", "relative-date", "parents", "children", "graph", "no-graph", "in-commit-order",
    "ignore-missing", "single-worktree",
)  # fmt: skip
_REVISION_VALUED: Final = (
    "max-count", "skip", "since", "after", "until", "before", "author", "committer", "grep", "grep-reflog", "date",
    "encoding", "glob", "exclude", "since-as-filter",
)  # fmt: skip
_REVISION_ATTACHED: Final = (
    "branches", "tags", "remotes", "pretty", "format", "notes", "show-notes", "no-walk", "min-parents", "max-parents",
    "ancestry-path", "expand-tabs",
)  # fmt: skip
_LOG_LONG: Final = (
    "follow", "full-diff", "source", "use-mailmap", "mailmap", "no-mailmap", "log-size", "no-decorate",
    "no-expand-tabs", "clear-decorations",
)  # fmt: skip


def _plain_format(given: Given, _standing: Location) -> str | None:
    """Formats may ask for signatures, which starts gpg, or print any character."""
    formats = given.values("-format", "-pretty", "-sort")
    if any(_SIGNED.search(value) for value in formats):
        return "asks for signatures, which starts gpg"
    return PRINTS_CONTROL if any(formats_control(value) for value in formats) else None


def _branch_patterns_only_with_list(given: Given, location: Location) -> str | None:
    if given.operands and not given.has("-list"):
        return "makes a branch"
    return _plain_format(given, location)


def _tag_patterns_only_with_list(given: Given, location: Location) -> str | None:
    if given.operands and not given.has("-list", "l"):
        return "makes a tag"
    return _plain_format(given, location)


def _shown_only(given: Given, location: Location) -> str | None:
    """Other first words of `git reflog` are sub-commands that write."""
    if given.operands and given.operands[0].value not in {"show", "HEAD"}:
        return "git reflog may get a sub-command that deletes entries"
    return _plain_format(given, location)


_SECRET_SETTING: Final = re.compile(
    r"token|secret|passw|extraheader|credential|cookie|auth(?!or)|key|proxy", re.IGNORECASE
)
# No alternatives: what follows the section may not reach another one.
_PLAIN_SECTIONS: Final = re.compile(
    r"\^(?:branch|remote|user|core|alias|submodule|color|diff|merge|push|pull|init)\\\.[\w.*$\\-]*"
)


def _reads_setting(given: Given, _standing: Location) -> str | None:
    """A second operand writes, unless reading is asked for; some settings hold secrets."""
    names = [word.value for word in given.operands]
    is_asked = given.has("-get", "-get-all", "-get-regexp")
    if not names or len(names) > 1 or not (is_asked or "." in names[0]):
        return "git config in this form may change settings or print secrets"
    if _SECRET_SETTING.search(names[0]):
        return f"the setting {names[0][:60]} may hold a secret"
    if given.has("-get-regexp") and not given.has("-name-only") and not _PLAIN_SECTIONS.fullmatch(names[0]):
        return "prints settings that may hold secrets"
    return None


def _known_variable(given: Given, _standing: Location) -> str | None:
    fits = len(given.operands) == 1 and given.operands[0].value in _VARIABLES
    return None if fits else "git var in this form prints all settings"


_VARIABLES: Final = frozenset(
    {"GIT_DEFAULT_BRANCH", "GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT", "GIT_EDITOR", "GIT_PAGER"}
)


def _first_is_file(given: Given, location: Location) -> str | None:
    if given.has("e") and given.operands:
        return why_not_operand(given.operands[0], location, is_git=True)
    return None


def _history(more_flags: str = "", more_long: tuple[str, ...] = (), more_attached: tuple[str, ...] = ()) -> Reader:
    return Reader(
        "giEFPm" + _DIFF_FLAGS + more_flags, "nL" + _DIFF_LETTERS, _DIFF_LETTERS_ATTACHED,
        long=_REVISION_LONG + _DIFF_LONG + _LOG_LONG + more_long,
        long_valued=_REVISION_VALUED + _DIFF_VALUED + ("decorate-refs", "decorate-refs-exclude"),
        long_attached=_REVISION_ATTACHED + _DIFF_ATTACHED + ("decorate", "diff-merges", *more_attached),
        has_numbers=True, is_git=True, check=_plain_format,
    )  # fmt: skip


_LISTING_VALUED: Final = ("contains", "no-contains", "merged", "no-merged", "points-at", "sort")
_DIFF: Final = Reader(
    _DIFF_FLAGS + "0", _DIFF_LETTERS, _DIFF_LETTERS_ATTACHED, is_git=True, has_numbers=True,
    long=(*_DIFF_LONG, "cached", "staged", "merge-base", "base", "ours", "theirs"), long_valued=_DIFF_VALUED,
    long_attached=_DIFF_ATTACHED,
)  # fmt: skip

_SUBCOMMANDS: Final = MappingProxyType(
    {
        "blame": Reader(
            "bltpcfnsew", "L", "MC", is_git=True, long=(
                "root", "show-stats", "porcelain", "line-porcelain", "incremental", "show-name", "show-number",
                "show-email", "color-lines", "color-by-age", "first-parent", "no-progress"),
            long_valued=("date", "since", "ignore-rev"), long_attached=("abbrev",)),
        "branch": Reader(
            "arvi", long=("all", "remotes", "verbose", "list", "show-current", "no-column", "no-color", "no-abbrev",
                          "ignore-case"),
            long_valued=(*_LISTING_VALUED, "format"), long_attached=("column", "color", "abbrev"), is_git=True,
            first_path=-1, check=_branch_patterns_only_with_list),
        "cat-file": Reader("tsep", long=("batch-all-objects", "unordered"), long_attached=("batch-check",),
                           is_git=True),
        "check-ignore": Reader("qvn", long=("quiet", "verbose", "non-matching", "no-index"), is_git=True,
                               first_path=-1),
        "cherry": Reader("v", long=("verbose",), long_attached=("abbrev",), is_git=True, first_path=-1, max_operands=3),
        "config": Reader("z", long=(
            "get", "get-all", "get-regexp", "local", "global", "system", "worktree", "bool", "int", "path", "null",
            "name-only", "show-origin", "show-scope", "includes", "no-includes"), long_valued=("type", "default"),
            is_git=True, first_path=-1, check=_reads_setting),
        "count-objects": Reader("vH", long=("verbose", "human-readable"), max_operands=0, is_git=True),
        "describe": Reader(is_git=True, first_path=-1, long=(
            "all", "tags", "contains", "exact-match", "debug", "long", "always", "first-parent"),
            long_valued=("candidates", "match", "exclude"), long_attached=("abbrev", "dirty")),
        "diff": _DIFF,
        "diff-tree": Reader(
            _DIFF_FLAGS + "rtmc", _DIFF_LETTERS, _DIFF_LETTERS_ATTACHED, is_git=True, has_numbers=True,
            long=(*_DIFF_LONG, "root", "no-commit-id", "merge-base"), long_valued=_DIFF_VALUED,
            long_attached=(*_DIFF_ATTACHED, "pretty", "format"), check=_plain_format),
        "for-each-ref": Reader(is_git=True, first_path=-1, long=("ignore-case", "omit-empty"),
                               long_valued=("count", "format", *_LISTING_VALUED, "exclude"),
                               long_attached=("color",), check=_plain_format),
        "grep": Reader(
            "viwnaIclLzqphEFGPWHo", "ABCem", is_git=True, first_path=1, has_numbers=True, long=(
                "cached", "untracked", "exclude-standard", "no-exclude-standard", "text", "ignore-case", "word-regexp",
                "invert-match", "full-name", "extended-regexp", "basic-regexp", "perl-regexp", "fixed-strings",
                "line-number", "column", "files-with-matches", "name-only", "files-without-match", "null",
                "only-matching", "count", "no-color", "break", "heading", "show-function", "function-context", "and",
                "or", "not", "all-match", "quiet", "recursive", "no-recursive"),
            long_valued=("max-depth", "max-count", "context", "after-context", "before-context"),
            long_attached=("color",), check=_first_is_file),
        "log": _history(),
        "ls-files": Reader(
            "cdmosiukztvf", "x", is_git=True, first_path=-1, long=(
                "cached", "deleted", "modified", "others", "stage", "ignored", "unmerged", "killed", "directory",
                "no-empty-directory", "eol", "full-name", "error-unmatch", "exclude-standard", "deduplicate"),
            long_valued=("exclude", "exclude-per-directory", "format"), long_attached=("abbrev",)),
        "ls-tree": Reader("drtlz", is_git=True, first_path=-1, long=(
            "long", "name-only", "name-status", "object-only", "full-name", "full-tree"),
            long_valued=("format",), long_attached=("abbrev",)),
        "merge-base": Reader("a", is_git=True, first_path=-1, long=(
            "all", "octopus", "is-ancestor", "fork-point", "independent")),
        "name-rev": Reader(is_git=True, first_path=-1, long=("tags", "name-only", "always", "no-undefined"),
                           long_valued=("refs", "exclude")),
        "reflog": replace(_history(), check=_shown_only),
        "rev-list": Reader(
            "giEFPn", "n", is_git=True, has_numbers=True,
            long=(*_REVISION_LONG, "count", "objects", "no-object-names", "quiet"), long_valued=_REVISION_VALUED,
            long_attached=_REVISION_ATTACHED, check=_plain_format),
        "rev-parse": Reader(
            "q", is_git=True, first_path=-1, long=(
                "show-toplevel", "verify", "quiet", "git-dir", "git-common-dir", "is-inside-work-tree",
                "is-inside-git-dir", "is-bare-repository", "show-prefix", "show-cdup",
                "show-superproject-working-tree", "symbolic-full-name", "symbolic", "absolute-git-dir", "all",
                "is-shallow-repository", "revs-only", "no-revs", "flags", "no-flags", "local-env-vars"),
            long_valued=("default", "git-path"),
            long_attached=("abbrev-ref", "short", "path-format", "branches", "tags", "remotes", "since", "until",
                           "show-object-format")),
        "shortlog": replace(_history("en", ("numbered", "summary", "email"), ("group",)), valued="L"),
        "show": _history(),
        "show-ref": Reader("dsq", is_git=True, first_path=-1, long=(
            "head", "heads", "branches", "tags", "dereference", "verify", "quiet"), long_attached=("hash", "abbrev")),
        "status": Reader(
            "sbvz", "", "u", is_git=True, long=(
                "short", "branch", "show-stash", "long", "verbose", "no-column", "ahead-behind", "no-ahead-behind",
                "renames", "no-renames"),
            long_attached=("porcelain", "untracked-files", "ignore-submodules", "ignored", "column", "find-renames")),
        "symbolic-ref": Reader("q", long=("short", "quiet"), is_git=True, first_path=-1, max_operands=1),
        "tag": Reader(
            "li", "", "n", is_git=True, first_path=-1, long=("list", "no-column", "no-color", "ignore-case"),
            long_valued=(*_LISTING_VALUED, "format"), long_attached=("column", "color"),
            check=_tag_patterns_only_with_list),
        "var": Reader(is_git=True, first_path=-1, check=_known_variable),
    }
)  # fmt: skip
_NAMES_ONLY: Final = Reader("v", long=("verbose",), max_operands=0)
_GET_URL: Final = Reader(long=("all", "push"), first_path=-1, max_operands=1)
_WORKTREES: Final = Reader("vz", long=("porcelain", "verbose"), max_operands=0)
_STASHES: Final = Reader("n", "n", long=("oneline",), max_operands=0, has_numbers=True)
# Second words that leave a sub-command reading.
_SECOND: Final = MappingProxyType(
    {
        ("remote", "get-url"): _GET_URL,
        ("worktree", "list"): _WORKTREES,
        ("stash", "list"): _STASHES,
        ("stash", "show"): replace(_DIFF, max_operands=1),
        ("submodule", "status"): Reader(long=("cached",), is_git=True),
    }
)


def why_not_git(words: list[Word], location: Location) -> str | None:  # noqa: PLR0911 - one form each.
    """Return what speaks against a git command, None when it only reads."""
    reason = _why_not_here(location)
    if reason is not None:
        return reason
    waiting = list(words)
    while waiting and waiting[0].is_static and waiting[0].value in _GLOBAL:
        waiting.pop(0)
    if not waiting or not waiting[0].is_static:
        return "git has no sub-command that can be checked"
    name, rest = waiting[0].value, waiting[1:]
    if name in {"--version", "version", "--help"} and not rest:
        return None
    if name == "remote" and (not rest or rest[0].value in {"-v", "--verbose"}):
        return why_not_safe(_NAMES_ONLY, rest, location)
    if rest and rest[0].is_static and (name, rest[0].value) in _SECOND:
        return why_not_safe(_SECOND[name, rest[0].value], rest[1:], location)
    reader = _SUBCOMMANDS.get(name)
    if reader is None:
        return git_consequence(name)
    return why_not_safe(reader, rest, location)


def _why_not_here(location: Location) -> str | None:
    if location.context.git_runs_helpers:
        return f"git would start a program here, because of {location.context.git_runs_helpers}"
    if location.is_outside:
        return "runs git outside the repository"
    if location.has_moved and not location.context.is_one_repository:
        return "git after a change of directory may find another repository"
    return None
