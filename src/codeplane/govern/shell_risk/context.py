"""What surrounds a command besides its text, as plain values that can be recorded."""

from dataclasses import dataclass
from typing import Final

from codeplane.govern.policy_document import VERIFICATION_SCRIPTS

# In the place of a path: everything may lead away.
EVERYTHING: Final = "*"
# Behind the path of a list of files: one of the names would be taken for an option.
OPTION_IN_LISTING: Final = "/-"


@dataclass(frozen=True, slots=True)
class ShellContext:
    """Facts about the place a command runs in; the default is the top of a repository nothing is known against.

    `root` and `cwd` are absolute directories, empty when unknown. `git_runs_helpers` says why git would start programs
    or reach elsewhere here, `variables` are inherited variables that change what programs do, `shadowed` are names of
    readers that a directory of the tree on PATH offers too, `leading_away` are paths from the root that lead out of it
    or to something protected, `is_one_repository` says that no directory the command names is a repository of its own.
    `read_only` and `verification` come from accepted policy files.
    """

    root: str = ""
    cwd: str = ""
    git_runs_helpers: str = ""
    variables: tuple[str, ...] = ()
    shadowed: tuple[str, ...] = ()
    leading_away: tuple[str, ...] = ()
    is_one_repository: bool = False
    read_only: tuple[str, ...] = ()
    verification: tuple[str, ...] = VERIFICATION_SCRIPTS
