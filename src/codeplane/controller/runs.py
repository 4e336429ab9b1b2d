"""What is kept of a work and its run sessions, below `.codeplane/work/<workId>/`.

Session files and records of turns are signed with the ledger's key: evidence and progress that somebody else wrote
count for nothing. A session file that is older than the ledger's last row about it is refused, too.
"""

import hmac
import json
import os
import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from filelock import FileLock

from codeplane.controller.budget import Budget
from codeplane.controller.codes import Code
from codeplane.controller.plan import canonical_json
from codeplane.controller.scope import ID_FORM
from codeplane.controller.states import Run, RunState
from codeplane.controller.strategy import Rejection, RunHistory
from codeplane.core.errors import CodePlaneError
from codeplane.ledger.seals import SealKey

_PURPOSE: Final = "controller"
_TRACE: Final = re.compile(r"tr:([A-Za-z0-9][A-Za-z0-9._-]{0,63}):([1-9][0-9]{0,9})")
_MAX_ACTIONS: Final = 8
_MAX_REJECTIONS: Final = 8
_MAX_TEXT: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class NodeProgress:
    """How far a node is.

    `finished_at` counts the finished attempts of the run, so that it tells what ran after what. `content_hash` is the
    target file after the run's own last patch, `planned_hash` what the attempt under way makes of it.
    """

    digest: str
    state: str = "pending"
    n_attempts: int = 0
    n_failures: int = 0
    finished_at: int = 0
    content_hash: str | None = None
    planned_hash: str | None = None

    @property
    def is_exhausted(self) -> bool:
        """Whether it failed too often to be tried again."""
        return self.n_failures >= MAX_FAILURES


MAX_FAILURES: Final = 3


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One run session between two turns.

    `plan` is the accepted plan, `needs_review` its nodes that wait for a person, `n_finished` counts finished attempts,
    `knowledge` is what the last answer told about the strategy. `refused_nodes` outline the plan that was refused last.
    """

    run_id: str
    work_id: str
    agent_id: str
    opened_at: str
    run: Run = field(default_factory=Run)
    n_turns: int = 0
    plan: Mapping[str, Any] | None = None
    confidence: int | None = None
    needs_review: tuple[str, ...] = ()
    nodes: Mapping[str, NodeProgress] = field(default_factory=lambda: MappingProxyType({}))
    used_gates: tuple[str, ...] = ()
    n_finished: int = 0
    rejections: tuple[Rejection, ...] = ()
    actions: tuple[tuple[str, str], ...] = ()
    last_rejection: tuple[Mapping[str, Any], ...] = ()
    refused_nodes: tuple[Mapping[str, Any], ...] = ()
    conflicts: tuple[tuple[str, str], ...] = ()
    switched_strategy: str | None = None
    knowledge: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def history(self) -> RunHistory:
        """What decides whether another strategy is tried."""
        failures = {node_id: one.n_failures for node_id, one in self.nodes.items()}
        return RunHistory(self.rejections, self.actions, failures, self.conflicts)

    def trace_ref(self) -> str:
        """Return the reference of the turn that is being made."""
        return f"tr:{self.run_id}:{self.n_turns}"

    def own_hash(self, path: str) -> str | None:
        """Return a file's hash after the run's own last patch to it, by whichever node; None when it was deleted."""
        patches = [
            (progress.finished_at, progress.content_hash or "")
            for node in (self.plan or {}).get("nodes", ())
            if node.get("targetFile") == path
            and (progress := self.nodes.get(node["nodeId"])) is not None
            and progress.finished_at
        ]
        return max(patches, default=(0, ""))[1] or None

    def with_action(self, verb: str, arguments_digest: str) -> "SessionRecord":
        """Return the record with one more action; the last few are kept."""
        return replace(self, actions=(*self.actions, (verb, arguments_digest))[-_MAX_ACTIONS:])

    def with_rejection(self, rejection: Rejection) -> "SessionRecord":
        """Return the record with one more refused plan; the last few are kept."""
        return replace(self, rejections=(*self.rejections, rejection)[-_MAX_REJECTIONS:])

    def with_node(self, node_id: str, progress: NodeProgress) -> "SessionRecord":
        """Return the record with another progress of a node."""
        return replace(self, nodes={**self.nodes, node_id: progress})


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What a turn returned, as evidence: the sources, the text, and the digests of the files that it showed."""

    trace_ref: str
    work_id: str
    sources: tuple[str, ...]
    text: str
    call_id: str
    verb: str
    versions: Mapping[str, str] = field(default_factory=dict)


