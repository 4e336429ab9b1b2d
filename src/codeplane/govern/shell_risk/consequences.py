"""What well-known commands do, in plain words, for the person who has to decide."""

import re
from types import MappingProxyType
from typing import Final

from codeplane.govern.shell_risk.words import Word

_AS_OTHER: Final = "runs as another user"
_DOES: Final = MappingProxyType(
    {
        **dict.fromkeys(("rm", "unlink", "shred", "rmdir"), "deletes"),
        **dict.fromkeys(("mv", "rename"), "moves or renames"),
        **dict.fromkeys(("cp", "install", "rsync", "scp"), "copies over"),
        **dict.fromkeys(("touch", "mkdir", "mktemp", "ln", "tee", "split", "truncate"), "writes"),
        **dict.fromkeys(("chmod", "chown", "chgrp", "setfacl", "chattr"), "changes permissions of"),
        **dict.fromkeys(("kill", "pkill", "killall"), "stops programs:"),
        **dict.fromkeys(("python", "python3", "node", "ruby", "perl", "php", "deno", "bun"), "runs code:"),
        **dict.fromkeys(("sh", "bash", "zsh", "dash", "fish", "eval", "source", "."), "runs a script:"),
        **dict.fromkeys(("curl", "wget", "ssh", "nc", "ftp", "telnet", "gh", "aws"), "reaches the network:"),
        **dict.fromkeys(("sudo", "doas"), _AS_OTHER), "su": "becomes another user",
        **dict.fromkeys(("make", "cargo", "go", "mvn", "gradle", "cmake", "npm", "npx", "yarn", "pnpm", "pip", "pip3",
                         "uv", "poetry", "bundle", "gem", "brew", "apt", "apt-get", "dnf", "docker"),
                        "builds, installs or runs something:"),
        "dd": "writes raw data:", "mkfs": "formats a disk:", "shutdown": "shuts the machine down",
        "reboot": "restarts the machine", "xargs": "runs a command for each line of its input:",
        "tar": "packs or unpacks files:", "unzip": "unpacks files:",
        "export": "changes the shell's variables:", "alias": "changes what a command name means:",
    }
)  # fmt: skip
_GIT_DOES: Final = MappingProxyType(
    {
        "push": "sends commits to a remote", "fetch": "fetches from a remote", "pull": "fetches and merges",
        "clone": "fetches a repository", "commit": "makes a commit", "add": "changes the index",
        "reset": "moves the branch and may throw changes away", "clean": "deletes untracked files",
        "checkout": "changes files or the branch", "switch": "changes the branch", "restore": "overwrites files",
        "rebase": "rewrites commits", "merge": "merges", "cherry-pick": "makes commits", "revert": "makes commits",
        "stash": "puts changes away", "rm": "deletes files", "mv": "moves files", "gc": "deletes old objects",
    }
)  # fmt: skip
_EVERYTHING: Final = re.compile(r"/+\*?|/\.{1,2}/?")
_DELETES_HOME: Final = re.compile(r"\s*(?:sudo\s+)?rm\s+(?:-\S+\s+)*~/?\*?\s*$")
_HOME: Final = re.compile(r"\$\{?HOME\}?/?\*?")
_MAX_SHOWN: Final = 3


def consequence(name: str, words: list[Word]) -> str:
    """Return what running a program with these words does, as far as its name tells."""
    does = _DOES.get(name.split(".", maxsplit=1)[0] or name)
    if does is None:
        return f"{name[:60]} is not on the list of commands that only read"
    operands = [word for word in words if not word.raw.startswith("-")]
    if does == _AS_OTHER and operands:
        return f"as another user: {consequence(operands[0].value, words[words.index(operands[0]) + 1 :])}"
    targets = [word.raw[:60] for word in operands]
    if does == "deletes" and any(_EVERYTHING.fullmatch(one.value) for one in operands):
        return "deletes everything on this machine that the user may delete"
    if does == "deletes" and any(_HOME.fullmatch(one.strip('"')) for one in targets):
        return "deletes everything in the home directory"
    shown = " ".join(targets[:_MAX_SHOWN]) + (" and more" if len(targets) > _MAX_SHOWN else "")
    return f"{does} {shown}".strip().rstrip(":")


def git_consequence(name: str) -> str:
    """Return what a sub-command of git does."""
    does = _GIT_DOES.get(name)
    return f"git {name} {does}" if does is not None else f"git {name[:60]} is not known to only read"


def unread_consequence(text: str, reason: str) -> str:
    """Return why a command that cannot be read is refused; deleting a home directory is said as such."""
    found = _DELETES_HOME.match(text)
    return "deletes everything in the home directory" if found else reason
