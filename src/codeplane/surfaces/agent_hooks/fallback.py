"""What the hook client does without a server: decide in its own process, or refuse what may change something."""

import json
import re
from pathlib import Path
from typing import Final

from codeplane.surfaces.agent_hooks.client import tree_root

_MAX_TEXTS: Final = 20_000
Printed = tuple[int, bytes, bytes]


def answer(arguments: list[str], payload: bytes, root: str, *, is_silent: bool) -> Printed:
    """Return exit code, output and error output; `is_silent` says that a server is there and does not answer."""
    if len(arguments) < 2:
        return 2, b"", b"usage: cpl hook AGENT EVENT [DIRECTORY]\n"
    agent, event = arguments[:2]
    is_installed_here = len(arguments) > 2 and arguments[2] != ""
    if is_installed_here and not is_silent and not _is_set_up(root):
        # The agent is in a repository inside of the tree, or elsewhere; its session is still that of the tree.
        root = arguments[2]
    if not is_silent and not is_installed_here and not _is_set_up(root):
        root = _named_tree(payload)
        if not root:
            # A repository that has nothing to do with CodePlane is none of our business.
            return 0, b"", b""
    # A second of imports that hooks of a user's other repositories do not pay.
    from codeplane.surfaces.agent_hooks.offline import answer_offline  # noqa: PLC0415
    from codeplane.surfaces.agent_hooks.translation import refusal_of  # noqa: PLC0415

    if is_silent:
        return refusal_of(agent, event, payload, "The CodePlane server did not answer in time.")
    if not _is_set_up(root):
        return refusal_of(agent, event, payload, "CodePlane is not set up in this repository (`cpl init`).")
    return answer_offline(agent, event, payload, root)


_NAME: Final = re.compile(r"(?:^|\n\s*\*\*\* [A-Za-z ]+:\s*)((?:file://)?(?:/|~/)[^\n\0]{1,4000})")


def _named_tree(payload: bytes) -> str:
    """Return a working tree with CodePlane in which a tool's input names a file, from wherever the agent works."""
    try:
        document = json.loads(payload)
    except (ValueError, RecursionError):
        return ""
    waiting, n_left = [document], _MAX_TEXTS
    while waiting and n_left:
        one = waiting.pop()
        n_left -= 1
        if isinstance(one, str):
            for name in _NAME.findall(one):
                root = tree_root(str(Path(name.removeprefix("file://")).expanduser().parent.resolve()))
                if _is_set_up(root):
                    return root
        else:
            waiting.extend(one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
    return ""


def _is_set_up(root: str) -> bool:
    """Tell whether CodePlane keeps something for this working tree, or for the repository of a linked one."""
    if not root:
        return False
    tree = Path(root)
    if (tree / ".codeplane").is_dir():
        return True
    try:
        git = tree / (tree / ".git").read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        common = (git / (git / "commondir").read_text(encoding="utf-8").strip()).resolve()
    except OSError:
        return False
    return (common.parent / ".codeplane").is_dir() or (common / "codeplane").is_dir()
