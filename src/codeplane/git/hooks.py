"""Run a change that may run the repository's hooks, and distinguish a hook's refusal from git's."""

import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.processes import ProcessResult
from codeplane.git.commands import PLAIN, Conditions, change_git, check_result
from codeplane.git.git_errors import git_error

_OWN_WORDS: Final = ("fatal:", "error:", "*** ", "Author identity unknown", "Committer identity unknown")
_MAX_SHOWN: Final = 2_000
# Hooks of git itself are one level deep; a commit that a rebase or merge makes in a child process is a second.
_MAX_DEPTH: Final = 2


@dataclass(frozen=True, slots=True)
class HookedResult:
    """How a command ended, and the failed hooks in order of completion."""

    process: ProcessResult
    failed_hooks: tuple[str, ...]

    @property
    def refusing_hook(self) -> str | None:
        """Return the hook that refused; hooks that run after the change cannot refuse it."""
        if self.process.returncode == 0:
            return None
        return next((name for name in self.failed_hooks if not name.startswith("post-")), None)

    @property
    def is_done(self) -> bool:
        """Tell whether git succeeded; a hook that fails afterwards only sets git's exit status."""
        return self.process.returncode == 0 or (
            bool(self.failed_hooks) and all(name.startswith("post-") for name in self.failed_hooks)
        )


def change_with_hooks(root: Path, *arguments: str, conditions: Conditions = PLAIN) -> HookedResult:
    """Run a git command that changes something; git's trace shows which hooks failed."""
    with tempfile.TemporaryDirectory(prefix="codeplane-") as name:
        trace = Path(name).resolve() / "trace"
        traced = replace(conditions, environment={**conditions.environment, "GIT_TRACE2_EVENT": str(trace)})
        process = change_git(root, *arguments, conditions=traced)
        return HookedResult(process, _failed_hooks(trace))


def check_hooked(arguments: tuple[str, ...], result: HookedResult) -> None:
    """Raise the error of a failed command.

    Raises:
        CodePlaneError: GIT_HOOK_FAILED with the hook's output, or git's own error; TIMED_OUT; CANCELLED.
    """
    process = result.process
    if process.was_cancelled or process.timed_out:
        check_result(arguments, process)
    if result.is_done:
        return
    hook = result.refusing_hook
    if hook is not None:
        said = "\n".join(text.strip() for text in (process.stdout_text, process.stderr_text) if text.strip())
        words = said[-_MAX_SHOWN:] or "no output"
        details = {"hook": hook, "output": words}
        raise CodePlaneError("GIT_HOOK_FAILED", f"The {hook} hook refused: {words}", details=details)
    raise git_error(arguments, own_words(process))


def own_words(process: ProcessResult) -> str:
    """Return git's own error output, without the output of hooks before it."""
    lines = process.stderr_text.splitlines()
    first = next((number for number, line in enumerate(lines) if line.startswith(_OWN_WORDS)), 0)
    return "\n".join(lines[first:]) or process.stdout_text


def _failed_hooks(trace: Path) -> tuple[str, ...]:
    try:
        lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    hooks: dict[tuple[str, int], str] = {}
    failed = []
    for line in lines:
        event = _event(line)
        key = (str(event.get("sid", "")), int(event.get("child_id", -1)))
        if key[0].count("/") >= _MAX_DEPTH:
            continue
        if event.get("event") == "child_start" and event.get("child_class") == "hook":
            hooks[key] = str(event.get("hook_name", "unknown"))
        elif event.get("event") == "child_exit" and key in hooks and event.get("code") != 0:
            failed.append(hooks[key])
    return tuple(failed)


def _event(line: str) -> dict[str, Any]:
    # Background processes of hooks may write half a line.
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
