"""`list_available_verbs`: what can be called in this state."""

from collections.abc import Mapping
from typing import Any

from codeplane.controller.browser_automation import FEATURE
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb


def _run(turn: TurnWork, _arguments: Mapping[str, Any]) -> Reply:
    return Reply({"verbs": list(turn.capabilities), "disabledFeatures": [FEATURE]})


VERB = Verb("list_available_verbs", "Lists the verbs of the current state.", "You do not know what to call.", _run)
