"""`cpl graph`: building the graph from the seeds, looking at it, and exporting what the seeds do not have."""

import builtins
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.answer import Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.store.graph.model import Walk
from codeplane.workspace.places import user_places
from support.doors import call, error_of, open_test_workspace, result_of
from support.graphs import edge, node, policy, write_seeds
from support.repositories import git

SEED_PATH = ".orchestration/graph/seed"


def seed(door: Door) -> None:
    write_seeds(door.workspace.root, {"a.jsonl": [node("a"), node("b"), edge("a>b"), policy("p", title="T")]})


def test_sync_builds_the_graph_and_status_tells_of_it(door: Door) -> None:
    seed(door)
    before = result_of(call(door, "graph_status"))
    assert (before["generation"], before["seed_rows"], before["is_current"]) == (0, 4, False)
    done = call(door, "graph_sync")
    expected = {"generation": 1, "seed_rows": 4, "local_rows_kept": 0, "local_rows_superseded": 0, "files": 1}
    assert result_of(done) == expected
    assert done.result_text == "Generation 1: 4 rows from 1 seed file."
    after = result_of(call(door, "graph_status"))
    assert after["is_current"]
    assert (after["backend"], after["nodes"], after["edges"]) == ("sqlite", 3, 1)
    assert (after["labels"], after["relations"]) == ({"Thing": 2, "policy": 1}, {"USES": 1})
    assert [one.node.id for one in door.workspace.graph.neighbours("a", Walk())] == ["b"]


def test_status_says_that_the_seeds_changed(door: Door) -> None:
    seed(door)
    result_of(call(door, "graph_sync"))
    write_seeds(door.workspace.root, {"b.jsonl": [node("c")]})
    assert not result_of(call(door, "graph_status"))["is_current"]


def test_errors_of_seeds_are_told_with_their_lines_and_the_graph_stays(door: Door) -> None:
    seed(door)
    result_of(call(door, "graph_sync"))
    write_seeds(door.workspace.root, {"b.jsonl": [node("c"), "{"]})
    failed = call(door, "graph_sync")
    assert error_of(failed) == "SEEDS_INVALID"
    assert failed.error is not None
    assert f"{SEED_PATH}/b.jsonl:2: The line is not JSON" in failed.error.message
    status = result_of(call(door, "graph_status"))
    assert (status["generation"], status["nodes"], status["is_current"]) == (1, 3, False)
    assert [one.split(": ")[0] for one in status["seed_errors"]] == [f"{SEED_PATH}/b.jsonl:2"]


def test_export_writes_what_the_seeds_do_not_have_and_git_does_not_see_it(door: Door) -> None:
    seed(door)
    result_of(call(door, "graph_sync"))
    root = door.workspace.root
    assert result_of(call(door, "graph_export")) == {"path": ".codeplane/graph/out/delta.jsonl", "rows": 0}
    door.workspace.graph.upsert([node("mine"), edge("mine>a")])
    assert result_of(call(door, "graph_export"))["rows"] == 2
    exported = (root / ".codeplane/graph/out/delta.jsonl").read_bytes()
    assert result_of(call(door, "graph_sync"))["local_rows_kept"] == 2
    result_of(call(door, "graph_export"))
    assert (root / ".codeplane/graph/out/delta.jsonl").read_bytes() == exported
    assert result_of(call(door, "graph_export", {"all": True})) == {
        "path": ".codeplane/graph/out/graph.jsonl",
        "rows": 6,
    }
    assert ".codeplane" not in git(root, "status", "--porcelain", "--ignored=no")
    assert result_of(call(door, "graph_sync", {"discard": True}))["local_rows_kept"] == 0
    assert door.workspace.graph.node("mine") is None


def configured(repo: Path, user: str = "", tree: str = "") -> dict[str, Any]:
    """Answer `graph_status` with settings in the user's file and in the tree's."""
    for place, text in ((user_places().config_file, user), (repo / ".codeplane/config.yaml", tree)):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    with open_test_workspace(repo) as workspace:
        answer = call(Door(workspace, OPERATIONS), "graph_status")
    assert answer.outcome is Outcome.FAILED
    assert answer.error is not None
    return {"code": answer.error.error, "message": answer.error.message}


def settings(**values: Any) -> str:
    return f"graph: {{neo4j: {{{', '.join(f'{name}: {value}' for name, value in values.items())}}}}}\n"


@pytest.mark.parametrize(
    ("user", "tree"),
    [
        ({}, {"url": "bolt://192.0.2.1:7687"}),
        ({"url": "bolt://192.0.2.1:7687"}, {}),
        ({}, {"url": "bolt://192.0.2.1:7687", "allowed_hosts": "[192.0.2.1]"}),
        ({"allowed_hosts": "[192.0.2.1]"}, {"url": "bolt://192.0.2.1:7687", "allowed_hosts": "[192.0.2.1]"}),
        ({"allowed_hosts": "[192.0.2.2]"}, {"url": "bolt://192.0.2.1:7687"}),
    ],
)
def test_no_other_machine_is_contacted_unless_the_users_own_file_names_it(
    repo: Path, user: Mapping[str, str], tree: Mapping[str, str]
) -> None:
    found = configured(repo, settings(**user) if user else "", settings(**tree) if tree else "")
    assert found == {
        "code": "CONFIG_INVALID",
        "message": "graph.neo4j.url leads to 192.0.2.1, which is another machine.",
    }


def test_a_machine_that_the_users_own_file_names_is_allowed(repo: Path) -> None:
    found = configured(repo, settings(url="bolt://192.0.2.1:7687", allowed_hosts="[192.0.2.1]"))
    # It gets as far as the password.
    assert found["message"] == "The password of Neo4j cannot be read."


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1", "neo4j://127.0.0.1", "bolt://", "bolt://u@127.0.0.1", "bolt://[", "x"]
)
def test_an_address_that_is_not_bolt_is_refused(repo: Path, url: str) -> None:
    assert configured(repo, settings(url=f'"{url}"'))["message"].startswith("graph.neo4j.url is not an address")


def test_a_password_that_others_can_read_is_not_used(repo: Path) -> None:
    place = user_places().neo4j_password
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("secret\n", encoding="utf-8")
    place.chmod(0o644)
    assert configured(repo, settings(url="bolt://127.0.0.1:1"))["message"] == f"Others can read {place}."


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_told(repo: Path) -> None:
    found = configured(repo, settings(url="bolt://127.0.0.1:1", user='""', timeout_sec=1))
    assert found["code"] == "GRAPH_UNAVAILABLE"
    assert found["message"].startswith("Neo4j at bolt://127.0.0.1:1 failed: ")


def test_a_missing_driver_is_told(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_neo4j(name: str, *rest: Any) -> Any:
        if name == "neo4j":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "neo4j", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_neo4j)
    found = configured(repo, settings(url="bolt://127.0.0.1:1", user='""'))
    assert found["message"] == "graph.neo4j.url is set, but the Neo4j driver is not installed."
