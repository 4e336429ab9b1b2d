"""Tickets of both kinds of Jira, from a real host on this machine."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.controller.connectors.adf import blocks_of_document
from codeplane.controller.connectors.blocks import criteria_in
from codeplane.controller.connectors.failures import ConnectorError
from codeplane.controller.connectors.hosts import hosts_of
from codeplane.controller.connectors.jira import Ticket, fetch_ticket
from codeplane.controller.connectors.wiki_text import blocks_of_wiki_text
from codeplane.workspace.controller_settings import ConnectorSettings, JiraSettings
from controller.connectors.loopback import TOKEN, Peer, Reply, as_json, bench, running_peer, write_token


@pytest.fixture
def peer() -> Iterator[Peer]:
    with running_peer() as running:
        yield running


def fetch(peer: Peer, home: Path, expand: tuple[str, ...] = (), flavour: str = "cloud", **more: Any) -> Ticket:
    jira = JiraSettings(base_url=peer.url("/jira/"), flavour=flavour, **more)
    settings = ConnectorSettings(jira=jira, attempts=2)
    return fetch_ticket(bench(settings, home / "cache").kernel, home / "auth", "PROJ-7", expand)


def refused(peer: Peer, home: Path, **more: Any) -> ConnectorError:
    with pytest.raises(ConnectorError) as caught:
        fetch(peer, home, **more)
    return caught.value


def text(words: str, *marks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": words, **({"marks": list(marks)} if marks else {})}


def node(kind: str, *content: Any, **attributes: Any) -> dict[str, Any]:
    return {"type": kind, "content": list(content), **({"attrs": attributes} if attributes else {})}


def items(kind: str, *texts: str) -> dict[str, Any]:
    return node(kind, *(node("listItem", node("paragraph", text(one))) for one in texts))


STRONG = {"type": "strong"}
DESCRIPTION = node(
    "doc",
    node("paragraph", text("Rates are "), text("wrong", STRONG), node("hardBreak"), text("since May.")),
    node("heading", text("Acceptance Criteria"), level=2),
    node(
        "bulletList",
        node(
            "listItem", node("paragraph", text("Rounds to four decimals")), items("bulletList", "Also for negatives")
        ),
        node("listItem", node("paragraph", text("See "), text("the rule", {"type": "link", "attrs": {"href": "https://x.example/r"}}))),
    ),
    node("heading", text("Notes"), level=2),
    items("orderedList", "Not a criterion"),
    node("codeBlock", text("round(x, 1)")),
    node("table", node("tableRow", *(node("tableCell", node("paragraph", text(one))) for one in "ab"))),
)  # fmt: skip
ISSUE = {
    "key": "PROJ-7",
    "names": {"customfield_1": "Acceptance criteria", "customfield_2": "Team"},
    "fields": {
        "summary": "Wrong rate",
        "status": {"name": "In Progress"},
        "description": DESCRIPTION,
        "customfield_1": node("doc", items("bulletList", "From the field")),
        "customfield_2": "red",
        "customfield_3": ["from a configured field"],
        "parent": {"key": "PROJ-1", "fields": {"summary": "Epic", "status": {"name": "Open"}}},
        "subtasks": [{"key": "PROJ-8", "fields": {"summary": "Part", "status": {"name": "Done"}}}],
        "issuelinks": [
            {"type": {"inward": "is blocked by", "outward": "blocks"}, "outwardIssue": {"key": "OPS-2", "fields": {}}},
            {"type": {"inward": "is blocked by", "outward": "blocks"}, "inwardIssue": {"key": "OPS-3"}},
        ],
        "comment": {
            "total": 1,
            "comments": [
                {"author": {"displayName": "Ann", "emailAddress": "ann@x.example"}, "created": "2026-01-02T03:04:05Z",
                 "body": node("doc", node("paragraph", text("Mind the sign.")))},
            ],
        },
    },
}  # fmt: skip
WIKI = """Rates are *wrong* since May.

