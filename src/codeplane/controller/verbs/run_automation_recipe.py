"""`run_automation_recipe`: a named recipe with checked parameters, on a node of the plan."""

import re
from collections.abc import Mapping
from typing import Any, Final

from codeplane.controller.attempts import Attempt, attempting, bundle_place
from codeplane.controller.codemods.codemod import leaves, replaced, text_of
from codeplane.controller.codes import Code
from codeplane.controller.execution import reserved_keys
from codeplane.controller.file_writes import check_drift, write_content
from codeplane.controller.hooks import HookRun, hooks_of, meets, run_hook
from codeplane.controller.plan import AUTO, Node
from codeplane.controller.recipes import Recipe, check_params, find_recipe
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb, denied
from codeplane.index.call_sites import root_of

_REF: Final = re.compile(r"(bundle|diff):([^/]+)/([^/]+)/([1-9][0-9]*)")
_USAGE: Final = "recipe_usage"


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    recipe = find_recipe(turn.workspace.root, arguments["recipeId"])
    node = turn.node(arguments["planNodeId"], *sorted(recipe.node_kinds))
    params = check_params(recipe, arguments.get("params"))
    for name, kind in (("artifactBundleRef", "bundle"), ("diffSummaryRef", "diff")):
        _check_ref(turn, node, arguments[name], name, kind)
    with attempting(turn, node, reserved_keys(node) if recipe.mutates else frozenset()) as attempt:
        outcome = _HANDLERS[recipe.handler](turn, attempt, node, params)
        attempt.result = {"recipeId": recipe.recipe_id, "planNodeId": node.node_id, **outcome, **attempt.refs()}
    _note_usage(turn, recipe, params, attempt)
    return Reply(attempt.result)


def _replace_lexeme(turn: TurnWork, attempt: Attempt, node: Node, params: Mapping[str, Any]) -> dict[str, Any]:
    """Replace identifier tokens, or whole words where the language is not parsed."""
    if params["file"] != node.target_file:
        message = f"The file of {node.node_id} is {node.target_file}."
        raise denied(Code.SCOPE, "outside_node", message, "/args/params/file", node_id=node.node_id)
    check_drift(turn, node)
    text = turn.knowledge.text(node.target_file)
    source = text.data if text is not None else b""
    after, n_found = _with_lexeme(node.target_file, source, params["from"], params["to"])
    if n_found != params["expectCount"]:
        message = f"{params['from']!r} occurs {n_found} times in {node.target_file}, not {params['expectCount']}."
        raise denied(Code.POLICY, "find_count", message, "/args/params/expectCount", node_id=node.node_id)
    if after == source:
        raise denied(Code.POLICY, "no_change", f"{node.target_file} stays as it is.", node_id=node.node_id)
    write_content(turn, attempt, node, after)
    return {"validationOutcome": "applied", "replaced": n_found, "contentHash": attempt.content_hash}


def _with_lexeme(path: str, source: bytes, old: str, new: str) -> tuple[bytes, int]:
    root = root_of(path, source)
    if root is None:
        pattern = re.compile(rb"(?<!\w)" + re.escape(old.encode()) + rb"(?!\w)")
        return replaced(source, ((one.start(), one.end(), new.encode()) for one in pattern.finditer(source)))
    tokens = [node for node in leaves(root) if "identifier" in node.type and text_of(node, source) == old]
    return replaced(source, ((node.start_byte, node.end_byte, new.encode()) for node in tokens))


def _validate(turn: TurnWork, attempt: Attempt, node: Node, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run hooks of the accepted plan; a validate node is finished when its own hooks meet its criteria."""
    plan = turn.plan
    known = hooks_of(plan) if plan is not None else {}
    unknown = [one for one in params["hookIds"] if one not in known]
    if unknown:
        message = f"The accepted plan has no hook {unknown[0]!r}."
        raise denied(Code.POLICY, "recipe_params", message, "/args/params/hookIds")
    files = tuple(dict.fromkeys(one.target_file for one in (plan.of_kind("change") if plan is not None else ())))
    runs = tuple(run_hook(turn, known[hook_id][1], files) for hook_id in dict.fromkeys(params["hookIds"]))
    own = {hook["hookId"] for hook in node.document["verificationHooks"]}
    is_met = _is_met(node, runs, own)
    attempt.validation = {"runs": [run.as_json() for run in runs], "passed": is_met}
    attempt.log += [f"{run.hook_id}: exit code {run.exit_code}" for run in runs]
    attempt.is_failed = not is_met
    # A change node is finished by its patch, which this run does not repeat; a validate node by all of its own hooks.
    attempt.is_check = node.kind == "change"
    attempt.is_finished = attempt.was_done if attempt.is_check else own <= {run.hook_id for run in runs}
    if is_met:
        turn.knowledge.note_validated(path for run in runs for path in run.tests)
    return {
        "validationOutcome": "passed" if is_met else "failed",
        "runs": [run.as_json() for run in runs],
        "nodeFinished": is_met and attempt.is_finished,
    } | ({} if is_met else {"failureSignature": _signature(runs)})


def _is_met(node: Node, runs: tuple[HookRun, ...], own: set[str]) -> bool:
    if node.kind == "validate":
        mine = tuple(run for run in runs if run.hook_id in own)
        others = tuple(run for run in runs if run.hook_id not in own)
        return meets(node.document["successCriteria"], mine or runs) and all(run.exit_code == 0 for run in others)
    return all(run.exit_code == 0 for run in runs)


def _signature(runs: tuple[HookRun, ...]) -> str:
    return "+".join(run.hook_id for run in runs if run.exit_code != 0) or "criteria"


_HANDLERS: Final = {"replace_lexeme_in_file": _replace_lexeme, "run_targeted_validation": _validate}


def _check_ref(turn: TurnWork, node: Node, reference: str, name: str, kind: str) -> None:
    """Refuse a reference to an attempt that does not exist; `auto` asks for a new one."""
    if reference == AUTO:
        return
    match = _REF.fullmatch(reference)
    is_own = match is not None and match[1] == kind and (match[2], match[3]) == (turn.record.work_id, node.node_id)
    if match is None or not is_own or not bundle_place(turn, node.node_id, int(match[4])).is_dir():
        message = f"{name} names no attempt of {node.node_id}. Send `auto`."
        raise denied(Code.SCOPE, "bundle_unknown", message, f"/args/{name}", node_id=node.node_id)


def _note_usage(turn: TurnWork, recipe: Recipe, params: Mapping[str, Any], attempt: Attempt) -> None:
    """Put the use of the recipe on record, as an event of its own."""
    body: dict[str, Any] = {
        "recipeId": recipe.recipe_id,
        "validatedParams": dict(params),
        "workId": turn.record.work_id,
        "runSessionId": turn.record.run_id,
        "planNodeId": attempt.node.node_id,
        "validationOutcome": attempt.result.get("validationOutcome"),
        **attempt.refs(),
    }
    if attempt.result.get("failureSignature"):
        body["failureSignature"] = attempt.result["failureSignature"]
    turn.workspace.record(_USAGE, body)


VERB = Verb(
    "run_automation_recipe",
    "Runs a named recipe.",
    "A recipe fits the node: run_targeted_validation runs its checks.",
    _run,
    required={"recipeId": str, "planNodeId": str, "artifactBundleRef": str, "diffSummaryRef": str},
    optional={"params": dict},
    is_mutation=True,
)
