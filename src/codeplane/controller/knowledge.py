"""What the controller knows when a turn begins, looked up when it is asked for."""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

import yaml

from codeplane.controller.plan import digest_of
from codeplane.controller.policies import load_policies
from codeplane.controller.proof_chains.chains import Hint
from codeplane.controller.proofs import Proofs
from codeplane.controller.runs import SessionRecord, WorkFiles
from codeplane.controller.scope import allowlist_ref
from codeplane.controller.signature import Signature, SignatureFacts, SignaturePatterns, TargetFile, signature_of
from codeplane.controller.strategy import select_strategy
from codeplane.controller.world import (
    EvidenceMinima,
    KnownFile,
    Memory,
    MemoryState,
    Policy,
    Rule,
    Signal,
    StoredPack,
    Turn,
    World,
)
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_bytes
from codeplane.core.paths import RepoPath, resolve_inside
from codeplane.git.status import read_status
from codeplane.index.contexts.globs import compile_globs
from codeplane.index.file_order import is_test_file
from codeplane.index.relations import importers
from codeplane.index.source_text import open_source
from codeplane.languages.catalog import dialect_of, load_language
from codeplane.languages.facts import Definition, DefinitionKind
from codeplane.memory.records import document_of
from codeplane.workspace.controller_settings import ControllerSettings
from codeplane.workspace.workspace import Workspace

_OUR_PLACES: Final = (".codeplane/", ".orchestration/", ".git/")
# The name under which the workspace keeps the last allowlist.
_ALLOWLIST: Final = "controller.allowlist"
_UNBORN: Final = "0" * 40
_MAX_FILE: Final = 20_000_000
_API_FILES: Final = (".json", ".yaml", ".yml")
_API_KEY: Final = re.compile(r"""^\s{0,2}["']?(openapi|swagger)["']?\s*:""", re.MULTILINE)
_FUNCTIONS: Final = frozenset({DefinitionKind.FUNCTION, DefinitionKind.METHOD})


