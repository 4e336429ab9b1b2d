"""`hook_policy.yaml`: rules with examples, tiers, what only counts when a person has accepted it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.govern.policy_document import POLICY_FILE, parse_policy
from codeplane.operations.answer import Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace
from support.governed import FILES, write_intents
from support.repositories import make_repository, write

RULES = """\
rules:
  - id: no-tests
    decide: deny
    paths: ["tests/**"]
    reason: Tests are written by people.
    examples: [{operation: write_source, writes: [tests/a.py]}]
    counter_examples: [{operation: write_source, writes: [src/a.py]}]
  - id: ask-provider
    decide: hold
    paths: ["src/json/provider.py"]
    intents: ["INT-*"]
  - id: old-may-go
    decide: allow
    operations: [write_source]
    paths: ["src/json/old.py"]
  - id: never-push
    decide: deny
    operations: [git_push]
"""


def _edit(path: str, old: str, new: str) -> dict[str, object]:
    return {"edits": [{"path": path, "expected_content": old, "new_content": new}]}


DELETION = {"edits": [{"path": "src/json/old.py", "action": "delete"}]}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    root = make_repository(tmp_path / "repo", FILES)
    write_intents(root)
    write(root, {POLICY_FILE: RULES})
    with open_test_workspace(root) as workspace:
        opened = Door(workspace, OPERATIONS)
        call(opened, "select_active_intent", {"intent_id": "INT-001"})
        yield opened


def test_a_rule_denies_with_its_reason(door: Door) -> None:
    answer = call(door, "write_source", _edit("tests/test_json.py", "True", "False"))
    assert answer.error is not None
    assert (answer.error.error, answer.error.details["rule"]) == ("POLICY_DENIED", "no-tests")
    assert "Tests are written by people." in answer.error.message


def test_a_rule_holds(door: Door) -> None:
    answer = call(door, "write_source", _edit("src/json/provider.py", "str", "repr"))
    assert (answer.outcome, error_of(answer)) == (Outcome.HELD, "APPROVAL_PENDING")


def test_a_rule_of_the_repository_loosens_only_when_it_is_accepted(door: Door) -> None:
    assert call(door, "write_source", DELETION).outcome is Outcome.HELD
    door.workspace.gate.sources.accept()
    assert call(door, "write_source", DELETION).outcome is Outcome.FINISHED


def test_a_policy_that_arrives_by_pull_tightens_only(door: Door) -> None:
    door.workspace.gate.sources.accept()
    write(
        door.workspace.root,
        {POLICY_FILE: RULES.replace("src/json/old.py", "**").replace("decide: hold", "decide: deny")},
    )
    assert call(door, "write_source", DELETION).outcome is Outcome.HELD
    assert error_of(call(door, "write_source", _edit("src/json/provider.py", "str", "repr"))) == "POLICY_DENIED"


def test_a_rule_of_the_user_needs_no_acceptance(door: Door) -> None:
    path = door.workspace.places.user.policy
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("rules: [{id: mine, decide: allow, paths: ['src/json/old.py']}]\n", encoding="utf-8")
    assert call(door, "write_source", DELETION).outcome is Outcome.FINISHED


def test_an_allow_never_beats_scope_or_a_denial(door: Door) -> None:
    path = door.workspace.places.user.policy
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("rules: [{id: all, decide: allow, paths: ['**']}]\n", encoding="utf-8")
    assert error_of(call(door, "write_source", _edit("README.md", "# Sample", "# X"))) == "SCOPE_VIOLATION"
    assert error_of(call(door, "write_source", _edit("tests/test_json.py", "True", "False"))) == "POLICY_DENIED"


def test_an_operation_that_is_always_denied_is_not_offered(door: Door) -> None:
    assert door.workspace.gate.rules().never_offered(OPERATIONS) == {"git_push"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules: [{id: a, decide: maybe}]\n", "decide"),
        ("rules: [{decide: deny}]\n", "id"),
        ("rules: [{id: a, decide: deny}, {id: a, decide: hold}]\n", "twice"),
        ("rules: [{id: a, decide: deny, paths: [x/**], examples: [{writes: [y/a]}]}]\n", "example 1"),
        ("rules: [{id: a, decide: deny, counter_examples: [{writes: [y/a]}]}]\n", "counter-example 1"),
        ("rules: [{id: a, decide: deny, paths: [/etc]}]\n", "relative"),
        ("version: 2\n", "version"),
        ("allow_everything: yes\n", "allow_everything"),
        ("rules: [\n", "YAML"),
    ],
)
def test_a_policy_file_with_a_mistake_lets_nothing_through(door: Door, text: str, words: str) -> None:
    with pytest.raises(CodePlaneError) as caught:
        parse_policy(text, POLICY_FILE)
    assert words in caught.value.message
    write(door.workspace.root, {POLICY_FILE: text})
    assert error_of(call(door, "write_source", _edit("src/json/old.py", "X", "Y"))) == "POLICY_DENIED"
    assert call(door, "read_source", {"targets": "README.md"}).outcome is Outcome.FINISHED


QUALITY = """\
quality:
  - name: tidy
    command: [sh, -c, 'for f in "$@"; do sed -i s/value/val/g "$f"; done', sh, "{paths}"]
    paths: ["**/*.py"]
  - {name: lint, command: [sh, -c, 'echo "line 1: bad" >&2; exit 3']}
  - {name: docs, command: [sh, -c, "exit 9"], paths: ["docs/**"]}
"""


def test_a_teams_commands_look_at_what_was_written(door: Door) -> None:
    write(door.workspace.root, {POLICY_FILE: QUALITY})
    edit = _edit("src/json/provider.py", "str(value)", "repr(value)")
    unaccepted = call(door, "write_source", _edit("src/json/old.py", "X = 1", "X = 2"))
    assert "quality" not in unaccepted.meta.as_dict()
    door.workspace.gate.sources.accept()
    answer = call(door, "write_source", edit)
    assert answer.outcome is Outcome.FINISHED
    found = {one["name"]: one for one in answer.meta.as_dict()["quality"]}
    assert set(found) == {"tidy", "lint"}
    assert (found["lint"]["exit_code"], found["lint"]["ok"]) == (3, False)
    assert "line 1: bad" in found["lint"]["output"]
    assert list(found["tidy"]["changed"]) == ["src/json/provider.py"]
    assert any("lint failed (exit code 3): line 1: bad" in warning for warning in answer.meta.warnings)
    # What the formatter rewrote is no stranger's change.
    again = call(door, "write_source", _edit("src/json/provider.py", "repr(val)", "str(val)"))
    assert not [one for one in again.meta.warnings if "was changed by" in one]


def test_a_linter_among_a_teams_commands_is_read_as_lint_check_reads_it(door: Door) -> None:
    reports = "quality:\n  - {name: lint, command: [sh, -c, 'echo \"src/json/old.py:1:1: E1 bad name\"; exit 1']}\n"
    write(door.workspace.root, {POLICY_FILE: reports})
    door.workspace.gate.sources.accept()
    answer = call(door, "write_source", _edit("src/json/old.py", "X = 1", "X = 2"))
    (found,) = answer.meta.as_dict()["quality"]
    assert found["findings"] == ["src/json/old.py:1 E1 bad name"]
    assert "lint failed (exit code 1): src/json/old.py:1 E1 bad name" in answer.meta.warnings
