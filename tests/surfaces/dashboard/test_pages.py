"""What the pages show of real calls, and what their forms do."""

import html
import re
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import local_time_of
from surfaces.dashboard.support_visitors import Visitor, agent, ask_to_delete, log_in, text_in, worker, write_file
from surfaces.support_processes import UpServer, make_repo, text_of, up, wait_until

pytestmark = pytest.mark.slow
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "right\u202eleft",
    "bell\x07",
    "x" * 100_000,
]


def _digest(visitor: Visitor, hold_id: str) -> str:
    page = visitor.get("/approvals").body.decode()
    return str(re.findall(rf'value="{hold_id}"><input type="hidden" name="digest" value="(\w+)"', page)[0])


def _label(server: UpServer) -> str:
    return str(server.get("/operations?limit=1").json["results"][0]["session"])


def test_now_shows_what_an_agent_does_and_its_budget(server: UpServer, visitor: Visitor) -> None:
    write_file(worker(server, name="worker-bee"), "src/json/provider.py", "A = 1\n")

    text = visitor.text("")

    assert re.search(r"worker-bee.*INT-001.*task_\w+.*1 of \d+ changes", text), text


def test_now_says_who_is_spinning(server: UpServer, visitor: Visitor) -> None:
    peer = worker(server)
    for number in range(6):
        write_file(peer, "src/json/provider.py", f"B = {number % 2}\n")

    assert f"{_label(server)} changed src/json/provider.py to the same content three times" in visitor.text("")


def test_a_call_shows_its_steps_its_decision_and_its_diff(server: UpServer, visitor: Visitor) -> None:
    call = write_file(worker(server), "src/json/provider.py", "C = 3\n")

    text = visitor.text(f"/operations/{call}")

    for part in ("Where the time went", "append begun", "inside the scope of INT-001", "the same", "+C = 3", "Undo…"):
        assert part in text, part


def test_the_row_of_a_call_leads_to_the_call(server: UpServer, visitor: Visitor) -> None:
    write_file(worker(server), "src/json/provider.py", "D = 4\n")
    row = server.get("/operations?limit=1").json["results"][0]

    assert row["call_id"] in visitor.text(f"/operations/{row['seq']}")


def test_a_row_that_is_no_call_shows_what_is_on_record(visitor: Visitor) -> None:
    text = visitor.text("/operations/1")

    assert ("What is on record" in text, "Where the time went" in text, "Arguments" in text) == (True, False, False)


@pytest.mark.parametrize(
    ("query", "is_there"),
    [
        ("type=write_source", True),
        ("type=git_log", False),
        ("path=src/payments/index.py", True),
        ("path=src/payments/other.py", False),
        ("outcome=held", False),
        ("since=2100-01-01T00:00:00", False),
        ("until=2100-01-01T00:00:00", True),
    ],
)
def test_operations_are_filtered(server: UpServer, visitor: Visitor, query: str, is_there: bool) -> None:
    write_file(worker(server, "INT-002"), "src/payments/index.py", "RATE = 7\n")

    text = visitor.text(f"/operations?session={_label(server)}&{query}")

    assert ("src/payments/index.py" in text.replace("Path", ""), "No operation fits" in text) == (
        is_there,
        not is_there,
    )


def test_pages_of_operations_continue_without_gaps(server: UpServer, visitor: Visitor) -> None:
    peer = agent(server)
    for _ in range(60):
        peer.call("describe", {})
    path, found = f"/operations?session={_label(server)}", []
    while path:
        page = visitor.get(path).body.decode()
        found += re.findall(r'data-row="(\d+)"', page)
        older = re.findall(r'rel="next" href="/dashboard([^"]+)"', page)
        path = html.unescape(older[0]) if older else ""

    assert len(found) == len(set(found)) == 60


