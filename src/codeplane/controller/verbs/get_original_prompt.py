"""`get_original_prompt`: what this work was asked for."""

from collections.abc import Mapping
from typing import Any

from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb


def _run(turn: TurnWork, _arguments: Mapping[str, Any]) -> Reply:
    prompts = turn.files.prompts()
    has_prompt = bool(prompts["originalPrompt"].strip())
    return Reply(prompts, frozenset({"prompt:original"}) if has_prompt else frozenset())


VERB = Verb("get_original_prompt", "Returns the prompt of this work.", "To cite the requirement.", _run)
