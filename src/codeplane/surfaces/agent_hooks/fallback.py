"""What the hook client does without a server: decide in its own process, or refuse what may change something."""

from pathlib import Path

Printed = tuple[int, bytes, bytes]


def answer(arguments: list[str], payload: bytes, root: str, *, is_silent: bool) -> Printed:
    """Return exit code, output and error output; `is_silent` says that a server is there and does not answer."""
    if len(arguments) < 2:
        return 2, b"", b"usage: cpl hook AGENT EVENT [DIRECTORY]\n"
    agent, event = arguments[:2]
    is_installed_here = len(arguments) > 2 and arguments[2] != ""
    if not is_silent and not is_installed_here and not _is_set_up(root):
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