def test_a_held_call_is_approved_once_and_runs(server: UpServer, visitor: Visitor) -> None:
    peer = worker(server)
    hold = ask_to_delete(peer)
    form = {"action": "approve", "hold_id": hold, "digest": _digest(visitor, hold), "scope": "once"}

    assert f"write_source ({hold}) is approved" in visitor.act("/approvals", form)
    assert "deleted" in text_of(peer.call("write_source", {"edits": [{"path": "src/json/old.py", "action": "delete"}]}))
    (server.root / "src/json/old.py").write_text("X = 1\n")


def test_an_approval_from_a_page_names_who_gave_it(server: UpServer, visitor: Visitor) -> None:
    hold = ask_to_delete(worker(server))
    visitor.act("/approvals", {"action": "deny", "hold_id": hold, "digest": _digest(visitor, hold), "comment": "No."})

    assert re.search(r"denied once dashboard login \w{8} No\.", visitor.text("/approvals"))


def test_a_stale_page_says_so_and_answers_nothing_twice(
    server: UpServer, visitor: Visitor, another: Callable[[], Visitor]
) -> None:
    hold = ask_to_delete(worker(server))
    digest = _digest(visitor, hold)
    another().act("/approvals", {"action": "deny", "hold_id": hold, "digest": digest})

    text = visitor.act("/approvals", {"action": "approve", "hold_id": hold, "digest": digest})

    assert f"{hold} is no longer waiting: it is denied" in text


def test_an_answer_for_other_arguments_is_refused(server: UpServer, visitor: Visitor) -> None:
    hold = ask_to_delete(worker(server))

    text = visitor.act("/approvals", {"action": "approve", "hold_id": hold, "digest": "0" * 64})

    assert (f"{hold} is not the call that was shown" in text, "held write_source" in text) == (True, True)


@pytest.mark.parametrize("minutes", ["9" * 5000, "1e3", "-5"])
def test_a_grant_for_a_time_that_is_none_is_refused(server: UpServer, visitor: Visitor, minutes: str) -> None:
    hold = ask_to_delete(worker(server))
    form = {"action": "approve", "hold_id": hold, "digest": _digest(visitor, hold), "scope": "session"}

    reply = visitor.post("/approvals", {"form_token": visitor.form_token(), **form, "minutes": minutes})

    assert (reply.status, "for how many minutes" in text_in(reply)) == (400, True)


def test_a_grant_is_listed_and_revoked(server: UpServer, visitor: Visitor) -> None:
    peer = worker(server)
    hold = ask_to_delete(peer)
    form = {"action": "approve", "hold_id": hold, "digest": _digest(visitor, hold), "scope": "session", "minutes": "15"}
    granted = visitor.act("/approvals", form)

    revoked = visitor.act("/approvals", {"action": "revoke", "hold_id": hold})

    assert (f"{hold}) is approved" in granted, f"{hold}) is revoked" in revoked) == (True, True)
    assert "APPROVAL_PENDING" in text_of(
        peer.call("write_source", {"edits": [{"path": "src/json/old.py", "action": "delete"}]})
    )


def test_an_approval_without_the_token_of_the_form_approves_nothing(server: UpServer, visitor: Visitor) -> None:
    hold = ask_to_delete(worker(server))

    reply = visitor.post("/approvals", {"action": "approve", "hold_id": hold, "digest": _digest(visitor, hold)})

    assert (reply.status, _digest(visitor, hold) != "") == (400, True)


def test_an_undo_is_shown_first_and_then_done(server: UpServer, visitor: Visitor) -> None:
    peer = worker(server)
    write_file(peer, "src/json/provider.py", "BEFORE = 1\n")
    call = write_file(peer, "src/json/provider.py", "AFTER = 1\n")

    preview = visitor.text(f"/operations/{call}/undo")
    assert (server.root / "src/json/provider.py").read_text() == "AFTER = 1\n"
    done = visitor.act(f"/operations/{call}/undo", {})

    assert "1 operation would be undone: 1 file" in preview
    assert "1 operation undone: 1 file" in done
    assert (server.root / "src/json/provider.py").read_text() == "BEFORE = 1\n"


