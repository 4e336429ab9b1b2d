"""Who may look at the dashboard, and from where."""

import http.client
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from codeplane.core.clock import ManualClock
from codeplane.surfaces.dashboard.login import LINK_SECONDS, LOGIN_SECONDS, LoginBook
from codeplane.surfaces.server.operator_token import operator_token
from surfaces.dashboard.support_visitors import Visitor, cookie_of, link_of, log_in, text_in
from surfaces.support_processes import DEADLINE_SECONDS, UpServer, make_repo, run_cpl, send_http, up

pytestmark = pytest.mark.slow


def test_a_link_opens_the_dashboard_and_its_cookie_is_strict(server: UpServer) -> None:
    reply = server.get(link_of(server))

    assert (reply.status, reply.headers["location"]) == (303, "/dashboard")
    attributes = reply.headers["set-cookie"].lower().split("; ")
    assert {"httponly", "path=/dashboard", "samesite=strict"} <= set(attributes)
    assert Visitor(server.port, cookie_of(reply)).get("").status == 200


def test_a_link_works_once(server: UpServer) -> None:
    link = link_of(server)
    server.get(link)

    reply = server.get(link)

    assert (reply.status, "set-cookie" in reply.headers, "used already" in text_in(reply)) == (401, False, True)


@pytest.mark.parametrize(("method", "purpose"), [("HEAD", None), ("GET", "prefetch"), ("GET", "prefetch;prerender")])
def test_looking_at_a_link_does_not_use_it(server: UpServer, method: str, purpose: str | None) -> None:
    link = link_of(server)
    looked = send_http(server.port, method, link, {"Sec-Purpose": purpose})

    assert (looked.status, server.get(link).status) == (401, 303)


def test_a_used_link_leads_who_is_logged_in_to_the_dashboard(server: UpServer) -> None:
    link = link_of(server)
    cookie = cookie_of(server.get(link))

    reply = server.get(link, {"Cookie": cookie})

    assert (reply.status, reply.headers["location"], "set-cookie" in reply.headers) == (303, "/dashboard", False)


def test_a_wrong_code_opens_nothing(server: UpServer) -> None:
    assert server.get("/dashboard/login?code=guessed").status == 401


def test_without_a_cookie_a_page_says_how_to_log_in_and_nothing_else(server: UpServer) -> None:
    reply = server.get("/dashboard/operations")

    assert (reply.status, "cpl dashboard" in text_in(reply), server.root.name in text_in(reply)) == (401, True, False)


@pytest.mark.parametrize("token", ["wrong", "", "ü"])
def test_only_the_operator_token_gets_a_link(server: UpServer, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}".encode().decode("latin-1")}

    assert send_http(server.port, "POST", "/dashboard/login-links", headers).status == 401


def test_the_access_secret_of_agents_gets_no_link(server: UpServer) -> None:
    secret = (server.sandbox.token_file.parent / "access.secret").read_text("ascii").strip()

    reply = send_http(server.port, "POST", "/dashboard/login-links", {"Authorization": f"Bearer {secret}"})

    assert reply.status == 401


def test_an_agents_shell_gets_no_link(server: UpServer) -> None:
    done = run_cpl(server.sandbox, server.root, "dashboard", "--print")

    assert (done.returncode, "Only a person can open the dashboard" in done.stderr, done.stdout) == (2, True, "")


def test_the_command_of_a_person_prints_a_link(server: UpServer) -> None:
    env = {"CODEPLANE_OPERATOR_TOKEN": server.sandbox.token}

    done = run_cpl(server.sandbox, server.root, "dashboard", "--print", env=env)

    assert (done.returncode, server.get(done.stdout.strip().partition(f":{server.port}")[2]).status) == (0, 303)


def test_without_a_server_the_command_says_what_to_do(server: UpServer, tmp_path: Path) -> None:
    elsewhere = make_repo(server.sandbox, tmp_path / "elsewhere")

    done = run_cpl(server.sandbox, elsewhere, "dashboard", env={"CODEPLANE_OPERATOR_TOKEN": server.sandbox.token})

    assert (done.returncode, "cpl up --detach" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "change", [lambda cookie: cookie[:-1] + "0g"[cookie[-1] == "0"], lambda cookie: cookie + "x" * 300]
)
def test_a_changed_cookie_opens_nothing(server: UpServer, visitor: Visitor, change: Callable[[str], str]) -> None:
    assert Visitor(server.port, change(visitor.cookie)).get("").status == 401


def test_the_cookie_of_one_repository_opens_no_other(server: UpServer, visitor: Visitor, tmp_path: Path) -> None:
    with up(server.sandbox, make_repo(server.sandbox, tmp_path / "other")) as other:
        own = log_in(other)
        name, value = own.cookie.partition("=")[0], visitor.cookie.partition("=")[2]

        found = [
            Visitor(other.port, cookie).get("").status for cookie in (visitor.cookie, f"{name}={value}", own.cookie)
        ]

    assert found == [401, 401, 200]


