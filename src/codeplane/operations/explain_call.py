"""Why a call was allowed or not."""

from typing import Any

from pydantic import Field

from codeplane.govern.explanation import explain
from codeplane.ledger.effects import EffectClass
from codeplane.operations.command import Command, Document, Facts, Route, Shown
from codeplane.operations.models import Request
from codeplane.operations.operation import Audience, CallContext, Example, Operation, planned


class ExplainRequest(Request):
    """Which call."""

    call_or_row: str = Field(description="The `request_id` of an answer, or a call or row of `cpl ledger log`.")


def _explain(context: CallContext, request: ExplainRequest) -> Document:
    return Document(**explain(context.workspace.chain, request.call_or_row).as_document())


def _explanation(result: Document) -> Shown:
    found: dict[str, Any] = result.model_dump()
    inputs, decision = found["inputs"], found["decision"]
    touched = [*inputs.get("writes", ()), *inputs.get("deletes", ())]
    facts = Facts(
        (
            ("call", f"{found['call_id']} ({found['operation']}), {found['outcome']}"),
            ("decided by", f"{decision['policy']}: {decision['verdict']}"),
            ("intent", str(inputs.get("selected_intent") or "none")),
            ("session", str(inputs["session"])),
            ("touches", ", ".join(touched) or "no file"),
            ("rules", found["rules_digest"]),
            ("decided again", "the same" if found["is_same"] else "DIFFERENT"),
        )
    )
    return (facts, *(_opinion(one) for one in decision["opinions"]))


def _opinion(opinion: dict[str, Any]) -> str:
    where = f" [{opinion['segment']}]" if "segment" in opinion else ""
    rule = f" ({opinion['rule']})" if "rule" in opinion else ""
    return f"  {opinion['policy']}: {opinion['verdict']}{rule}{where}: {opinion['reason']}"


EXPLAIN_CALL = Operation(
    name="explain_call",
    family="governance",
    summary="Show why a call was allowed or not.",
    request_type=ExplainRequest,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_explain),
    examples=(Example("Explain it", {"call_or_row": "req_1"}),),
    audience=Audience.SHELL,
    command=Command(
        path=("explain",),
        help="""Show the rule and inputs of a decision, and decide again from the record.

        CALL is the `request_id` of an answer, or a call or row number of `cpl ledger log`. Exit code 1: deciding again
        gives another answer.""",
        shows=_explanation,
        arguments=("call_or_row",),
        is_finding=lambda result: not result.model_dump()["is_same"],
    ),
    routes=(
        Route(
            method="GET",
            path="/operations/{call_or_row}/decision",
            summary="Why a call was allowed or not; needs the operator token.",
            needs_token=True,
        ),
    ),
)
