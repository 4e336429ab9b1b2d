"""Which agent's session a shell belongs to, so that `cpl` in it is that session's call."""

from collections.abc import Collection, Mapping

from codeplane.operations.agent_files import AGENT_FILES
from codeplane.workspace.outside_book import OutsideBook
from codeplane.workspace.workspace import Workspace


def session_in_shell(workspace: Workspace, environ: Mapping[str, str], processes: Collection[str]) -> str | None:
    """Return the connection of the agent that a shell was started by; None for a shell of a person.

    The agent's own variable tells, else the process of a session that its hooks have told of.
    """
    for agent, row in AGENT_FILES.items():
        session = environ.get(row.session_variable, "") if row.session_variable else ""
        if session and session.isprintable() and len(session) < 200:
            return f"hook:{agent}:{session}"
    for facts in OutsideBook(workspace.places.private / "outside", workspace.clock).sessions():
        if facts.get("process") in processes and facts.get("connection"):
            return str(facts["connection"])
    return None
