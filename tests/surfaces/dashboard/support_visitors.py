"""Visitors of the dashboard without a browser: what they send and what they are shown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from urllib.parse import urlencode

from surfaces.support_processes import HttpPeer, Reply, UpServer, send_http, text_of

FORM = "application/x-www-form-urlencoded"


def link_of(server: UpServer, token: str | None = None) -> str:
    """Return the path of a login link."""
    headers = {"Authorization": f"Bearer {token or server.sandbox.token}"}
    reply = send_http(server.port, "POST", "/dashboard/login-links", headers)
    assert reply.status == 200, reply.body
    path = str(reply.json["url"]).partition(f":{server.port}")[2]
    assert path.startswith("/dashboard/login?code=")
    return path


def cookie_of(reply: Reply) -> str:
    """Return the cookie that an answer sets, as a browser sends it back."""
    return reply.headers["set-cookie"].partition(";")[0]


@dataclass(frozen=True)
class Visitor:
    """A browser with a cookie."""

    port: int
    cookie: str

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        """Ask for a page below `/dashboard`."""
        return send_http(self.port, "GET", f"/dashboard{path}", {"Cookie": self.cookie, **(headers or {})})

    def text(self, path: str) -> str:
        """Return what a page that is there says, without its markup."""
        reply = self.get(path)
        assert reply.status == 200, reply.body[:2000]
        return text_in(reply)

    def form_token(self) -> str:
        """Return the token that is in every form of this login."""
        found: list[str] = re.findall(r'name="form_token" value="(\w+)"', self.get("").body.decode())
        return found[0]

    def post(self, path: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Reply:
        """Send a form as it is given."""
        sent = {"Cookie": self.cookie, "Content-Type": FORM, **(headers or {})}
        return send_http(self.port, "POST", f"/dashboard{path}", sent, urlencode(form).encode())

    def act(self, path: str, form: Mapping[str, str]) -> str:
        """Send a form of a page and return what the page after it says."""
        reply = self.post(path, {"form_token": self.form_token(), **form})
        assert reply.status == 303, reply.body[:2000]
        return self.text(reply.headers["location"].removeprefix("/dashboard"))


def text_in(reply: Reply) -> str:
    """Return the text of a page."""
    plain = re.sub(r"<[^>]*>", " ", reply.body.decode())
    return re.sub(r"\s+", " ", unescape(plain))


def log_in(server: UpServer) -> Visitor:
    """Return a browser that has followed a link."""
    return Visitor(server.port, cookie_of(server.get(link_of(server))))


def write_file(peer: HttpPeer, path: str, text: str) -> str:
    """Change a file as an agent does; return the call's id."""
    peer.call("read_source", {"targets": [path]})
    result = peer.call("write_source", {"edits": [{"path": path, "content": text}]})
    return str(re.findall(r'"mutation_id":\s*"(\w+)"', text_of(result))[0])


def ask_to_delete(peer: HttpPeer, path: str = "src/json/old.py") -> str:
    """Ask to delete a file, which waits for a person; return the hold."""
    peer.call("read_source", {"targets": [path]})
    result = peer.call("write_source", {"edits": [{"path": path, "action": "delete"}]})
    return str(re.findall(r"hold_[a-z0-9]{20,}", text_of(result))[0])


def worker(server: UpServer, intent: str = "INT-001", name: str = "agent") -> HttpPeer:
    """Return an agent that has selected an intent."""
    peer = agent(server, name)
    peer.call("select_active_intent", {"intent_id": intent})
    return peer


def agent(server: UpServer, name: str = "agent") -> HttpPeer:
    """Return an agent that is connected over HTTP."""
    peer = HttpPeer(server.port, "full")
    peer.request(
        "initialize",
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}},
    )
    peer.headers["Mcp-Protocol-Version"] = "2025-11-25"
    peer.notify("notifications/initialized")
    return peer
