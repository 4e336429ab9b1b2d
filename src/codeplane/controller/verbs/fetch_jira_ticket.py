"""`fetch_jira_ticket`: a ticket of the configured Jira, as a requirement."""

from collections.abc import Mapping
from typing import Any

from codeplane.controller.connectors.failures import ConnectorError
from codeplane.controller.connectors.jira import fetch_ticket
from codeplane.controller.network import auth_directory, fault_of, kernel_of
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb, wrong_argument


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    expand = arguments.get("expand") or []
    if any(not isinstance(one, str) for one in expand):
        raise wrong_argument("expand", "expand is a list of texts.")
    try:
        ticket = fetch_ticket(kernel_of(turn), auth_directory(turn), arguments["ticketKey"], expand)
    except ConnectorError as error:
        raise fault_of(error) from error
    document = ticket.as_dict()
    turn.files.keep_fetched("ticket", ticket.key, document)
    return Reply({"ticket": document, "sourceKey": ticket.source_key}, frozenset({ticket.source_key}))


VERB = Verb(
    "fetch_jira_ticket",
    "Fetches a ticket.",
    "The prompt names a ticket.",
    _run,
    required={"ticketKey": str},
    optional={"expand": list},
)
