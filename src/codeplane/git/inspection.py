"""Single objects: the meaning of a name, a tag, a tree, a file of a commit, all tags, and what a merge would do."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.commands import Conditions, ask_git, change_git, check_name, check_result, decode
from codeplane.git.history import Person, clean_text, merge_base, parse_time, split_message
from codeplane.git.repository import Repository, run_git
from codeplane.git.revisions import check_unambiguous, resolve

_CONTENT_LIMIT: Final = 64 * 1024 * 1024
_TAG_FIELDS: Final = (
    "refname", "objectname", "objecttype", "*objectname", "*objecttype", "taggername", "taggeremail",
    "taggerdate:raw", "creatordate:raw", "contents:subject", "contents:body",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NamedObject:
    """The object that a name means."""

    oid: str
    kind: str
    size: int


@dataclass(frozen=True, slots=True)
class TagObject:
    """An annotated tag."""

    name: str
    target_oid: str
    target_kind: str
    tagger: Person | None
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of a tree."""

    name: str
    mode: str
    kind: str
    oid: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag among all tags; `target_oid` is the object it finally points to. `created_at` orders them."""

    name: str
    target_oid: str
    target_kind: str
    is_annotated: bool
    tagger: Person | None
    time: str
    created_at: int
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class MergeAnalysis:
    """What merging a commit into HEAD would do.

    `conflicts` is None when no merge was tried: nothing to merge, or git is too old.
    """

    kind: str
    head: str | None
    other: str
    base: str | None
    ahead: int
    behind: int
    conflicts: tuple[str, ...] | None


def find_object(root: Path, name: str) -> NamedObject:
    """Return the object that a name means: a commit, tree, blob or tag object.

    Raises:
        CodePlaneError: GIT_REF_INVALID, GIT_REF_UNKNOWN with near names, GIT_REF_AMBIGUOUS, GIT_NO_COMMITS.
    """
    check_name(name)
    result = run_git(root, "rev-parse", "--verify", "--end-of-options", name)
    if result.returncode != 0:
        # It explains the problem, unless the name is of something other than a commit that git cannot find either.
        resolve(root, name)
        raise CodePlaneError("GIT_REF_UNKNOWN", f"`{name}` does not exist in this repository.", details={"ref": name})
    check_unambiguous(name, result.stderr)
    return _described(root, result.stdout_text.strip(), name)


def find_in_tree(root: Path, treeish: str, path: RepoPath) -> NamedObject:
    """Return the entry at a path of a commit or tree given by its id.

    Raises:
        CodePlaneError: GIT_PATH_UNKNOWN.
    """
    name = f"{treeish}^{{tree}}" if path == RepoPath.ROOT else f"{treeish}:{path.text}"
    result = run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
    if result.returncode != 0:
        details = {"path": path.text}
        raise CodePlaneError("GIT_PATH_UNKNOWN", f"There is no {path} in {treeish[:12]}.", details=details)
    oid = result.stdout_text.strip()
    try:
        return _described(root, oid, name)
    except CodePlaneError:
        # The commit of a submodule is in the submodule's repository.
        entry = ask_git(root, "ls-tree", "-z", "--full-tree", "--end-of-options", treeish, path.text)
        if entry.startswith(b"160000 "):
            return NamedObject(oid, "commit", 0)
        raise


def read_blob(root: Path, blob: NamedObject) -> bytes:
    """Return the bytes of a blob.

    Raises:
        CodePlaneError: FILE_TOO_LARGE; GIT_CORRUPT.
    """
    if blob.size > _CONTENT_LIMIT:
        raise CodePlaneError("FILE_TOO_LARGE", f"That version of the file has {blob.size} bytes.")
    return ask_git(root, "cat-file", "blob", blob.oid)


def read_tag_object(root: Path, oid: str) -> TagObject:
    """Return an annotated tag by its id.

    Raises:
        CodePlaneError: git failed.
    """
    header, _, message = ask_git(root, "cat-file", "tag", oid).partition(b"\n\n")
    facts = dict(line.split(b" ", 1) for line in header.split(b"\n") if b" " in line)
    subject, body = split_message(clean_text(message))
    return TagObject(
        name=clean_text(facts.get(b"tag", b"")),
        target_oid=clean_text(facts.get(b"object", b"")),
        target_kind=clean_text(facts.get(b"type", b"")),
        tagger=_person(clean_text(facts[b"tagger"])) if b"tagger" in facts else None,
        subject=subject,
        body=body,
    )


def read_tree(root: Path, oid: str) -> tuple[TreeEntry, ...]:
    """Return the entries of a tree by its id, in git's order.

    Raises:
        CodePlaneError: git failed.
    """
    entries = []
    for record in ask_git(root, "ls-tree", "-z", "--long", "--full-tree", "--end-of-options", oid).split(b"\0"):
        if record:
            facts, _, name = record.partition(b"\t")
            mode, kind, entry_oid, size = decode(facts).split()
            entries.append(TreeEntry(decode(name), mode, kind, entry_oid, int(size) if size.isdigit() else None))
    return tuple(entries)


def read_tags(root: Path) -> tuple[Tag, ...]:
    """Return all tags, the newest first and those of the same time by name.

    Raises:
        CodePlaneError: git failed.
    """
    record = "".join(f"%({name})%00" for name in _TAG_FIELDS)
    output = ask_git(root, "for-each-ref", f"--format={record}", "refs/tags")
    fields = output.split(b"\0")
    step = len(_TAG_FIELDS)
    tags = [_tag([clean_text(field) for field in fields[i : i + step]]) for i in range(0, len(fields) - step, step)]
    return tuple(sorted(tags, key=lambda tag: (-tag.created_at, tag.name)))


def analyse_merge(repository: Repository, ref: str) -> MergeAnalysis:
    """Return what merging a ref into HEAD would do; the repository is left as it is.

    Raises:
        CodePlaneError: as `resolve`.
    """
    root = repository.root
    other = resolve(root, ref)
    head = run_git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").stdout_text.strip()
    if not head:
        return MergeAnalysis("unborn", None, other, None, 0, 0, None)
    counts = ask_git(root, "rev-list", "--left-right", "--count", f"{head}...{other}", "--").split()
    ahead, behind = int(counts[0]), int(counts[1])
    base = merge_base(root, head, other)
    if behind == 0:
        kind = "up_to_date"
    elif ahead == 0:
        kind = "fast_forward"
    else:
        kind = "normal" if base is not None else "unrelated"
    conflicts = _merge_conflicts(repository, head, other) if kind == "normal" else None
    return MergeAnalysis(kind, head, other, base, ahead, behind, conflicts)


def _merge_conflicts(repository: Repository, head: str, other: str) -> tuple[str, ...] | None:
    """Merge without touching index or tree; git writes into a temporary directory."""
    arguments = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", head, other)
    objects = str(repository.common_dir / "objects")
    with tempfile.TemporaryDirectory(prefix="cpl-merge-") as scratch:
        places = {"GIT_OBJECT_DIRECTORY": scratch, "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects}
        result = change_git(repository.root, *arguments, conditions=Conditions(environment=places, runs_hooks=False))
    if result.returncode not in {0, 1}:
        if b"usage: git merge-tree" in result.stderr:
            return None
        check_result(arguments, result)
    return tuple(decode(name) for name in result.stdout.split(b"\0")[1:] if name)


def _described(root: Path, oid: str, name: str) -> NamedObject:
    answer = ask_git(root, "cat-file", "--batch-check", stdin=f"{oid}\n".encode()).decode("ascii").split()
    if len(answer) != 3:
        raise CodePlaneError("GIT_CORRUPT", f"`{name}` leads to {oid}, which is missing.", details={"oid": oid})
    return NamedObject(answer[0], answer[1], int(answer[2]))


def _person(text: str) -> Person:
    name, _, rest = text.partition(" <")
    email, _, when = rest.rpartition("> ")
    return Person(name, email, parse_time(when))


def _tag(fields: list[str]) -> Tag:
    name, oid, kind, peeled, peeled_kind, tagger, email, tagged, created, subject, body = fields
    is_annotated = kind == "tag"
    person = Person(tagger, email.removeprefix("<").removesuffix(">"), parse_time(tagged)) if tagger or email else None
    return Tag(
        name=name.lstrip("\n").removeprefix("refs/tags/"),
        target_oid=peeled if is_annotated else oid,
        target_kind=peeled_kind if is_annotated else kind,
        is_annotated=is_annotated,
        tagger=person,
        time=parse_time(created) if created else "",
        created_at=int(created.partition(" ")[0]) if created else 0,
        subject=subject if is_annotated else "",
        body=body.strip("\n") if is_annotated else "",
    )
