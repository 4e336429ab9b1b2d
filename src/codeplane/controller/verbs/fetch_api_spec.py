"""`fetch_api_spec`: an API description, from a configured address or a file in scope, as a contract to cite."""

from collections.abc import Mapping
from typing import Any

from codeplane.controller.connectors.failures import ConnectorError
from codeplane.controller.connectors.openapi import SpecRequest, fetch_spec
from codeplane.controller.network import auth_directory, fault_of, kernel_of
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb, wrong_argument


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    names = arguments.get("operationIds") or []
    if any(not isinstance(one, str) for one in names):
        raise wrong_argument("operationIds", "operationIds is a list of texts.")
    request = SpecRequest(arguments["specUrl"], tuple(names), arguments.get("pathGlob") or "")
    try:
        spec = fetch_spec(kernel_of(turn), auth_directory(turn), request, lambda path: _read(turn, path))
    except ConnectorError as error:
        raise fault_of(error) from error
    document = spec.as_dict()
    turn.files.keep_fetched("spec", spec.spec_id, {**document, "locators": sorted(spec.locators)})
    return Reply({"spec": document, "sourceKey": spec.source_key}, frozenset({spec.source_key}))


def _read(turn: TurnWork, path: str) -> bytes | None:
    """Return a file of the allowlist; None for any other path."""
    text = turn.knowledge.text(path) if path in turn.knowledge.allowlist else None
    return text.data if text is not None else None


VERB = Verb(
    "fetch_api_spec",
    "Fetches an API description.",
    "The change follows a contract.",
    _run,
    required={"specUrl": str},
    optional={"operationIds": list, "pathGlob": str},
)
