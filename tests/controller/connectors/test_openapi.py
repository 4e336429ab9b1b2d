"""API descriptions from files and from a real host on this machine."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from codeplane.controller.connectors.documents import parse_document
from codeplane.controller.connectors.failures import ConnectorError
from codeplane.controller.connectors.hosts import hosts_of
from codeplane.controller.connectors.openapi import ApiSpec, SpecRequest, fetch_spec
from codeplane.workspace.controller_settings import ConnectorSettings, SpecSource
from controller.connectors.loopback import TOKEN, Peer, Reply, as_json, bench, running_peer, write_token

PETS: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1.2"},
    "paths": {
        "/pets/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "get": {
                "operationId": "getPet",
                "summary": "One pet.",
                "parameters": [{"$ref": "#/components/parameters/Fields"}],
                "responses": {"200": {"content": {"a/b": {"schema": {"$ref": "#/components/schemas/Pet"}}}}},
            },
            "delete": {"responses": {"204": {"description": "gone"}}},
        },
        "/owners": {
            "post": {
                "operationId": "addOwner",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Owner"}}}},
                "responses": {"201": {"$ref": "#/components/responses/Created"}},
            }
        },
    },
    "components": {
        "parameters": {
            "Fields": {"name": "fields", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}}
        },
        "responses": {"Created": {"description": "made"}},
        "schemas": {
            "Pet": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "kind": {"type": "string", "enum": ["cat", "dog"]},
                    "big": {"type": "integer", "format": "int64", "maximum": 9223372036854775807},
                    "friends": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
                    "owner": {"$ref": "#/components/schemas/Owner"},
                },
            },
            "Owner": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"type": "object"}]},
            "Unused": {"type": ["string", "null"]},
        },
    },
}  # fmt: skip
PETS_2 = {
    "swagger": "2.0",
    "info": {"title": "Old pets", "version": "1"},
    "paths": {
        "/pets": {
            "post": {
                "operationId": "addPet",
                "parameters": [
                    {"name": "pet", "in": "body", "schema": {"$ref": "#/definitions/Pet"}},
                    {"name": "dry", "in": "query", "type": "boolean"},
                ],
                "responses": {"200": {"schema": {"type": "array", "items": {"$ref": "#/definitions/Pet"}}}},
            }
        }
    },
    "definitions": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}}}},
}


@pytest.fixture
def peer() -> Iterator[Peer]:
    with running_peer() as running:
        yield running


def read(files: Mapping[str, Any], url: str = "api.yaml", ids: tuple[str, ...] = (), glob: str = "") -> ApiSpec:
    """Fetch from files; a value that is no bytes is written as JSON."""
    texts = {name: value if isinstance(value, bytes) else json.dumps(value).encode() for name, value in files.items()}
    kernel = bench(ConnectorSettings()).kernel
    return fetch_spec(kernel, Path("/nonexistent"), SpecRequest(url, ids, glob), texts.get)


def fails(files: Mapping[str, Any], url: str = "api.yaml") -> ConnectorError:
    with pytest.raises(ConnectorError) as caught:
        read(files, url)
    return caught.value


def test_a_description_has_the_fields_of_the_contract() -> None:
    spec = read({"api.yaml": PETS}, ids=("getPet", "nobody"))
    shown = spec.as_dict()
    assert list(shown)[:6] == ["specId", "title", "version", "openapi", "operations", "schemas"]
    assert (shown["title"], shown["version"], shown["openapi"]) == ("Pets", "1.2", "3.0.3")
    assert shown["operations"] == [
        {
            "operationId": "getPet",
            "method": "GET",
            "path": "/pets/{id}",
            "pointer": "/paths/~1pets~1{id}/get",
            "summary": "One pet.",
            "deprecated": False,
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": "integer"},
                {"name": "fields", "in": "query", "required": False, "schema": "array of string"},
            ],
            "requestBody": "",
            "responses": {"200": "Pet"},
        }
    ]
    assert shown["schemas"][0] == {
        "name": "Pet",
        "pointer": "/components/schemas/Pet",
        "type": "object",
        "properties": {
            "name": "string",
            "kind": "string of cat, dog",
            "big": "integer (int64)",
            "friends": "array of Pet",
            "owner": "Owner",
        },
        "required": ["name"],
    }
    assert [one["name"] for one in shown["schemas"]] == ["Pet", "Owner"]
    assert shown["missingOperationIds"] == ["nobody"]
    assert spec.source_key == f"swagger:{spec.spec_id}"


def test_json_and_yaml_of_one_description_have_one_id() -> None:
    forms = [json.dumps(PETS, indent=3), yaml.safe_dump(PETS), yaml.safe_dump(PETS, default_flow_style=True)]
    specs = [read({"api.yaml": form.encode()}) for form in forms]
    assert len({one.spec_id for one in specs}) == 1
    assert len(specs[0].spec_id) == 12
    assert read({"api.yaml": {**PETS, "x-more": 1}}).spec_id != specs[0].spec_id


@pytest.mark.parametrize("version", ["3.0.0", "3.1.0", "3.1.1"])
def test_versions_3_0_and_3_1_are_read(version: str) -> None:
    spec = read({"api.yaml": {**PETS, "openapi": version}})
    assert (spec.openapi, len(spec.operations)) == (version, 3)


def test_version_2_is_read() -> None:
    spec = read({"api.yaml": PETS_2})
    (operation,) = spec.operations
    assert (operation["requestBody"], operation["responses"]) == ("Pet", {"200": "array of Pet"})
    assert operation["parameters"] == [{"name": "dry", "in": "query", "required": False, "schema": "boolean"}]
    assert {"addPet", "/definitions/Pet", "#/definitions/Pet", "/paths/~1pets/post"} <= spec.locators


def test_every_operation_and_pointer_is_a_locator_whatever_the_filter() -> None:
    spec = read({"api.yaml": PETS}, ids=("addOwner",))
    assert {
        "getPet", "addOwner", "/paths/~1pets~1{id}", "/paths/~1pets~1{id}/delete", "#/paths/~1owners/post",
        "/components/schemas/Pet/properties/kind/enum/0", "/components/parameters/Fields",
    } <= spec.locators  # fmt: skip
    assert not {"getOwner", "/info/title", "/paths/~1pets", "/components/schemas/Nobody"} & spec.locators


@pytest.mark.parametrize(
    ("glob", "count"), [("/pets/*", 2), ("/pets/{id}", 2), ("/**", 3), ("/owners", 1), ("/pets", 0), ("**/own*", 1)]
)
def test_a_glob_chooses_paths(glob: str, count: int) -> None:
    assert len(read({"api.yaml": PETS}, glob=glob).operations) == count


def test_references_to_other_files_are_followed() -> None:
    files = {
        "spec/api.yaml": {**PETS, "paths": {"/cats": {"$ref": "paths/cats.yaml#/~1cats"}}},
        "spec/paths/cats.yaml": {
            "/cats": {
                "get": {
                    "operationId": "cats",
                    "responses": {"200": {"content": {"a/b": {"schema": {"$ref": "../schemas.yaml#/Cat"}}}}},
                }
            }
        },
        "spec/schemas.yaml": {"Cat": {"type": "object", "properties": {"next": {"$ref": "#/Cat"}}}},
    }
    spec = read(files, "spec/api.yaml", ids=("cats",))
    assert [one["pointer"] for one in spec.schemas] == ["spec/schemas.yaml#/Cat"]
    assert {"cats", "/paths/~1cats/get"} <= spec.locators
    assert spec.problems == ()


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("#/paths/~1loop", "leads in a circle"),
        ("#/components/nothing", "names nothing"),
        ("other.yaml", "There is no file"),
        ("../../../etc/passwd", "outside|not"),
        ("https://unknown.example/x.yaml", "is not configured"),
        ("file:///etc/passwd", "There is no file|not"),
    ],
)
def test_a_reference_that_cannot_be_followed_is_told_and_the_rest_is_read(reference: str, problem: str) -> None:
    paths = {**PETS["paths"], "/loop": {"$ref": reference}}
    spec = read({"api.yaml": {**PETS, "paths": paths}})
    assert len(spec.operations) == 3
    assert len(spec.problems) == 1
    assert any(part in spec.problems[0] for part in problem.split("|"))


def test_circles_of_schemas_end() -> None:
    chain: dict[str, Any] = {
        f"S{n}": {"properties": {"next": {"$ref": f"#/components/schemas/S{(n + 1) % 50}"}}} for n in range(50)
    }
    chain["S7"] = {"$ref": "#/components/schemas/S7"}
    response = {"200": {"content": {"a/b": {"schema": {"$ref": "#/components/schemas/S8"}}}}}
    paths = {"/x": {"get": {"operationId": "x", "responses": response}}}
    spec = read({"api.yaml": {**PETS, "paths": paths, "components": {"schemas": chain}}}, ids=("x",))
    assert len(spec.schemas) == 50


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (LAUGHS.encode(), "expands to more than"),
        (b"a: &a [*a]", "contains it"),
        (b"[" * 100_000, "neither JSON nor YAML|levels"),
        (b"{" * 100_000, "neither JSON nor YAML|levels"),
        (b"- " * 50_000, "levels"),
        (b'{"a":' * 500 + b"1" + b"}" * 500, "levels"),
        (b"a: !!python/object/apply:os.system [id]", "tag"),
        (b"a: 1\n---\nb: 2", "exactly one document"),
        (b"a: 1\na: 2", "given twice"),
        (b"{[1]: 2}", "key is a list"),
        (b"<<: 5", "merge key"),
        (b"\xff\xfe", "UTF-8"),
        (b"\x00", "neither JSON nor YAML"),
        (b"", "exactly one document"),
        (b'{"a": NaN}', "NaN"),
    ],
)
def test_a_document_that_is_a_trap_is_refused(data: bytes, reason: str) -> None:
    error = fails({"api.yaml": data})
    assert error.kind == "bad_document"
    assert any(part in error.message for part in reason.split("|")), error.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: yes", {"a": "yes"}),
        ("a: 2020-01-01", {"a": "2020-01-01"}),
        ("200: {x: null}", {"200": {"x": None}}),
        ("on: [1, -2, 1.5, .5, 0x10, 1e3, '1', \"true\", true, ~, 1_000]",
         {"on": [1, -2, 1.5, 0.5, 16, 1000.0, "1", "true", True, None, "1_000"]}),
        ("b: &b {x: 1}\nc:\n  <<: *b\n  x: 2\n  y: *b", {"b": {"x": 1}, "c": {"x": 2, "y": {"x": 1}}}),
        ("a: 1e999", {"a": "1e999"}),
        ("{a: 1}", {"a": 1}),
        ('\ufeff{"a": [{}]}', {"a": [{}]}),
    ],
)  # fmt: skip
def test_yaml_is_read_as_json_would_be(text: str, value: Any) -> None:
    assert parse_document(text.encode()) == value


@pytest.mark.parametrize(
    "document", [{}, [], "text", {"openapi": "4.0"}, {"openapi": "3.2.0"}, {"swagger": "1.2"}, {"info": {}}]
)
def test_what_is_no_description_is_refused(document: Any) -> None:
    assert fails({"api.yaml": document}).kind == "bad_document"


@pytest.mark.parametrize(
    "part",
    [{"paths": 5}, {"paths": {"/x": 5}}, {"paths": {"/x": {"get": 5}}}, {"info": []}, {"components": {"schemas": [1]}},
     {"paths": {"/x": {"get": {"parameters": [5, {"$ref": 7}], "responses": [], "requestBody": "x"}}}},
     {"paths": {"/x": {"get": {"operationId": ["a"], "responses": {"200": None}}}}},
     {"components": {"schemas": {"A": {"type": {"x": 1}, "properties": 5, "required": "a", "enum": [[]]}}}}],
)  # fmt: skip
def test_odd_parts_are_passed_over(part: dict[str, Any]) -> None:
    assert read({"api.yaml": {**PETS, **part}}).title in {"Pets", ""}


@pytest.mark.parametrize("path", ["missing.yaml", "../x.yaml", "/etc/passwd", "a/../../b", "", "https://x.example/a"])
def test_a_place_that_may_not_be_read_is_an_error(path: str) -> None:
    assert fails({"api.yaml": PETS}, path).kind in {"not_found", "invalid_argument", "host_not_allowed"}


def test_a_huge_description_is_cut_and_says_so() -> None:
    paths = {f"/p{n}": {"get": {"operationId": f"op{n}"}} for n in range(3_000)}
    schemas = {f"S{n}": {"type": "object"} for n in range(3_000)}
    spec = read({"api.yaml": {**PETS, "paths": paths, "components": {"schemas": schemas}}})
    assert (len(spec.operations), len(spec.schemas)) == (200, 200)
    assert spec.truncated == ("operations", "schemas")
    assert {"op2999", "/paths/~1p2999/get"} <= spec.locators
    deep = {f"S{n}": {"properties": {f"p{m}": {"type": "string"} for m in range(30)}} for n in range(1_000)}
    cut = read({"api.yaml": {**PETS, "components": {"schemas": deep}}})
    assert "locators" in cut.truncated
    assert {"/components/schemas/S999", "getPet"} <= cut.locators


def test_a_description_comes_from_a_configured_address_with_its_token(peer: Peer, tmp_path: Path) -> None:
    write_token(tmp_path, "api.token")
    shared = {"Owner": {"type": "object"}}
    pets = {**PETS, "paths": {**PETS["paths"], "/o": {"$ref": "parts/o.json"}}}
    peer.answers("/v1/api.json", as_json(pets))
    peer.answers("/v1/parts/o.json", as_json({"get": {"operationId": "o", "responses": {}}, "x": shared}))
    settings = ConnectorSettings(specs=(SpecSource(peer.url("/v1/"), "api.token"),))
    kernel = bench(settings, tmp_path / "cache").kernel
    spec = fetch_spec(kernel, tmp_path, SpecRequest(peer.url("/v1/api.json"), ("o",)), lambda _: None)
    assert [one["operationId"] for one in spec.operations] == ["o"]
    assert peer.tokens == [f"Bearer {TOKEN}"] * 2
    assert spec.attempts == 2


@pytest.mark.parametrize(
    "path", ["/v2/api.json", "/v1/../secret", "/v1/%2e%2e/secret", "/v1", "/v1/a b", "/v1/é", "/other.json/x"]
)
def test_an_address_outside_the_configured_ones_is_not_contacted(peer: Peer, tmp_path: Path, path: str) -> None:
    settings = ConnectorSettings(specs=(SpecSource(peer.url("/v1/")), SpecSource(peer.url("/other.json"))))
    with pytest.raises(ConnectorError) as caught:
        fetch_spec(bench(settings).kernel, tmp_path, SpecRequest(peer.url(path)), lambda _: None)
    assert caught.value.kind == "host_not_allowed"
    assert hosts_of(settings, spec_url=peer.url(path)) == ()
    assert peer.asked == []


def test_the_gate_learns_every_host_that_a_fetch_may_contact() -> None:
    settings = ConnectorSettings(specs=(SpecSource("https://b.example/x/"), SpecSource("https://a.example/y.json")))
    assert hosts_of(settings, spec_url="https://b.example/x/1") == ("b.example", "a.example")
    assert hosts_of(settings, spec_url="docs/api.yaml") == ("a.example", "b.example")
    assert hosts_of(ConnectorSettings(), spec_url="docs/api.yaml") == ()


def test_a_page_instead_of_a_description_is_refused(peer: Peer, tmp_path: Path) -> None:
    peer.answers("/api", Reply(200, b"<html></html>", content_type="text/html"))
    settings = ConnectorSettings(specs=(SpecSource(peer.url("/api")),))
    with pytest.raises(ConnectorError) as caught:
        fetch_spec(bench(settings).kernel, tmp_path, SpecRequest(peer.url("/api")), lambda _: None)
    assert (caught.value.kind, caught.value.attempts) == ("bad_response", 1)


def test_a_token_is_not_sent_in_the_clear() -> None:
    SpecSource("http://docs.example/api.json")
    with pytest.raises(ValueError, match="in the clear"):
        SpecSource("http://docs.example/api.json", "api.token")
