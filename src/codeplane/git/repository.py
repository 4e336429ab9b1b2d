"""Find a repository and answer the cheap questions about it."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.processes import ProcessRequest, ProcessResult, run_process

GIT_TIMEOUT_SECONDS = 30.0
_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MAX_LISTING_BYTES = 512 * 1024 * 1024
_FIXED_CONFIGURATION = (
    "core.quotepath=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "advice.statusHints=false",
)


@dataclass(frozen=True, slots=True)
class Repository:
    """One working tree and where git keeps its data."""

    root: Path
    git_dir: Path
    common_dir: Path

    @property
    def is_linked_worktree(self) -> bool:
        """Tell whether this tree was made by `git worktree add`."""
        return self.git_dir != self.common_dir

    @property
    def worktree_id(self) -> str:
        """Return a name for this tree that is unique in the repository."""
        return self.git_dir.name if self.is_linked_worktree else "main"


@dataclass(frozen=True, slots=True)
class Head:
    """Where HEAD points; no commit when unborn, no branch when detached."""

    commit: str | None
    branch: str | None

    @property
    def is_unborn(self) -> bool:
        """Tell whether the branch has no commit yet."""
        return self.commit is None


@dataclass(frozen=True, slots=True)
class TrackedPaths:
    """What the git index holds, as texts relative to the root, and every directory above."""

    files: frozenset[str]
    directories: frozenset[str]


def find_repository(start: Path) -> Repository:
    """Return the working tree that contains `start`.

    Raises:
        CodePlaneError: NOT_A_REPOSITORY, BARE_REPOSITORY, GIT_UNAVAILABLE, GIT_CORRUPT or GIT_FAILED.
    """
    if not start.is_dir():
        raise CodePlaneError("NOT_A_REPOSITORY", f"{start} is not a directory.")
    questions = ("--is-bare-repository", "--git-dir", "--git-common-dir", "--show-toplevel")
    result = run_git(start, "rev-parse", "--path-format=absolute", *questions)
    # The output holds the answers before a failure. Directory names need not be UTF-8, and stdout_text would show such
    # bytes as escapes.
    answers = os.fsdecode(result.stdout).removesuffix("\n").split("\n")
    if answers[0] == "true":
        raise CodePlaneError("BARE_REPOSITORY", f"{start} is a bare repository: it has no working tree.")
    if result.returncode != 0:
        raise _discovery_error(start, result.stderr_text)
    if len(answers) != len(questions):
        # A directory's name contains a line break, so each answer needs its own call.
        replies = (run_git(start, "rev-parse", "--path-format=absolute", question) for question in questions)
        answers = [os.fsdecode(reply.stdout).removesuffix("\n") for reply in replies]
    git_dir, common_dir, root = (Path(answer).resolve() for answer in answers[1:])
    return Repository(root, git_dir, common_dir)


def _discovery_error(start: Path, output: str) -> CodePlaneError:
    lowered = output.lower()
    if "not a git repository" in lowered:
        if any((directory / ".git").exists() for directory in (start, *start.absolute().parents)):
            return CodePlaneError("GIT_CORRUPT", f"Git does not accept {start} as a repository.")
        return CodePlaneError("NOT_A_REPOSITORY", f"{start.absolute()} is not inside a Git working tree.")
    if "must be run in a work tree" in lowered:
        return CodePlaneError("NOT_A_REPOSITORY", f"{start} is inside a git directory, not in a working tree.")
    if "dubious ownership" in lowered:
        hint = "Run the `git config --global --add safe.directory …` line that git shows."
        return CodePlaneError("GIT_FAILED", "Git does not trust the owner of this repository.", hint=hint)
    return CodePlaneError("GIT_CORRUPT", f"Git cannot read this repository: {output.strip()[:400]}")


def read_head(repository: Repository) -> Head:
    """Return the commit and branch of HEAD.

    Raises:
        CodePlaneError: GIT_CORRUPT when HEAD is neither a branch nor a commit.
    """
    branch_name = read_branch(repository)
    commit = run_git(repository.root, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    commit_id = commit.stdout_text.strip() if commit.returncode == 0 else None
    if commit_id is None and branch_name is not None and _ref_exists(repository, branch_name):
        raise CodePlaneError("GIT_CORRUPT", f"The branch {branch_name} names a commit that git cannot read.")
    if branch_name is None and commit_id is None:
        raise CodePlaneError("GIT_CORRUPT", "HEAD names neither a branch nor a commit that git can read.")
    return Head(commit_id, branch_name)


def read_branch(repository: Repository) -> str | None:
    """Return the branch that HEAD is on, None when it is detached."""
    place = repository.git_dir / "HEAD"
    try:
        text = "" if place.is_symlink() else place.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        text = ""
    target = text.strip().removeprefix("ref: ")
    if target != text.strip() and target != "refs/heads/.invalid":
        return target.removeprefix("refs/heads/")
    if _OBJECT_ID.fullmatch(target):
        return None
    # A form of HEAD that only git itself can read.
    branch = run_git(repository.root, "symbolic-ref", "--quiet", "--short", "HEAD")
    return branch.stdout_text.strip() if branch.returncode == 0 else None


def _ref_exists(repository: Repository, branch: str) -> bool:
    listing = run_git(repository.root, "for-each-ref", "--format=%(refname)", f"refs/heads/{branch}")
    loose = repository.common_dir / "refs" / "heads" / branch
    return bool(listing.stdout_text.strip()) or loose.is_file()


def index_stat(repository: Repository) -> tuple[int, int] | None:
    """Return modification time and size of the git index, or None when there is none."""
    try:
        status = (repository.git_dir / "index").stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def tracked_paths(repository: Repository) -> TrackedPaths:
    """Return what git tracks in this tree, submodules as their directories."""
    result = run_git(repository.root, "ls-files", "-z", output_limit=_MAX_LISTING_BYTES)
    if result.returncode != 0:
        raise CodePlaneError("GIT_FAILED", f"git ls-files failed: {result.stderr_text.strip()[:400]}")
    if result.stdout_dropped:
        raise CodePlaneError("GIT_FAILED", f"git tracks more names than fit into {_MAX_LISTING_BYTES} bytes.")
    names = os.fsdecode(result.stdout).split("\0")
    files = frozenset(name for name in names if name)
    directories: set[str] = set()
    for name in files:
        parent = name.rpartition("/")[0]
        while parent and parent not in directories:
            directories.add(parent)
            parent = parent.rpartition("/")[0]
    return TrackedPaths(files, frozenset(directories))


def run_git(
    directory: Path, *arguments: str, output_limit: int = 1024 * 1024, stdin: bytes | None = None
) -> ProcessResult:
    """Run git with fixed configuration, no prompt, no pager and a timeout."""
    request = ProcessRequest(
        argv=git_command(_FIXED_CONFIGURATION, arguments),
        cwd=directory,
        environment=git_environment(os.environ),
        timeout_seconds=GIT_TIMEOUT_SECONDS,
        stdin=stdin,
        output_limit_bytes=output_limit,
    )
    return start_git(request)


def git_command(settings: Iterable[str], arguments: Iterable[str]) -> tuple[str, ...]:
    """Return the words of a git command with `name=value` settings."""
    return ("git", "--no-pager", *(part for item in settings for part in ("-c", item)), *arguments)


def start_git(request: ProcessRequest) -> ProcessResult:
    """Run a git command.

    Raises:
        CodePlaneError: GIT_UNAVAILABLE when there is no git program.
    """
    try:
        return run_process(request)
    except CodePlaneError as error:
        if error.code == "FILE_NOT_FOUND":
            raise CodePlaneError("GIT_UNAVAILABLE", "The git program was not found on PATH.") from error
        raise


def git_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without variables that would redirect git, as inside a git hook."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    kept.update({"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C.UTF-8"})
    # Flushing a history commit by commit is slower on both sides of the pipe.
    kept["GIT_FLUSH"] = "0"
    return kept
