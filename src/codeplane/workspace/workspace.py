"""One repository, opened: its places, settings, ledger and policies."""

import os
import stat
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from codeplane.core.canonical_json import digest
from codeplane.core.clock import Clock, SystemClock, iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.core.events import EventBus
from codeplane.core.hashing import sha256_file
from codeplane.core.ids import IdSource, RandomIds
from codeplane.core.logs import fields, get_logger
from codeplane.core.paths import RepoPath
from codeplane.core.redaction import redact
from codeplane.core.settings import Loaded
from codeplane.core.tracing import Tracer
from codeplane.git.ignored import ignored_paths
from codeplane.git.programs import Helper, ProgramFinder
from codeplane.git.repo_version import RepoVersion, TrackedView, head_commit
from codeplane.git.repository import (
    Head,
    Repository,
    TrackedPaths,
    find_repository,
    read_branch,
    read_head,
)
from codeplane.git.working_tree import untracked_paths
from codeplane.govern.acceptance import AcceptanceStore
from codeplane.govern.approvals import ApprovalBook
from codeplane.govern.approvals import keeps as keeps_approval
from codeplane.govern.delegations import DelegationBook
from codeplane.govern.gate import Gate, Surrounding
from codeplane.govern.sessions_memory import SessionsMemory
from codeplane.govern.sources import PolicyPlaces, RuleSources
from codeplane.govern.trace.files import TRACE_FILE
from codeplane.govern.trace.ledger_records import keeps_trace
from codeplane.govern.writers import last_writer, written_meanwhile
from codeplane.index.ignore_rules import IGNORE_FILE, CompiledFiles, IgnoreRules, default_ignore_text, why_secret
from codeplane.ledger.chain import SYSTEM_SESSION, EventChain, LedgerRow, NewEvent, open_ledger_database
from codeplane.ledger.owners import Ownership
from codeplane.ledger.policy import AfterPolicy, Decides
from codeplane.ledger.seals import Anchor, Sealer, SealKey
from codeplane.ledger.sessions import SessionRegistry
from codeplane.ledger.task_book import TaskBook
from codeplane.ledger.tasks import RepoSnapshot, TaskLimits, limits_of
from codeplane.store.sqlite import is_disk_full
from codeplane.workspace.config import Settings, has_overlay, load_workspace_settings
from codeplane.workspace.context_settings import declared_contexts
from codeplane.workspace.kept_cursors import KeptCursors
from codeplane.workspace.places import Places, UserPlaces, places_for, user_places

if TYPE_CHECKING:
    # What is opened on first use is imported on first use; the reason is given there.
    from codeplane.core.sandbox import Sandbox
    from codeplane.edit.editor import Editor
    from codeplane.edit.records import RecordStore
    from codeplane.govern.shell_risk.context import ShellContext
    from codeplane.govern.shell_risk.report import RiskVerdict
    from codeplane.govern.upstream_pins import PinStore
    from codeplane.index.reconcile import IndexState
    from codeplane.index.repository_index import RepositoryIndex
    from codeplane.languages.facts import Definition
    from codeplane.memory.friction_feed import FrictionFeed
    from codeplane.memory.store import MemoryStore, Origin
    from codeplane.store.graph.graph import Graph
    from codeplane.workspace.command_bracket import CommandBracket, Mark
    from codeplane.workspace.git_bracket import GitBracket, GitLease
    from codeplane.workspace.tracing import TraceBook

_log = get_logger(__name__)

ALARM_KIND: Final = "gate_alarm"
# A refresh after a change of a larger repository takes a quarter of a second and more.
_MAX_WAITED_FOR: Final = 5_000
# More than fit into a minute.
_MAX_COUNTED_RECONCILES: Final = 10_000
# What `.codeplane/` hides from git: everything but the configuration that a team may want to commit.
_PRIVATE_GITIGNORE = "*\n!config.yaml\n!contexts.yaml\n"


@dataclass(frozen=True, slots=True)
class WorkspaceRequest:
    """How to open a workspace; tests pass their own clock, ids and user directories."""

    start: Path
    overrides: Sequence[str] = ()
    clock: Clock | None = None
    ids: IdSource | None = None
    user: UserPlaces | None = None


