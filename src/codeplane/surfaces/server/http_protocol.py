"""How a request is answered that is not even HTTP: with the error object, like everything else."""

import asyncio
import json

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from codeplane.core.errors import ErrorReport
from codeplane.surfaces.server.access import OWNER_STATE, Access
from codeplane.surfaces.server.guard import repo_header


def http_protocol(root: str, access: Access) -> type[H11Protocol]:
    """Return uvicorn's protocol for the server of the working tree at `root`.

    uvicorn answers a request that it cannot parse by itself, with bare text and without our header.
    """

    class Protocol(H11Protocol):
        """Looks up who connects, and answers unreadable requests with the error object."""

        is_owner = False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it.
            """Ask whose connection this is while its other end is surely open; its requests carry the answer."""
            super().connection_made(transport)
            self.is_owner = access.is_owners(self.client, self.server)
            self.app_state = {**self.app_state, OWNER_STATE: self.is_owner}

        def send_400_response(self, msg: str) -> None:
            """Answer and close the connection."""
            body = json.dumps(ErrorReport("INVALID_FORMAT", msg).as_dict()).encode("utf-8")
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode("ascii")),
                (b"connection", b"close"),
                *([repo_header(root)] if self.is_owner else []),
            ]
            start = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
            for event in (start, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

    return Protocol