def test_an_undo_that_conflicts_shows_the_conflict_and_does_nothing(server: UpServer, visitor: Visitor) -> None:
    peer = worker(server)
    call = write_file(peer, "src/json/provider.py", "ONE = 1\n")
    (server.root / "src/json/provider.py").write_text("BY HAND = 2\n")

    preview = visitor.text(f"/operations/{call}/undo")
    after = visitor.act(f"/operations/{call}/undo", {})

    for text in (preview, after):
        assert "UNDO_CONFLICT" in text
        assert "BY HAND = 2" in text
    assert "Undo this operation" not in preview
    assert (server.root / "src/json/provider.py").read_text() == "BY HAND = 2\n"


@pytest.mark.parametrize("text", HOSTILE, ids=["script", "quotes", "rtl", "control", "long"])
def test_what_strangers_write_is_shown_and_never_markup(server: UpServer, visitor: Visitor, text: str) -> None:
    peer = worker(server, "INT-002", name=text[:200])
    peer.call("read_source", {"targets": [text[:3000]]})
    peer.call("request_scope_expansion", {"intent_id": "INT-002", "paths": ["src/app.py"], "reason": text[:2000]})
    label = _label(server)
    written = write_file(peer, "src/payments/index.py", f"RATE = {text!r}\n")
    assert "<script>alert" not in visitor.get(f"/operations/{written}").body.decode()
    for path in ("", "/approvals", f"/operations?session={label}", "/ledger"):
        page = visitor.get(path).body.decode()
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert not re.search("[\u202e\x07]", page)
        assert len(page) < 400_000
    for row in server.get(f"/operations?session={label}&limit=5").json["results"]:
        page = visitor.get(f"/operations/{row['call_id']}").body.decode()
        assert ("<script>alert" in page, re.search("[\u202e\x07]", page)) == (False, None)


