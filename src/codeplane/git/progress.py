"""The git operation in progress."""

from pathlib import Path
from typing import Final

_MARKS: Final = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherrypick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


def progress_of(git_dir: Path) -> str:
    """Return `none`, `merge`, `revert`, `cherrypick`, `rebase` or `bisect`."""
    found = next((state for name, state in _MARKS if (git_dir / name).exists()), None)
    if found is not None:
        return found
    # A series of picks that stopped after a manual commit has only its todo list left.
    try:
        words = (git_dir / "sequencer" / "todo").read_text(encoding="utf-8", errors="replace").split(maxsplit=1)
    except OSError:
        return "none"
    return {"pick": "cherrypick", "revert": "revert"}.get(words[0], "none") if words else "none"
