"""The kernel against a real host on this machine."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.controller.connectors.credentials import Credential, Origin
from codeplane.controller.connectors.failures import ConnectorError, FailureKind
from codeplane.controller.connectors.kernel import Fetched, Request
from codeplane.core.clock import SystemClock
from codeplane.workspace.controller_settings import ConnectorSettings
from controller.connectors.loopback import (
    TOKEN,
    Bench,
    Peer,
    Reply,
    as_json,
    bench,
    closes,
    drips,
    hangs,
    running_peer,
    sends_50_megabytes,
    stops_early,
)

SETTINGS = ConnectorSettings(timeout_sec=20.0, connect_timeout_sec=2.0, max_bytes=100_000, cache_sec=0)
SHORT = ConnectorSettings(timeout_sec=0.3, connect_timeout_sec=0.3, attempts=1)


@pytest.fixture
def peer() -> Iterator[Peer]:
    with running_peer() as running:
        yield running


@pytest.fixture
def other() -> Iterator[Peer]:
    with running_peer() as running:
        yield running


def get(used: Bench, url: str, *more: Peer) -> Fetched:
    origin = Origin.of(url)
    origins = frozenset({origin, *(Origin.of(one.url()) for one in more)})
    return used.kernel.get(Request(url, origins, Credential(origin, TOKEN)))


def refused(used: Bench, url: str, *more: Peer) -> ConnectorError:
    with pytest.raises(ConnectorError) as caught:
        get(used, url, *more)
    assert TOKEN not in str(caught.value.as_dict())
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind", "is_retryable", "attempts"),
    [
        (400, "refused", False, 1),
        (401, "unauthorized", False, 1),
        (403, "forbidden", False, 1),
        (404, "not_found", False, 1),
        (410, "refused", False, 1),
        (429, "rate_limited", True, 4),
        (500, "unavailable", True, 4),
        (501, "unavailable", True, 1),
        (503, "unavailable", True, 4),
    ],
)
def test_each_status_has_one_kind_of_error(
    peer: Peer, status: int, kind: str, is_retryable: bool, attempts: int
) -> None:
    peer.answers("/x", Reply(status, b'{"secret": "body of an error is not shown"}'))
    error = refused(bench(SETTINGS), peer.url("/x"))
    shown = error.as_dict()
    assert (shown["kind"], shown["retryable"], shown["attempts"], shown["httpStatus"]) == (
        kind, is_retryable, attempts, status,
    )  # fmt: skip
    assert len(peer.asked) == attempts
    assert "body of an error" not in shown["message"]


def test_a_fault_that_passes_is_retried_with_growing_waits(peer: Peer) -> None:
    peer.answers("/x", Reply(500), Reply(502), as_json({"a": 1}))
    used = bench(SETTINGS)
    fetched = get(used, peer.url("/x"))
    assert (fetched.body, fetched.attempts) == (b'{"a": 1}', 3)
    assert used.waits == [0.5, 1.0]
    assert [(one.number, one.status) for one in used.traces] == [(1, 500), (2, 502), (3, 200)]


def test_jitter_shortens_a_wait_by_at_most_half(peer: Peer) -> None:
    peer.answers("/x", Reply(500), as_json({}))
    used = bench(SETTINGS)
    used.kernel.jitter = lambda: 0.0
    get(used, peer.url("/x"))
    assert used.waits == [0.25]


@pytest.mark.parametrize(
    ("value", "seconds"), [("7", 7.0), ("Tue, 14 Nov 2023 22:13:29 GMT", 9.0), ("soon", 0.0), ("", 0.0)]
)
def test_retry_after_is_waited_for_as_number_or_date(peer: Peer, value: str, seconds: float) -> None:
    peer.answers("/x", Reply(429, headers={"Retry-After": value}), as_json({}))
    used = bench(SETTINGS)
    get(used, peer.url("/x"))
    assert len(used.waits) == 1
    assert seconds <= used.waits[0] <= seconds + 0.5


def test_a_wait_beyond_the_time_limit_is_told_instead(peer: Peer) -> None:
    peer.answers("/x", Reply(429, headers={"Retry-After": "3600"}))
    used = bench(SETTINGS)
    error = refused(used, peer.url("/x"))
    assert (error.kind, error.retryable, error.attempts) == (FailureKind.RATE_LIMITED, True, 1)
    assert "Try again in 3600 s." in error.message
    assert used.waits == []


def test_a_host_that_is_down_is_unavailable() -> None:
    with running_peer() as gone:
        url = gone.url("/x")
    error = refused(bench(SETTINGS), url)
    assert (error.kind, error.retryable, error.attempts, error.http_status) == ("unavailable", True, 4, None)


@pytest.mark.parametrize("act", [hangs, drips])
def test_a_slow_host_is_left_at_the_deadline(peer: Peer, act: Any) -> None:
    peer.answers("/x", Reply(act=act))
    used = bench(SHORT)
    used.kernel.clock = SystemClock()
    error = refused(used, peer.url("/x"))
    assert (error.kind, error.retryable, error.attempts) == ("timeout", True, 1)


@pytest.mark.parametrize("act", [closes, stops_early])
def test_an_answer_that_breaks_off_is_retried(peer: Peer, act: Any) -> None:
    peer.answers("/x", Reply(act=act), as_json({"a": 1}))
    assert get(bench(SETTINGS), peer.url("/x")).attempts == 2


def test_fifty_megabytes_are_not_read(peer: Peer) -> None:
    peer.answers("/x", Reply(act=sends_50_megabytes))
    peer.answers("/stated", Reply(headers={"Content-Length": "50000000"}))
    used = bench(SETTINGS)
    for path in ("/x", "/stated"):
        error = refused(used, peer.url(path))
        assert (error.kind, error.retryable, error.attempts) == ("too_large", False, 1)
    assert used.traces[0].n_bytes == 0


@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "image/png", ""])
def test_another_content_type_is_refused(peer: Peer, content_type: str) -> None:
    peer.answers("/x", Reply(200, b"<html>sign in</html>", content_type=content_type))
    error = refused(bench(SETTINGS), peer.url("/x"))
    assert (error.kind, error.http_status, error.retryable) == ("bad_response", 200, False)


def test_a_compressed_answer_is_refused(peer: Peer) -> None:
    peer.answers("/x", Reply(200, b"zip bomb", {"Content-Encoding": "gzip"}))
    assert refused(bench(SETTINGS), peer.url("/x")).kind == "bad_response"


def test_tls_to_a_host_without_it_fails_once(peer: Peer) -> None:
    used = bench(SETTINGS)
    url = peer.url("/x").replace("http:", "https:")
    error = refused(used, url)
    assert (error.kind, error.retryable, error.attempts) == ("tls_failed", False, 1)


def test_a_redirect_on_the_same_host_keeps_the_token(peer: Peer) -> None:
    peer.answers("/x", Reply(302, headers={"Location": "/y"}))
    peer.answers("/y", as_json({"a": 1}))
    fetched = get(bench(SETTINGS), peer.url("/x"))
    assert fetched.url == peer.url("/y")
    assert all(peer.tokens)


def test_a_redirect_to_another_configured_host_goes_without_the_token(peer: Peer, other: Peer) -> None:
    peer.answers("/x", Reply(307, headers={"Location": other.url("/y")}))
    other.answers("/y", as_json({"a": 1}))
    assert get(bench(SETTINGS), peer.url("/x"), other).body == b'{"a": 1}'
    assert other.tokens == [None]


@pytest.mark.parametrize(
    "location",
    ["{other}/y", "//127.0.0.1:1/y", "https://127.0.0.1:{port}/y", "file:///etc/passwd", "http://u@127.0.0.1:{port}/y",
     "ftp://127.0.0.1/y", "", "http://[broken", "/y z"],
)  # fmt: skip
def test_a_redirect_to_a_place_that_is_not_configured_is_not_followed(peer: Peer, other: Peer, location: str) -> None:
    target = location.format(other=other.url(), port=peer.port) if "[" not in location else location
    peer.answers("/x", Reply(302, headers={"Location": target}))
    error = refused(bench(SETTINGS), peer.url("/x"))
    assert (error.kind, error.retryable, error.http_status) == ("redirect_refused", False, 302)
    assert other.asked == []
    assert len(peer.asked) == 1


def test_redirects_in_a_circle_or_without_end_are_left(peer: Peer) -> None:
    peer.answers("/a", Reply(302, headers={"Location": "/b"}))
    peer.answers("/b", Reply(302, headers={"Location": "/a"}))
    assert refused(bench(SETTINGS), peer.url("/a")).message == "The redirects lead in a circle."
    for number in range(10):
        peer.answers(f"/{number}", Reply(302, headers={"Location": f"/{number + 1}"}))
    assert refused(bench(SETTINGS), peer.url("/0")).message == "There are more than 5 redirects."


def test_an_answer_with_an_etag_is_asked_for_again_and_taken_from_disk(peer: Peer, tmp_path: Path) -> None:
    peer.answers("/x", as_json({"a": 1}, ETag='"v1"'), Reply(304))
    first = get(bench(SETTINGS, tmp_path), peer.url("/x"))
    second = get(bench(SETTINGS, tmp_path), peer.url("/x"))
    assert (first.body, first.is_from_cache) == (second.body, not second.is_from_cache)
    assert [headers.get("if-none-match") for _, headers in peer.asked] == [None, '"v1"']


def test_a_last_modified_date_serves_like_an_etag(peer: Peer, tmp_path: Path) -> None:
    date = "Tue, 14 Nov 2023 22:13:20 GMT"
    peer.answers("/x", as_json({"a": 1}, Last_Modified=date), Reply(304))
    get(bench(SETTINGS, tmp_path), peer.url("/x"))
    assert get(bench(SETTINGS, tmp_path), peer.url("/x")).is_from_cache
    assert peer.asked[1][1]["if-modified-since"] == date


def test_a_fresh_answer_is_used_without_asking_and_only_for_the_same_token(peer: Peer, tmp_path: Path) -> None:
    peer.answers("/x", as_json({"a": 1}))
    used = bench(ConnectorSettings(cache_sec=60), tmp_path)
    get(used, peer.url("/x"))
    assert get(used, peer.url("/x")).attempts == 0
    origin = Origin.of(peer.url())
    used.kernel.get(Request(peer.url("/x"), frozenset({origin}), Credential(origin, "another-token")))
    assert len(peer.asked) == 2
    used.clock.advance(61)
    get(used, peer.url("/x"))
    assert len(peer.asked) == 3


def test_a_damaged_cache_file_is_passed_over(peer: Peer, tmp_path: Path) -> None:
    peer.answers("/x", as_json({"a": 1}, ETag='"v1"'))
    settings = ConnectorSettings(cache_sec=60)
    get(bench(settings, tmp_path), peer.url("/x"))
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    for content in (b"", b"{}\n", b"not json\n", file.read_bytes()[:-1]):
        file.write_bytes(content)
        assert get(bench(settings, tmp_path), peer.url("/x")).body == b'{"a": 1}'
    assert len(peer.asked) == 5


def test_an_answer_that_must_not_be_stored_is_not_stored(peer: Peer, tmp_path: Path) -> None:
    peer.answers("/x", as_json({"a": 1}, Cache_Control="private, no-store"))
    get(bench(SETTINGS, tmp_path), peer.url("/x"))
    assert list(tmp_path.iterdir()) == []


def test_no_more_requests_than_allowed_go_out_in_a_minute(peer: Peer) -> None:
    peer.answers("/x", as_json({}))
    used = bench(ConnectorSettings(requests_per_minute=2, timeout_sec=100.0, cache_sec=0))
    for _ in range(5):
        get(used, peer.url("/x"))
    assert used.waits == [60.0, 60.0]
    used.kernel.settings = ConnectorSettings(requests_per_minute=2, timeout_sec=1.0, cache_sec=0)
    get(used, peer.url("/x"))
    error = refused(used, peer.url("/x"))
    assert (error.kind, error.retryable, error.attempts) == ("rate_limited", True, 0)


def test_a_planted_token_is_in_no_file_trace_error_or_body(peer: Peer, tmp_path: Path) -> None:
    echo = {"token": TOKEN, "header": f"Bearer {TOKEN}", "url": "planted-secret-Zq7%2FxY%2B9%3D0123456789"}
    peer.answers("/x", as_json(echo, ETag=f'"{TOKEN}"'))
    peer.answers(f"/{TOKEN}", Reply(500))
    peer.answers("/r", Reply(302, headers={"Location": f"http://{TOKEN.replace('/', '')}:1/"}))
    used = bench(ConnectorSettings(attempts=2), tmp_path)
    body = get(used, peer.url("/x")).body.decode()
    errors = [refused(used, peer.url(path)) for path in (f"/{TOKEN}", "/r")]
    written = "".join(path.read_text(encoding="utf-8") for path in tmp_path.rglob("*"))
    for output in (body, written, repr(used.traces), *(str(error.as_dict()) for error in errors)):
        assert TOKEN not in output
        assert "Zq7%2F" not in output
    assert repr(Credential(Origin.of(peer.url()), TOKEN)).count("planted") == 0


def test_an_error_survives_pickling() -> None:
    error = ConnectorError(FailureKind.TIMEOUT, "late", attempts=2, http_status=504)
    assert pickle.loads(pickle.dumps(error)).as_dict() == error.as_dict()
