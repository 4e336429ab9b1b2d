"""What git says when it fails, and which code of the registry that is."""

import re
from typing import Final

from codeplane.core.errors import CodePlaneError

_SHOWN: Final = 600
# The first that fits counts.
_COMPLAINTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "GIT_LOCKED",
        (
            r"Unable to create '.*\.lock'",
            r"could not lock",
            r"cannot lock ref .*File exists",
            r"Another git process",
            r"(Unable to|could not|cannot) write (the )?(new )?index",
        ),
    ),
    (
        "GIT_IDENTITY_MISSING",
        (
            r"Please tell me who you are",
            r"empty ident name",
            r"unable to auto-detect email",
        ),
    ),
    (
        "GIT_SIGNING_FAILED",
        (
            r"gpg failed to sign",
            r"failed to sign the data",
            r"error: gpg",
            r"cannot run gpg",
            r"signing failed",
        ),
    ),
    (
        "GIT_AUTHENTICATION_FAILED",
        (
            r"Authentication failed",
            r"could not read (Username|Password)",
            r"Permission denied \(",
        ),
    ),
    (
        "GIT_AUTHENTICATION_FAILED",
        (
            r"Host key verification failed",
            r"terminal prompts disabled",
        ),
    ),
    (
        "GIT_REMOTE_UNREACHABLE",
        (
            r"Could not resolve host",
            r"Connection (refused|timed out|reset)",
            r"Failed to connect",
            r"unable to access",
            r"Network is unreachable",
            r"Connection closed",
        ),
    ),
    (
        "GIT_REMOTE_UNKNOWN",
        (
            r"No such remote",
            r"does not appear to be a git repository",
            r"No configured push destination",
            r"No remote repository",
            r"No remote configured",
            r"repository '.*' (not found|does not exist)",
        ),
    ),
    (
        "GIT_REMOTE_UNREACHABLE",
        (r"Could not read from remote repository",),
    ),
    (
        "GIT_PUSH_REJECTED",
        (
            r"\[(remote )?rejected\]",
            r"failed to push some refs",
            r"\(non-fast-forward\)",
            r"stale info",
        ),
    ),
    (
        "GIT_WOULD_OVERWRITE",
        (
            r"would be overwritten by",
            r"contains? modified or untracked files",
            r"has (local modifications|changes staged)",
            r"local changes",
            r"cannot (rebase|pull with rebase): You have unstaged",
            r"Your index contains uncommitted",
            r"cannot rebase: ",
            r"untracked working tree files",
            r"not uptodate",
            r"your index file is unmerged because of",
        ),
    ),
    (
        "GIT_OPERATION_IN_PROGRESS",
        (
            r"You have not concluded your merge",
            r"MERGE_HEAD exists",
            r"(merge|rebase|cherry-pick|revert|bisect)[\w -]* in progress",
            r"already a rebase-(merge|apply) directory",
            r"in the middle of",
            r"cannot do a partial commit during",
            r"cannot switch branch while",
        ),
    ),
    (
        "GIT_NO_OPERATION",
        (
            r"No rebase in progress",
            r"no (cherry-pick|revert|merge)[\w -]* in progress",
            r"There is no merge to abort",
            r"no merge in progress",
        ),
    ),
    (
        "GIT_CONFLICTS",
        (
            r"unmerged files",
            r"you need to resolve",
            r"needs merge",
            r"Committing is not possible because",
            r"is unmerged",
        ),
    ),
    (
        "GIT_NOTHING_TO_COMMIT",
        (
            r"nothing (added )?to commit",
            r"no changes added to commit",
            r"No staged changes",
            r"would make\s+it empty",
            r"is now empty",
        ),
    ),
    (
        "GIT_NOT_MERGED",
        (r"is not fully merged",),
    ),
    (
        "GIT_UNRELATED",
        (r"refusing to merge unrelated histories",),
    ),
    (
        "GIT_DETACHED_HEAD",
        (
            r"You are not currently on a branch",
            r"HEAD does not point to a branch",
            r"not on any branch",
        ),
    ),
    (
        "GIT_NO_COMMITS",
        (
            r"does not have any commits yet",
            r"bad default revision 'HEAD'",
            r"You do not have the initial commit yet",
            r"You have nothing to amend",
            r"ambiguous argument 'HEAD'",
            r"bad revision 'HEAD'",
            r"Failed to resolve 'HEAD'",
            r"not a valid object name: 'HEAD'",
        ),
    ),
    (
        "GIT_WORKTREE_UNUSABLE",
        (
            r"already used by worktree",
            r"already checked out at",
            r"is a main working tree",
            r"is not a working tree",
        ),
    ),
    (
        "GIT_REF_EXISTS",
        (
            r"already exists",
            r"exists; cannot create",
            r"a branch named .* exists",
            r"exists; cannot create",
        ),
    ),
    (
        "GIT_REF_AMBIGUOUS",
        (
            r"short object ID .* is ambiguous",
            r"refname '.*' is ambiguous",
        ),
    ),
    (
        "GIT_REF_INVALID",
        (
            r"(is not|not) a valid (branch|tag|remote|ref)",
            r"not a valid (branch|tag|remote) name",
            r"bad (tag )?name",
            r"invalid (branch|refspec|reference) name",
        ),
    ),
    (
        "GIT_PATH_UNKNOWN",
        (
            r"pathspec .* did not match",
            r"no such path",
            r"there is no path",
            r"exists on disk, but not in",
            r"does not exist in",
            r"fatal: Path '",
            r"is outside repository",
            r"paths? did not match",
            r"does not have (our|their|all necessary) version",
            r"outside of your sparse-checkout",
        ),
    ),
    (
        "GIT_REF_UNKNOWN",
        (
            r"unknown revision",
            r"bad revision",
            r"invalid reference",
            r"not a valid object name",
            r"Needed a single revision",
            r"not something we can",
            r"couldn't find remote ref",
            r"branch '.*' not found",
            r"tag '.*' not found",
            r"no branch named",
            r"bad object",
            r"invalid upstream",
            r"not a commit",
            r"does not point to a valid",
        ),
    ),
    (
        "GIT_SUBMODULE_UNUSABLE",
        (
            r"No submodule mapping",
            r"not initialized",
            r"Submodule .* (could not|not)",
            r"not our ref",
        ),
    ),
    (
        "GIT_CORRUPT",
        (
            r"object file .* is empty",
            r"inflate:",
            r"loose object .* is corrupt",
            r"unable to read (tree|sha1)",
            r"missing (blob|tree|commit)",
            r"index file corrupt",
            r"bad signature",
            r"could not read [0-9a-f]{40}",
            r"object corrupt",
        ),
    ),
    (
        "FILE_IGNORED",
        (r"ignored by one of your \.gitignore files",),
    ),
    (
        "GIT_HOOK_FAILED",
        (r"hook (declined|exited|failed)",),
    ),
    (
        "DISK_FULL",
        (r"No space left on device",),
    ),
)
_COMPILED: Final = tuple((code, re.compile("|".join(patterns), re.IGNORECASE)) for code, patterns in _COMPLAINTS)
_NOISE: Final = re.compile(r"^(hint: |warning: |Note: ).*\n?", re.MULTILINE)


def git_error(arguments: tuple[str, ...], output: str) -> CodePlaneError:
    """Return the error of the registry for a failed command; git's own words are in its message."""
    code = next((code for code, pattern in _COMPILED if pattern.search(output)), "GIT_FAILED")
    words = _NOISE.sub("", output).strip() or output.strip()
    return CodePlaneError(code, f"git {arguments[0]}: {words[:_SHOWN]}", details={"git": words[: 4 * _SHOWN]})
