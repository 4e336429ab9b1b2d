"""What an agent's shell command changed is traced to its call, can be undone, and is nobody else's."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.core.ids import RandomIds
from codeplane.operations.agent_events import Reply
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace
from support.agents import PlayedAgent, approved, shell, write_file
from support.doors import call, person, result_of
from support.repositories import git, make_repository
from support.traced import SETUP

COMMIT = (
    "echo 'committed_by_the_command = 1' >> src/file_4.py"
    " && git -c user.name=T -c user.email=t@example.invalid commit -qam x"
)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    files = {f"src/file_{i}.py": f"distinctive_line_number_{i} = {i}\nsecond_line_of_file_{i} = 1\n" for i in range(5)}
    root = make_repository(tmp_path / "repo", {**SETUP, **files})
    with open_workspace(WorkspaceRequest(root, ids=RandomIds())) as opened:
        yield opened


@pytest.fixture
def agent(workspace: Workspace) -> PlayedAgent:
    return trusted(workspace, "sess-1")


def trusted(workspace: Workspace, session: str, intent: str = "INT-001") -> PlayedAgent:
    """Return an agent whose commands a person has approved for the session."""
    agent = PlayedAgent(Door(workspace, OPERATIONS), session)
    agent.selects(intent)
    approved(agent.door, agent.asks(shell("rm nothing"), "first"), "session")
    return agent


def traced(agent: PlayedAgent, command: str) -> dict[str, str]:
    assert agent.does(shell(command)).reply is Reply.ALLOW
    index = agent.door.workspace.trace.index()
    return {one.path: one.record.ours["change"] for one in index.of_call(last_call(agent))}


def last_call(agent: PlayedAgent) -> str:
    with agent.door.workspace.chain.database.read() as connection:
        query = "SELECT call_id FROM events WHERE operation = 'claude:Bash' AND kind = 'finished' ORDER BY seq DESC"
        return str(connection.execute(query).fetchone()[0])


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("sed -i 's/second/changed/' src/file_0.py", {"src/file_0.py": "update"}),
        ("rm src/file_1.py", {"src/file_1.py": "delete"}),
        ("mv src/file_2.py src/moved.py", {"src/moved.py": "rename"}),
        ("echo 'generated_by_a_program = 1' > new.py", {"new.py": "create"}),
        ("touch src/file_3.py", {}),
        ("rm -f nothing; false", {}),
        (COMMIT, {"src/file_4.py": "update"}),
    ],
)  # fmt: skip
def test_a_command_is_traced(agent: PlayedAgent, command: str, expected: dict[str, str]) -> None:
    assert traced(agent, command) == expected


def test_what_git_brings_is_not_the_commands(agent: PlayedAgent) -> None:
    git(agent.root, "checkout", "-q", "-b", "topic")
    (agent.root / "src/file_0.py").write_text("written_on_another_branch = 1\n", encoding="utf-8")
    git(agent.root, "commit", "-q", "-am", "topic")
    git(agent.root, "checkout", "-q", "main")
    assert traced(agent, "git merge -q topic") == {}
    assert (agent.root / "src/file_0.py").read_text(encoding="utf-8") == "written_on_another_branch = 1\n"


def test_what_was_dirty_before_is_not_the_commands(agent: PlayedAgent) -> None:
    place = agent.root / "src/file_0.py"
    place.write_text(place.read_text(encoding="utf-8") + "written_by_a_person_before = 1\n", encoding="utf-8")
    traced(agent, "echo 'written_by_the_command_itself = 1' >> src/file_0.py")
    owners, index = agent.door.workspace.trace.owners_of("src/file_0.py", place.read_bytes())
    entries = [index.entry(one.number) if one.number > 0 else None for one in owners]
    assert [one is not None and not one.record.is_outside for one in entries] == [False, False, False, True]


def test_calls_that_overlap_are_candidates(workspace: Workspace, agent: PlayedAgent) -> None:
    other = trusted(workspace, "sess-2")
    first, second = shell("rm one"), shell("rm two")
    agent.asks(first, "a")
    other.asks(second, "b")
    (agent.root / "src/file_0.py").write_text("written_by_one_of_two_calls = 1\n", encoding="utf-8")
    agent.reports(first, "a")
    other.reports(second, "b")
    found = [one.record.ours["candidates"] for one in workspace.trace.index().every()]
    assert len(found[0]) == 2
    owners, index = workspace.trace.owners_of("src/file_0.py", (agent.root / "src/file_0.py").read_bytes())
    entry = index.entry(owners[0].number)
    assert entry is not None
    assert entry.intent is None


def test_a_file_that_another_call_wrote_meanwhile_is_that_calls(workspace: Workspace, agent: PlayedAgent) -> None:
    other = PlayedAgent(agent.door, "sess-2")
    other.selects()
    command = shell("rm src/file_1.py")
    agent.asks(command, "a")
    other.does(write_file("src/written.py", "written_by_the_other_agent = 1\n"))
    agent.works(command)
    agent.reports(command, "a")
    index = workspace.trace.index()
    assert {one.path for one in index.of_call(last_call(agent))} == {"src/file_1.py"}
    (written,) = [one for one in index.every() if one.path == "src/written.py"]
    assert written.record.ours["tool_name"] == "claude:Write"


def test_a_command_can_be_undone(agent: PlayedAgent) -> None:
    place = agent.root / "src/file_0.py"
    place.write_text("not_committed_yet = 1\n", encoding="utf-8")
    traced(agent, "echo x > src/file_0.py; rm src/file_1.py; echo y > src/new.py")
    result_of(call(agent.door, "undo", {"operation": last_call(agent)}, by=person()))
    assert place.read_text(encoding="utf-8") == "not_committed_yet = 1\n"
    assert (agent.root / "src/file_1.py").exists()
    assert not (agent.root / "src/new.py").exists()


def test_protected_files_are_put_back_and_an_alarm_is_written(agent: PlayedAgent) -> None:
    intents = (agent.root / ".orchestration/active_intents.yaml").read_bytes()
    hook = "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit"
    settings = "mkdir .claude; echo '{}' > .claude/settings.json"
    command = f"rm .orchestration/active_intents.yaml; {settings}; {hook}"
    answer = agent.does(shell(command))
    assert (agent.root / ".orchestration/active_intents.yaml").read_bytes() == intents
    assert not (agent.root / ".claude/settings.json").exists()
    assert not (agent.root / ".git/hooks/pre-commit").exists()
    assert answer.context.count("it was put back as it was") == 3
    with agent.door.workspace.chain.database.read() as connection:
        assert connection.execute("SELECT COUNT(*) FROM events WHERE kind = 'gate_alarm'").fetchone()[0] == 1


def test_protected_files_that_a_person_changes_meanwhile_stay(agent: PlayedAgent) -> None:
    command = shell("rm src/file_1.py")
    agent.asks(command, "a")
    arguments = {"intent_id": "INT-009", "name": "Added meanwhile", "owned_scope": ["docs/**"]}
    result_of(call(agent.door, "add_intent", arguments, by=person()))
    agent.works(command)
    agent.reports(command, "a")
    assert "INT-009" in (agent.root / ".orchestration/active_intents.yaml").read_text(encoding="utf-8")


def test_changes_outside_of_the_scope_are_told_and_on_record(workspace: Workspace) -> None:
    arguments = {"intent_id": "INT-008", "name": "Small", "owned_scope": ["src/**"]}
    agent = PlayedAgent(Door(workspace, OPERATIONS))
    result_of(call(agent.door, "add_intent", arguments, by=person()))
    agent = trusted(workspace, "sess-1", "INT-008")
    answer = agent.does(shell("echo x > elsewhere.txt; echo y > src/new.py"))
    assert answer.context == "Not in the scope of the selected intent: elsewhere.txt."
    with workspace.chain.database.read() as connection:
        query = "SELECT json_extract(body, '$.out_of_scope[0]') FROM events WHERE call_id = ?"
        assert ("elsewhere.txt",) in [tuple(row) for row in connection.execute(query, (last_call(agent),))]