@dataclass(frozen=True)
class FileText:
    """A file as it is on disk; `find` returns its definitions."""

    data: bytes
    find: Callable[[], tuple[Definition, ...]]

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions, looked up when they are asked for."""
        return self.find()

    @property
    def content_hash(self) -> str:
        """Return the digest of the bytes."""
        return f"sha256:{sha256_bytes(self.data)}"

    @cached_property
    def n_lines(self) -> int:
        """Return how many lines there are."""
        return self.data.count(b"\n") + (not self.data.endswith(b"\n") and bool(self.data))

    def named(self, symbol: str) -> tuple[Definition, ...]:
        """Return the definitions of a name or a dotted path; local ones only when there are no others."""
        found = [one for one in self.definitions if symbol in {one.name, one.lexical_path}]
        local = {one.lexical_path for one in self.definitions if one.kind in _FUNCTIONS}
        outer = [one for one in found if not _is_inside(one.lexical_path, local)]
        return tuple(outer or found)

    def lines_of(self, definition: Definition) -> tuple[int, int]:
        """Return the first and the last line of a definition."""
        first = self.data.count(b"\n", 0, definition.start) + 1
        return first, first + self.data.count(b"\n", definition.start, max(definition.start, definition.end - 1))


class Knowledge:
    """Facts about the repository, the work and what was learned; each is looked up once per turn."""

    def __init__(self, workspace: Workspace, files: WorkFiles, record: SessionRecord) -> None:
        self._workspace = workspace
        self._files = files
        self._record = record
        self._texts: dict[str, FileText | None] = {}
        self._hints: tuple[Hint, ...] = ()

    @property
    def settings(self) -> ControllerSettings:
        """The settings of the controller."""
        return self._workspace.settings.controller

    @cached_property
    def allowlist(self) -> frozenset[str]:
        """The files that plans and verbs may name."""
        workspace = self._workspace
        state = workspace.index.state()
        ignored = workspace.ignored_files(state)
        # Kept while nothing changed: to ask the globs about every file of Django takes 40 ms.
        kept = workspace.kept.get(_ALLOWLIST)
        if isinstance(kept, tuple) and kept[0] is state.files and kept[1] is ignored:
            return frozenset(kept[2])
        found = self._allowed(state.files, ignored)
        workspace.kept[_ALLOWLIST] = (state.files, ignored, found)
        return found

    def _allowed(self, files: Iterable[str], ignored: frozenset[str]) -> frozenset[str]:
        included, excluded = compile_globs(self.settings.include), compile_globs(self.settings.exclude)
        return frozenset(
            path
            for path in files
            if path not in ignored
            and not path.startswith(_OUR_PLACES)
            and included.matches(path)
            and not excluded.matches(path)
        )

    @cached_property
    def scope_ref(self) -> str:
        """The name of the allowlist."""
        return allowlist_ref(self.allowlist)

    @cached_property
    def snapshot_id(self) -> str:
        """The name of the state of the tree: HEAD and what differs from it."""
        status = read_status(self._workspace.repository)
        changed: dict[str, list[str]] = {}
        for place, paths in ((0, status.staged), (1, status.modified)):
            for one in paths:
                changed.setdefault(one.path, [".", "."])[place] = one.status[:1].upper()
        changed |= {one.path: ["U", "U"] for one in status.conflicts}
        changed |= {path: ["?", "?"] for path in self._workspace.new_files()}
        lines = [
            f"{''.join(letters)} {path} {self._blob(path)}"
            for path, letters in sorted(changed.items())
            if path in self.allowlist or not (self._workspace.root / path).exists()
        ]
        head = status.head_commit or _UNBORN
        text = "\n".join(lines).encode("utf-8", "surrogateescape")
        return f"git:{head}:{hashlib.sha256(text).hexdigest()[:16]}" if lines else f"git:{head}:clean"

    def _blob(self, path: str) -> str:
        text = self.text(path)
        if text is None:
            return "-"
        return hashlib.sha1(f"blob {len(text.data)}\0".encode() + text.data, usedforsecurity=False).hexdigest()

    def text(self, path: str) -> FileText | None:
        """Return a file as it is now; None when it cannot be read."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def forget(self, path: str) -> None:
        """Read a file again when it is asked for next."""
        self._texts.pop(path, None)

    def _read(self, path: str) -> FileText | None:
        try:
            with os.fdopen(open_source(self._workspace.root, RepoPath.known(path)), "rb") as file:
                data = file.read(_MAX_FILE + 1)
        except (CodePlaneError, OSError):
            return None
        if len(data) > _MAX_FILE:
            return None
        return FileText(data, lambda: self._definitions(path, data))

    def _definitions(self, path: str, data: bytes) -> tuple[Definition, ...]:
        known = self._workspace.index.known_definitions(path, data)
        if known is None:
            return definitions_of(path, data)
        return tuple(one for one in known if one.kind is not DefinitionKind.PARAMETER)

    @cached_property
    def minima(self) -> EvidenceMinima:
        """The server's own minimum of evidence."""
        asked = self.settings.evidence
        return EvidenceMinima(
            asked.min_requirement_sources,
            asked.min_code_sources,
            asked.min_policy_sources,
            asked.min_total_sources,
            asked.allow_single_source,
        )

    @cached_property
    def policies(self) -> tuple[Policy, ...]:
        """The team's policies, by id."""
        return load_policies(self._workspace.root)

    @cached_property
    def memories(self) -> Mapping[str, dict[str, Any]]:
        """The memories of friction and of people, by id, as documents."""
        workspace = self._workspace
        if not (workspace.settings.memory.memory_enabled and workspace.has_memory):
            return {}
        with workspace.memory.read() as connection:
            rows = connection.execute("SELECT * FROM memory_records WHERE is_accepted = 1 ORDER BY record_no")
            return {one["id"]: one for one in map(document_of, rows.fetchall())}

    @cached_property
    def specs(self) -> Mapping[str, frozenset[str]]:
        """The operations and schemas of the API descriptions that were fetched in this work."""
        return {one["specId"]: frozenset(one["locators"]) for one in self._files.fetched("spec")}

    @cached_property
    def tickets(self) -> list[dict[str, Any]]:
        """The tickets that were fetched in this work."""
        return self._files.fetched("ticket")

    @cached_property
    def work_text(self) -> str:
        """The prompt and the text of fetched tickets."""
        parts = [self._files.prompts()["originalPrompt"]]
        for one in self.tickets:
            parts += [one.get("summary") or "", one.get("descriptionText") or "", *one.get("acceptanceCriteria", ())]
        return "\n".join(parts)

    @cached_property
    def proofs(self) -> Proofs:
        """The builder of proof chains."""
        return Proofs(
            self.allowlist, lambda path: text.data if (text := self.text(path)) is not None else None, self._hints
        )

    def mapped_tests(self, path: str) -> frozenset[str]:
        """Return the test files that import a file or are named after it."""
        stem = path.rpartition("/")[2].partition(".")[0]
        named = {f"test_{stem}", f"{stem}_test", stem} - {""}
        found = {
            test
            for test in self.allowlist
            if is_test_file(test) and test != path and test.rpartition("/")[2].partition(".")[0] in named
        }
        with self._workspace.index.facts() as reader:
            file = reader.file_at(path)
            if file is not None and file.facts_id is not None:
                found |= {one.path for one in importers(reader, file, None) if is_test_file(one.path)}
        return frozenset(found & self.allowlist)

    def signature(self, targets: Iterable[str], *, has_operation: bool = False) -> Signature:
        """Return the features of this work with some target files."""
        return signature_of(self.signature_facts(tuple(targets), has_operation=has_operation))

    def signature_facts(self, targets: tuple[str, ...], *, has_operation: bool = False) -> SignatureFacts:
        """Return what the signature of this work is computed from."""
        return SignatureFacts(
            text=self.work_text,
            has_fetched_ticket=bool(self.tickets),
            has_ticket_connector=bool(self.settings.connectors.jira.base_url),
            has_fetched_spec=bool(self.specs),
            has_resolved_operation=has_operation,
            has_passed_mapped_tests=self._has_passed(targets),
            targets=tuple(self._target(path) for path in targets),
            patterns=SignaturePatterns(),
        )

    def _target(self, path: str) -> TargetFile:
        text = self.text(path)
        content = text.data.decode("utf-8", "replace") if text is not None else ""
        return TargetFile(
            content,
            path.endswith(_API_FILES) and is_api_description(content),
            self.proofs.is_table_surface(path),
            self.proofs.is_federation_surface(path),
            False,
            self.proofs.federation_unit(path),
            bool(self.mapped_tests(path)),
        )

    def _has_passed(self, targets: tuple[str, ...]) -> bool:
        """Tell whether the tests of all targets passed in this work, on the tree as it is."""
        document = self._files.read(self._files.place / "validated.json")
        if not targets or document is None or document.get("snapshot") != self.snapshot_id:
            return False
        passed = set(document.get("tests", ()))
        return all(self.mapped_tests(path) <= passed for path in targets)

    def note_validated(self, tests: Iterable[str]) -> None:
        """Keep which tests passed on the tree as it is."""
        document = {"snapshot": self.snapshot_id, "tests": sorted(tests)}
        self._files.write(self._files.place / "validated.json", document)

    def world(self, document: Any) -> World:
        """Return everything that decides about a plan."""
        targets = _targets_of(document)
        self._hints = _hints_of(document)
        has_operation = any(
            isinstance(one, dict) and one.get("locator") in locators
            for one in _citations_of(document)
            for locators in self.specs.values()
        )
        signature = self.signature((one for one in targets if one in self.allowlist), has_operation=has_operation)
        return World(
            work_id=self._record.work_id,
            run_session_id=self._record.run_id,
            worktree_root=str(self._workspace.root),
            repo_snapshot_id=self.snapshot_id,
            scope_allowlist_ref=self.scope_ref,
            files=KnownFiles(self),
            turns=KnownTurns(self._files),
            signature=signature,
            mapped_tests={path: self.mapped_tests(path) for path in targets if path in self.allowlist},
            policies=self.policies,
            memories=MappingProxyType({name: self._memory(one) for name, one in self.memories.items()}),
            specs=self.specs,
            minima=self.minima,
            confidence_threshold=self.settings.confidence_threshold,
            packs=self._named_pack(document),
            creatable=self.settings.include,
            links_outside=frozenset(path for path in targets if not self._is_inside(path)),
            migration_modules=self._migration_modules(),
            done=self._done(),
            switched_strategy=self._switched(signature),
        )

    def _memory(self, document: Mapping[str, Any]) -> Memory:
        """Return what plans are judged by; a drafted rule is none until a person has completed it."""
        switches = self._workspace.settings.memory.friction
        anchors = tuple(document.get("domainAnchorIds", ()))
        rule = document.get("planRule") if switches.enable_plan_rule_mutation else None
        signal = document.get("strategySignal") if switches.enable_strategy_override else None
        is_rule = rule and not rule.get("scaffolded")
        return Memory(
            document["id"],
            MemoryState(document["state"]),
            Rule(str(rule.get("condition", "")), tuple(rule.get("requiredSteps", ())), rule.get("denyCode"), anchors)
            if rule and is_rule
            else None,
            Signal(str(signal.get("featureFlag", "")), signal.get("value"), anchors) if signal else None,
            document["createdAt"],
        )

    def _done(self) -> frozenset[str]:
        record = self._record
        nodes = (record.plan or {}).get("nodes", ())
        finished = [
            node
            for node in nodes
            if node["kind"] == "change" and node["nodeId"] in record.nodes
            and record.nodes[node["nodeId"]].state == "finished"
        ]  # fmt: skip
        return frozenset(digest_of(node) for node in finished if self._is_untouched(str(node["targetFile"])))

    def _is_untouched(self, path: str) -> bool:
        text = self.text(path)
        return (text.content_hash if text is not None else None) == self._record.own_hash(path)

    def _switched(self, signature: Signature) -> str | None:
        chosen = self._record.switched_strategy
        return chosen if chosen is not None and chosen != select_strategy(signature) else None

    def _is_inside(self, path: str) -> bool:
        try:
            resolve_inside(self._workspace.root, RepoPath.parse(path))
        except CodePlaneError:
            return False
        return True

    def _named_pack(self, document: Any) -> Mapping[str, StoredPack]:
        wanted = document.get("contextPackHash") if isinstance(document, dict) else None
        pack = self.stored_pack(wanted) if isinstance(wanted, str) else None
        if pack is None:
            return {}
        header = pack.get("header", {})
        stored = StoredPack(pack_hash(pack), str(header.get("workId")), str(header.get("repoSnapshotId")))
        return {wanted: stored} if isinstance(wanted, str) else {}

    def stored_pack(self, content_hash: str) -> dict[str, Any] | None:
        """Return a context pack of this work."""
        if not re.fullmatch(r"sha256:[0-9a-f]{64}", content_hash):
            return None
        return self._files.read(self._files.place / "context" / f"{content_hash.removeprefix('sha256:')}.json")

    def _migration_modules(self) -> frozenset[str]:
        source, target = SignaturePatterns().migration_words
        roles = {"source": source, "target": target}
        return frozenset(
            role
            for role, word in roles.items()
            if any(word.lower() in re.split(r"[^a-z0-9]+", path.lower()) for path in self.allowlist)
        )


