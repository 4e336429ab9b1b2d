"""Who is calling, as far as the surface can tell."""

from dataclasses import dataclass
from enum import Enum

# The surface of people who look at pages.
DASHBOARD = "dashboard"


class CallerKind(Enum):
    """A person has typed a code at a terminal or shown the operator token; every other caller is an agent."""

    AGENT = "agent"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Caller:
    """One caller of the door.

    `connection` names the transport connection, so that calls without a session id share one session.
    `session_id` is the secret id that the client sent to join or resume a session.
    `is_lasting` marks a connection whose name is unguessable and outlives the server, as a bridge's does: the next
    server finds its session by that name.
    `proof` says how a person has shown to be one, for the record. `model` is the one that an agent says it uses.
    """

    kind: CallerKind
    surface: str
    connection: str
    client: str = "unknown"
    session_id: str | None = None
    is_lasting: bool = False
    proof: str = ""
    model: str = ""

    @property
    def only_looks(self) -> bool:
        """Tell whether reads of this caller leave no rows: a page that is open would fill the ledger with itself."""
        return self.kind is CallerKind.PERSON and self.surface == DASHBOARD