h3. Acceptance criteria:
# Rounds to _four_ decimals
## Also for negatives
# See [the rule|https://x.example/r]

h3. Notes
* Not a criterion
{code:python}
h3. Acceptance criteria
* code is not read
{code}
||a||b||
|1|2|
"""


def test_a_ticket_of_cloud_has_the_fields_of_the_contract(peer: Peer, tmp_path: Path) -> None:
    write_token(tmp_path / "auth", token=f"me@x.example:{TOKEN}")
    peer.answers("/jira/rest/api/3/issue/PROJ-7", as_json(ISSUE))
    ticket = fetch(peer, tmp_path, ("comments",), criteria_fields=("customfield_3",))
    assert ticket.source_key == "jira:PROJ-7"
    assert ticket.as_dict() == {
        "key": "PROJ-7",
        "summary": "Wrong rate",
        "descriptionText": "Rates are wrong\nsince May.\n\nAcceptance Criteria\n\n- Rounds to four decimals\n"
        "  - Also for negatives\n- See the rule (https://x.example/r)\n\nNotes\n\n- Not a criterion\n\n"
        "round(x, 1)\n\n- a | b",
        "acceptanceCriteria": [
            "From the field",
            "from a configured field",
            "Rounds to four decimals",
            "Also for negatives",
            "See the rule (https://x.example/r)",
        ],
        "status": "In Progress",
        "links": [
            {"type": "parent", "key": "PROJ-1", "summary": "Epic", "status": "Open"},
            {"type": "subtask", "key": "PROJ-8", "summary": "Part", "status": "Done"},
            {"type": "blocks", "key": "OPS-2", "summary": "", "status": ""},
            {"type": "is blocked by", "key": "OPS-3", "summary": "", "status": ""},
        ],
        "comments": [{"author": "Ann", "created": "2026-01-02T03:04:05Z", "text": "Mind the sign."}],
    }
    assert peer.tokens[0] is not None
    assert peer.tokens[0].startswith("Basic ")
    assert "ann@x.example" not in json.dumps(ticket.as_dict())


def test_a_ticket_of_data_center_is_read_from_wiki_text(peer: Peer, tmp_path: Path) -> None:
    write_token(tmp_path / "auth")
    issue = {"key": "PROJ-7", "fields": {"summary": "Wrong rate", "status": {"name": "Open"}, "description": WIKI}}
    peer.answers("/jira/rest/api/2/issue/PROJ-7", as_json(issue))
    ticket = fetch(peer, tmp_path, flavour="datacenter")
    assert peer.tokens == [f"Bearer {TOKEN}"]
    assert ticket.acceptance_criteria == (
        "Rounds to four decimals",
        "Also for negatives",
        "See the rule (https://x.example/r)",
    )
    assert ticket.description_text.startswith("Rates are wrong since May.\n\nAcceptance criteria:\n\n- Rounds to four")
    assert "* code is not read" in ticket.description_text
    assert "comment" in peer.asked[0][0]


@pytest.mark.parametrize(
    ("wiki", "criteria"),
    [
        ("*Acceptance Criteria*\n- a\n- b\n\n*Other*\n- c", ("a", "b")),
        ("{panel:title=Acceptance criteria|borderStyle=solid}\n* a\n{panel}", ("a",)),
        ("Acceptance criteria:\n\n* [ ] a\n* [x] b", ("a", "b")),
        ("h2. AC\nGiven a rate\nWhen it is rounded\n\nThen it has four decimals",
         ("Given a rate\nWhen it is rounded", "Then it has four decimals")),
        ("Some text\nAC1: first\nAC 2) second\nother", ("first", "second")),
        ("h1. Acceptance criteria\nh2. Sums\n* a\nh1. Next\n* b", ("a",)),
        ("h2. Definition of Done\n|a|b|", ("a | b",)),
        ("* AC\n* not criteria", ()),
        ("The acceptance criteria are unknown.\n* x", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_criteria_are_found_in_wiki_text(wiki: str, criteria: tuple[str, ...]) -> None:
    assert criteria_in(blocks_of_wiki_text(wiki)) == criteria


@pytest.mark.parametrize(
    ("document", "criteria"),
    [
        (node("doc", node("paragraph", text("Acceptance criteria", STRONG)), items("bulletList", "a")), ("a",)),
        (node("doc", node("expand", items("bulletList", "a"), title="Acceptance Criteria")), ("a",)),
        (node("doc", node("heading", text("Acceptance criteria"), level=3),
              node("taskList", node("taskItem", text("a "), text("b", STRONG)), node("taskItem", text("c")))),
         ("a b", "c")),
        (node("doc", node("panel", node("heading", text("Acceptance tests")), node("paragraph", text("only text")))),
         ("only text",)),
        (node("doc", node("paragraph", text("AC-1: from "), node("mention", text="@Ann"), node("unknown", text("!")))),
         ("from @Ann!",)),
        ({"type": "doc", "content": "broken"}, ()),
        ({"type": ["x"], "content": [None, 3, {"type": "text", "text": 5}]}, ()),
        (None, ()),
    ],
)  # fmt: skip
def test_criteria_are_found_in_documents(document: Any, criteria: tuple[str, ...]) -> None:
    assert criteria_in(blocks_of_document(document)) == criteria


def test_a_document_without_end_is_read_to_its_limits() -> None:
    deep: dict[str, Any] = node("paragraph", text("bottom"))
    for _ in range(900):
        deep = node("panel", deep)
    wide = node("doc", *(node("paragraph", text("x")) for _ in range(100_000)))
    assert blocks_of_document(deep) == ()
    assert 0 < len(blocks_of_document(wide)) < 100_000


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(200, b'{"key": "PROJ-7", "fields"'), "bad_response"),
        (Reply(200, b"[" * 100_000), "bad_response"),
        (as_json(["no", "ticket"]), "bad_response"),
        (as_json({"fields": 5}), "bad_response"),
        (Reply(200, b"<html>log in</html>", content_type="text/html"), "bad_response"),
        (Reply(401), "unauthorized"),
        (Reply(403), "forbidden"),
        (Reply(404), "not_found"),
        (Reply(429, headers={"Retry-After": "1"}), "rate_limited"),
        (Reply(302, headers={"Location": "https://elsewhere.example/login"}), "redirect_refused"),
    ],
)
def test_a_bad_answer_is_a_normal_error(peer: Peer, tmp_path: Path, reply: Reply, kind: str) -> None:
    write_token(tmp_path / "auth")
    peer.answers("/jira/rest/api/3/issue/PROJ-7", reply)
    error = refused(peer, tmp_path)
    assert (error.kind, error.http_status) == (kind, reply.status)
    assert error.attempts == (2 if kind == "rate_limited" else 1)


def test_odd_fields_give_a_ticket_with_what_is_there(peer: Peer, tmp_path: Path) -> None:
    write_token(tmp_path / "auth")
    fields = {"summary": 5, "status": [], "description": [1], "issuelinks": {"a": 1}, "comment": {"comments": [3, {}]}}
    peer.answers("/jira/rest/api/3/issue/PROJ-7", as_json({"key": "../../etc", "names": 5, "fields": fields}))
    ticket = fetch(peer, tmp_path, ("comments",))
    assert (ticket.key, ticket.summary, ticket.links, ticket.acceptance_criteria) == ("PROJ-7", "", (), ())


def test_long_lists_are_cut_and_say_so(peer: Peer, tmp_path: Path) -> None:
    write_token(tmp_path / "auth")
    wiki = "h1. AC\n" + "".join(f"* item {number}\n" for number in range(300))
    fields = {"description": wiki, "subtasks": [{"key": "A-1"}] * 300}
    comments = {"total": 900, "comments": [{"body": str(number)} for number in range(60)]}
    peer.answers("/jira/rest/api/3/issue/PROJ-7", as_json({"fields": {**fields, "comment": comments}}))
    ticket = fetch(peer, tmp_path, ("comments",))
    sizes = (len(ticket.acceptance_criteria), len(ticket.links), len(ticket.comments))
    assert sizes == (100, 100, 50)
    assert ticket.comments[-1]["text"] == "59"
    assert ticket.truncated == ("acceptanceCriteria", "links", "comments")


def test_secrets_in_a_ticket_are_taken_out(peer: Peer, tmp_path: Path) -> None:
    write_token(tmp_path / "auth")
    key = "ghp_" + "a1B2" * 9
    wiki = f"token {TOKEN} and {key}\n\nAC1: use {key}"
    peer.answers("/jira/rest/api/3/issue/PROJ-7", as_json({"fields": {"description": wiki, "summary": TOKEN}}))
    ticket = fetch(peer, tmp_path)
    written = "".join(path.read_text() for path in (tmp_path / "cache").iterdir())
    assert TOKEN not in str(ticket) + written
    assert key not in str(ticket)


@pytest.mark.parametrize("key", ["", "7", "PROJ", "proj-", "PROJ-1/../../x", "PROJ-1?x=1", "P-1", "PROJ-1 2", "ÄB-1"])
def test_what_is_no_key_is_not_sent(peer: Peer, tmp_path: Path, key: str) -> None:
    settings = ConnectorSettings(jira=JiraSettings(base_url=peer.url()))
    with pytest.raises(ConnectorError) as caught:
        fetch_ticket(bench(settings).kernel, tmp_path, key)
    assert caught.value.kind == "invalid_argument"
    assert peer.asked == []


def test_nothing_is_contacted_unless_configured(tmp_path: Path) -> None:
    settings = ConnectorSettings()
    with pytest.raises(ConnectorError) as caught:
        fetch_ticket(bench(settings).kernel, tmp_path, "PROJ-1")
    assert (caught.value.kind, caught.value.attempts) == ("not_configured", 0)
    assert hosts_of(settings) == ()
    assert hosts_of(ConnectorSettings(jira=JiraSettings(base_url="https://Team.example/x"))) == ("team.example",)


def _open_to_others(file: Path) -> None:
    file.chmod(0o640)


def _directory_open_to_others(file: Path) -> None:
    file.parent.chmod(0o777)


def _linked(file: Path) -> None:
    file.rename(file.with_suffix(".real"))
    file.symlink_to(file.with_suffix(".real"))


def _missing(file: Path) -> None:
    file.unlink()


def _empty(file: Path) -> None:
    file.write_text("\n")


def _two_lines(file: Path) -> None:
    file.write_text("token-one-1\nX-Injected: yes")


def _a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


def _too_long(file: Path) -> None:
    file.write_text("x" * 5_000)


@pytest.mark.parametrize(
    "spoil", [_open_to_others, _directory_open_to_others, _linked, _missing, _empty, _two_lines, _a_pipe, _too_long]
)
def test_a_token_file_that_cannot_be_trusted_is_not_used(peer: Peer, tmp_path: Path, spoil: Any) -> None:
    write_token(tmp_path / "auth")
    spoil(tmp_path / "auth" / "jira.token")
    error = refused(peer, tmp_path)
    assert (error.kind, error.retryable, error.attempts) == ("token_unusable", False, 0)
    assert str(tmp_path) not in error.message
    assert peer.asked == []


@pytest.mark.parametrize(
    "url",
    ["ftp://x.example", "jira.example", "https://", "http://x.example", "https://me:pw@x.example", "https://x.example/#a",
     "https://x.example:99999", "https://x.example/a b", "https://[::1"],
)  # fmt: skip
def test_an_address_that_would_give_the_token_away_is_no_setting(url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        JiraSettings(base_url=url)


@pytest.mark.parametrize("name", ["../token", "/etc/passwd", "", ".", "a/b"])
def test_a_token_file_is_a_name_and_no_path(name: str) -> None:
    with pytest.raises(ValueError, match="token_file"):
        JiraSettings(token_file=name)