class WorkFiles:
    """The files of one work. Invariant: what is read back was written with this key, whole."""

    def __init__(self, directory: Path, work_id: str, key: SealKey) -> None:
        self.work_id = work_id
        self.place = directory / work_id
        self._key = key

    @property
    def scratch(self) -> Path:
        """Return where scratch files are."""
        return self.place / "scratch"

    def load_session(self, run_id: str) -> SessionRecord | None:
        """Return a session; None when there is none.

        Raises:
            CodePlaneError: CONTROLLER_STATE_INVALID when it was changed by somebody else.
        """
        path = self.place / "session" / f"{run_id}.json"
        if not path.exists():
            return None
        document = self.read(path)
        if document is None or document.get("run_id") != run_id or document.get("work_id") != self.work_id:
            message = f"The stored state of session {run_id} was changed or cannot be read."
            raise CodePlaneError("CONTROLLER_STATE_INVALID", message)
        return _session_from(document)

    def save_session(self, record: SessionRecord) -> None:
        """Replace a session; durable."""
        self.write(self.place / "session" / f"{record.run_id}.json", _session_document(record))

    def keep_turn(self, record: TurnRecord) -> None:
        """Keep what a turn showed."""
        match = _TRACE.fullmatch(record.trace_ref)
        if match is not None:
            document = {**asdict(record), "text": record.text[:_MAX_TEXT]}
            self.write(self.place / "turns" / match[1] / f"{match[2]}.json", document)

    def turn(self, trace_ref: str) -> TurnRecord | None:
        """Return what an earlier turn of this work showed; None when there was none."""
        match = _TRACE.fullmatch(trace_ref)
        if match is None:
            return None
        document = self.read(self.place / "turns" / match[1] / f"{match[2]}.json")
        if document is None or document.get("trace_ref") != trace_ref or document.get("work_id") != self.work_id:
            return None
        return TurnRecord(**{**document, "sources": tuple(document["sources"])})

    def turns(self) -> list[TurnRecord]:
        """Return all turns of this work, by session and number."""
        found = []
        for path in (self.place / "turns").glob("*/*.json"):
            record = self.turn(f"tr:{path.parent.name}:{path.stem}")
            if record is not None:
                found.append(record)
        return sorted(found, key=lambda one: (one.trace_ref.split(":")[1], int(one.trace_ref.split(":")[2])))

    def prompts(self) -> dict[str, Any]:
        """Return the prompt of this work and the later ones."""
        document = self.read(self.place / "prompt.json") or {}
        return {
            "originalPrompt": document.get("original_prompt", ""),
            "promptHistory": list(document.get("history", ())),
        }

    def add_prompt(self, prompt: str) -> None:
        """Keep a prompt: the first one stays, others are listed after it. Sessions may do so at the same time."""
        self.place.mkdir(parents=True, exist_ok=True)
        with FileLock(self.place / ".prompt.lock"):
            self._add_prompt(prompt)

    def _add_prompt(self, prompt: str) -> None:
        known = self.prompts()
        original, history = known["originalPrompt"], known["promptHistory"]
        if not prompt.strip() or prompt == original or prompt in history:
            return
        document = {"original_prompt": original or prompt, "history": [*history, prompt] if original else history}
        self.write(self.place / "prompt.json", document)

    def keep_fetched(self, kind: str, name: str, document: Mapping[str, Any]) -> None:
        """Keep a ticket or an API description that was fetched in this work."""
        self.write(self.place / "fetched" / f"{kind}-{name}.json", document)

    def fetched(self, kind: str) -> list[dict[str, Any]]:
        """Return what was fetched in this work, by name."""
        paths = sorted((self.place / "fetched").glob(f"{kind}-*.json"))
        return [document for path in paths if (document := self.read(path)) is not None]

    def write(self, path: Path, document: Mapping[str, Any]) -> None:
        """Replace a signed file, at once and durably.

        Raises:
            OSError: it cannot be written.
        """
        body = canonical_json(document).decode("utf-8", "surrogatepass")
        text = json.dumps({"version": 1, "seal": self._seal(path, body), "body": document}, ensure_ascii=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
        try:
            with temporary.open("w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise

    def read(self, path: Path) -> dict[str, Any] | None:
        """Return the document of a signed file; None when there is none, or when somebody else wrote it."""
        try:
            document = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
            body = document["body"]
            text = canonical_json(body).decode("utf-8", "surrogatepass")
            is_own = document["version"] == 1 and hmac.compare_digest(document["seal"], self._seal(path, text))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return dict(body) if is_own and isinstance(body, dict) else None

    def _seal(self, path: Path, body: str) -> str:
        # The name is sealed, too: no file can take the place of another one.
        name = path.relative_to(self.place.parent).as_posix()
        return self._key.sign(_PURPOSE, f"{name}\n{body}")


def lock_file(directory: Path, run_id: str) -> Path:
    """Return the file whose lock serialises the turns of a session, before it is known to which work it belongs."""
    place = directory / ".locks"
    place.mkdir(parents=True, exist_ok=True)
    return place / f"{run_id}.lock"


def works(directory: Path) -> tuple[str, ...]:
    """Return the ids of all works, in order."""
    if not directory.is_dir():
        return ()
    return tuple(sorted(one.name for one in directory.iterdir() if one.is_dir() and ID_FORM.fullmatch(one.name)))


def work_of(directory: Path, run_id: str) -> str | None:
    """Return the work that a session belongs to."""
    found = sorted(directory.glob(f"*/session/{run_id}.json"))
    return found[0].parent.parent.name if found else None


def sessions_of(files: WorkFiles) -> list[SessionRecord]:
    """Return the sessions of a work that can be read, by id."""
    found = []
    for path in sorted((files.place / "session").glob("*.json")):
        with suppress(CodePlaneError):
            record = files.load_session(path.stem)
            if record is not None:
                found.append(record)
    return found


def _session_document(record: SessionRecord) -> dict[str, Any]:
    run, budget = record.run, record.run.budget
    return {
        "run_id": record.run_id,
        "work_id": record.work_id,
        "agent_id": record.agent_id,
        "opened_at": record.opened_at,
        "state": run.state.value,
        "used_tokens": budget.used_tokens,
        "blocked_from": run.blocked_from.value if run.blocked_from is not None else None,
        "n_denied_while_blocked": run.n_denied_while_blocked,
        "plan_fingerprint": run.plan_fingerprint,
        "n_turns": record.n_turns,
        "plan": record.plan,
        "confidence": record.confidence,
        "needs_review": list(record.needs_review),
        "nodes": {node_id: asdict(one) for node_id, one in record.nodes.items()},
        "used_gates": list(record.used_gates),
        "n_finished": record.n_finished,
        "rejections": [[[code.value for code in one.codes], sorted(one.files)] for one in record.rejections],
        "actions": [list(one) for one in record.actions],
        "last_rejection": [dict(one) for one in record.last_rejection],
        "refused_nodes": [dict(one) for one in record.refused_nodes],
        "conflicts": [list(one) for one in record.conflicts],
        "switched_strategy": record.switched_strategy,
        "knowledge": dict(record.knowledge),
    }


def _session_from(document: Mapping[str, Any]) -> SessionRecord:
    blocked_from = document["blocked_from"]
    run = Run(
        RunState(document["state"]),
        Budget(document["used_tokens"]),
        RunState(blocked_from) if blocked_from is not None else None,
        document["n_denied_while_blocked"],
        document["plan_fingerprint"],
    )
    return SessionRecord(
        run_id=document["run_id"],
        work_id=document["work_id"],
        agent_id=document["agent_id"],
        opened_at=document["opened_at"],
        run=run,
        n_turns=document["n_turns"],
        plan=document["plan"],
        confidence=document["confidence"],
        needs_review=tuple(document["needs_review"]),
        nodes={node_id: NodeProgress(**one) for node_id, one in document["nodes"].items()},
        used_gates=tuple(document["used_gates"]),
        n_finished=document["n_finished"],
        rejections=tuple(
            Rejection(tuple(Code(code) for code in codes), frozenset(files)) for codes, files in document["rejections"]
        ),
        actions=tuple((verb, digest) for verb, digest in document["actions"]),
        last_rejection=tuple(document["last_rejection"]),
        refused_nodes=tuple(document.get("refused_nodes", ())),
        conflicts=tuple((one, other) for one, other in document["conflicts"]),
        switched_strategy=document["switched_strategy"],
        knowledge=document["knowledge"],
    )


def with_limits(record: SessionRecord, max_tokens: int, threshold: Decimal) -> SessionRecord:
    """Return the session with the limits that the settings give now."""
    budget = replace(record.run.budget, max_tokens=max_tokens, threshold=threshold)
    return replace(record, run=replace(record.run, budget=budget))
