"""Verification hooks of plans: what is run for each, and whether the criteria of a validate node hold."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import re2

from codeplane.controller.plan import Plan
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import FaultError

_FINDERS: Final = frozenset({"lint", "typecheck"})
_MAX_OUTPUT: Final = 4_000
_MAX_PATTERN: Final = 1_000


@dataclass(frozen=True, slots=True)
class HookRun:
    """What a hook said: its exit code, its output, and the test files that passed."""

    hook_id: str
    kind: str
    exit_code: int
    output: str
    tests: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the run as `validation.json` has it."""
        return {"hookId": self.hook_id, "kind": self.kind, "exitCode": self.exit_code, "output": self.output}


def hooks_of(plan: Plan) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return the hooks of a plan by id, each with its node."""
    return {
        hook["hookId"]: (node.node_id, hook)
        for node in plan.nodes
        for hook in node.document.get("verificationHooks", ())
    }


def run_hook(turn: TurnWork, hook: Mapping[str, Any], files: tuple[str, ...]) -> HookRun:
    """Run one hook: tests by the test runner, findings by the linters, anything else as a judged command.

    Raises:
        DeniedError: the gate refuses it.
        FaultError: it cannot be run, or a person has to answer first.
    """
    kind, command = hook["kind"], list(hook.get("command") or ())
    targets = _test_files(turn, hook, command) if kind == "test" else []
    if targets:
        return _run_tests(turn, hook, targets)
    looked = _run_linters(turn, hook, files) if kind in _FINDERS and files else None
    if looked is not None:
        return looked
    if hook.get("recipeId") and not command and files:
        return _run_tests(turn, hook, list(files), is_affected=True)
    if not command:
        raise FaultError("hook_not_runnable", f"{hook['hookId']} has no command and no tests that are known.")
    found = turn.call("run_check_command", argv=command)
    return HookRun(hook["hookId"], kind, int(found["exit_code"]), str(found["output"])[-_MAX_OUTPUT:])


def meets(criteria: Mapping[str, Any], runs: tuple[HookRun, ...]) -> bool:
    """Tell whether every run satisfies the criteria of a validate node."""
    return bool(runs) and all(_meets_one(criteria, run) for run in runs)


def _meets_one(criteria: Mapping[str, Any], run: HookRun) -> bool:
    if criteria["type"] == "exit_code":
        return bool(run.exit_code == criteria["equals"])
    if criteria["type"] == "output_regex":
        try:
            return re2.search(str(criteria["pattern"])[:_MAX_PATTERN], run.output) is not None
        except re2.error:
            return False
    try:
        return bool(_at(json.loads(run.output), criteria["pointer"]) == criteria["equals"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return False


def _at(document: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document


def _test_files(turn: TurnWork, hook: Mapping[str, Any], command: list[str]) -> list[str]:
    """Return the test files that a hook names, in `covers` or in its command."""
    named = [*(hook.get("covers") or ()), *(word.partition("::")[0] for word in command[1:])]
    found = [one for one in dict.fromkeys(named) if isinstance(one, str) and one in turn.knowledge.allowlist]
    folders = [
        word.rstrip("/")
        for word in command[1:]
        if re.fullmatch(r"[\w./-]+", word)
        and any(path.startswith(f"{word.rstrip('/')}/") for path in turn.knowledge.allowlist)
    ]
    return found or folders


def _program_of(command: list[str]) -> str:
    """Return the checker that a command starts: `mypy` for `.venv/bin/mypy src` and for `python -m mypy src`."""
    if len(command) > 2 and command[1] == "-m":
        return command[2]
    return command[0].rpartition("/")[2] if command else ""


def _run_tests(turn: TurnWork, hook: Mapping[str, Any], targets: list[str], *, is_affected: bool = False) -> HookRun:
    """Run test files, or the tests that some changed files affect."""
    asked = {"affected_by": targets} if is_affected else {"target_filter": targets}
    found = turn.call("run_test_targets", **asked)
    is_passed = found["outcome"] == "passed" and not found.get("not_run_count")
    counts = {name: found[name] for name in ("outcome", "passed", "failed", "errors", "skipped")}
    output = json.dumps({**counts, "failures": found.get("failures", [])[:3]}, default=str)
    return HookRun(
        hook["hookId"],
        hook["kind"],
        0 if is_passed else 1,
        output[:_MAX_OUTPUT],
        tuple(targets) if is_passed and not is_affected else (),
    )


def _run_linters(turn: TurnWork, hook: Mapping[str, Any], files: tuple[str, ...]) -> HookRun | None:
    """Let the project's linters look at some files; None when none of them ran."""
    found = turn.call("lint_check", paths=list(files))
    ran = {one["tool"] for one in found["tools"] if one["status"] in {"clean", "findings"}}
    wanted = _program_of(list(hook.get("command") or ()))
    if not ran or (wanted and wanted not in ran):
        # Another checker than the one that the plan names proves nothing.
        return None
    has_failed = any(one["status"] == "failed" for one in found["tools"])
    output = json.dumps({"new": found["new"], "findings": found["findings"][:10]}, default=str)
    return HookRun(hook["hookId"], hook["kind"], int(bool(found["new"]) or has_failed), output[:_MAX_OUTPUT])