@pytest.mark.parametrize(
    "path",
    [
        "/operations?{}", "/operations?type={}", "/operations?session={}&path={}", "/operations?cursor={}",
        "/operations/{}",
        "/operations/{}/undo", "/ledger?day={}", "/ledger?task={}", "/ledger?since={}&until={}", "/approvals?notice={}",
        "?fragment={}", "/{}",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "text", ["%3Cscript%3Ealert(1)%3C/script%3E", "%00", "%22%27%3E", "%FF", "1" * 3000, "../../etc"]
)
def test_no_address_breaks_a_page_or_becomes_markup(visitor: Visitor, path: str, text: str) -> None:
    reply = visitor.get(path.replace("{}", text))

    assert (reply.status in {200, 400, 404}, b"<script>alert" in reply.body) == (True, False)


def test_no_page_holds_a_secret_of_the_server(server: UpServer, visitor: Visitor) -> None:
    call = write_file(worker(server), "src/json/provider.py", "E = 1\n")
    secrets = [server.sandbox.token, (server.sandbox.token_file.parent / "access.secret").read_text("ascii").strip()]

    for path in (
        "",
        "/approvals",
        "/operations",
        f"/operations/{call}",
        f"/operations/{call}/undo",
        "/ledger",
        "/nothing",
    ):
        page = visitor.get(path).body.decode()
        assert not [secret for secret in secrets if secret in page]
        assert visitor.cookie.partition("=")[2] not in page


def test_every_page_offers_its_data_as_json(visitor: Visitor) -> None:
    for path in ("", "/approvals", "/operations", "/ledger"):
        links = re.findall(r'href="/dashboard(/rest/[^"]+)"', visitor.get(path).body.decode())
        assert links
        for link in links:
            reply = visitor.get(html.unescape(link))
            assert (reply.status, reply.headers["content-type"]) == (200, "application/json")


def test_every_live_part_can_be_asked_for_by_itself(server: UpServer, visitor: Visitor) -> None:
    ask_to_delete(worker(server))
    found = []
    for path in ("", "/approvals", "/operations", "/ledger"):
        for part in re.findall(r'id="(\w+)"[^>]* data-live=', visitor.get(path).body.decode()):
            page = visitor.get(f"{path}?fragment={part}")
            assert (page.status, f'id="{part}"' in page.body.decode(), b"<html" in page.body) == (200, True, False)
            found.append(part)

    assert {"waiting", "activity", "waiting_list", "grants", "answered"} == set(found)


def test_the_record_is_verified_by_itself_when_it_is_asked_for(visitor: Visitor) -> None:
    assert re.search(r"Record sound Rows \d+ Head", visitor.text("/ledger?fragment=record"))


def test_looking_leaves_no_rows(server: UpServer, visitor: Visitor) -> None:
    call = write_file(worker(server), "src/json/provider.py", "F = 1\n")
    server.get("/operations?limit=1")
    before = server.get("/status").json["ledger_rows"]

    for path in ("", "/approvals", "/operations?limit=x", f"/operations/{call}", f"/operations/{call}/undo", "/ledger"):
        visitor.get(path)

    assert server.get("/status").json["ledger_rows"] == before


def test_two_hundred_sessions_fit_on_the_page(server: UpServer, visitor: Visitor) -> None:
    for number in range(200):
        server.post("/operations/describe", {}, {"User-Agent": f"swarm-{number}"})

    reply = visitor.get("")

    assert (reply.status, "more session" in text_in(reply), len(reply.body) < 300_000) == (200, True, True)


@pytest.mark.parametrize(
    "query",
    [
        "day=9999-12-31",
        "day=0001-01-01",
        "day=2026-02-30",
        "since=0001-01-01T00:00:00Z&until=0001-01-02T00:00:00Z",
        "since=9999-12-31T00:00:00Z&until=9999-12-31T12:00:00Z",
        "since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z",
    ],
)
def test_a_span_that_is_none_is_refused_with_how_to_write_one(visitor: Visitor, query: str) -> None:
    reply = visitor.get(f"/ledger?{query}")

    assert (reply.status, "A day is written as 2026-01-31" in text_in(reply)) == (400, True)


def test_a_static_file_with_a_name_that_no_file_can_have_is_not_found(visitor: Visitor) -> None:
    assert visitor.get(f"/static/{'a' * 300}.css").status == 404


def test_a_day_and_a_task_can_be_looked_at(server: UpServer, visitor: Visitor) -> None:
    write_file(worker(server), "src/json/provider.py", "G = 1\n")
    row = server.get("/operations?type=write_source&outcome=finished&limit=1").json["results"][0]

    for query in (f"task={row['task_id']}", f"day={local_time_of(row['time'])[:10]}"):
        page = visitor.get(f"/ledger?{query}").body.decode()
        assert (f"/dashboard/operations/{row['call_id']}" in page, 'class="finished"' in page) == (True, True)
    closer = re.findall(r'<a class="button small" href="/dashboard([^"]+)">Zoom in', page)
    assert visitor.get(html.unescape(closer[0])).status == 200


def test_an_empty_repository_has_pages(server: UpServer, tmp_path: Path) -> None:
    with up(server.sandbox, make_repo(server.sandbox, tmp_path / "empty", {})) as empty:
        visitor = log_in(empty)
        texts = [visitor.text(path) for path in ("", "/approvals", "/operations", "/ledger")]

    expected = ["No agent has called", "Nothing waits for you", "No agent has called", "Nothing was changed"]
    assert [one in text for one, text in zip(expected, texts, strict=True)] == [True] * 4


@pytest.mark.parametrize("body", ["replace(body, 'read', 'rEad')", "'{not JSON'", "'[]'"])
def test_a_ledger_that_does_not_verify_is_said_with_its_row(server: UpServer, tmp_path: Path, body: str) -> None:
    root = make_repo(server.sandbox, tmp_path / "tampered")
    with up(server.sandbox, root) as first:
        for _ in range(5):
            first.operate("describe", {})
        wait_until(lambda: len(first.get("/operations").json["results"]) == 5, "the rows are written")
        first.stop(signal.SIGTERM)
    with sqlite3.connect(root / ".codeplane/ledger.db") as connection:
        connection.execute(f"UPDATE events SET body = {body} WHERE seq = 4")
    connection.close()
    with up(server.sandbox, root) as second:
        visitor = log_in(second)
        text = visitor.text("/ledger")
        statuses = {path: visitor.get(path).status for path in ("", "/operations", "/operations/4", "/health")}

    assert re.search(r"The ledger does not verify: tampered\. Row 4 ?:", text), text
    assert set(statuses.values()) == {200}, statuses


def test_a_page_that_cannot_be_shown_leads_to_the_others(server: UpServer, tmp_path: Path) -> None:
    root = make_repo(server.sandbox, tmp_path / "twisted")
    with up(server.sandbox, root) as twisted:
        for _ in range(5):
            twisted.operate("describe", {})
        wait_until(lambda: len(twisted.get("/operations").json["results"]) == 5, "the rows are written")
        with sqlite3.connect(root / ".codeplane/ledger.db") as connection:
            connection.execute("""UPDATE events SET body = '{"effects": {"reads": 5}}' WHERE seq = 4""")
        connection.close()
        visitor = log_in(twisted)
        reply, ledger = visitor.get("/operations"), visitor.text("/ledger?verify=1")

    assert (reply.status, "The page Ledger says" in text_in(reply), 'href="/dashboard/ledger"' in str(reply.body)) == (
        500,
        True,
        True,
    )
    assert "Row 4" in ledger


def test_a_memory_that_cannot_be_opened_is_said_among_what_is_well(server: UpServer, tmp_path: Path) -> None:
    root = make_repo(server.sandbox, tmp_path / "forgetful")
    with up(server.sandbox, root):
        pass
    (root / ".codeplane/memory.db").write_bytes(b"damaged" * 1000)
    with up(server.sandbox, root) as second:
        visitor = log_in(second)
        texts = visitor.text("/health"), text_in(visitor.get("/memory"))

    assert ["memory.db is damaged" in text for text in texts] == [True, True]


def _events(visitor: Visitor, last: int | None) -> Any:
    command = ["curl", "-sN", "--max-time", "20", "-b", visitor.cookie]
    command += ["-H", f"Last-Event-ID: {last}"] if last is not None else []
    return subprocess.Popen(
        [*command, f"http://127.0.0.1:{visitor.port}/dashboard/events"], stdout=subprocess.PIPE, text=True
    )


def test_events_resume_where_a_visitor_has_stopped(server: UpServer, visitor: Visitor) -> None:
    agent(server).call("describe", {})
    last = server.get("/operations?limit=1").json["results"][0]["seq"]

    process = _events(visitor, last - 1)
    try:
        line = next(line for line in process.stdout if line.startswith("id: "))
    finally:
        process.kill()
        process.communicate()

    assert line == f"id: {last}\n"


def test_events_need_a_login(server: UpServer) -> None:
    assert server.get("/dashboard/events").status == 401


@pytest.mark.parametrize(
    "path", ["/grants", "/operations/1", "/operations/1/decision", "/operations/1/change", "/ledger/verification"]
)
def test_what_pages_show_in_detail_needs_the_token_over_rest(server: UpServer, path: str) -> None:
    answers = [
        server.get(path, headers).status for headers in ({}, {"Authorization": f"Bearer {server.sandbox.token}"})
    ]

    assert (answers[0], answers[1] in {200, 404}) == (401, True)


@pytest.mark.parametrize(
    "path", ["/activity", "/ledger/counts?parts=4", "/operations?only_changes=true&path=src/app.py"]
)
def test_what_pages_show_in_short_is_open_to_the_owner(server: UpServer, path: str) -> None:
    assert server.get(path).status == 200