class KnownFiles(Mapping[str, KnownFile]):
    """The allowlist with what plans are checked against; a file is read when it is asked for."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._known: dict[str, KnownFile] = {}

    def __getitem__(self, path: str) -> KnownFile:
        if path not in self._knowledge.allowlist:
            raise KeyError(path)
        if path not in self._known:
            text = self._knowledge.text(path)
            if text is None:
                raise KeyError(path)
            proofs = self._knowledge.proofs
            self._known[path] = KnownFile(
                text.content_hash,
                text.n_lines,
                _Counted(lambda symbol: len(text.named(symbol))),
                _Counted(lambda anchor: text.data.count(anchor.encode("utf-8", "surrogatepass"))),
                proofs.is_table_surface(path),
                proofs.origin_chains(path),
                proofs.is_federation_surface(path),
                proofs.federation_chains(path),
            )
        return self._known[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._knowledge.allowlist)

    def __len__(self) -> int:
        return len(self._knowledge.allowlist)


class KnownTurns(Mapping[str, Turn]):
    """The turns of a work; one is read when it is cited."""

    def __init__(self, files: WorkFiles) -> None:
        self._files = files

    def __getitem__(self, trace_ref: str) -> Turn:
        record = self._files.turn(trace_ref)
        if record is None:
            raise KeyError(trace_ref)
        return Turn(record.work_id, frozenset(record.sources), record.text, record.versions)

    def __iter__(self) -> Iterator[str]:
        return (one.trace_ref for one in self._files.turns())

    def __len__(self) -> int:
        return len(self._files.turns())


class _Counted(Mapping[str, int]):
    """How often a text occurs, counted when it is asked for."""

    def __init__(self, count: Any) -> None:
        self._count = count

    def __getitem__(self, text: str) -> int:
        return int(self._count(text)) if text else 0

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def definitions_of(path: str, data: bytes) -> tuple[Definition, ...]:
    """Return the definitions of a text; none for a language that is not parsed."""
    language = load_language(dialect_of(path))
    if language is None:
        return ()
    return tuple(one for one in language.extract(data).definitions if one.kind is not DefinitionKind.PARAMETER)


def is_api_description(content: str) -> bool:
    """Tell whether a text is a mapping with a top-level `openapi` or `swagger` key."""
    if _API_KEY.search(content[:20_000]) is None:
        return False
    try:
        document = yaml.safe_load(content[:2_000_000])
    except (yaml.YAMLError, RecursionError, ValueError):
        return False
    return isinstance(document, dict) and not {"openapi", "swagger"}.isdisjoint(document)


def pack_hash(pack: Mapping[str, Any]) -> str:
    """Return the digest of a context pack without what differs between equal packs."""
    varying = {"createdAt", "traceRef", "contextPackHash"}
    header = {name: value for name, value in pack["header"].items() if name not in varying}
    return digest_of({**pack, "header": header})


def with_knowledge(record: SessionRecord, signature: Signature, strategy: str, reasons: list[str]) -> SessionRecord:
    """Return the session with what it tells about its strategy."""
    found = {"strategyId": strategy, "contextSignature": signature.as_json(), "reasons": reasons}
    return replace(record, knowledge=found)


def _is_inside(path: str, containers: set[str]) -> bool:
    parts = path.split(".")
    return any(".".join(parts[:n]) in containers for n in range(1, len(parts)))


def _targets_of(document: Any) -> tuple[str, ...]:
    nodes = document.get("nodes") if isinstance(document, dict) else None
    found = [one.get("targetFile") for one in nodes if isinstance(one, dict)] if isinstance(nodes, list) else []
    return tuple(dict.fromkeys(one for one in found if isinstance(one, str)))


def _hints_of(document: Any) -> tuple[Hint, ...]:
    given = document.get("proofHints") if isinstance(document, dict) else None
    return tuple(
        Hint(one["link"], one["file"], one["line"])
        for one in (given if isinstance(given, list) else ())
        if isinstance(one, dict)
        and isinstance(one.get("link"), str)
        and isinstance(one.get("file"), str)
        and isinstance(one.get("line"), int)
    )


def _citations_of(document: Any) -> Iterator[Any]:
    nodes = document.get("nodes") if isinstance(document, dict) else None
    for node in nodes if isinstance(nodes, list) else ():
        cited = node.get("citations") if isinstance(node, dict) else None
        yield from cited if isinstance(cited, list) else ()
