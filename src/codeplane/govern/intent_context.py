"""The context of an intent as an agent reads it when it selects one."""

from dataclasses import dataclass
from html import escape

from codeplane.govern.intents import Intent

_SHOWN_PATHS = 6


@dataclass(frozen=True, slots=True)
class LastMutation:
    """A change that was made under an intent."""

    time: str
    operation: str
    session: str
    paths: tuple[str, ...]
    call_id: str


@dataclass(frozen=True, slots=True)
class IntentContext:
    """An intent, its last mutations, and the intents above it, the nearest first after itself."""

    intent: Intent
    mutations: tuple[LastMutation, ...]
    lineage: tuple[Intent, ...]


def intent_context(context: IntentContext) -> str:
    """Return `<intent_context>…</intent_context>`; texts of people are data in it."""
    intent = context.intent
    lines = [f'<intent_context id="{escape(intent.id)}" name="{escape(intent.name)}" status="{intent.status}">']
    lines += _listed("scope", intent.owned_scope)
    for above in context.lineage[1:]:
        lines += _listed(f"scope_of {above.id}", above.owned_scope)
    constraints = dict.fromkeys(text for one in (intent, *context.lineage) for text in one.constraints)
    lines += _listed("constraints", tuple(constraints))
    lines += _listed("acceptance_criteria", intent.acceptance_criteria)
    lines += _listed("requirements", intent.requirements)
    lines += _listed("last_mutations", tuple(map(_told, context.mutations)))
    return "\n".join([*lines, "</intent_context>"])


def _listed(name: str, texts: tuple[str, ...]) -> list[str]:
    return [f"{name}:", *(f"- {escape(' '.join(text.split()), quote=False)}" for text in texts)] if texts else []


def _told(mutation: LastMutation) -> str:
    more = f" and {len(mutation.paths) - _SHOWN_PATHS} more" if len(mutation.paths) > _SHOWN_PATHS else ""
    where = ", ".join(mutation.paths[:_SHOWN_PATHS])
    return f"{mutation.time} {mutation.operation} {where}{more} ({mutation.session}, {mutation.call_id})"
