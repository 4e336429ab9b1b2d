"""Where CodePlane keeps things, for one working tree and for one user."""

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from platformdirs import PlatformDirs

from codeplane.core.hashing import sha256_text
from codeplane.git.repository import Repository

PRIVATE_NAME = ".codeplane"
SOCKET_NAME = "server.sock"
_MAX_SOCKET_PATH = 100


@dataclass(frozen=True, slots=True)
class UserPlaces:
    """Directories of the user who runs CodePlane."""

    config: Path
    state: Path
    runtime: Path

    @property
    def config_file(self) -> Path:
        """Return the global configuration file."""
        return self.config / "config.yaml"

    @property
    def operator_token(self) -> Path:
        """Return the file with the operator token."""
        return self.state / "operator.token"

    @property
    def access_secret(self) -> Path:
        """Return the file with the secret that gives a client access to this user's servers."""
        return self.state / "access.secret"

    @property
    def governance(self) -> Path:
        """Return the directory with the governance decisions of all repositories."""
        return self.state / "governance"

    @property
    def upstream_secrets(self) -> Path:
        """Return the directory with the secrets of MCP servers of others, by repository, a file each."""
        return self.state / "upstreams"

    @property
    def policy(self) -> Path:
        """Return the user's own policy file, for all repositories."""
        return self.config / "hook_policy.yaml"

    @property
    def administrator_policy(self) -> Path:
        """Return the policy file of this machine's administrator."""
        return Path("/etc/codeplane/hook_policy.yaml")

    @property
    def global_memory(self) -> Path:
        """Return the database of what a person promoted for all repositories."""
        return self.state / "memory" / "global.db"

    @property
    def neo4j_password(self) -> Path:
        """Return the file with the password of the Neo4j server that `graph.neo4j` names."""
        return self.state / "neo4j.password"

    @property
    def ledger_seals(self) -> Path:
        """Return the directory with the keys and the newest sealed heads of all ledgers."""
        return self.state / "ledgers"


def user_places() -> UserPlaces:
    """Return the directories that the operating system's conventions name."""
    directories = PlatformDirs("codeplane", appauthor=False)
    return UserPlaces(Path(directories.user_config_dir), Path(directories.user_state_dir), _runtime_directory())


def _runtime_directory() -> Path:
    """Return a short path for sockets: the login session's directory where there is one, else one in /tmp."""
    session_directory = os.environ.get("XDG_RUNTIME_DIR", "")
    if session_directory and os.access(session_directory, os.W_OK):
        return Path(session_directory) / "codeplane"
    return _temporary_directory()


def _temporary_directory() -> Path:
    return Path(tempfile.gettempdir()) / f"codeplane-{os.getuid()}"


@dataclass(frozen=True, slots=True)
class Places:
    """Files of one working tree (`private`) and of its repository (`shared`: once, whatever tree it is used from)."""

    root: Path
    private: Path
    shared: Path
    user: UserPlaces
    git: Path

    @property
    def clone(self) -> str:
        """Return what distinguishes this clone from a later one at the same path.

        Git writes `description` when it makes a repository and never again.
        """
        parts = [self.git.stat().st_ino]
        with suppress(OSError):
            parts.append((self.git / "description").stat().st_mtime_ns)
        return " ".join(map(str, parts))

    @property
    def config_file(self) -> Path:
        """Return this tree's configuration file."""
        return self.private / "config.yaml"

    @property
    def port_file(self) -> Path:
        """Return the file that holds the server's port while one runs."""
        return self.private / "port"

    @property
    def url_file(self) -> Path:
        """Return the file that holds the MCP URL, access secret included, while a server runs."""
        return self.private / "url"

    @property
    def server_lock(self) -> Path:
        """Return the lock that the running server holds."""
        return self.private / "server.lock"

    @property
    def server_facts(self) -> Path:
        """Return the file in which the running server identifies itself."""
        return self.private / "server.json"

    @property
    def socket_link(self) -> Path:
        """Return where clients look for the Unix socket: the socket itself or a link to it."""
        return self.private / SOCKET_NAME

    @property
    def socket(self) -> Path:
        """Return where the socket is bound; the operating system allows only short names."""
        name = f"{sha256_text(str(self.root))[:16]}.sock"
        candidates = (self.socket_link, self.user.runtime / name, _temporary_directory() / name)
        return next((path for path in candidates if len(os.fsencode(path)) <= _MAX_SOCKET_PATH), candidates[-1])

    @property
    def ledger(self) -> Path:
        """Return the ledger's database."""
        return self.shared / "ledger.db"

    @property
    def memory(self) -> Path:
        """Return the database of what this repository taught."""
        return self.shared / "memory.db"

    @property
    def graph(self) -> Path:
        """Return the directory of the graph: its database, its lock and what was exported."""
        return self.private / "graph"

    @property
    def upstreams(self) -> Path:
        """Return the directory in which the server tells how its upstreams are."""
        return self.private / "upstreams"

    @property
    def tokens(self) -> Path:
        """Return the directory of signed tokens."""
        return self.shared / "tokens"

    @property
    def owners(self) -> Path:
        """Return the directory of the liveness locks of working processes."""
        return self.shared / "owners"

    @property
    def logs(self) -> Path:
        """Return the directory of the server's logs."""
        return self.private / "logs"

    @property
    def server_log(self) -> Path:
        """Return the server's own log, which `cpl status --verbose` shows."""
        return self.logs / "server.jsonl"


def places_for(repository: Repository, user: UserPlaces) -> Places:
    """Return the places of one working tree."""
    private = repository.root / PRIVATE_NAME
    common = repository.common_dir
    if common == repository.root / ".git":
        shared = private
    elif common.name == ".git" and repository.is_linked_worktree:
        shared = common.parent / PRIVATE_NAME
    else:
        # A bare repository's worktree, a submodule or a separate git directory: there is no main tree to hold it.
        shared = common / "codeplane"
    return Places(repository.root, private, shared, user, common)