def test_a_login_survives_a_restart_and_ends_with_the_token(server: UpServer, tmp_path: Path) -> None:
    root = make_repo(server.sandbox, tmp_path / "again")
    with up(server.sandbox, root) as first:
        cookie = log_in(first).cookie
    token = server.sandbox.token
    with up(server.sandbox, root) as second:
        assert Visitor(second.port, cookie).get("").status == 200
        try:
            server.sandbox.token_file.write_text("x" * 43)
            assert Visitor(second.port, cookie).get("").status == 401
        finally:
            server.sandbox.token_file.write_text(token + "\n")


def test_while_the_token_is_damaged_nobody_is_logged_in(server: UpServer, visitor: Visitor) -> None:
    token = server.sandbox.token
    try:
        server.sandbox.token_file.write_text("short")
        reply = visitor.get("")
    finally:
        server.sandbox.token_file.write_text(token + "\n")

    assert (reply.status, "cpl dashboard" in text_in(reply)) == (401, True)


def test_links_and_logins_end(tmp_path: Path) -> None:
    clock = ManualClock()
    book = LoginBook("tree", lambda: operator_token(tmp_path / "operator.token"), clock)
    code, late = book.new_code(), book.new_code()
    cookie = book.redeem(code)
    assert cookie is not None
    assert book.login_of(cookie) is not None
    clock.advance(LINK_SECONDS + 1)
    assert book.redeem(late) is None
    clock.advance(LOGIN_SECONDS)
    assert book.login_of(cookie) is None


def test_another_host_or_origin_is_refused(server: UpServer, visitor: Visitor) -> None:
    rebound = visitor.get("", {"Host": f"evil.example:{server.port}"})
    foreign = visitor.get("", {"Origin": "http://evil.example"})

    assert (rebound.status, foreign.status) == (403, 403)


@pytest.mark.parametrize("form_token", [None, "", "0" * 64])
def test_a_form_without_the_token_of_the_login_does_nothing(visitor: Visitor, form_token: str | None) -> None:
    form = {} if form_token is None else {"form_token": form_token}

    assert visitor.post("/logout", form).status == 400


def test_the_form_token_of_another_login_does_nothing(visitor: Visitor, another: Callable[[], Visitor]) -> None:
    assert visitor.post("/logout", {"form_token": another().form_token()}).status == 400


def test_a_form_sent_by_another_site_does_nothing(visitor: Visitor) -> None:
    form = {"form_token": visitor.form_token()}

    assert visitor.post("/logout", form, {"Sec-Fetch-Site": "cross-site"}).status == 400


def test_logging_out_ends_the_login_and_forgets_the_cookie(another: Callable[[], Visitor]) -> None:
    visitor = another()
    reply = visitor.post("/logout", {"form_token": visitor.form_token()})

    assert (reply.status, "max-age=0" in reply.headers["set-cookie"].lower()) == (303, True)
    assert [visitor.get(path).status for path in ("", "/is-logged-in", "/rest/approvals")] == [401, 401, 401]


def test_logging_out_ends_the_events_of_other_tabs(server: UpServer, another: Callable[[], Visitor]) -> None:
    visitor = another()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE_SECONDS)
    connection.request("GET", "/dashboard/events", headers={"Cookie": visitor.cookie})
    stream = connection.getresponse()
    visitor.post("/logout", {"form_token": visitor.form_token()})
    server.operate("describe", {})

    told = stream.read().decode()

    connection.close()
    assert ("event: hello" in told, "describe" in told) == (True, False)


def test_a_page_carries_the_policy_of_its_content(visitor: Visitor) -> None:
    headers = visitor.get("").headers

    policy = headers["content-security-policy"]
    assert ("unsafe" in policy, "default-src 'none'" in policy, "frame-ancestors 'none'" in policy) == (
        False,
        True,
        True,
    )
    assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")


@pytest.mark.parametrize("name", ["dashboard.css", "live.js", "forms.js", "icon.svg"])
def test_static_files_need_no_login_and_are_asked_for_once(server: UpServer, name: str) -> None:
    first = server.get(f"/dashboard/static/{name}")
    again = server.get(f"/dashboard/static/{name}", {"If-None-Match": first.headers["etag"]})

    assert (first.status, again.status, again.body) == (200, 304, b"")


@pytest.mark.parametrize("name", ["../pages.py", "..%2fpages.py", "%2e%2e/pages.py", "layout.html", ".css", "no.css"])
def test_nothing_else_is_served_as_a_static_file(visitor: Visitor, name: str) -> None:
    assert visitor.get(f"/static/{name}").status == 404


def test_a_server_that_nobody_looks_at_has_not_imported_the_dashboard() -> None:
    code = "import sys, codeplane.surfaces.server.http_side; print(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert [name for name in done.stdout.split() if "jinja2" in name or ".dashboard" in name] == []


def test_a_page_that_lost_its_stream_is_told_whether_it_is_logged_in(server: UpServer, visitor: Visitor) -> None:
    assert (visitor.get("/is-logged-in").status, server.get("/dashboard/is-logged-in").status) == (204, 401)


def test_an_unknown_page_is_not_found(visitor: Visitor) -> None:
    assert visitor.get("/nothing").status == 404
