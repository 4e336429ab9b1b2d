"""`fetch_api_spec`: an API description, as a contract to cite."""

from collections.abc import Mapping
from typing import Any

from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import FaultError, Reply, Verb


def _run(_turn: TurnWork, _arguments: Mapping[str, Any]) -> Reply:
    message = "No API description is configured. A person sets controller.connectors.specs."
    raise FaultError("connector_not_configured", message)


VERB = Verb(
    "fetch_api_spec",
    "Fetches an API description.",
    "The change follows a contract.",
    _run,
    required={"specUrl": str},
    optional={"operationIds": list, "pathGlob": str},
)
