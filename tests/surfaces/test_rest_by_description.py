"""REST by its own description: `/openapi.json` names every address, and no request that fits it is a server error."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator
from schemathesis.core.result import Ok

from codeplane.operations.catalog import OPERATIONS
from support.effort import repeated
from surfaces.support_processes import DEADLINE_SECONDS, UpServer, make_repo, make_sandbox, up, wait_until

pytestmark = pytest.mark.slow

# The stream has no end; the others may reach places outside of the scratch repository.
LEFT_OUT = {
    "/stream/events",
    *(
        f"/operations/{name}"
        for name in (
            "anchor_ledger",
            "connect_agent",
            "git_pull",
            "git_push",
            "git_remote",
            "git_submodule",
            "git_worktree",
        )
    ),
}


@pytest.fixture(scope="module")
def scratch_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpServer]:
    directory = tmp_path_factory.mktemp("described")
    with make_sandbox(directory) as sandbox, up(sandbox, make_repo(sandbox, directory / "sample")) as server:
        wait_until(lambda: server.get("/ready").status == 200, "the first index is built")
        yield server


@pytest.fixture(scope="module")
def document(scratch_server: UpServer) -> dict[str, Any]:
    found: dict[str, Any] = scratch_server.get("/openapi.json").json
    return found


def _addresses(document: dict[str, Any]) -> list[Any]:
    described = schemathesis.openapi.from_dict(document)
    every = [one.ok() for one in described.get_all_operations() if isinstance(one, Ok)]
    return [one for one in every if one.path not in LEFT_OUT]


@pytest.mark.parametrize(("as_person", "count"), [(True, 1), (False, 1)])
def test_no_request_that_fits_the_description_is_a_server_error(
    scratch_server: UpServer, document: dict[str, Any], as_person: bool, count: int
) -> None:
    headers = {"Authorization": f"Bearer {scratch_server.sandbox.token}"} if as_person else {}
    broken: list[str] = []
    for address in _addresses(document):

        @given(case=address.as_strategy())
        @settings(
            max_examples=repeated(count),
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def send(case: Any) -> None:
            answer = case.call(base_url=scratch_server.url, headers=headers, timeout=DEADLINE_SECONDS)
            if answer.status_code >= 500:
                broken.append(f"{case.method} {case.path} {case.body!r} {case.query}: {answer.text[:300]}")

        send()
    assert broken == []
    assert scratch_server.get("/health").status == 200


def _schemas(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if isinstance(node.get("schema"), dict):
            yield node["schema"]
        for one in node.values():
            yield from _schemas(one)
    elif isinstance(node, list):
        for one in node:
            yield from _schemas(one)


def test_every_schema_of_the_description_is_one(document: dict[str, Any]) -> None:
    found = [*_schemas(document["paths"]), *document["components"]["schemas"].values()]
    for one in found:
        Draft202012Validator.check_schema(one)
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(document))) <= known


def test_the_description_has_every_operation_with_its_arguments(document: dict[str, Any]) -> None:
    described = {
        name: document["paths"][f"/operations/{name}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        for name in OPERATIONS
    }
    wrong = [name for name, one in described.items() if set(one["properties"]) != set(_fields(name))]
    assert wrong == []


def _fields(name: str) -> list[str]:
    return list(OPERATIONS[name].request_type.model_json_schema().get("properties", {}))


@pytest.mark.parametrize(
    "path",
    [
        "/status",
        "/status/health",
        "/health",
        "/ready",
        "/stream/events",
        "/metrics",
        "/openapi.json",
        "/tasks",
        "/approvals",
    ],
)
def test_the_description_has_the_address(document: dict[str, Any], path: str) -> None:
    assert "200" in document["paths"][path]["get"]["responses"]


def test_every_address_describes_its_error_and_who_may_use_it(document: dict[str, Any]) -> None:
    every = [one for methods in document["paths"].values() for one in methods.values()]
    error = {"$ref": "#/components/schemas/Error"}
    assert all(one["responses"]["default"]["content"]["application/json"]["schema"] == error for one in every)
    names = [one["operationId"] for one in every]
    assert len(names) == len(set(names))


def test_what_stands_in_an_address_is_a_parameter_and_the_rest_a_question(document: dict[str, Any]) -> None:
    listed = document["paths"]["/operations"]["get"]["parameters"]
    shown = document["paths"]["/tasks/{task_id}"]["get"]["parameters"]
    closing = document["paths"]["/tasks/{task_id}/close"]["post"]
    assert {one["in"] for one in listed} == {"query"}
    assert [(one["name"], one["in"], one["required"]) for one in shown] == [("task_id", "path", True)]
    assert "task_id" not in closing["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert closing["security"] == [{"operator": []}]


def test_a_person_reaches_every_operation_by_its_name_and_nobody_else_does(scratch_server: UpServer) -> None:
    refused = scratch_server.operate("list_intents", {})
    answered = scratch_server.operate("list_intents", {}, scratch_server.sandbox.token)
    assert (refused.status, refused.json["error"]) == (401, "OPERATOR_TOKEN_REQUIRED")
    assert (answered.status, "result" in answered.json) == (200, True)
