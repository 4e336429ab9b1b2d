"""Ask the running server over HTTP, with the standard library only."""

import http.client
import json
from typing import Any

from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.server.facts import ServerFacts


def get_json(facts: ServerFacts, path: str, timeout: float = 5.0) -> dict[str, Any]:
    """Return the JSON document at an address of the server.

    Raises:
        CodePlaneError: SERVER_UNREACHABLE when there is no proper answer in time.
    """
    return _asked(facts, "GET", path, facts.secret, timeout)


def post_json(facts: ServerFacts, path: str, token: str, timeout: float = 5.0) -> dict[str, Any]:
    """Return what the server answers a person who sends nothing but the operator token.

    Raises:
        CodePlaneError: as `get_json` does.
    """
    return _asked(facts, "POST", path, token, timeout)


def _asked(facts: ServerFacts, method: str, path: str, secret: str, timeout: float) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", facts.port, timeout=timeout)
    headers = {"Host": f"127.0.0.1:{facts.port}", "Authorization": f"Bearer {secret}"}
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        document = json.loads(response.read())
    except (OSError, ValueError, http.client.HTTPException) as error:
        message = f"The server (pid {facts.pid}) does not answer at {facts.url}: {error}"
        raise CodePlaneError("SERVER_UNREACHABLE", message) from error
    finally:
        connection.close()
    if not isinstance(document, dict):
        raise CodePlaneError("SERVER_UNREACHABLE", f"{facts.url}{path} did not answer with an object.")
    return document
