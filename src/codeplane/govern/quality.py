"""The quality loop: what a team's own commands say of files that were just written.

Only commands of policy files that a person has accepted are run, from argument lists, with a time limit and bounded
output.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.processes import ProcessRequest, run_process
from codeplane.core.redaction import redact
from codeplane.govern.intents import matches
from codeplane.govern.policy_document import QualityCommand
from codeplane.govern.rulebook import Rulebook
from codeplane.lint.model import Reported
from codeplane.lint.running import plain, read_findings

_PATHS: Final = "{paths}"
_SHOWN_CHARS: Final = 2_000
_MAX_OUTPUT: Final = 64_000
_MAX_FINDINGS: Final = 50
_SHOWN_FINDINGS: Final = 5


@dataclass(frozen=True, slots=True)
class QualityResult:
    """What one command said; `changed` are files that it rewrote, with their new hash.

    `findings` are what a linter reported, read as `lint_check` reads it; empty when the output is of another kind.
    """

    name: str
    command: tuple[str, ...]
    exit_code: int | None
    is_ok: bool
    output: str
    duration_ms: int
    changed: tuple[tuple[str, str | None], ...] = ()
    findings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the structured form."""
        return {
            "name": self.name,
            "command": list(self.command),
            "exit_code": self.exit_code,
            "ok": self.is_ok,
            "output": self.output,
            "duration_ms": self.duration_ms,
            "changed": dict(self.changed),
            "findings": list(self.findings),
        }

    def as_warning(self) -> str | None:
        """Return what the caller has to know, None when all is well and nothing was rewritten."""
        if not self.is_ok:
            how = f"exit code {self.exit_code}" if self.exit_code is not None else "it did not end in time"
            more = f" and {len(self.findings) - _SHOWN_FINDINGS} more" if len(self.findings) > _SHOWN_FINDINGS else ""
            found = "; ".join(self.findings[:_SHOWN_FINDINGS]) + more
            return f"{self.name} failed ({how}): {found or self.output[-600:].strip()}"
        return f"{self.name} changed {', '.join(path for path, _ in self.changed)}" if self.changed else None


def check_quality(
    root: Path, rules: Rulebook, written: Sequence[str], hash_of: Callable[[str], str | None]
) -> list[QualityResult]:
    """Run the commands that are meant for what was written."""
    found = []
    for text, document in rules.policies:
        if not text.is_accepted:
            continue
        for command in document.quality:
            paths = [path for path in written if matches(command.paths, path) and hash_of(path) is not None]
            if paths:
                found.append(_run(root, command, paths, hash_of))
    return found


def _run(
    root: Path, command: QualityCommand, paths: Sequence[str], hash_of: Callable[[str], str | None]
) -> QualityResult:
    argv = tuple(part for word in command.command for part in (paths if word == _PATHS else (word,)))
    before = {path: hash_of(path) for path in paths}
    try:
        ended = run_process(ProcessRequest(argv, root, command.timeout_seconds, output_limit_bytes=_MAX_OUTPUT))
    except CodePlaneError as error:
        return QualityResult(command.name, argv, None, is_ok=False, output=error.message, duration_ms=0)
    changed = tuple((path, now) for path, old in before.items() if (now := hash_of(path)) != old)
    return QualityResult(
        command.name,
        argv,
        None if ended.timed_out else ended.returncode,
        is_ok=ended.returncode == 0 and not ended.timed_out,
        output=redact((ended.stdout_text + ended.stderr_text)[-_SHOWN_CHARS:]),
        duration_ms=ended.duration_ms,
        changed=changed,
        findings=tuple(_finding(root, one) for one in read_findings(argv, ended)[:_MAX_FINDINGS]),
    )


def _finding(root: Path, one: Reported) -> str:
    path = one.path.removeprefix(f"{root}/")
    return plain(f"{path}:{one.line} {one.rule} {one.message}")
