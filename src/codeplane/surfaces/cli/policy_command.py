"""`cpl policy`: the rules in force, whether they can be read, and who has accepted them."""

from pathlib import Path
from typing import Any

import click

from codeplane.govern.rulebook import Mode, Rulebook
from codeplane.surfaces.cli.main import FINDINGS, OK
from codeplane.surfaces.cli.output import json_option, print_facts, print_json, repo_option, set_option
from codeplane.surfaces.cli.person import require_person
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace


@click.group("policy", short_help="Show, check and accept the rules for agents.")
def command() -> None:
    """Show and check intents and policies, accept what arrived with the repository, switch intents on or off."""


@command.command("show", short_help="Show the rules in force.")
@json_option
@repo_option
@set_option
def show_command(as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Show mode, active intents, rules by tier, and what is not accepted yet."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        document = _document(workspace)
    _print(document, as_json=as_json)
    return OK


@command.command("check", short_help="Check that all files can be read.")
@json_option
@repo_option
@set_option
def check_command(as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Check the intents and policy files, examples included; exit code 1 when something is wrong."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        rules = workspace.gate.rules()
    problems = [*([rules.problem] if rules.problem else []), *rules.broken_policies]
    if rules.is_enforced and rules.intents is None and not problems:
        problems.append("Intents are in force, but there is no .orchestration/active_intents.yaml.")
    if as_json:
        print_json({"ok": not problems, "problems": problems})
    else:
        click.echo("\n".join(problems) if problems else "Everything can be read.")
    return FINDINGS if problems else OK


@command.command("accept", short_help="Accept intents and policy as they are.")
@json_option
@repo_option
@set_option
def accept_command(as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Accept the repository's intents and policy as they are now; until then they only tighten."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        by = require_person(workspace, "accept the intents and policy of this repository as they are")
        workspace.gate.sources.accept()
        workspace.record("rules_accepted", {"by": by, "rules": workspace.gate.rules().digest})
        document = _document(workspace)
    _print(document, as_json=as_json)
    return OK


@command.command("accept-hooks", short_help="Accept the hooks and helpers that git runs here.")
@json_option
@repo_option
@set_option
def accept_hooks_command(as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Accept the hooks and helpers that this repository makes git run, as they are now; a changed one is held again."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        by = require_person(workspace, "accept the hooks and helpers that git runs in this repository")
        helpers = workspace.accept_helpers()
        accepted = [{"name": one.name, "digest": one.digest, "files": list(one.files)} for one in helpers]
        workspace.record("hooks_accepted", {"by": by, "programs": accepted})
    if as_json:
        print_json({"accepted": accepted})
    else:
        click.echo("\n".join(f"accepted {one.name}" for one in helpers) or "This repository makes git run nothing.")
    return OK


@command.command("mode", short_help="Switch intents on or off.")
@click.argument("mode", type=click.Choice([one.value for one in Mode]))
@json_option
@repo_option
@set_option
def mode_command(mode: str, as_json: bool, start: str, overrides: tuple[str, ...]) -> int:  # noqa: FBT001
    """Ask agents for intents (enforce), or do not (off)."""
    with open_workspace(WorkspaceRequest(Path(start), overrides)) as workspace:
        by = require_person(workspace, f"switch intents to {mode}")
        workspace.gate.sources.set_mode(Mode(mode))
        workspace.record("governance_mode", {"by": by, "mode": mode})
        document = _document(workspace)
    _print(document, as_json=as_json)
    return OK


def _document(workspace: Workspace) -> dict[str, Any]:
    texts, rules = workspace.gate.sources.rules()
    now = workspace.clock.now_ms()
    return {
        "mode": rules.mode.value,
        "digest": rules.digest,
        "active_intents": list(rules.active_ids(now)),
        "intents_accepted": rules.accepted is None,
        "problem": rules.problem or None,
        "broken_policies": list(rules.broken_policies),
        "policies": [{"tier": one.tier.value, "accepted": one.is_accepted} for one in texts.policies],
        "rules": [_rule(tier.value, rule) for tier, rule in rules.rules()],
        "not_counted_until_accepted": _waiting(rules),
    }


def _rule(tier: str, rule: Any) -> dict[str, Any]:
    return {"tier": tier, "id": rule.id, "decide": rule.decide, "reason": rule.reason}


def _waiting(rules: Rulebook) -> list[str]:
    found = [
        f"rule {rule.id}"
        for text, document in rules.policies
        if not text.is_accepted
        for rule in document.rules
        if rule.decide == "allow"
    ]
    return [*found, *(["changed intents"] if rules.accepted is not None else [])]


def _print(document: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(document)
        return
    print_facts(
        [
            ("mode", document["mode"]),
            ("active intents", ", ".join(document["active_intents"]) or "none"),
            ("policy files", ", ".join(one["tier"] for one in document["policies"]) or "none"),
            ("rules", ", ".join(f"{one['id']} ({one['decide']})" for one in document["rules"]) or "none"),
            ("waiting for `cpl policy accept`", ", ".join(document["not_counted_until_accepted"]) or "nothing"),
            ("problem", document["problem"] or "; ".join(document["broken_policies"]) or "none"),
            ("digest", document["digest"]),
        ]
    )
