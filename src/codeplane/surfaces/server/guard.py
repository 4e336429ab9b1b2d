"""The outermost HTTP layer: loopback names only, no foreign origins, no other users; it names the repository."""

import json
import os
from dataclasses import dataclass
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from codeplane.core.errors import ErrorReport
from codeplane.core.logs import fields, get_logger
from codeplane.surfaces.server.access import Access, split_secret

_log = get_logger(__name__)
REPO_HEADER = b"x-codeplane-repo"
_NOT_ADMITTED = "The connection is not known to belong to the user who owns this server, and carries no valid secret."
_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Guard:
    """Checks a request before anything else looks at it.

    `Host` and `Origin` against DNS rebinding and foreign pages, the caller against other users of the machine. Requests
    that are not admitted learn nothing about the repository; a secret in the path is removed before it is passed on.
    """

    app: ASGIApp
    ports: tuple[int, ...]
    root: str
    access: Access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a good request on; answer a bad one."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        secret, path = split_secret(scope["path"])
        is_admitted = self.access.admits(scope, headers, secret)
        send = self._with_header(send) if is_admitted else send
        report = self._objection(headers.get(b"host", ""), headers.get(b"origin"))
        if report is not None:
            await _send_error(send, 403, report)
            return
        if not is_admitted and path not in self.access.open_paths:
            await _send_error(send, 401, ErrorReport("ACCESS_SECRET_REQUIRED", _NOT_ADMITTED))
            return
        scope = {**scope, "path": path, "raw_path": quote(path).encode("ascii")} if path != scope["path"] else scope
        try:
            await self.app(scope, receive, send)
        except Exception:  # noqa: BLE001 - the outermost layer; the application has answered with INTERNAL_ERROR.
            _log.exception("a request failed", extra=fields(path=scope["path"][:200]))

    def _objection(self, host: str, origin: str | None) -> ErrorReport | None:
        hosts = {f"{name}:{port}" for name in _NAMES for port in self.ports}
        if host.lower() not in hosts:
            return ErrorReport("HOST_NOT_ALLOWED", f"The Host `{host[:80]}` is not this server.")
        if origin is not None and origin.lower() not in {f"http://{name}" for name in hosts}:
            return ErrorReport("ORIGIN_NOT_ALLOWED", f"The Origin `{origin[:80]}` is not this server.")
        return None

    def _with_header(self, send: Send) -> Send:
        header = repo_header(self.root)

        async def send_with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), header]}
            await send(message)

        return send_with_header


def repo_header(root: str) -> tuple[bytes, bytes]:
    """Return the header that names the repository; a path that no header can carry travels percent-encoded."""
    is_plain = root.isascii() and root.isprintable()
    return REPO_HEADER, (root if is_plain else quote(os.fsencode(root))).encode("ascii")


async def _send_error(send: Send, status: int, report: ErrorReport) -> None:
    body = json.dumps(report.as_dict()).encode("utf-8")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode("ascii"))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
