"""The outermost HTTP layer: loopback names only, no foreign origins, and the header that names the repository."""

import json
from dataclasses import dataclass
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from codeplane.core.errors import ErrorReport

REPO_HEADER = b"x-codeplane-repo"
_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Guard:
    """Checks `Host` and `Origin` before anything else looks at a request, against DNS rebinding and foreign pages."""

    app: ASGIApp
    port: int
    root: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a good request on; answer a bad one."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send_with_header = self._with_header(send)
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        report = self._objection(headers.get(b"host", ""), headers.get(b"origin"))
        if report is None:
            await self.app(scope, receive, send_with_header)
        else:
            await _send_error(send_with_header, 403, report)

    def _objection(self, host: str, origin: str | None) -> ErrorReport | None:
        hosts = {f"{name}:{self.port}" for name in _NAMES}
        if host.lower() not in hosts:
            return ErrorReport("HOST_NOT_ALLOWED", f"The Host `{host[:80]}` is not this server.")
        if origin is not None and origin.lower() not in {f"http://{name}" for name in hosts}:
            return ErrorReport("ORIGIN_NOT_ALLOWED", f"The Origin `{origin[:80]}` is not this server.")
        return None

    def _with_header(self, send: Send) -> Send:
        # Header values are Latin-1; a path with other characters travels percent-encoded.
        value = self.root if self.root.isascii() else quote(self.root)

        async def send_with_header(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), (REPO_HEADER, value.encode("ascii"))]}
            await send(message)

        return send_with_header


async def _send_error(send: Send, status: int, report: ErrorReport) -> None:
    body = json.dumps(report.as_dict()).encode("utf-8")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode("ascii"))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
