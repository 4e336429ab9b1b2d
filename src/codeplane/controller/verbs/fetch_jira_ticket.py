"""`fetch_jira_ticket`: a ticket of the configured Jira, as a requirement."""

from collections.abc import Mapping
from typing import Any

from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import FaultError, Reply, Verb


def _run(_turn: TurnWork, _arguments: Mapping[str, Any]) -> Reply:
    message = "No Jira is configured. A person sets controller.connectors.jira.base_url."
    raise FaultError("connector_not_configured", message)


VERB = Verb(
    "fetch_jira_ticket",
    "Fetches a ticket.",
    "The prompt names a ticket.",
    _run,
    required={"ticketKey": str},
    optional={"expand": list},
)
