"""How much a call could destroy, told from its effects."""

from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import Opinion, Verdict

SAFE, DESTRUCTIVE = "SAFE", "DESTRUCTIVE"


def dangers_of(call: GovernedCall) -> tuple[str, ...]:
    """Return what makes a call DESTRUCTIVE; nothing for a SAFE one."""
    found: list[str] = []
    if call.deletes:
        found.append(f"deletes {_some(call.deletes)}")
    if call.unseen:
        found.append(f"overwrites what this session has not seen: {_some(call.unseen)}")
    if call.network:
        found.append(f"reaches {_some(call.network)}")
    # Until commands are looked at one by one, each could do anything.
    found += [f"runs `{command[:120]}`" for command in call.commands]
    if call.destructive and not found:
        what = _some(call.git_refs or call.touched)
        found.append(f"cannot be taken back by itself: {call.operation}" + (f" on {what}" if what else ""))
    return tuple(found)


class Risk:
    """States the class; whether a person is asked is the next policy's business."""

    name = "risk"

    def judge(self, call: GovernedCall, _rules: Rulebook) -> Opinion | None:
        """Say SAFE, or nothing: danger is no permission and no refusal."""
        if not call.is_governed or dangers_of(call):
            return None
        return Opinion(Verdict.ALLOW, SAFE, "risk")


def _some(texts: tuple[str, ...]) -> str:
    rest = len(texts) - 3
    return ", ".join(texts[:3]) + (f" and {rest} more" if rest > 0 else "")
