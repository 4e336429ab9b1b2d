"""Real git repositories in temporary directories."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path

from codeplane.core.hashing import sha256_text
from codeplane.core.processes import ProcessRequest, ProcessResult, run_process

_IDENTITY = (
    "user.name=Test", "user.email=test@example.invalid", "commit.gpgsign=false", "init.defaultBranch=main",
    "protocol.file.allow=always",
)  # fmt: skip
# To make a repository starts several programs; to copy one starts one.
_TEMPLATES: dict[Hashable, Path] = {}
# What is made once is not worth a template.
_MADE_BEFORE: set[str] = set()


def git(directory: Path, *arguments: str) -> str:
    """Run git with a fixed identity and fixed dates; fail loudly."""
    result = _run_git(directory, *arguments)
    assert result.returncode == 0, result.stderr_text
    return result.stdout_text


def _run_git(directory: Path, *arguments: str) -> ProcessResult:
    configuration = [part for item in _IDENTITY for part in ("-c", item)]
    dates = {"GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    request = ProcessRequest(("git", *configuration, *arguments), directory, 60, environment={**environment, **dates})
    return run_process(request)


def write(root: Path, files: dict[str, str | bytes]) -> None:
    """Write files below the root, making directories as needed."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def make_repository(root: Path, files: dict[str, str | bytes]) -> Path:
    """Create a repository at `root` with one commit that holds the files."""
    root.mkdir(parents=True, exist_ok=True)
    key = sha256_text(repr(files))
    if any(root.iterdir()) or key not in _MADE_BEFORE:
        _MADE_BEFORE.add(key)
        _commit_first(root, files)
    else:
        copied(root, key, lambda template: _commit_first(template, files))
    return root


def _commit_first(root: Path, files: dict[str, str | bytes]) -> None:
    git(root, "init", "--quiet", "--template=")
    write(root, files)
    git(root, "add", "--force", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "first")


def copied(target: Path, key: Hashable, build: Callable[[Path], object]) -> Path:
    """Fill an empty or missing folder with what `build` makes of one, which happens once per key and process.

    Paths that git has noted follow the folder, and git's index knows the files as if it had been made there.
    """
    if key not in _TEMPLATES:
        template = Path(tempfile.mkdtemp(prefix="template-"))
        atexit.register(shutil.rmtree, template, ignore_errors=True)
        build(template)
        _TEMPLATES[key] = template
    template = _TEMPLATES[key]
    shutil.copytree(template, target, symlinks=True, dirs_exist_ok=True)
    for parent, folders, names in os.walk(target):
        if ".git" in folders:
            _run_git(Path(parent), "update-index", "-q", "--refresh")
        if "objects" in folders:
            folders.remove("objects")
            _follow([Path(parent, name) for name in names if name != "index"], template, target)
        elif ".git" not in Path(parent).relative_to(target).parts:
            _follow([Path(parent, name) for name in names if name == ".git"], template, target)
        else:
            _follow([Path(parent, name) for name in names], template, target)
    return target


def _follow(files: list[Path], template: Path, target: Path) -> None:
    before, after = os.fsencode(template), os.fsencode(target)
    for file in files:
        content = file.read_bytes()
        if before in content:
            file.write_bytes(content.replace(before, after))
