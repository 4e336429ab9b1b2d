"""What no agent may change through any tool: CodePlane's and git's own files, and agents' configuration."""

import re
from typing import Final

from codeplane.core.paths import RepoPath

# Compared without case, because on some file systems `.GIT` is `.git`.
_PROTECTED: Final = re.compile(
    r"(?:^|/)\.git(?:/|$)"
    r"|^\.(?:codeplane|orchestration)(?:/|$)"
    r"|(?:^|/)\.(?:cplignore|intentignore)$"
    r"|(?:^|/)\.mcp\.json$"
    r"|^\.claude/(?:settings[^/]*\.json|hooks(?:/|$))"
    r"|^\.codex(?:/|$)"
    r"|^\.cursor/(?:mcp\.json|hooks\.json|hooks(?:/|$))"
    r"|^\.gemini/settings\.json$"
    r"|^\.github/(?:copilot/|hooks(?:/|$))"
    r"|^\.(?:clinerules|cline)/hooks(?:/|$)"
    r"|^\.opencode/plugins?(?:/|$)"
    r"|^\.vscode/mcp\.json$"
    r"|^opencode\.jsonc?$"
    r"|(?:^|/)\.cpl-staged-",
    re.IGNORECASE,
)


# A link, submodule or working tree of such a name would bring the protected files below it.
_HOLDERS: Final = frozenset({".claude", ".clinerules", ".cursor", ".gemini", ".github", ".opencode", ".vscode"})


def is_protected(path: RepoPath) -> bool:
    """Tell whether a path that would be written belongs to CodePlane, git or an agent's configuration."""
    return is_protected_target(path.text)


def is_protected_target(name: str) -> bool:
    """The same for a name from git, which may be one that no caller could send."""
    return is_protected_name(name) or name.casefold() in _HOLDERS


def is_protected_name(name: str) -> bool:
    """Tell whether a file of this name is protected, also from commands that name it."""
    return _PROTECTED.search(name) is not None
