"""The results of `git_inspect`, and their text form."""

from typing import Any, Literal

from pydantic import Field

from codeplane.core.printable import counted, printable_name, printable_text
from codeplane.operations.commits import CommitEntry, CommitPerson
from codeplane.operations.models import Pagination, Result
from codeplane.operations.patches import DiffFile, DiffStats, render_files
from codeplane.operations.trace_lines import why

Action = Literal["show", "blame", "tags", "merge_analysis"]


class TagDetail(Result):
    """An annotated tag."""

    name: str
    target: str
    target_type: str
    tagger: CommitPerson | None = None
    message: str
    body: str | None = None


class TreeListing(Result):
    """One entry of a tree."""

    path: str
    type: str
    mode: str
    oid: str
    size: int | None = None


class FileAtRef(Result):
    """A file as it was."""

    path: str
    oid: str
    size: int
    line_count: int
    range: tuple[int, int] | None = Field(None, description="First and last line returned.")
    content: str
    no_newline: bool | None = Field(None, description="No newline at the end of the file.")
    starts_inside_line: bool | None = None
    ends_inside_line: bool | None = None


class BlameHunk(Result):
    """Adjacent lines that come from one commit."""

    start_line: int
    end_line: int
    oid: str | None = Field(None, description="None for uncommitted lines.")
    short_oid: str | None = None
    author: CommitPerson
    summary: str
    uncommitted: bool | None = None
    boundary: bool | None = Field(None, description="History ends here.")
    original_path: str | None = Field(None, description="Where they were in the commit, if elsewhere.")
    original_start: int
    lines: list[str]
    trace: list[dict[str, Any]] | None = Field(None, description="Intent, agent and call behind the lines, if traced.")


class TagEntry(Result):
    """One tag."""

    name: str
    target: str
    target_type: str
    annotated: bool
    tagger: CommitPerson | None = None
    time: str | None = None
    message: str | None = None
    body: str | None = None


class MergeForecast(Result):
    """What merging `ref` into HEAD would do; ahead and behind are HEAD's."""

    analysis: Literal["up_to_date", "fast_forward", "normal", "unborn", "unrelated"]
    head: str | None = None
    target: str
    merge_base: str | None = None
    ahead: int
    behind: int
    conflicts: list[str] | None = Field(None, description="None if not tried, see conflicts_note.")
    conflicts_note: str | None = None


class GitInspectResult(Result):
    """The result; which part is set depends on the action."""

    action: Action
    ref: str | None = None
    oid: str | None = None
    type: str | None = Field(None, description="commit, tag, tree or blob.")
    commit: CommitEntry | None = None
    tag: TagDetail | None = None
    entries: list[TreeListing] | None = None
    file: FileAtRef | None = None
    compared: str | None = None
    files: list[DiffFile] | None = None
    stats: DiffStats | None = None
    path: str | None = None
    blame: list[BlameHunk] | None = None
    tags: list[TagEntry] | None = None
    merge: MergeForecast | None = None
    pagination: Pagination = Pagination(next_cursor=None, total_estimate=None)


def render_inspection(result: GitInspectResult) -> str:
    """Return the result as short text."""
    parts: list[str] = []
    if result.tag is not None:
        parts.extend(_render_tag(result.tag))
    if result.commit is not None:
        parts.extend(_render_commit(result.commit))
    if result.files is not None and result.stats is not None:
        stats = result.stats
        parts.append(
            f"{result.compared}: {counted(stats.files_changed, 'file')}, +{stats.insertions} -{stats.deletions}"
        )
        has_lines = any(file.hunks or file.kept_back for file in result.files)
        parts.extend(render_files(result.files) if has_lines else [_render_name(file) for file in result.files])
    parts.extend(f"{item.mode} {item.path}" + ("/" if item.type == "tree" else "") for item in result.entries or ())
    if result.file is not None:
        parts.extend(_render_file(result.file))
    parts.extend(line for hunk in result.blame or () for line in _render_blame(hunk))
    parts.extend(_render_entry(tag) for tag in result.tags or ())
    if result.merge is not None:
        parts.append(_render_merge(result.merge))
    if not parts:
        parts.append("There are no tags." if result.action == "tags" else "Nothing to show: it is empty.")
    if result.pagination.next_cursor:
        parts.append(f"more: cursor={result.pagination.next_cursor}")
    return "\n".join(parts)


def _render_tag(tag: TagDetail) -> list[str]:
    who = f" by {printable_name(tag.tagger.name)}, {tag.tagger.time}" if tag.tagger else ""
    lines = [f"tag {printable_name(tag.name)} -> {tag.target_type} {tag.target}{who}", printable_text(tag.message)]
    return [*lines, printable_text(tag.body)] if tag.body else lines


def _render_entry(tag: TagEntry) -> str:
    message = f": {printable_name(tag.message)}" if tag.message else ""
    return f"{printable_name(tag.name)} {(tag.time or '')[:10]} {tag.target[:12]}{message}"


def _render_commit(commit: CommitEntry) -> list[str]:
    refs = f" ({', '.join(commit.refs)})" if commit.refs else ""
    author, committer = commit.author, commit.committer
    lines = [f"commit {commit.oid}{refs}"]
    if len(commit.parents) > 1:
        lines.append("merge of " + " ".join(parent[:12] for parent in commit.parents))
    lines.append(f"author {printable_name(f'{author.name} <{author.email}>')} {author.time}")
    if committer.name != author.name or committer.time != author.time:
        lines.append(f"committer {printable_name(f'{committer.name} <{committer.email}>')} {committer.time}")
    lines += ["", printable_text(commit.message)]
    return [*lines, "", printable_text(commit.body), ""] if commit.body else [*lines, ""]


def _render_name(file: DiffFile) -> str:
    origin = f" (from {file.old_path})" if file.old_path else ""
    counts = "binary" if file.binary else f"+{file.insertions} -{file.deletions}"
    return f"  {file.status} {file.path}{origin} {counts}"


def _render_file(file: FileAtRef) -> list[str]:
    if file.range is None:
        return [f"{file.path}: empty"]
    first, last = file.range
    head = f"{file.path} lines {first}-{last} of {file.line_count} ({file.oid[:12]})"
    lines = file.content.removesuffix("\n").split("\n")
    notes = [note for note, is_so in (("(continues inside a line)", file.ends_inside_line),) if is_so]
    return [head, *(f"{first + i}\t{printable_text(line)}" for i, line in enumerate(lines)), *notes]


def _render_blame(hunk: BlameHunk) -> list[str]:
    who = "not committed" if hunk.uncommitted else f"{hunk.short_oid} {printable_name(hunk.author.name)}"
    when = "" if hunk.uncommitted else f" {hunk.author.time[:10]}: {printable_name(hunk.summary)}"
    origin = f" (from {hunk.original_path})" if hunk.original_path else ""
    lines = [f"{who}{when}{origin}"]
    lines += [f"  {one['start_line']}-{one['end_line']}: {why(one)}" for one in hunk.trace or ()]
    return lines + [f"{hunk.start_line + i}\t{printable_text(line)}" for i, line in enumerate(hunk.lines)]


def _render_merge(merge: MergeForecast) -> str:
    text = f"{merge.analysis}: HEAD is {merge.ahead} ahead, {merge.behind} behind {merge.target[:12]}"
    if merge.conflicts:
        return f"{text}; conflicts in {', '.join(merge.conflicts)}"
    if merge.conflicts is not None:
        return f"{text}; no conflicts"
    return f"{text}; conflicts: {merge.conflicts_note}" if merge.conflicts_note else text
