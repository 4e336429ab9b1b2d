"""Verify the trace file: its chains, the ledger behind them, and what git says about lines that are not there.

A line that is missing is "not on this branch" when git accounts for it: another version of the file has it, or git
itself put the file back to a version that ends before it. Any other missing line was removed.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from codeplane.govern.trace.exchange import schema_problem
from codeplane.govern.trace.segments import START, ChainLine, Head, read_line, record_digest, without_chain

_CHAIN: Final = re.compile(
    r'"chain":\{"chain_hash":"([0-9a-f]{64})",(?:"continues":\{[^{}]*\},)?'
    r'"prev":"([0-9a-f]{64})","segment":"([^"\\]+)","seq":(\d{1,15})\},'
)
_CHAIN_HASH: Final = re.compile(r'"chain_hash":"[0-9a-f]{64}",')
_ID: Final = re.compile(r'\],"id":"([^"\\]+)","metadata":')
_PLACES: Final = re.compile(rb'"prev":"[0-9a-f]{64}","segment":"([^"\\]+)","seq":(\d{1,15})\}')
_CONFLICT: Final = ("<<<<<<<", ">>>>>>>", "=======", "|||||||")
_MAX_PROBLEMS: Final = 20

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class LedgerView:
    """What the ledger says: the digest of each record by its id, and the head of each segment of this repository."""

    digests: Mapping[str, str]
    heads: Mapping[str, Head]


@dataclass(frozen=True, slots=True)
class GitView:
    """What git has of the file: the versions of HEAD and of the index, and on request every version it knows.

    `before_reset` is the version of the commit that HEAD was on before a reset that was its last move.
    """

    head: bytes | None
    index: bytes | None
    every: Callable[[], Iterable[bytes]]
    before_reset: bytes | None = None


@dataclass(slots=True)
class TraceReport:
    """The outcome; `problems` are line numbers and what is wrong there, the first one first."""

    n_lines: int = 0
    n_records: int = 0
    n_foreign: int = 0
    n_duplicates: int = 0
    n_elsewhere: int = 0
    segments: dict[str, int] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Tell whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class _Seen:
    number: int
    hash: str
    prev: str


def verify_trace(
    lines: Iterable[bytes], begins_with: Callable[[bytes], bool], ledger: LedgerView | None, git: GitView
) -> TraceReport:
    """Verify the lines of the file; `begins_with` tells whether the file begins with a version that git has."""
    report = TraceReport()
    seen: dict[Place, _Seen] = {}
    order: list[tuple[int, Place]] = []
    for number, line in enumerate(lines, 1):
        report.n_lines = number
        if not line.strip():
            continue
        try:
            _take(number, line, report, seen, order, ledger)
        except (ValueError, TypeError) as error:
            report.problems.append((number, _why(line, error)))
    _check_links(report, seen)
    _check_order(report, order, begins_with, git)
    _check_missing(report, seen, ledger, git)
    report.problems.sort()
    del report.problems[_MAX_PROBLEMS:]
    unproven = [name for name in report.segments if ledger is None or name not in ledger.heads]
    if unproven:
        report.notes.append(f"tail not provable for {len(unproven)} segments: their ledger is not here")
    return report


def _why(line: bytes, error: Exception) -> str:
    text = line.decode("utf-8", "replace")
    if text.startswith(_CONFLICT):
        return "a conflict marker; keep the lines of both sides"
    return f"not a whole record: {str(error)[:120]}"


def _take(
    number: int,
    raw: bytes,
    report: TraceReport,
    seen: dict[Place, _Seen],
    order: list[tuple[int, Place]],
    ledger: LedgerView | None,
) -> None:
    text = raw.decode("utf-8").rstrip("\r\n")
    line = _quick(text) or _slow(text)
    if line is None:
        report.n_foreign += 1
        return
    report.n_records += 1
    found, digest = line
    place = (found.head.segment, found.head.seq)
    report.segments[found.head.segment] = max(report.segments.get(found.head.segment, 0), found.head.seq)
    known = seen.get(place)
    if not found.is_sound:
        report.problems.append((number, "its text was changed: the hash does not fit"))
    elif known is not None and known.hash != found.head.hash:
        report.problems.append((number, f"a fork: line {known.number} has the same place in the segment"))
    elif known is not None:
        report.n_duplicates += 1
    elif ledger is not None and found.head.segment in ledger.heads:
        own = ledger.digests.get(found.record_id)
        if own is None:
            report.problems.append((number, "the ledger has no such record"))
        elif own != digest:
            report.problems.append((number, "it differs from the ledger"))
    order.append((number, place))
    seen.setdefault(place, _Seen(number, found.head.hash, found.prev))


def _quick(text: str) -> tuple[ChainLine, str] | None:
    """Return a line that is spelt as we write it, without reading the JSON; None for any other."""
    chain, name = _CHAIN.search(text), _ID.search(text)
    if chain is None or name is None:
        return None
    own, prev, segment, seq = chain.groups()
    bare = _CHAIN_HASH.sub("", text, count=1)
    if hashlib.sha256(f"{prev}\n{bare}".encode()).hexdigest() != own:
        return None
    record = text[: chain.start()] + text[chain.end() :]
    line = ChainLine(name[1], Head(segment, int(seq), own), prev, None, is_sound=True, body={})
    return line, hashlib.sha256(record.encode()).hexdigest()


def _slow(text: str) -> tuple[ChainLine, str] | None:
    line = read_line(text)
    if line is not None:
        return line, record_digest(without_chain(line.body))
    problem = schema_problem(text)
    if problem is not None:
        raise ValueError(problem)
    return None


def _check_links(report: TraceReport, seen: Mapping[Place, _Seen]) -> None:
    for (segment, seq), one in seen.items():
        before = seen.get((segment, seq - 1))
        if seq == 1 and one.prev != START:
            report.problems.append((one.number, "the first line of a segment follows another one"))
        if before is not None and before.hash != one.prev:
            report.problems.append((one.number, f"it does not follow line {before.number} of its segment"))


def _check_order(
    report: TraceReport, order: Sequence[tuple[int, Place]], begins_with: Callable[[bytes], bool], git: GitView
) -> None:
    """Report lines that were put elsewhere or repeated, unless git itself has the file so."""
    last: dict[str, int] = {}
    bad: list[tuple[int, str]] = []
    for number, (segment, seq) in order:
        if seq <= last.get(segment, 0):
            bad.append((number, "out of order: a later line of its segment comes before it"))
        last[segment] = max(seq, last.get(segment, 0))
    if not bad:
        return
    own = [one for one in (git.head, git.index) if one]
    explained = max((one.count(b"\n") for one in own if begins_with(one)), default=0)
    if not explained:
        explained = max((one.count(b"\n") for one in git.every() if begins_with(one)), default=0)
    report.problems += [(number, why) for number, why in bad if number > explained]


def _places_in(version: bytes | None) -> set[Place]:
    return {(name.decode(), int(seq)) for name, seq in _PLACES.findall(version or b"")}


def _check_missing(report: TraceReport, seen: Mapping[Place, _Seen], ledger: LedgerView | None, git: GitView) -> None:
    """Tell lines that are on another branch from lines that were removed."""
    in_head, in_index = _places_in(git.head), _places_in(git.index)
    gone = {place for place in in_head - seen.keys() if not git.index or place in in_index}
    if gone and git.before_reset is not None:
        gone -= in_head - _places_in(git.before_reset)
    missing = _gaps(seen) | (in_head - seen.keys() - gone)
    tails = _tails(report, ledger)
    missing |= tails
    for place in sorted(gone):
        report.problems.append((_where(place, seen), f"{_name(place)} was removed: HEAD has it"))
    missing -= gone
    if not missing:
        return
    known: set[Place] = set()
    cuts: set[Place] = set()
    for version in (git.head, git.index, *git.every()):
        places = _places_in(version)
        known |= places
        cuts |= _cuts(places, missing)
    for place in sorted(missing):
        is_elsewhere = place in known or (place in tails and _cut_of(place, seen) in cuts)
        if is_elsewhere or ledger is None or place[0] not in ledger.heads:
            report.n_elsewhere += 1
        else:
            report.problems.append((_where(place, seen), f"{_name(place)} was removed: no version in git has it"))
    if report.n_elsewhere:
        report.notes.append(f"{report.n_elsewhere} lines of known segments are not on this branch")


def _gaps(seen: Mapping[Place, _Seen]) -> set[Place]:
    """Return the lines before others of their segment that are not there."""
    newest: dict[str, int] = {}
    for segment, seq in seen:
        newest[segment] = max(seq, newest.get(segment, 0))
    return {(name, seq) for name, last in newest.items() for seq in range(1, last) if (name, seq) not in seen}


def _tails(report: TraceReport, ledger: LedgerView | None) -> set[Place]:
    """Return the lines behind the last one of each segment that the ledger knows."""
    if ledger is None:
        return set()
    return {
        (head.segment, seq)
        for head in ledger.heads.values()
        for seq in range(report.segments.get(head.segment, 0) + 1, head.seq + 1)
    }


def _cuts(places: set[Place], missing: set[Place]) -> set[Place]:
    """Return where a version ends, for each segment that has missing lines."""
    newest = dict.fromkeys((name for name, _ in missing), 0)
    for segment, seq in places:
        if segment in newest:
            newest[segment] = max(seq, newest[segment])
    return set(newest.items())


def _cut_of(place: Place, seen: Mapping[Place, _Seen]) -> Place:
    segment = place[0]
    return segment, max((seq for name, seq in seen if name == segment), default=0)


def _where(place: Place, seen: Mapping[Place, _Seen]) -> int:
    """Return the number of the line at which a missing one should be."""
    segment, seq = place
    before = [one.number for (name, other), one in seen.items() if name == segment and other < seq]
    after = [one.number for (name, other), one in seen.items() if name == segment and other > seq]
    return min(after, default=max(before, default=0) + 1)


def _name(place: Place) -> str:
    return f"line {place[1]} of {place[0]}"
