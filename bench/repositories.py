"""What benchmarks measure on: copies of repositories, since the given ones stay as they are, and compiled modules."""

import compileall
import os
import shutil
import subprocess
from pathlib import Path

_SOURCE = Path(__file__).resolve().parent.parent / "src"


def compile_as_installed() -> None:
    """Compile our modules and let processes use it, as with every installed package.

    A checkout has not been compiled, and where the environment forbids to keep what was, every process that a
    benchmark starts would do it again.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(_SOURCE, quiet=1)


def copy_repository(source: Path, root: Path) -> None:
    """Copy a tree without what tools left in it, and commit it."""
    shutil.copytree(source, root, ignore=shutil.ignore_patterns(".git", ".codeplane", ".serena"), symlinks=True)
    identity = ["-c", "user.name=b", "-c", "user.email=b@b"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "b"]):
        subprocess.run(["git", *command], cwd=root, check=True)
