"""Signs that a session makes no progress, told as sentences from the rows of its calls; nothing is decided by them."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from codeplane.core.printable import counted, printable_name
from codeplane.ledger.chain import LedgerRow
from codeplane.ledger.tasks import NEARLY_USED
from codeplane.operations.models import Result

_REPEATED_CONTENT: Final = 3
_REFUSED_IN_A_ROW: Final = 3
_BURST_CALLS: Final = 20
_BURST_MS: Final = 2 * 60_000
_PAUSE_MS: Final = 10 * 60_000
_BUDGETS: Final = {"mutations": "mutation budget", "test_runs": "test run budget", "duration": "time"}
_TIMES: Final = {2: "twice", 3: "three times", 4: "four times", 5: "five times"}


class ConvergenceSignal(Result):
    """One sign: a sentence, and the call that shows it last."""

    session: str
    kind: str
    text: str
    call_id: str | None = None


def signals_of(session: str, rows: Sequence[LedgerRow], now_ms: int) -> list[ConvergenceSignal]:
    """Return the signs in a session's final rows, which come oldest first."""
    # Two failures can come back in the same way: that is one sentence, with the newest call.
    newest: dict[tuple[str, str], LedgerRow] = {}
    for kind, told in _KINDS:
        for text, row in told(rows, now_ms):
            known = newest.setdefault((kind, text), row)
            newest[kind, text] = max(known, row, key=lambda one: one.seq)
    return [
        ConvergenceSignal(session=session, kind=kind, text=f"{session} {text}", call_id=row.call_id)
        for (kind, text), row in newest.items()
    ]


def budget_signals(session: str, task: Mapping[str, Any]) -> list[ConvergenceSignal]:
    """Return the budgets of a task that are nearly used up."""
    used: Mapping[str, float] = task["budget_used"]
    return [
        ConvergenceSignal(
            session=session, kind="budget", text=f"{share * 100:.0f} % of the {_BUDGETS[name]} of {session} is used"
        )
        for name, share in used.items()
        if share > NEARLY_USED
    ]


Told = Iterator[tuple[str, LedgerRow]]


def _same_content(rows: Sequence[LedgerRow], _now_ms: int) -> Told:
    """A file got a content that the session had given it before."""
    counts: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], LedgerRow] = {}
    for row in rows:
        after = row.body.get("after")
        if row.kind != "finished" or not isinstance(after, dict):
            continue
        for path in row.body.get("changed_paths", ()):
            key = (str(path), str(after.get(path)))
            counts[key] += 1
            last[key] = row
    most: dict[str, tuple[int, tuple[str, str]]] = {}
    for key, count in counts.items():
        if count >= _REPEATED_CONTENT and key[1] != "None":
            most[key[0]] = max(most.get(key[0], (0, key)), (count, key))
    for count, key in sorted(most.values(), reverse=True)[:3]:
        yield f"changed {printable_name(key[0])} to the same content {_times(count)}", last[key]


def _same_failure(rows: Sequence[LedgerRow], _now_ms: int) -> Told:
    """A failure came back although files were changed meanwhile."""
    n_changes = 0
    first: dict[str, int] = {}
    seen: dict[str, tuple[int, int, LedgerRow]] = {}
    for row in rows:
        n_changes += row.kind == "finished" and bool(row.body.get("changed_paths"))
        failure = row.body.get("failure_fingerprint")
        if failure is None:
            continue
        n_between = n_changes - first.setdefault(failure, n_changes)
        seen[failure] = (seen[failure][0] + 1 if failure in seen else 1, n_between, row)
    for count, n_between, row in seen.values():
        if count > 1 and n_between:
            yield f"has had the same failure {_times(count)}: it came back after {counted(n_between, 'change')}", row


def _refused(rows: Sequence[LedgerRow], _now_ms: int) -> Told:
    """The newest calls all ended with the same error of the same operation."""
    ended = [row for row in rows[::-1] if row.kind != "held"]
    n_same = 0
    for row in ended:
        if not row.body.get("error") or _error(row) != _error(ended[0]):
            break
        n_same += 1
    if n_same >= _REFUSED_IN_A_ROW:
        yield f"got {_error(ended[0])[1]} from {_error(ended[0])[0]} {_times(n_same)} in a row", ended[0]


def _error(row: LedgerRow) -> tuple[str, str]:
    return printable_name(row.operation or "?"), printable_name(str(row.body.get("error")))


def _pause(rows: Sequence[LedgerRow], now_ms: int) -> Told:
    """A burst of calls, and then none for long."""
    if not rows or now_ms - rows[-1].ts_ms < _PAUSE_MS:
        return
    n_burst = sum(rows[-1].ts_ms - row.ts_ms <= _BURST_MS for row in rows)
    if n_burst >= _BURST_CALLS:
        minutes = (now_ms - rows[-1].ts_ms) // 60_000
        yield f"has made no call for {minutes} minutes after {n_burst} calls in two minutes", rows[-1]


def _times(count: int) -> str:
    return _TIMES.get(count, f"{count} times")


_KINDS: Final = (
    ("same content", _same_content),
    ("same failure", _same_failure),
    ("refused again", _refused),
    ("pause", _pause),
)


def by_session(rows: Sequence[LedgerRow]) -> dict[str, list[LedgerRow]]:
    """Return rows, which come newest first, by their session, oldest first; the busiest last is the first session."""
    found: defaultdict[str, list[LedgerRow]] = defaultdict(list)
    for row in rows:
        found[row.session].append(row)
    return {session: own[::-1] for session, own in found.items()}
