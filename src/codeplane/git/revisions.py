"""Commit names from callers: resolved once, so later steps use fixed commits."""

from dataclasses import dataclass
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.git.commands import check_name
from codeplane.git.git_errors import git_error
from codeplane.git.repository import run_git


@dataclass(frozen=True, slots=True)
class Range:
    """`a..b` or, symmetric, `a...b`, with both ends resolved."""

    base: str
    tip: str
    is_symmetric: bool


def resolve(root: Path, ref: str) -> str:
    """Return the full id of the one commit that a ref names.

    Raises:
        CodePlaneError: GIT_REF_INVALID; GIT_REF_UNKNOWN with similar names; GIT_NO_COMMITS; GIT_REF_AMBIGUOUS,
            even where git would choose between a branch and a tag.
    """
    check_name(ref)
    result = run_git(root, "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}")
    if result.returncode == 0:
        check_unambiguous(ref, result.stderr)
        return result.stdout_text.strip()
    error = git_error(("rev-parse",), result.stderr_text)
    if error.code == "GIT_REF_AMBIGUOUS":
        raise error
    if ref in {"HEAD", "@"}:
        raise CodePlaneError("GIT_NO_COMMITS", "HEAD has no commit yet.")
    near = near_refs(root, ref)
    hint = f"Did you mean {', '.join(near)}?" if near else ""
    message = f"`{ref}` is not a branch, tag or commit of this repository."
    raise CodePlaneError("GIT_REF_UNKNOWN", message, hint=hint, details={"ref": ref, "near": near})


def near_refs(root: Path, ref: str) -> list[str]:
    """Return names of branches and tags that look like one that does not exist."""
    import difflib  # noqa: PLC0415 - only for a mistaken name.

    listing = run_git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
    return difflib.get_close_matches(ref, listing.stdout_text.split("\n")[:5_000], n=3, cutoff=0.6)


def check_unambiguous(ref: str, output: bytes) -> None:
    """Refuse a name that git called ambiguous and resolved to its first meaning.

    Raises:
        CodePlaneError: GIT_REF_AMBIGUOUS.
    """
    if b"is ambiguous" in output:
        hint = f"Use refs/heads/{ref} or refs/tags/{ref}."
        message = f"`{ref}` is ambiguous: it names more than one ref."
        raise CodePlaneError("GIT_REF_AMBIGUOUS", message, hint=hint, details={"ref": ref})


def split_range(ref: str) -> tuple[str, str, bool] | None:
    """Return both ends of `a..b` or `a...b` and whether it is symmetric; an end left out is HEAD; None for a name."""
    base, dots, tip = ref.partition("..")
    if not dots:
        return None
    is_symmetric = tip.startswith(".")
    return base or "HEAD", tip.removeprefix(".") or "HEAD", is_symmetric


def resolve_range(root: Path, ref: str) -> Range | None:
    """Return a range with both ends resolved, None when the text names a single commit.

    Raises:
        CodePlaneError: as `resolve`.
    """
    parts = split_range(ref)
    if parts is None:
        return None
    base, tip, is_symmetric = parts
    return Range(resolve(root, base), resolve(root, tip), is_symmetric)
