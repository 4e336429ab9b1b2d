"""Commits as answers, shared by the operations that show history."""

from typing import Any, Final

from pydantic import Field

from codeplane.core.printable import printable_name, printable_text
from codeplane.git.history import Commit, Person
from codeplane.operations.models import Result

_MAX_BODY: Final = 2_000


class CommitPerson(Result):
    """Who, and when."""

    name: str
    email: str
    time: str = Field(description="ISO 8601.")


class CommitEntry(Result):
    """One commit."""

    oid: str
    short_oid: str
    message: str = Field(description="The first paragraph; body has the rest.")
    body: str | None = None
    body_cut: bool | None = Field(None, description="git_inspect shows the whole body.")
    author: CommitPerson
    committer: CommitPerson
    parents: list[str]
    refs: list[str] | None = Field(None, description="Branches and tags that point at it.")


def person_of(person: Person) -> CommitPerson:
    """Return a person as an answer."""
    return CommitPerson(name=person.name, email=person.email, time=person.time)


def entry_of(commit: Commit, names: tuple[str, ...] = (), longest_body: int | None = _MAX_BODY) -> CommitEntry:
    """Return a commit as an answer; a long body is cut unless there is no limit."""
    refs = [printable_name(name) for name in names] or None
    return CommitEntry(**commit_fields(commit, longest_body), refs=refs)


def commit_fields(commit: Commit, longest_body: int | None = _MAX_BODY) -> dict[str, Any]:
    """Return what an entry says of a commit, for entries that say more besides."""
    is_cut = longest_body is not None and len(commit.body) > longest_body
    return {
        "oid": commit.oid,
        "short_oid": commit.short_oid,
        "message": commit.subject,
        "body": (commit.body[:longest_body] if is_cut else commit.body) or None,
        "body_cut": is_cut or None,
        "author": person_of(commit.author),
        "committer": person_of(commit.committer),
        "parents": list(commit.parents),
    }


def render_commit(entry: CommitEntry) -> str:
    """Return a commit on one line."""
    refs = f" ({', '.join(entry.refs)})" if entry.refs else ""
    author, subject = entry.author.name, entry.message
    # Nearly all of them are; checking is much cheaper than cleaning.
    if not (author.isprintable() and subject.isprintable()):
        author, subject = printable_name(author), printable_text(subject).replace("\n", " ")
    return f"{entry.short_oid} {entry.author.time[:10]} {author}{refs}: {subject}"
