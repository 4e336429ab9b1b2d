"""Repositories to measure on: copies, so that the given ones stay as they are."""

import shutil
import subprocess
from pathlib import Path


def copy_repository(source: Path, root: Path) -> None:
    """Copy a tree without what tools left in it, and commit it."""
    shutil.copytree(source, root, ignore=shutil.ignore_patterns(".git", ".codeplane", ".serena"), symlinks=True)
    identity = ["-c", "user.name=b", "-c", "user.email=b@b"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "b"]):
        subprocess.run(["git", *command], cwd=root, check=True)
