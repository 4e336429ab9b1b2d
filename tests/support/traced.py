"""Repositories whose changes are traced: hands for the replay suite, and the answers of blame."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from codeplane.core.ids import RandomIds
from codeplane.govern.intents import parse_intents
from codeplane.govern.trace.intent_map import map_text
from codeplane.govern.trace.matching import UNTRACED
from codeplane.govern.trace.records import Cause, TracedFile
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace
from support.doors import call, result_of
from support.repositories import write
from trace_replay.story import HUMAN, Git, Owner, git_in

INTENTS = "active_intents:\n" + "".join(
    f"  - {{id: {name}, name: Work, status: active, owned_scope: ['**'], requirements: [REQ-{name[-1]}]}}\n"
    for name in ("INT-001", "INT-002", "INT-003")
)
SETUP: dict[str, str | bytes] = {
    ".orchestration/active_intents.yaml": INTENTS,
    # As `cpl init` leaves it: without the file in the first commit, git could not merge two that add it.
    ".orchestration/agent_trace.jsonl": "",
    ".orchestration/intent_map.md": map_text({}, parse_intents(INTENTS)),
    ".gitattributes": ".orchestration/agent_trace.jsonl merge=union\n.orchestration/intent_map.md merge=union\n",
}


@dataclass
class Hands:
    """Writes files under intents through the door, in whatever working tree they are."""

    stack: ExitStack
    doors: dict[Path, Door] = field(default_factory=dict)
    selected: dict[Path, str] = field(default_factory=dict)

    def door(self, root: Path) -> Door:
        """Return the door of a working tree."""
        if root not in self.doors:
            workspace = self.stack.enter_context(open_workspace(WorkspaceRequest(root, ids=RandomIds())))
            self.doors[root] = Door(workspace, OPERATIONS)
        return self.doors[root]

    def edit(self, intent: str, path: Path, text: str) -> None:
        """Write a file under an intent."""
        root = next(above for above in path.parents if (above / ".git").exists())
        if not (root / ".orchestration/active_intents.yaml").exists():
            write(root, SETUP)
        door = self.door(root)
        result_of(call(door, "select_active_intent", {"intent_id": intent}))
        relative = path.relative_to(root).as_posix()
        edit = {"path": relative, "action": "create", "content": text}
        if path.exists():
            lines = path.read_text(encoding="utf-8")
            edit = {"path": relative, "expected_content": lines, "new_content": text}
        result_of(call(door, "write_source", {"edits": [edit], "allow_ignored": True}))

    def answers(self, root: Path, paths: list[str]) -> dict[str, list[Owner]]:
        """Return the intent of each line, "human" for a line of no traced call, None where nobody can tell."""
        book = self.door(root).workspace.trace
        found: dict[str, list[Owner]] = {}
        for path in paths:
            owners, index = book.owners_of(path, (root / path).read_bytes())
            answered: list[Owner] = []
            for owned in owners:
                entry = index.entry(owned.number) if owned.number > 0 else None
                is_outside = owned.number == UNTRACED or (entry is not None and entry.record.is_outside)
                answered.append(HUMAN if is_outside else entry.intent if entry is not None else None)
            found[path] = answered
        return found


@contextmanager
def hands() -> Iterator[Hands]:
    """Give hands, and close what they opened."""
    with ExitStack() as stack:
        yield Hands(stack)


def traced_git(root: Path) -> Git:
    """Return git for a repository that is set up for tracing as soon as it exists; patches leave the trace out."""
    plain = git_in(root)

    def git(*arguments: str, check: bool = True) -> str:
        if arguments[0] in {"diff", "format-patch"}:
            # Patches made by hand are for people's files: the trace travels with commits.
            arguments = (*arguments, "--", ".", ":!.orchestration")
        done = plain(*arguments, check=check)
        if arguments[0] == "init":
            write(root, SETUP)
        return done

    return git


def traced_edit(workspace: Workspace, intent: str, path: str, text: str) -> None:
    """Write a file and record it as the change of an agent's own tool, without the door."""
    place = workspace.root / path
    before = place.read_bytes() if place.exists() else None
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    cause = Cause(
        call_id=workspace.ids.new("call"), session="s-test", contributor="ai", tool_name="Edit", tool_origin="native",
        action="write", now_ms=workspace.clock.now_ms(), intent=intent, agent="pytest",
        revision=workspace.repo_version().head,
    )  # fmt: skip
    workspace.trace.record([TracedFile(path, before, text.encode())], cause)
