"""Real git repositories in temporary directories."""

import os
from pathlib import Path

from codeplane.core.processes import ProcessRequest, run_process

_IDENTITY = (
    "user.name=Test", "user.email=test@example.invalid", "commit.gpgsign=false", "init.defaultBranch=main",
    "protocol.file.allow=always",
)  # fmt: skip


def git(directory: Path, *arguments: str) -> str:
    """Run git with a fixed identity and fixed dates; fail loudly."""
    configuration = [part for item in _IDENTITY for part in ("-c", item)]
    dates = {"GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    request = ProcessRequest(("git", *configuration, *arguments), directory, 60, environment={**environment, **dates})
    result = run_process(request)
    assert result.returncode == 0, result.stderr_text
    return result.stdout_text


def write(root: Path, files: dict[str, str | bytes]) -> None:
    """Write files below the root, making directories as needed."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def make_repository(root: Path, files: dict[str, str | bytes]) -> Path:
    """Create a repository at `root` with one commit that holds the files."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "--quiet", "--template=")
    write(root, files)
    git(root, "add", "--force", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "first")
    return root
