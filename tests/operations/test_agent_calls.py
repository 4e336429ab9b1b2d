"""What agents do with their own tools passes the gate, once, whoever delivers it and however often."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.ids import RandomIds
from codeplane.govern.approvals import PersonsAnswer
from codeplane.operations.agent_events import AgentDecision, EventKind, Reply, ToolKind, ToolUse
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace
from support.agents import PlayedAgent, approved, edit, foreign, read_file, shell, write_file
from support.doors import call, open_test_workspace, person, result_of
from support.governed import FILES, write_intents
from support.repositories import make_repository, write

OLD = "src/json/old.py"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def workspace(tmp_path: Path, clock: ManualClock) -> Iterator[Workspace]:
    root = make_repository(tmp_path / "repo", FILES)
    write_intents(root)
    with open_test_workspace(root, clock=clock, ids=RandomIds()) as opened:
        yield opened


@pytest.fixture
def agent(workspace: Workspace) -> PlayedAgent:
    agent = PlayedAgent(Door(workspace, OPERATIONS))
    agent.selects()
    return agent


def code(answer: AgentDecision) -> str:
    return answer.report.error if answer.report is not None else ""


def rows(workspace: Workspace, condition: str) -> list[tuple[object, ...]]:
    workspace.chain.flush()
    with workspace.chain.database.read() as connection:
        query = f"SELECT kind, operation, session FROM events WHERE {condition} ORDER BY seq"
        return [tuple(row) for row in connection.execute(query)]


# Intent, scope, protected and secret files


def test_nothing_is_changed_before_an_intent_is_selected(workspace: Workspace) -> None:
    agent = PlayedAgent(Door(workspace, OPERATIONS))
    for tool in (edit(OLD, "1", "2"), shell("touch x"), foreign("github__create_issue", title="x")):
        answer = agent.asks(tool, f"call {tool.name}")
        assert (answer.reply, code(answer)) == (Reply.DENY, "INTENT_REQUIRED")
    assert agent.asks(read_file(OLD), "r").reply is Reply.ALLOW
    assert agent.asks(shell("ls -la"), "s").reply is Reply.ALLOW


def test_an_edit_inside_of_the_scope_is_allowed_and_traced(agent: PlayedAgent) -> None:
    assert agent.does(edit(OLD, "X = 1", "renamed_value = 1")).reply is Reply.ALLOW
    (found,) = [one.record for one in agent.door.workspace.trace.index().every()]
    told = {name: found.ours[name] for name in ("intent_id", "tool_name", "tool_origin", "agent")}
    expected = {"intent_id": "INT-001", "tool_name": "claude:Edit", "tool_origin": "native", "agent": "claude/2.1"}
    assert told == expected
    assert found.contributor == "ai"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/payments/index.py", "SCOPE_VIOLATION"),
        ("src/json/../payments/index.py", "SCOPE_VIOLATION"),
        ("src\\payments\\index.py", "SCOPE_VIOLATION"),
        (".orchestration/active_intents.yaml", "PROTECTED_PATH"),
        (".claude/settings.local.json", "PROTECTED_PATH"),
        (".git/hooks/pre-commit", "PROTECTED_PATH"),
        (".env", "SECRET_FILE"),
        ("/etc/hosts", "APPROVAL_PENDING"),
        ("C:\\Windows\\system.ini", "APPROVAL_PENDING"),
        ("../elsewhere.txt", "APPROVAL_PENDING"),
    ],
)  # fmt: skip
def test_paths_are_judged_as_the_system_would_resolve_them(agent: PlayedAgent, path: str, expected: str) -> None:
    assert code(agent.asks(write_file(path, "x"), "w")) == expected


def test_a_link_inside_the_tree_does_not_lead_around_the_scope(agent: PlayedAgent) -> None:
    (agent.root / "src/json/link").symlink_to("../payments", target_is_directory=True)
    assert code(agent.asks(write_file("src/json/link/index.py", "x"), "w")) == "SCOPE_VIOLATION"
    (agent.root / "src/json/out.py").symlink_to("/tmp/out.py")
    assert agent.asks(write_file("src/json/out.py", "x"), "o").reply is not Reply.ALLOW


def test_a_step_up_after_a_link_means_both_files_that_it_may_mean(agent: PlayedAgent) -> None:
    (agent.root / "src/json/hop").symlink_to("../payments/sub", target_is_directory=True)
    (agent.root / "src/payments/sub").mkdir()
    for path in ("src/json/hop/../index.py", f"{agent.root}/src/json/hop/../index.py"):
        assert code(agent.asks(write_file(path, "x"), path)) == "SCOPE_VIOLATION"


@pytest.mark.parametrize("path", [".env", "{state}/operator.token"])
def test_secrets_are_not_read(agent: PlayedAgent, path: str) -> None:
    write(agent.root, {".env": "TOKEN=1\n"})
    named = path.replace("{state}", str(agent.door.workspace.places.user.state))
    assert agent.asks(read_file(named), "r").reply is Reply.DENY


# Approvals


def test_a_held_command_runs_after_approval_when_it_is_sent_again(agent: PlayedAgent) -> None:
    held = agent.asks(shell("rm -rf build"), "c1")
    assert (held.reply, code(held)) == (Reply.HOLD, "APPROVAL_PENDING")
    approved(agent.door, held)
    again = ToolUse("Bash", "claude:Bash", ToolKind.COMMAND, {"command": "rm -rf build"}, command="rm -rf build")
    assert agent.asks(again, "c2").reply is Reply.ALLOW
    assert agent.asks(shell("rm -rf build"), "c3").reply is Reply.HOLD
    assert agent.asks(shell("rm -rf /"), "c4").reply is Reply.HOLD


def test_a_refused_command_stays_refused_with_the_persons_comment(agent: PlayedAgent) -> None:
    held = agent.asks(shell("rm -rf build"), "c1")
    answer = PersonsAnswer(approves=False, by="test", comment="Keep it.")
    agent.door.workspace.gate.approvals.decide(held.hold_id, answer)
    denied = agent.asks(shell("rm -rf build"), "c1")
    assert (denied.reply, code(denied)) == (Reply.DENY, "APPROVAL_DENIED")
    assert "Keep it." in denied.reason


def test_a_command_in_a_subdirectory_is_judged_there(agent: PlayedAgent) -> None:
    held = agent.tells(EventKind.BEFORE_TOOL, tool=shell("rm x"), call_id="a", cwd=str(agent.root / "src"))
    card = agent.door.workspace.gate.approvals.find(held.hold_id).card
    assert card["commands"] == ["cd src && rm x"]


def test_what_is_done_in_a_directory_elsewhere_is_outside_of_the_tree(agent: PlayedAgent, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "src/json").mkdir(parents=True)
    agent.event = replace(agent.event, cwd=str(elsewhere))
    told = agent.asks(write_file("src/json/new.py", "x"), "w")
    assert (code(told), "elsewhere/src/json/new.py" in told.reason) == ("APPROVAL_PENDING", True)
    assert code(agent.asks(write_file(str(agent.root / "src/payments/index.py"), "x"), "p")) == "SCOPE_VIOLATION"


def test_tools_of_other_servers_wait_for_a_person_unless_a_policy_says_that_they_read(agent: PlayedAgent) -> None:
    assert agent.asks(foreign("github__create_issue", title="x"), "a").reply is Reply.HOLD
    write(agent.root, {".orchestration/hook_policy.yaml": "version: 1\nread_only: {tools: ['github__get_*']}\n"})
    assert agent.asks(foreign("github__get_issue", number=1), "b").reply is Reply.HOLD
    result_of(call(agent.door, "accept_policy", {}, by=person()))
    assert agent.asks(foreign("github__get_issue", number=1), "c").reply is Reply.ALLOW


def test_unknown_tools_of_an_agent_wait_for_a_person_without_intents_too(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "plain", FILES)
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        agent = PlayedAgent(Door(workspace, OPERATIONS))
        tool = ToolUse("Teleport", "claude:Teleport", ToolKind.UNKNOWN, {"to": "mars"})
        assert agent.asks(tool, "a").reply is Reply.HOLD
        assert agent.does(write_file("new.txt", "x")).reply is Reply.ALLOW


# Delivery


def test_a_call_that_is_delivered_twice_is_decided_once(agent: PlayedAgent) -> None:
    tool = edit(OLD, "X = 1", "X = 2")
    first, second = agent.asks(tool, "same"), agent.asks(tool, "same")
    assert first == second
    agent.works(tool)
    agent.reports(tool, "same")
    agent.reports(tool, "same")
    mine = f"session = '{agent.label}' AND operation = 'claude:Edit'"
    assert [row[0] for row in rows(agent.door.workspace, mine)] == ["begun", "finished"]
    denied = write_file("src/payments/index.py", "x")
    assert agent.asks(denied, "d") == agent.asks(denied, "d")
    assert len(rows(agent.door.workspace, "operation = 'claude:Write'")) == 1


def test_equal_calls_without_an_id_are_one_only_at_the_same_moment(agent: PlayedAgent, clock: ManualClock) -> None:
    tool = edit(OLD, "X = 1", "X = 2")
    for _ in range(2):
        agent.asks(tool)
    agent.works(tool)
    agent.reports(tool)
    clock.advance(60)
    agent.asks(tool)
    agent.reports(tool)
    assert [row[0] for row in rows(agent.door.workspace, "operation = 'claude:Edit'")] == ["begun", "finished"] * 2


def test_a_call_that_was_not_announced_is_an_alarm(agent: PlayedAgent) -> None:
    agent.reports(write_file("src/json/new.py", "x = 1\n"), "never asked")
    assert [row[0] for row in rows(agent.door.workspace, "kind = 'gate_alarm'")] == ["gate_alarm"]


def test_what_an_agent_never_reports_ends_with_its_turn(agent: PlayedAgent) -> None:
    tool = edit(OLD, "X = 1", "X = 2")
    agent.asks(tool, "a")
    agent.works(tool)
    agent.tells(EventKind.STOP)
    assert [row[0] for row in rows(agent.door.workspace, "operation = 'claude:Edit'")] == ["begun", "finished"]
    assert agent.door.workspace.chain.open_calls() == ()


def test_what_others_write_while_a_command_runs_is_theirs(agent: PlayedAgent) -> None:
    other = PlayedAgent(agent.door, "sess-2")
    other.selects()
    command = shell("echo 'mine = 1' > src/json/mine.py")
    approved(agent.door, agent.asks(command, "c"))
    assert agent.asks(command, "c").reply is Reply.ALLOW
    agent.works(command)
    edits = [{"path": "src/json/theirs.py", "action": "create", "content": "theirs = 1\n"}]
    result_of(call(agent.door, "write_source", {"edits": edits}, by=other.caller))
    assert other.does(edit(OLD, "X = 1", "X = 2")).reply is Reply.ALLOW
    agent.reports(command, "c")
    agent.door.workspace.chain.flush()
    with agent.door.workspace.chain.database.read() as connection:
        query = "SELECT body FROM events WHERE kind = 'finished' AND operation = 'claude:Bash'"
        (body,) = (json.loads(row[0]) for row in connection.execute(query))
    assert body["changed_paths"] == ["src/json/mine.py"]


def test_a_call_is_ended_by_another_process_than_the_one_that_began_it(agent: PlayedAgent) -> None:
    tool = edit(OLD, "X = 1", "X = 2")
    agent.asks(tool, "a")
    agent.works(tool)
    with open_test_workspace(agent.root, ids=RandomIds()) as later:
        other = PlayedAgent(Door(later, OPERATIONS))
        assert other.label == agent.label
        other.reports(tool, "a")
        assert [one.path for one in later.trace.index().every()] == [OLD]


# Stale files and leases


def test_a_file_that_another_session_changed_is_stale(agent: PlayedAgent) -> None:
    agent.does(read_file(OLD))
    other = PlayedAgent(agent.door, "sess-2")
    other.selects()
    other.does(edit(OLD, "X = 1", "X = 2"))
    answer = agent.asks(write_file(OLD, "X = 3\n"), "w")
    assert code(answer) == "STALE_FILE"
    assert other.label in answer.reason
    agent.does(read_file(OLD))
    assert agent.asks(write_file(OLD, "X = 3\n"), "w2").reply is Reply.ALLOW


def test_a_file_belongs_to_the_call_that_is_about_to_write_it(agent: PlayedAgent, clock: ManualClock) -> None:
    other = PlayedAgent(agent.door, "sess-2")
    other.selects()
    agent.asks(edit(OLD, "X = 1", "X = 2"), "a")
    answer = other.asks(edit(OLD, "X = 1", "X = 3"), "b")
    assert code(answer) == "STALE_FILE"
    assert agent.label in answer.reason
    edits = [{"path": OLD, "expected_content": "X = 1", "new_content": "X = 4"}]
    ours = call(agent.door, "write_source", {"edits": edits})
    assert ours.error is not None
    clock.advance(11 * 60)
    assert other.asks(edit(OLD, "X = 1", "X = 3"), "c").reply is Reply.ALLOW


def test_an_overwrite_between_hook_and_write_is_detected_and_can_be_undone(agent: PlayedAgent) -> None:
    agent.does(read_file(OLD))
    tool = write_file(OLD, "X = 5\n")
    agent.asks(tool, "a")
    write(agent.root, {OLD: "saved_by_a_person_in_the_gap = 1\n"})
    agent.works(tool)
    told = replace(tool, original="saved_by_a_person_in_the_gap = 1\n")
    answer = agent.reports(told, "a")
    assert f"{OLD} was changed by somebody else just before this write." in answer.context
    ended = rows(agent.door.workspace, "operation = 'claude:Write' AND kind = 'finished'")
    assert len(ended) == 1
    with agent.door.workspace.chain.database.read() as connection:
        query = "SELECT call_id FROM events WHERE operation = 'claude:Write' AND kind = 'finished'"
        (call_id,) = connection.execute(query).fetchone()
    result_of(call(agent.door, "undo", {"operation": call_id}, by=person()))
    assert (agent.root / OLD).read_text(encoding="utf-8") == "saved_by_a_person_in_the_gap = 1\n"


# Sub-agents, own tools, rewriting


def test_a_sub_agent_works_under_its_parents_intent(agent: PlayedAgent) -> None:
    child = PlayedAgent(agent.door, "sess-1", subagent="agent-7")
    assert child.does(edit(OLD, "X = 1", "X = 2")).reply is Reply.ALLOW
    assert child.label != agent.label
    child.selects("INT-002")
    assert code(child.asks(edit(OLD, "X = 2", "X = 3"), "c")) == "SCOPE_VIOLATION"
    assert agent.asks(edit(OLD, "X = 2", "X = 3"), "p").reply is Reply.ALLOW


def test_our_own_tools_are_left_to_the_door(agent: PlayedAgent) -> None:
    before = rows(agent.door.workspace, "1 = 1")
    own = ToolUse("mcp__codeplane__write_source", "write_source", ToolKind.OWN, {})
    assert agent.asks(own, "a").reply is Reply.ALLOW
    agent.reports(own, "a")
    assert rows(agent.door.workspace, "1 = 1") == before


@pytest.mark.parametrize("command", ["cpl search helpers", "cpl undo --list", "cpl approvals list"])
def test_our_own_commands_in_a_shell_are_no_alarm(agent: PlayedAgent, command: str) -> None:
    assert agent.asks(shell(command), "c").reply is Reply.ALLOW
    agent.reports(shell(command), "c")
    assert not rows(agent.door.workspace, "kind = 'gate_alarm'")


@pytest.mark.parametrize("command", ["cpl hook claude select INT-001", "cpl intent select INT-001"])
def test_an_intent_can_be_selected_in_the_shell(workspace: Workspace, command: str) -> None:
    agent = PlayedAgent(Door(workspace, OPERATIONS))
    answer = agent.asks(shell(command), "s")
    assert answer.reply is Reply.ALLOW
    assert "public API unchanged" in answer.context
    assert agent.asks(edit(OLD, "X = 1", "X = 2"), "e").reply is Reply.ALLOW
    assert agent.asks(shell("cpl hook claude select INT-999"), "n").reply is Reply.DENY


@pytest.mark.parametrize("command", ["cpl status; rm x", "cpl status $(rm x)", "cpl status > .env", "cpl status\nrm x"])
def test_more_than_one_command_of_ours_is_judged_as_a_shell_command(agent: PlayedAgent, command: str) -> None:
    assert agent.asks(shell("cpl status"), "a").reply is Reply.ALLOW
    assert agent.asks(shell(command), "b").reply is Reply.HOLD


def test_a_policy_rewrites_commands_once_a_person_has_accepted_it(agent: PlayedAgent) -> None:
    rewrites = "rewrites:\n  - {begins: npm install, becomes: pnpm install}\n"
    policy = f"version: 1\n{rewrites}read_only: {{commands: ['pnpm install *']}}\n"
    write(agent.root, {".orchestration/hook_policy.yaml": policy})
    assert agent.asks(shell("npm install left"), "a").reply is Reply.HOLD
    result_of(call(agent.door, "accept_policy", {}, by=person()))
    answer = agent.asks(shell("npm install left"), "b")
    assert (answer.reply, dict(answer.rewritten)) == (Reply.REWRITE, {"command": "pnpm install left"})
    assert agent.asks(shell("npm installed"), "c").reply is Reply.HOLD


def test_an_event_that_names_no_tool_is_refused(agent: PlayedAgent) -> None:
    assert agent.tells(EventKind.BEFORE_TOOL).reply is Reply.DENY


# What agents are told


def test_a_session_starts_with_facts_in_under_two_kilobytes(workspace: Workspace) -> None:
    agent = PlayedAgent(Door(workspace, OPERATIONS))
    context = {"enabled": True, "summary": "A queue. " * 400, "preImplementation": ["Read ARCHITECTURE.md."]}
    write(agent.root, {".orchestration/project-context.json": json.dumps(context)})
    told = agent.tells(EventKind.SESSION_START).context
    assert "Changes here need a selected intent" in told
    assert "INT-001 (JSON provider clean-up)" in told
    assert "Before edits: Read ARCHITECTURE.md." in told
    assert len(told.encode()) < 2_000
    agent.selects()
    prompt = agent.tells(EventKind.PROMPT, prompt="Clean up src/json/old.py").context
    assert "Selected intent: INT-001" in prompt
    assert "constraint: public API unchanged" in prompt


def test_lessons_of_the_files_at_hand_are_told(agent: PlayedAgent) -> None:
    lesson = {
        "type": "effective", "domain": "Debugging", "situation": "old.py breaks the provider when renamed",
        "approach": "Rename the alias first", "outcome": "It works", "reasoning": "It is imported", "paths": [OLD],
    }  # fmt: skip
    result_of(call(agent.door, "record_experience", lesson))
    assert "Rename the alias first" in agent.tells(EventKind.PROMPT, prompt=f"Rename the value in {OLD}").context
    assert "Rename the alias first" in agent.does(edit(OLD, "X = 1", "X = 2")).context


def test_an_edit_that_breaks_the_syntax_is_told_at_once(agent: PlayedAgent) -> None:
    assert agent.does(edit(OLD, "X = 1", "def (:")).context == f"{OLD} no longer parses at line 1."


def test_a_stop_tells_what_is_open_once(agent: PlayedAgent) -> None:
    assert agent.tells(EventKind.STOP).goes_on is False
    agent.does(edit(OLD, "X = 1", "X = 2"))
    stopped = agent.tells(EventKind.STOP)
    assert stopped.goes_on
    assert "tests/test_json.py passes" in stopped.context
    assert agent.tells(EventKind.STOP, is_repeated=True).goes_on is False
    agent.tells(EventKind.PROMPT, prompt="more")
    agent.does(edit(OLD, "X = 2", "X = 3"))
    assert agent.tells(EventKind.STOP).goes_on is False


def test_an_agent_that_cannot_select_works_under_the_intent_of_the_tree(workspace: Workspace) -> None:
    agent = PlayedAgent(Door(workspace, OPERATIONS))
    assert code(agent.asks(edit(OLD, "X = 1", "X = 2"), "a")) == "INTENT_REQUIRED"
    assert call(agent.door, "set_tree_intent", {"intent_id": "INT-001"}).error is not None
    assert call(agent.door, "set_tree_intent", {"intent_id": "INT-003"}, by=person()).error is not None
    result_of(call(agent.door, "set_tree_intent", {"intent_id": "INT-001"}, by=person()))
    assert agent.asks(edit(OLD, "X = 1", "X = 2"), "b").reply is Reply.ALLOW
    assert code(agent.asks(write_file("src/payments/index.py", "x"), "c")) == "SCOPE_VIOLATION"
    assert "Selected intent: INT-001" in agent.tells(EventKind.PROMPT, prompt="go").context
    ours = call(agent.door, "write_source", {"edits": [{"path": "src/json/x.py", "content": "x"}]})
    assert ours.error is not None
    assert ours.error.error == "INTENT_REQUIRED"
    result_of(call(agent.door, "set_tree_intent", {}, by=person()))
    assert code(agent.asks(edit(OLD, "X = 1", "X = 2"), "d")) == "INTENT_REQUIRED"
