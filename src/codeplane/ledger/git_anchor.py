"""Keep the head of the ledger in a git note on request; everyone who fetches it becomes a witness.

Notes live in `refs/notes/codeplane`, one line for each time the head was anchored, on the commit that was checked out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from codeplane.core.errors import CodePlaneError
from codeplane.git.repository import Repository, run_git
from codeplane.ledger.chain import EventChain
from codeplane.ledger.seals import Anchor, SealedHead, parse_head
from codeplane.ledger.verification import Witness

NOTES_REF = "refs/notes/codeplane"
LINE_START = "codeplane-ledger "
NOTE_PLACE = "git-note"
# Git asks for an identity to write notes; no real e-mail address enters them.
_IDENTITY = ("-c", "user.name=CodePlane", "-c", "user.email=codeplane@localhost", "-c", "commit.gpgsign=false")
_MAX_NOTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NoteLine:
    """One line of a note and the commit it hangs on."""

    commit: str
    text: str


def anchor_head(chain: EventChain, write_note: Callable[[str], None]) -> SealedHead:
    """Hand the newest sealed head to `write_note` as one line of text.

    Raises:
        CodePlaneError: CHAIN_BROKEN when the chain does not hold or has no sealed head to anchor.
    """
    found = chain.verify()
    anchor = chain.sealer.anchor if chain.sealer is not None else None
    record = anchor.record() if anchor is not None else None
    head = parse_head(record) if record is not None else None
    if found.first_bad_seq is not None:
        details = {"first_bad_row": found.first_bad_seq}
        raise CodePlaneError("CHAIN_BROKEN", f"Row {found.first_bad_seq}: {found.problem}.", details=details)
    key = anchor.read().key if anchor is not None else None
    if head is None or head.seq == 0 or key is None:
        raise CodePlaneError("NOT_FOUND", "The ledger has no sealed row that could be anchored yet.")
    # The ledger's path on this machine stays private, even as a digest.
    noted = replace(head, place=NOTE_PLACE).signed(key)
    write_note(LINE_START + noted.as_text())
    return noted


def witnesses_in(lines: Sequence[NoteLine], anchor: Anchor) -> tuple[Witness, ...]:
    """Return what the notes say about this repository's ledger; lines about others are passed over."""
    found = []
    key = anchor.read().key
    for line in lines:
        if not line.text.startswith(LINE_START):
            continue
        where = f"the git note on {line.commit[:12]}"
        head = parse_head(line.text.removeprefix(LINE_START))
        if head is None:
            found.append(Witness(0, "", where, "its line cannot be read"))
        elif head.repo_id == anchor.repo_id:
            is_forged = key is not None and head.key_id == key.key_id and not head.is_signed_by(key)
            found.append(Witness(head.seq, head.hash, where, "it was not made with the key" if is_forged else ""))
    return tuple(found)


def note_writer(repository: Repository) -> Callable[[str], None]:
    """Return a function that appends a line to the note of the commit that is checked out."""

    def write(line: str) -> None:
        result = run_git(repository.root, *_IDENTITY, "notes", f"--ref={NOTES_REF}", "append", "-m", line, "HEAD")
        if result.returncode != 0:
            raise CodePlaneError("GIT_FAILED", f"The note was not written: {result.stderr_text.strip()[:400]}")

    return write


def read_notes(repository: Repository) -> tuple[NoteLine, ...]:
    """Return every line of every note in `refs/notes/codeplane`.

    Raises:
        CodePlaneError: GIT_FAILED when git cannot read them.
    """
    listing = run_git(repository.root, "notes", f"--ref={NOTES_REF}", "list", output_limit=_MAX_NOTES)
    if listing.returncode != 0:
        raise CodePlaneError("GIT_FAILED", f"The notes were not read: {listing.stderr_text.strip()[:400]}")
    lines = []
    for entry in listing.stdout_text.splitlines():
        blob, _, commit = entry.partition(" ")
        content = run_git(repository.root, "cat-file", "blob", blob, output_limit=_MAX_NOTES)
        if content.returncode != 0:
            raise CodePlaneError("GIT_FAILED", f"The note on {commit[:12]} was not read.")
        lines += [NoteLine(commit, text) for text in content.stdout_text.splitlines() if text]
    return tuple(lines)
