"""What a call would touch, worked out before it runs."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name


class EffectClass(Enum):
    """The strongest thing an operation may do.

    RECORD changes only CodePlane's own records (budgets, tasks, memory) and counts as no mutation.
    """

    READ = "read"
    RECORD = "record"
    WRITE = "write"
    DELETE = "delete"
    EXECUTE = "execute"

    @property
    def mutates(self) -> bool:
        """Tell whether the working tree, git, processes or remotes may change."""
        return self in {EffectClass.WRITE, EffectClass.DELETE, EffectClass.EXECUTE}


@dataclass(frozen=True, slots=True)
class Effects:
    """Paths, refs, commands and hosts of one call; policies judge these, not the arguments.

    `staged` are paths whose entry in the git index may change while the working file stays. `network` names remotes by
    host, those of this machine by `file:` and their path. `foreign` are places of this machine outside the working tree
    that the call writes, or that it makes the repository reach. `programs` are hooks and helpers of the repository that
    git would run, with their digests; `executed` are the paths of the tree that git runs in this call or another one.
    `verifies` says that CodePlane made the commands itself, from its tables of test runners and linters, to check the
    repository.
    `reserved` says what a person decides about the call, whatever the rules are: it follows "would".
    `anchored` are writes that say which content they expect; `overwrites` are writes that replace whatever is there.
    """

    reads: tuple[RepoPath, ...] = ()
    writes: tuple[RepoPath, ...] = ()
    deletes: tuple[RepoPath, ...] = ()
    git_refs: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    network: tuple[str, ...] = ()
    destructive: bool = False
    staged: tuple[RepoPath, ...] = ()
    foreign: tuple[str, ...] = ()
    programs: tuple[tuple[str, str], ...] = ()
    executed: tuple[str, ...] = ()
    anchored: tuple[RepoPath, ...] = ()
    overwrites: tuple[RepoPath, ...] = ()
    verifies: bool = False
    reserved: str = ""

    @property
    def touched(self) -> tuple[RepoPath, ...]:
        """Return every path whose working file may differ afterwards."""
        return self.writes + self.deletes

    def as_dict(self) -> dict[str, Any]:
        """Return the ledger form; empty parts are left out."""
        parts: dict[str, Any] = {
            "reads": [printable_name(path.text) for path in self.reads],
            "writes": [printable_name(path.text) for path in self.writes],
            "deletes": [printable_name(path.text) for path in self.deletes],
            "git_refs": list(self.git_refs),
            "commands": [list(command) for command in self.commands],
            "network": list(self.network),
            "destructive": self.destructive,
            "staged": [printable_name(path.text) for path in self.staged],
            "foreign": [printable_name(place) for place in self.foreign],
            "programs": [list(program) for program in self.programs],
            "verifies": self.verifies,
            "reserved": self.reserved,
        }
        return {name: value for name, value in parts.items() if value}
