"""How much a call could destroy, told from its effects."""

from dataclasses import replace

from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.shell_risk.context import ShellContext
from codeplane.govern.shell_risk.report import RiskReport, RiskVerdict
from codeplane.govern.verdicts import Opinion
from codeplane.ledger.policy import Verdict

SAFE, DESTRUCTIVE = "SAFE", "DESTRUCTIVE"
_REDACTED = "[redacted:"


def dangers_of(call: GovernedCall, rules: Rulebook) -> tuple[str, ...]:
    """Return what makes a call DESTRUCTIVE; nothing for a SAFE one."""
    found: list[str] = []
    if call.deletes:
        found.append(f"deletes {_some(call.deletes)}")
    if call.unseen:
        found.append(f"overwrites what this session has not seen: {_some(call.unseen)}")
    if call.network:
        found.append(f"reaches {_some(call.network)}")
    found += _dangerous_commands(call, rules)
    if call.destructive and not found:
        what = _some(call.git_refs or call.touched)
        found.append(f"cannot be taken back by itself: {call.operation}" + (f" on {what}" if what else ""))
    return tuple(found)


def verifies(call: GovernedCall, rules: Rulebook) -> bool:
    """Tell whether a call runs commands, and each of them only reads or verifies."""
    if call.verifies:
        return True
    verdicts = [_report(command, call, rules).verdict for command in call.commands]
    return bool(verdicts) and RiskVerdict.DESTRUCTIVE not in verdicts


class Risk:
    """States the class; whether a person is asked is the next policy's business."""

    name = "risk"

    def judge(self, call: GovernedCall, rules: Rulebook) -> Opinion | None:
        """Say SAFE, or nothing: danger neither permits nor refuses."""
        if not call.is_governed or dangers_of(call, rules):
            return None
        return Opinion(Verdict.ALLOW, SAFE, "risk")


def _dangerous_commands(call: GovernedCall, rules: Rulebook) -> list[str]:
    if call.verifies:
        return [f"runs code of the repository to check it: `{call.commands[0][:120]}`"] if call.commands else []
    found = []
    for command in call.commands:
        report = _report(command, call, rules)
        if report.verdict is not RiskVerdict.SAFE:
            why = f" ({report.reasons[0]})" if report.reasons else ""
            found.append(f"runs `{command[:120]}`{why}")
    return found


def _report(command: str, call: GovernedCall, rules: Rulebook) -> RiskReport:
    around = ShellContext(
        git_runs_helpers=call.git_runs_helpers,
        leading_away=call.leading_away,
        variables=call.variables,
        shadowed=call.shadowed,
        is_one_repository=call.is_one_repository,
    )
    return command_report(command, around, rules)


def command_report(command: str, around: ShellContext, rules: Rulebook) -> RiskReport:
    """Return the risk of a command, secrets taken out of it, by the rules and what is around it."""
    if _REDACTED in command:
        # What was taken out may have been more than a secret.
        return RiskReport(RiskVerdict.DESTRUCTIVE, (), ("a part of it is kept back",))
    # 25 ms that only calls with commands need.
    from codeplane.govern.shell_risk.classifier import classify  # noqa: PLC0415

    known = replace(around, read_only=rules.read_only_commands(), verification=rules.verification_scripts())
    return classify(command, "bash", known)


def _some(texts: tuple[str, ...]) -> str:
    rest = len(texts) - 3
    return ", ".join(texts[:3]) + (f" and {rest} more" if rest > 0 else "")