class Workspace:
    """One working tree with everything an operation may need.

    Invariant: it is opened by `open_workspace`, used by any number of threads, and closed once by its opener.
    """

    def __init__(
        self, repository: Repository, places: Places, loaded: Loaded[Settings], clock: Clock, ids: IdSource
    ) -> None:
        self.repository = repository
        self.places = places
        self.loaded = loaded
        self.clock = clock
        self.ids = ids
        self.overrides: tuple[str, ...] = ()
        self.events = EventBus()
        self._tracked = TrackedView(repository)
        self.programs = ProgramFinder(repository)
        self.has_overlay = has_overlay(loaded.values.index.overlay, os.environ)
        self._ignored: tuple[object, frozenset[str]] | None = None
        self._compiled_ignore_files = CompiledFiles(repository.root)
        database, damaged = open_ledger_database(places.ledger, clock)
        self.chain = EventChain(database, clock)
        self.sessions = SessionRegistry(database, clock, ids, loaded.values.sessions)
        self.tasks = TaskBook(self.chain, clock, ids)
        self.sessions.on_end = self._end_session
        # A server that sends traces sets it.
        self.tracer: Tracer | None = None
        self.ownership = Ownership(places.owners, ids.new("own"))
        self.after_policies: tuple[AfterPolicy, ...] = ()
        # What packages above this one keep as long as the workspace is open, by their names.
        self.kept: dict[str, object] = {}
        # Users of rows, such as approvals or memory, register here which rows must not be retired.
        self.row_keepers: tuple[Callable[[LedgerRow], bool], ...] = (keeps_approval, _keeps_memory, keeps_trace)
        self.refreshers: tuple[Callable[[], None], ...] = (self._refresh_index,)
        self._index: RepositoryIndex | None = None
        self._index_lock = threading.Lock()
        self._sandbox: Sandbox | None = None
        self._sandbox_lock = threading.Lock()
        self.last_reconcile_ms: int | None = None
        self._reconciled_head: tuple[bytes, ...] = ()
        self._reconciles_ms: deque[int] = deque(maxlen=_MAX_COUNTED_RECONCILES)
        self.cursors = KeptCursors(places.private / "cursors")
        self.repo_id = self.chain.set_meta_once("repo_id", ids.new("repo"))
        self.chain.sealer = Sealer(Anchor(places.user.ledger_seals, self.repo_id, places.ledger, places.clone), clock)
        self.gate = self._make_gate()
        self.policies: Decides = self.gate
        if damaged is not None:
            self._report_damage(damaged)

    def _make_gate(self) -> Gate:
        places, chain = self.places, self.chain
        self.delegations = DelegationBook(chain)
        sources = RuleSources(
            self.root,
            AcceptanceStore(places.user.governance, self.repo_id, self._sign_acceptance),
            PolicyPlaces(places.user.administrator_policy, places.user.policy),
            self.delegations.all,
        )
        around = Surrounding(
            self.working_hash,
            lambda path, sha256: last_writer(chain, self.editor.records, path, sha256),
            self._shell_context,
            self._secrets,
            self._unmet_gate,
        )
        return Gate(sources, chain, ApprovalBook(chain, self.clock, self.ids), SessionsMemory(chain), around)

    def _sign_acceptance(self, text: str) -> str:
        """Return the seal of what a person accepted, made with the key of this ledger.

        Raises:
            OSError: the key cannot be stored.
        """
        return self._ledger_anchor().keep_key().sign("acceptance", text)

    @cached_property
    def upstream_pins(self) -> "PinStore":
        """Return which MCP servers of others a person has accepted, with their tools."""
        # 5 ms that only repositories with upstreams need.
        from codeplane.govern.upstream_pins import PinStore  # noqa: PLC0415

        return PinStore(self.places.user.governance / f"{self.repo_id}.upstreams.json", self._sign_acceptance)

    @property
    def upstream_secrets(self) -> Path:
        """Return the directory with the secrets of this repository's upstreams; no other repository refers to them."""
        return self.places.user.upstream_secrets / self.repo_id

    def _ledger_anchor(self) -> Anchor:
        return Anchor(self.places.user.ledger_seals, self.repo_id, self.places.ledger)

    def signing_key(self) -> SealKey:
        """Return the key that signs receipts and tokens, which is that of the ledger.

        Raises:
            CodePlaneError: NO_SIGNING_KEY when it cannot be kept, or when others can read it.
        """
        anchor = self._ledger_anchor()
        try:
            key = anchor.keep_key()
        except OSError as error:
            raise CodePlaneError(
                "NO_SIGNING_KEY", f"The signing key cannot be kept: {error.strerror or error}."
            ) from error
        if anchor.is_exposed():
            raise CodePlaneError(
                "NO_SIGNING_KEY", "The signing key can be read by other users.", hint="A person runs `chmod 600` on it."
            )
        return key

    def _unmet_gate(self, session: str) -> tuple[str, str]:
        # 5 ms that only changes need.
        from codeplane.memory.workflow_gates import unmet_gate  # noqa: PLC0415

        return unmet_gate(self.chain, session)

    def _shell_context(self, commands: tuple[str, ...]) -> "ShellContext":
        # 15 ms that only calls with commands need.
        from codeplane.govern.shell_risk.surroundings import look_around  # noqa: PLC0415

        return look_around(self.root, self.root, os.environ, "\n".join(commands))

    def command_verdict(self, command: str) -> "RiskVerdict":
        """Return how dangerous a shell command is, by the rules in force; as the gate judges it."""
        # As above.
        from codeplane.govern.policies.risk import command_report  # noqa: PLC0415

        return command_report(redact(command), self._shell_context((command,)), self.gate.rules()).verdict

    def shadowed_programs(self, command: str) -> tuple[str, ...]:
        """Return the programs of a command that a directory which others can write to offers on PATH."""
        return self._shell_context((command,)).shadowed

    def _secrets(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        """Return the paths that look secret by name or content, each with the reason; people can allow some."""
        rules = self.ignore_rules()
        return tuple(
            f"{path} ({reason})" for path in paths if (reason := why_secret(rules, RepoPath.known(path))) is not None
        )

    def accept_helpers(self) -> tuple[Helper, ...]:
        """Accept the hooks and helpers that this repository makes git run, as they are; only a person decides that."""
        helpers = self.programs.find().helpers
        if helpers:
            self.gate.sources.accept_helpers(one.digest for one in helpers)
        return helpers

    def _report_damage(self, kept: Path) -> None:
        _log.error("the ledger was damaged; a new chain starts", extra=fields(kept=kept.name))
        self.record("ledger_replaced", {"kept": kept.name})

    @property
    def settings(self) -> Settings:
        """Return the settings in force."""
        return self.loaded.values

    @property
    def root(self) -> Path:
        """Return the top of the working tree."""
        return self.repository.root

    def record(self, kind: str, body: dict[str, object]) -> None:
        """Append a system row, such as a start or a stop."""
        self.chain.append(NewEvent(kind, SYSTEM_SESSION, body, worktree=self.repository.worktree_id))

    def adopt_session(self, connection: str, agent: str) -> None:
        """Let what was seen over a connection count for the agent's session that its calls now belong to."""
        own, shared = self.sessions.label_of(connection), self.sessions.label_of(agent)
        if own is not None and shared is not None and own != shared:
            self.gate.memory.adopt(own, shared)

    def alarm(
        self, what: str, body: dict[str, object], session: str = SYSTEM_SESSION, call_id: str | None = None
    ) -> None:
        """Append a row that people should look at: something got round the gate, or tried to."""
        worktree = self.repository.worktree_id
        self.chain.append(NewEvent(ALARM_KIND, session, {"what": what, **body}, call_id, None, None, worktree))

    def leases(self) -> list[dict[str, object]]:
        """Return the paths that calls are writing right now, with the session and the start time."""
        found: list[dict[str, object]] = []
        for call in self.chain.open_calls():
            effects = call.begun.body.get("effects")
            paths = [*effects.get("writes", ()), *effects.get("deletes", ())] if isinstance(effects, dict) else []
            lease: dict[str, object] = {
                "paths": paths,
                "session": call.begun.session,
                "task": call.begun.task_id,
                "call": call.call_id,
                "operation": call.begun.operation,
                "worktree": call.begun.worktree,
                "since": iso_from_ms(call.begun.ts_ms),
            }
            found.append(lease)
        return found

    def governance_summary(self) -> dict[str, object]:
        """Return the mode, the intents that can be selected and how many calls wait for a person."""
        rules = self.gate.rules()
        return {
            "mode": rules.mode.value,
            "active_intents": list(rules.active_ids(self.clock.now_ms())),
            "pending_approvals": len(self.gate.approvals.holds("pending")),
            "problem": rules.problem or None,
        }

    def contradictions(self) -> tuple[str, ...]:
        """Return where tables beside the chain disagree with its rows; such entries grant nothing."""
        return (*self.gate.approvals.contradictions(), *self.tasks.contradictions())

    def undo_summary(self) -> dict[str, int]:
        """Return how many batches can be undone and how much disk space they use."""
        records, limit = self.editor.records, self.settings.edits.undo_bytes
        return {"batches": records.n_done(), "size_bytes": records.size_bytes(), "limit_bytes": limit}

    def retire_rows(self) -> int:
        """Replace expired rows of the ledger by sealed checkpoints; return how many were removed.

        Raises:
            CodePlaneError: CHAIN_BROKEN when an expired row fails verification.
        """
        # 5 ms that a server spends when it has started.
        from codeplane.ledger.retention import retire_rows  # noqa: PLC0415

        n_rows = 0
        while (done := retire_rows(self.chain, self.settings.retention, self.clock, self._must_keep)) is not None:
            n_rows += done.rows
        return n_rows

    def _must_keep(self, row: LedgerRow) -> bool:
        return any(keeps(row) for keeps in self.row_keepers)

    def head(self) -> Head:
        """Return where HEAD points."""
        return read_head(self.repository)

    def head_summary(self) -> dict[str, str | None]:
        """Return commit and branch, for status."""
        head = self.head()
        return {"commit": head.commit, "branch": head.branch}

    def tracked(self) -> TrackedPaths:
        """Return what git tracks."""
        return self._tracked.paths()

    def repo_version(self) -> RepoVersion:
        """Return HEAD, the stamp of the git index and the heads of submodules, as they are now."""
        return self._tracked.version()

    def ignore_rules(self) -> IgnoreRules:
        """Return the ignore rules as they are on disk."""
        return IgnoreRules(self.root, self.tracked, self._compiled_ignore_files)

    def new_files(self) -> list[str]:
        """Return the files that git does not track and no rule leaves out: not those of a `.venv` that git shows.

        Raises:
            CodePlaneError: git failed.
        """
        rules = self.ignore_rules()
        return [
            path
            for path in untracked_paths(self.root)
            if rules.exclusion(RepoPath.known(path), is_directory=False) is None
        ]

    def _index_rules(self) -> IgnoreRules:
        """Return the rules of the index, which without its overlay has only what git tracks."""
        return IgnoreRules(self.root, self.tracked, self._compiled_ignore_files, only_tracked=not self.has_overlay)

    def ignored_files(self, state: "IndexState") -> frozenset[str]:
        """Return the files of a state of the index that git ignores; cached until something changes.

        Raises:
            CodePlaneError: GIT_FAILED when git cannot tell.
        """
        excludes = self.repository.common_dir / "info" / "exclude"
        key = (state.epoch, self._tracked.stamps(), excludes.stat().st_mtime_ns if excludes.exists() else 0)
        if self._ignored is None or self._ignored[0] != key:
            inside = tuple(f"{one.path}/" for one in self.repo_version().submodules)
            loose = [path for path in state.files.keys() - self.tracked().files if not path.startswith(inside)]
            self._ignored = (key, ignored_paths(self.root, loose))
        return self._ignored[1]

    def task_limits(self) -> TaskLimits:
        """Return the default limits of a task."""
        return limits_of(self.settings.tasks)

    def snapshot(self) -> RepoSnapshot:
        """Return the state of the repository, as a task remembers it."""
        return RepoSnapshot(self.repo_version().head, self.index_epoch())

    def fingerprint(self) -> str:
        """Return a digest of the full file state: HEAD, and path and content of every indexed file."""
        contents = self.index.content_digest() if self.has_index else None
        return digest({"head": self.repo_version().head, "files": contents})

    def version_digest(self) -> str:
        """Return a digest of what git says of the repository: HEAD, the git index and the submodules."""
        version = self.repo_version()
        submodules = [[one.path, one.head, [str(part) for part in one.index or ()]] for one in version.submodules]
        index = [str(part) for part in version.index or ()]
        return digest({"head": version.head, "index": index, "submodules": submodules})

    @property
    def sandbox(self) -> "Sandbox":
        """Return the interpreters for programs, started on first use."""
        with self._sandbox_lock:
            if self._sandbox is None:
                # 30 ms that only programs need.
                from codeplane.core.sandbox import Sandbox  # noqa: PLC0415

                self._sandbox = Sandbox()
            return self._sandbox

    @property
    def index(self) -> "RepositoryIndex":
        """Return the index, opened on first use."""
        with self._index_lock:
            if self._index is None:
                # 60 ms that a client need not wait for to see its tools.
                from codeplane.index.repository_index import RepositoryIndex, Surroundings  # noqa: PLC0415

                around = Surroundings(
                    rules=self._index_rules,
                    tracking_stamps=self._tracked.stamps,
                    holds_tracked=lambda directory: directory in self.tracked().directories,
                    now_ns=lambda: self.clock.now_ms() * 1_000_000,
                    last_epoch=lambda: self.chain.last_index_epoch(self.repository.worktree_id),
                    seed=self.places.shared if self.places.shared != self.places.private else None,
                    has_overlay=self.has_overlay,
                    declared_contexts=declared_contexts(self.settings.contexts),
                )
                self._index = RepositoryIndex(self.root, self.places.private, around)
            return self._index

    @cached_property
    def memory(self) -> "MemoryStore":
        """Return what this repository taught, opened on first use."""
        # 10 ms that only memory needs.
        from codeplane.memory.store import MemoryStore  # noqa: PLC0415

        return MemoryStore(self.places.memory, self.clock, self._ledger_anchor().keep_key())

    @cached_property
    def friction(self) -> "FrictionFeed":
        """Return what learns from calls that were refused or failed."""
        # As for memory.
        from codeplane.memory.friction_feed import FrictionFeed  # noqa: PLC0415

        return FrictionFeed(lambda: self.memory, lambda: self.tracked().directories, self.settings.memory.friction)

    @property
    def learns_from_friction(self) -> bool:
        """Tell whether calls that fail are recorded in memory."""
        return self.settings.memory.memory_enabled and self.settings.memory.friction.enable_friction_ledger

    def promote_memories(self) -> int:
        """Take the steps of memories that are due by now; return how many were taken.

        Raises:
            CodePlaneError: the store cannot be written.
        """
        settings = self.settings.memory
        if not (settings.memory_enabled and self.has_memory):
            return 0
        # As for memory.
        from codeplane.memory.records import is_anything_due, promote  # noqa: PLC0415

        now_ms = self.clock.now_ms()
        with self.memory.read() as connection:
            if not is_anything_due(connection, settings.friction, now_ms):
                return 0
        with self.memory.write(self.origin()) as writing:
            done = promote(writing, settings.friction, now_ms)
        self.record("memories_promoted", {"memory": writing.noted, "states": done.changed})
        self.memory.note_recorded(writing.noted)
        return done.n_changed

    def _end_session(self, label: str) -> None:
        self.tasks.close_session(label)
        try:
            self.promote_memories()
        except CodePlaneError as error:
            _log.warning("memories could not be promoted", extra=fields(error=error.code, reason=error.message))

    @cached_property
    def graph(self) -> "Graph":
        """Return the graph of this working tree.

        Raises:
            CodePlaneError: CONFIG_INVALID, or the file cannot be opened.
        """
        # 10 ms that only users of the graph need.
        from codeplane.store.graph.opening import GraphPlace, open_graph  # noqa: PLC0415

        place = GraphPlace(
            self.places.graph / "graph.db",
            f"{self.repo_id} {self.repository.worktree_id}",
            self.places.user.neo4j_password,
            hosts_are_users=self._are_graph_hosts_users,
        )
        return open_graph(self.settings.graph, place)

    @property
    def graph_host(self) -> str:
        """Return the host that keeps the graph; empty when it is a file.

        Raises:
            CodePlaneError: CONFIG_INVALID when the host may not be contacted.
        """
        # As for the graph.
        from codeplane.store.graph.opening import neo4j_host  # noqa: PLC0415

        return neo4j_host(self.settings.graph.neo4j, hosts_are_users=self._are_graph_hosts_users)

    @property
    def _are_graph_hosts_users(self) -> bool:
        """Tell whether the hosts of other machines are named by the user, and not by a file of the repository."""
        origin = self.loaded.origins["graph.neo4j.allowed_hosts"].where
        return origin.startswith(f"{self.places.user.config_file}:")

    def comes_with_the_repository(self, key: str) -> bool:
        """Tell whether a setting was made by the tree's own file, which may have come with the repository."""
        return self.loaded.origins[key].where.startswith(".codeplane/")

    @property
    def has_memory(self) -> bool:
        """Tell whether anything was ever kept, without opening it."""
        return self.places.memory.exists()

    def origin(self, session: str = "", author: str = "") -> "Origin":
        """Return where a row of memory comes from: this working tree, its branch and HEAD."""
        # As for memory.
        from codeplane.memory.store import Origin  # noqa: PLC0415

        branch, commit = read_branch(self.repository), head_commit(self.repository)
        return Origin(self.repository.worktree_id, branch or "", commit or "", session, author)

    @cached_property
    def editor(self) -> "Editor":
        """Return the editor of this working tree."""
        # 30 ms that only changes need.
        from codeplane.edit.editor import Editor  # noqa: PLC0415
        from codeplane.edit.locks import PathLocks  # noqa: PLC0415
        from codeplane.edit.records import RecordStore  # noqa: PLC0415

        records = RecordStore(self.places.shared / "undo")
        self._trim(records)
        return Editor(self.root, self.repository.worktree_id, PathLocks(self.places.private / "locks"), records)

    @cached_property
    def trace(self) -> "TraceBook":
        """Return the trace of this working tree, opened on first use."""
        # 10 ms that only changes and questions about them need.
        from codeplane.workspace.tracing import TraceBook, TracePlaces  # noqa: PLC0415

        places = TracePlaces(
            self.repository,
            self.places.private,
            self.repo_id,
            self._content_left,
            self._definitions,
            lambda: self.gate.rules().is_enforced,
        )
        return TraceBook(places, self.chain, self.clock, self.ids)

    @property
    def has_trace(self) -> bool:
        """Tell whether any change was traced here, without opening anything."""
        return (self.places.private / "trace.db").exists() or (self.root / TRACE_FILE).exists()

    def _content_left(self, call_id: str, path: str) -> bytes | None:
        """Return what a call left at a path, as long as its undo is kept."""
        try:
            found = self.editor.records.find(call_id)
        except CodePlaneError:
            return None
        changes = found[0].changes if found is not None else ()
        return next((one.after.data for one in changes if one.path.text == path and one.after is not None), None)

    def _definitions(self, path: str, data: bytes) -> "Sequence[Definition]":
        """Return the definitions of a file that the index has with these bytes; empty when it does not."""
        try:
            return (self.index.known_definitions(path, data) if self.has_index else None) or ()
        except CodePlaneError:
            return ()

    def trim_undo(self) -> None:
        """Enforce the disk limit of undo: the oldest batches are removed first."""
        self._trim(self.editor.records)

    def _trim(self, records: "RecordStore") -> None:
        # As for the editor.
        from codeplane.git.state import forget_objects  # noqa: PLC0415

        if records.trim(self.settings.edits.undo_bytes):
            forget_objects(self.repository, records.batches())

    def working_hash(self, path: str) -> str | None:
        """Return the SHA-256 of a working file's bytes; None for anything but a readable regular file."""
        place = self.root / path
        try:
            return sha256_file(place) if stat.S_ISREG(place.lstat().st_mode) else None
        except OSError:
            return None

    def git_lease(self) -> "GitLease":
        """Return the lease under which git changes this repository."""
        # 25 ms that only changes by git need.
        from codeplane.workspace.git_bracket import GitLease  # noqa: PLC0415

        return GitLease(self.places.shared / "git.lock")

    def git_bracket(self, call_id: str) -> "GitBracket":
        """Return the bracket for a call that changes the repository through git or other programs."""
        # As for the lease.
        from codeplane.workspace.git_bracket import GitBracket  # noqa: PLC0415

        return GitBracket(self.repository, self.editor, self.git_lease(), call_id)

    def command_bracket(self, call_id: str, mark: "Mark | None" = None) -> "CommandBracket":
        """Return the bracket for a call that an agent or another server carries out; with its mark, to finish it."""
        # As for the lease.
        from codeplane.workspace.command_bracket import CommandBracket  # noqa: PLC0415

        meanwhile = partial(written_meanwhile, self.chain, call_id)
        return CommandBracket(self.repository, self.editor, call_id, self._is_recorded, meanwhile, mark)

    def _is_recorded(self, path: str, sha256: str) -> bool:
        return last_writer(self.chain, self.editor.records, path, sha256) is not None

    def _refresh_index(self) -> None:
        # Before the scan: a commit made meanwhile may change files that were already scanned.
        head = self._head_mark()
        self.index.refresh()
        self.last_reconcile_ms, self._reconciled_head = self.clock.now_ms(), head
        self._reconciles_ms.append(self.last_reconcile_ms)

    def _head_mark(self) -> tuple[bytes, ...]:
        """Return what HEAD and its branch say, from two small files: git itself would take 9 ms for every call."""
        head = _content(self.repository.git_dir / "HEAD")
        branch = self.repository.common_dir / os.fsdecode(head.removeprefix(b"ref: ").strip())
        packed = b"" if branch.is_file() else _content(self.repository.common_dir / "packed-refs")
        return head, _content(branch), packed

    @property
    def has_index(self) -> bool:
        """Tell whether an index exists here, without opening it."""
        return (self.places.private / "index.db").exists()

    def index_epoch(self) -> int | None:
        """Return the epoch that the index has published, None before it was first brought up to date."""
        report = self._index.last_report if self._index is not None else None
        return report.epoch if report is not None else None

    def is_index_quick(self) -> bool:
        """Tell whether the index is at hand and small enough to be refreshed while an agent waits for its own tool."""
        report = self._index.last_report if self._index is not None else None
        return report is not None and report.n_files <= _MAX_WAITED_FOR

    def index_summary(self) -> dict[str, object]:
        """Return what the index holds and when it was last brought up to date, without building it."""
        path = self.places.private / "index.db"
        if not self.has_index:
            unbuilt = {"status": "not built yet", "path": str(path), "epoch": None, "files": 0, "size_bytes": 0}
            return {**unbuilt, "overlay": self.has_overlay, "contexts": []}
        store = self.index.store
        report = self.index.last_report
        counts = self.index.counts()
        epoch = store.epoch()
        summary: dict[str, object] = {
            "status": "ready" if epoch else "not built yet",
            "path": str(path),
            "epoch": epoch,
            "files": counts.files,
            "files_without_text": counts.without_text,
            "files_with_symbols": counts.with_symbols,
            "definitions": counts.definitions,
            "linked_references": counts.linked_references,
            "size_bytes": counts.size_bytes,
            "healed": store.healed or None,
            "not_searched": counts.problems,
            "left_out": counts.left_out,
            "text_only_languages": counts.text_only,
            "overlay": self.has_overlay,
            "contexts": self.index.contexts() if epoch else [],
            "last_update": iso_from_ms(path.stat().st_mtime_ns // 1_000_000),
        }
        if report is not None:
            summary |= {"last_reconcile_ms": round(report.total_ms, 1), "sweep_ms": round(report.sweep_ms, 1)}
            if self.last_reconcile_ms is not None:
                summary["staleness_ms"] = max(0, self.clock.now_ms() - self.last_reconcile_ms)
        if self.index.n_refreshes:
            summary |= {"reconciles": self.index.n_refreshes, "updates": self.index.n_updates}
        return summary

    def index_gauges(self) -> dict[str, float]:
        """Return the index in numbers, for metrics; empty before it was first brought up to date."""
        report = self._index.last_report if self._index is not None else None
        if self._index is None or report is None:
            return {}
        counts = self._index.counts()
        now = self.clock.now_ms()
        reconciled = self.last_reconcile_ms or now
        return {
            "epoch": report.epoch,
            "files": counts.files,
            "definitions": counts.definitions,
            "size_bytes": counts.size_bytes,
            "reconciles_total": self._index.n_refreshes,
            "updates_total": self._index.n_updates,
            "reconcile_seconds_total": self._index.refresh_seconds,
            "reconciles_last_minute": sum(now - ended <= 60_000 for ended in tuple(self._reconciles_ms)),
            "last_reconcile_seconds": report.total_ms / 1000,
            "staleness_seconds": max(0, now - reconciled) / 1000,
            "head_drift": float(self._head_mark() != self._reconciled_head),
        }

    def reconcile_durations(self) -> list[float]:
        """Return the durations in seconds of comparisons that were not returned before."""
        waiting = self._index.durations if self._index is not None else ()
        return [waiting.popleft() for _ in range(len(waiting))] if waiting else []

    def language_gauges(self) -> dict[str, tuple[int, int, int, int]]:
        """Return files, files with symbols, linked files and bytes of each language; empty before a first index."""
        is_known = self._index is not None and self._index.last_report is not None
        return self._index.language_counts() if self._index is not None and is_known else {}

    @property
    def switched_off(self) -> tuple[str, ...]:
        """Return how the names of operations begin that the settings switch off."""
        return () if self.settings.refactor.enabled else ("refactor_",)

    def refresh_index(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Refresh everything derived from the files; `progress` gets files done and files in all."""
        with self.index.listening(progress) if progress is not None else nullcontext():
            for refresh in self.refreshers:
                refresh()

    def close(self) -> None:
        """Commit pending writes and close every file."""
        with suppress(CodePlaneError):
            self.chain.flush()
            self.sessions.save()
            self.tasks.close_own(self.ownership.owner)
        self.ownership.release()
        if self._sandbox is not None:
            self._sandbox.close()
        if self._index is not None:
            self._index.close()
        if "memory" in self.__dict__:
            self.memory.close()
        if "graph" in self.__dict__:
            self.graph.close()
        if "trace" in self.__dict__:
            self.trace.close()
        self.chain.database.close()

    def __enter__(self) -> Self:
        """Return the workspace itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def open_workspace(request: WorkspaceRequest) -> Workspace:
    """Open the working tree that contains `request.start`, preparing `.codeplane/` where it is missing.

    Raises:
        CodePlaneError: the place is not a repository, the configuration is invalid, or a file cannot be opened.
    """
    repository = find_repository(request.start)
    places = places_for(repository, request.user or user_places())
    loaded = load_workspace_settings(places, request.overrides)
    prepare_private(places)
    workspace = Workspace(repository, places, loaded, request.clock or SystemClock(), request.ids or RandomIds())
    workspace.overrides = tuple(request.overrides)
    return workspace


def locate_places(start: Path, user: UserPlaces | None = None) -> Places:
    """Return the places of the working tree that contains `start`, without creating or opening anything.

    Raises:
        CodePlaneError: NOT_A_REPOSITORY and its like.
    """
    return places_for(find_repository(start), user or user_places())


def _keeps_memory(row: LedgerRow) -> bool:
    """Tell whether a row has the hash of a memory, which later rows are compared with, or the preset in force."""
    return "memory" in row.body or row.kind == "preset_applied"


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def prepare_private(places: Places) -> bool:
    """Create `.codeplane/` and its `.gitignore` where they are missing; return whether anything was created.

    Raises:
        CodePlaneError: PERMISSION_DENIED or DISK_FULL; the repository cannot be served then.
    """
    created = False
    try:
        for directory in {places.private, places.shared}:
            if not directory.is_dir():
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                created = True
            # Also in the main tree when a linked one is served first: git must not see it there either.
            ignore_file = directory / ".gitignore"
            if not ignore_file.is_file():
                ignore_file.write_text(_PRIVATE_GITIGNORE, encoding="utf-8")
                created = True
    except OSError as error:
        message = f"CodePlane cannot prepare {places.private}: {error.strerror or error}"
        code = "DISK_FULL" if is_disk_full(error) else "PERMISSION_DENIED"
        raise CodePlaneError(code, message, details={"path": str(places.private)}) from error
    return created


def ensure_ignore_file(places: Places) -> bool:
    """Write `.cplignore` with the default block unless it exists; return whether it was written."""
    path = places.root / IGNORE_FILE
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(default_ignore_text())
    except FileExistsError:
        return False
    except OSError as error:
        raise CodePlaneError("PERMISSION_DENIED", f"{IGNORE_FILE} cannot be written: {error.strerror}") from error
    return True
