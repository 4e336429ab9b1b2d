"""Which paths git would ignore."""

from collections.abc import Iterable
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.git.repository import run_git

_IGNORED, _NOT_IGNORED = 0, 1


def ignored_paths(root: Path, paths: Iterable[str]) -> frozenset[str]:
    """Return those that git ignores; tracked files never are.

    Raises:
        CodePlaneError: GIT_FAILED when git cannot tell.
    """
    wanted = sorted(set(paths))
    if not wanted:
        return frozenset()
    names = "".join(f"{path}\0" for path in wanted).encode("utf-8", "surrogateescape")
    result = run_git(root, "check-ignore", "-z", "--stdin", stdin=names)
    if result.returncode not in {_IGNORED, _NOT_IGNORED}:
        raise CodePlaneError(
            "GIT_FAILED", f"git check-ignore: {result.stderr.decode('utf-8', 'replace').strip()[:300]}"
        )
    found = result.stdout.decode("utf-8", "surrogateescape").split("\0")
    return frozenset(path for path in found if path)
