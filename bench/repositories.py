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
    """Copy a tree without what tools left in it, and commit it.

    Git packs many new objects in the background after a commit, for ten seconds on Django: on two processors that takes
    from whoever uses both and nothing from whoever uses one.
    """
    shutil.copytree(source, root, ignore=shutil.ignore_patterns(".git", ".codeplane", ".serena"), symlinks=True)
    settings = ("user.name=b", "user.email=b@b", "gc.auto=0", "maintenance.auto=false")
    given = [part for setting in settings for part in ("-c", setting)]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "b"]):
        subprocess.run(["git", *given, *command], cwd=root, check=True)
    os.sync()
