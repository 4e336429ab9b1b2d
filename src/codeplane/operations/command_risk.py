"""The risk of a shell command, by the gate's rules. It needs no repository, so it is not an operation."""

import os
from dataclasses import replace
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import visible_text
from codeplane.govern.shell_risk.classifier import classify
from codeplane.govern.shell_risk.context import ShellContext
from codeplane.govern.shell_risk.report import RiskReport, RiskVerdict
from codeplane.govern.shell_risk.surroundings import find_root, look_around
from codeplane.workspace.places import PRIVATE_NAME
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace


class CommandRisk:
    """Judges commands. Accepted policy files are read once for each repository that is set up.

    Invariant: a repository that is not set up stays as it is.
    """

    def __init__(self) -> None:
        self._lists: dict[Path, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def report(self, text: str, shell: str, cwd: str) -> RiskReport:
        """Return the verdict on a command that a shell would run in a directory."""
        try:
            folder = Path(os.path.realpath(cwd))
            root = find_root(folder)
            context = self._with_accepted(look_around(root, folder, os.environ, text), root)
        except (OSError, ValueError, CodePlaneError):
            return RiskReport(RiskVerdict.DESTRUCTIVE, (), ("the directory cannot be read",))
        return classify(text, shell, context)

    def _with_accepted(self, context: ShellContext, root: Path | None) -> ShellContext:
        if root is None or not (root / PRIVATE_NAME).is_dir():
            return context
        if root not in self._lists:
            with open_workspace(WorkspaceRequest(root)) as workspace:
                rules = workspace.gate.rules()
            self._lists[root] = (rules.read_only_commands(), rules.verification_scripts())
        read_only, verification = self._lists[root]
        return replace(context, read_only=read_only, verification=verification)


def only_reads(command: str, cwd: str) -> bool:
    """Tell whether a command is known to read only, without asking the rules of any repository."""
    try:
        folder = Path(os.path.realpath(cwd))
        context = look_around(find_root(folder), folder, os.environ, command)
    except (OSError, ValueError):
        return False
    return classify(command, "bash", context).verdict is RiskVerdict.SAFE


def report_text(report: RiskReport) -> str:
    """Return the verdict and, below it, that of each part of the command."""
    lines = [report.verdict.value]
    for segment in report.segments:
        why = f": {'; '.join(segment.reasons)}" if segment.reasons else ""
        lines.append(visible_text(f"  {segment.verdict.value}  {segment.text}{why}"))
    if not report.segments:
        lines += [visible_text(f"  {reason}") for reason in report.reasons]
    return "\n".join(lines)
