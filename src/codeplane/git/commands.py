"""Run git to read or to change something, and map failures to the error registry.

Reading never runs hooks and never takes git's optional locks. A change runs as a person's git would (hooks, identity,
signing, credential helpers), but cannot prompt: there is no terminal, no editor and no password prompt.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.processes import ProcessRequest, ProcessResult
from codeplane.git.git_errors import git_error
from codeplane.git.repository import git_command, git_environment, run_git, start_git

OUTPUT_LIMIT = 256 * 1024 * 1024
_MAX_SHOWN = 2_400
_CHANGE_CONFIGURATION = ("core.quotepath=false", "core.fsmonitor=false", "advice.detachedHead=false")


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a change runs.

    `environment` is laid over the fixed one; `configuration` are `name=value` settings for this run only.
    `runs_hooks` is false when the caller skips the repository's hooks.
    """

    stdin: bytes | None = None
    timeout_seconds: float = 120.0
    environment: Mapping[str, str] = field(default_factory=dict)
    configuration: tuple[str, ...] = ()
    runs_hooks: bool = True
    is_cancelled: Callable[[], bool] | None = None


PLAIN = Conditions()


def ask_git(root: Path, *arguments: str, stdin: bytes | None = None, output_limit: int = OUTPUT_LIMIT) -> bytes:
    """Return what a reading git command prints.

    Raises:
        CodePlaneError: git failed, as a code of the registry; TIMED_OUT.
    """
    result = run_git(root, *arguments, stdin=stdin, output_limit=output_limit)
    check_result(arguments, result)
    if result.stdout_dropped:
        raise CodePlaneError("FILE_TOO_LARGE", f"git {arguments[0]} printed more than {output_limit} bytes.")
    return result.stdout


def change_git(root: Path, *arguments: str, conditions: Conditions = PLAIN) -> ProcessResult:
    """Run a git command that changes something; the caller checks the outcome with `check_result`."""
    settings = [*_CHANGE_CONFIGURATION, *conditions.configuration]
    if not conditions.runs_hooks:
        settings.append("core.hooksPath=/dev/null")
    environment = git_environment(os.environ)
    # A change may refresh git's own caches; nothing may open an editor or ask for a password.
    del environment["GIT_OPTIONAL_LOCKS"]
    environment |= {"GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true", "GIT_ASKPASS": "true", "SSH_ASKPASS": "true"}
    environment |= {"SSH_ASKPASS_REQUIRE": "never", "GCM_INTERACTIVE": "never"}
    environment |= {"GIT_MERGE_AUTOEDIT": "no"}
    if "GIT_SSH_COMMAND" in os.environ:
        environment["GIT_SSH_COMMAND"] = os.environ["GIT_SSH_COMMAND"]
    environment |= conditions.environment
    request = ProcessRequest(
        argv=git_command(settings, arguments),
        cwd=root,
        environment=environment,
        timeout_seconds=conditions.timeout_seconds,
        stdin=conditions.stdin,
        output_limit_bytes=OUTPUT_LIMIT,
        cancelled=conditions.is_cancelled,
    )
    return start_git(request)


def must_change(root: Path, *arguments: str, conditions: Conditions = PLAIN) -> ProcessResult:
    """Run a git command that changes something and must succeed.

    Raises:
        CodePlaneError: git failed, as a code of the registry; TIMED_OUT; CANCELLED.
    """
    result = change_git(root, *arguments, conditions=conditions)
    check_result(arguments, result, root)
    return result


def check_result(arguments: tuple[str, ...], result: ProcessResult, root: Path | None = None) -> None:
    """Raise the error of a failed command; some print nothing when the index of `root` is locked.

    Raises:
        CodePlaneError: see above.
    """
    if result.was_cancelled:
        raise CodePlaneError("CANCELLED")
    if result.timed_out:
        raise CodePlaneError("TIMED_OUT", f"git {arguments[0]} did not end in time and was stopped.")
    if result.returncode != 0:
        error = git_error(arguments, f"{result.stderr_text}\n{result.stdout_text[-_MAX_SHOWN:]}")
        if error.code == "GIT_FAILED" and root is not None and _is_index_locked(root):
            raise CodePlaneError("GIT_LOCKED", f"git {arguments[0]}: another git process holds the index lock.")
        raise error


def _is_index_locked(root: Path) -> bool:
    place = run_git(root, "rev-parse", "--git-path", "index.lock").stdout
    return os.path.lexists(root / os.fsdecode(place).removesuffix("\n"))


def check_name(text: str, what: str = "ref") -> str:
    """Return a name that git cannot mistake for an option or several words.

    Raises:
        CodePlaneError: GIT_REF_INVALID.
    """
    if not text or text.startswith("-") or any(char < " " or char == "\x7f" for char in text):
        raise CodePlaneError("GIT_REF_INVALID", f"{text!r} cannot be a {what}.", details={what: text})
    return text


def decode(data: bytes) -> str:
    """Return git's bytes as text; names that are not UTF-8 keep their bytes."""
    return os.fsdecode(data)
