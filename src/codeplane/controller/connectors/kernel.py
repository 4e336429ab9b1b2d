"""What all connectors share: allowed hosts, retry, rate limit, cache, redirects, traces and one form of errors."""

import random
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from codeplane.controller.connectors.answer_cache import AnswerCache, KeptAnswer
from codeplane.controller.connectors.credentials import Credential, Origin, clean
from codeplane.controller.connectors.exchange import Answer, Limits, send_get
from codeplane.controller.connectors.failures import ConnectorError, FailureKind
from codeplane.core.clock import Clock, SystemClock
from codeplane.core.version import VERSION
from codeplane.workspace.controller_settings import ConnectorSettings

_MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 8.0
_MINUTE: Final = 60.0
# What an answer's status means; others below 500 are refusals, 500 and above are faults of the host.
_STATUSES: Final[Mapping[int, tuple[FailureKind, str]]] = {
    401: (FailureKind.UNAUTHORIZED, "does not accept the token. Renew it in its file"),
    403: (FailureKind.FORBIDDEN, "forbids this to the owner of the token"),
    404: (FailureKind.NOT_FOUND, "does not have it, or does not show it to the owner of the token"),
    408: (FailureKind.UNAVAILABLE, "was not sent the request in time"),
    425: (FailureKind.UNAVAILABLE, "asks to try again"),
    429: (FailureKind.RATE_LIMITED, "asks for fewer requests"),
}
_MAX_LOCATION: Final = 2_000


@dataclass(frozen=True, slots=True)
class Request:
    """A GET request: where, what is accepted, the token if there is one, and the origins that redirects may lead to."""

    url: str
    origins: frozenset[Origin]
    credential: Credential | None = None
    accept: str = "application/json"
    content_types: tuple[str, ...] = ("json",)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A body, the address that it finally came from, and how it was got."""

    url: str
    body: bytes
    content_type: str
    attempts: int
    is_from_cache: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """One exchange, for the caller's records; no token is in it."""

    number: int
    url: str
    status: int | None
    failure: str
    n_bytes: int
    duration_ms: int
    waited_ms: int


@dataclass(slots=True)
class Kernel:
    """Sends the requests of all connectors.

    Invariant: per origin at most `requests_per_minute` requests are sent by this object in any minute.
    """

    settings: ConnectorSettings
    cache_directory: Path | None = None
    trace: Callable[[Attempt], None] = lambda _: None
    clock: Clock = field(default_factory=SystemClock)
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random
    tls: Callable[[], ssl.SSLContext] = ssl.create_default_context
    _sent: dict[Origin, deque[float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, request: Request) -> Fetched:
        """Return what an address gives, from the cache or after at most the configured attempts.

        Raises:
            ConnectorError: there is no usable answer.
        """
        return _Errand(self, request).run()

    def reserve(self, origin: Origin) -> float:
        """Return how long to wait before the next request to an origin; 0 counts that request."""
        with self._lock:
            sent = self._sent.setdefault(origin, deque())
            now = self.clock.monotonic()
            while sent and sent[0] <= now - _MINUTE:
                sent.popleft()
            if len(sent) >= self.settings.requests_per_minute:
                return sent[0] + _MINUTE - now
            sent.append(now)
            return 0.0


class _Errand:
    """One request with its attempts, waits and redirects; `_n_sent` counts every exchange."""

    def __init__(self, kernel: Kernel, request: Request) -> None:
        self._kernel = kernel
        self._request = request
        self._cache = AnswerCache(kernel.cache_directory)
        self._owner = request.credential.digest if request.credential else ""
        self._deadline = kernel.clock.monotonic() + kernel.settings.timeout_sec
        self._n_sent = 0
        self._waited = 0.0

    def run(self) -> Fetched:
        kept = self._cache.find(self._request.url, self._owner)
        age_ms = self._kernel.clock.now_ms() - kept.stored_ms if kept else 0
        if kept is not None and 0 <= age_ms < self._kernel.settings.cache_sec * 1000:
            return Fetched(kept.url, kept.body, kept.content_type, 0, is_from_cache=True)
        number = 0
        while True:
            number += 1
            try:
                return self._attempt(kept, number)
            except _AttemptFailedError as failed:
                error = failed.error
                if not error.retryable or number >= self._kernel.settings.attempts:
                    raise self._final(error, number) from error
                self._wait(failed, number)

    def _attempt(self, kept: KeptAnswer | None, number: int) -> Fetched:
        url = self._request.url
        seen = {url}
        for _ in range(_MAX_REDIRECTS + 1):
            answer = self._exchange(url, kept if url == self._request.url else None, number)
            if answer.status not in _REDIRECTS:
                return self._taken(answer, url, kept, number)
            url = self._redirected(url, answer)
            if url in seen:
                raise _failed(FailureKind.REDIRECT_REFUSED, "The redirects lead in a circle.", answer.status)
            seen.add(url)
        raise _failed(FailureKind.REDIRECT_REFUSED, f"There are more than {_MAX_REDIRECTS} redirects.", answer.status)

    def _exchange(self, url: str, kept: KeptAnswer | None, number: int) -> Answer:
        kernel, settings = self._kernel, self._kernel.settings
        self._respect_rate(Origin.of(url))
        limits = Limits(self._deadline, settings.connect_timeout_sec, settings.max_bytes)
        began = kernel.clock.monotonic()
        self._n_sent += 1
        try:
            answer = send_get(url, self._headers(url, kept), limits, kernel.clock, kernel.tls)
        except ConnectorError as error:
            self._record(number, url, None, error, began)
            raise _AttemptFailedError(error) from error
        self._record(number, url, answer, None, began)
        return answer

    def _headers(self, url: str, kept: KeptAnswer | None) -> dict[str, str]:
        parts = urlsplit(url)
        headers = {
            "Host": parts.netloc,
            "Accept": self._request.accept,
            "Accept-Encoding": "identity",
            "Connection": "close",
            "User-Agent": f"codeplane/{VERSION}",
        }
        credential = self._request.credential
        if credential is not None and Origin.of(url) == credential.origin:
            headers["Authorization"] = credential.header
        if kept is not None and kept.etag:
            headers["If-None-Match"] = kept.etag
        elif kept is not None and kept.last_modified:
            headers["If-Modified-Since"] = kept.last_modified
        return headers

    def _respect_rate(self, origin: Origin) -> None:
        while wait := self._kernel.reserve(origin):
            if self._kernel.clock.monotonic() + wait > self._deadline:
                message = f"More than {self._kernel.settings.requests_per_minute} requests to {origin.text} in a minute"
                raise _failed(FailureKind.RATE_LIMITED, f"{message}. Try again in {wait:.0f} s.", is_final=True)
            self._waited += wait
            self._kernel.sleep(wait)

    def _redirected(self, url: str, answer: Answer) -> str:
        location = answer.headers.get("location", "")
        try:
            target = urljoin(url, location).partition("#")[0] if 0 < len(location) <= _MAX_LOCATION else ""
            origin = Origin.of(target)
        except ValueError:
            raise _failed(FailureKind.REDIRECT_REFUSED, "The redirect names no address.", answer.status) from None
        if origin not in self._request.origins or "@" in urlsplit(target).netloc or not _is_sendable(target):
            message = f"The redirect to {origin.text} was not followed: that place is not configured."
            raise _failed(FailureKind.REDIRECT_REFUSED, message, answer.status)
        return target

    def _taken(self, answer: Answer, url: str, kept: KeptAnswer | None, number: int) -> Fetched:
        now = self._kernel.clock.now_ms()
        if answer.status == 304 and kept is not None and url == self._request.url:
            fresh = KeptAnswer(kept.body, kept.content_type, kept.etag, kept.last_modified, now, kept.url)
            self._cache.keep(self._request.url, self._owner, fresh)
            return Fetched(kept.url, kept.body, kept.content_type, number, is_from_cache=True)
        if answer.status != 200:
            raise self._refused(answer, url)
        content_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not any(word in content_type for word in self._request.content_types):
            message = f"The answer is {content_type[:100] or 'of no stated type'}, not {self._request.accept}."
            raise _failed(FailureKind.BAD_RESPONSE, message, 200)
        body = self._without_secret(answer.body)
        if "no-store" not in answer.headers.get("cache-control", "").lower():
            etag, modified = (self._usable(answer.headers.get(name, "")) for name in ("etag", "last-modified"))
            fresh = KeptAnswer(body, content_type, etag, modified, now, self._clean(url))
            self._cache.keep(self._request.url, self._owner, fresh)
        return Fetched(url, body, content_type, number)

    def _usable(self, header: str) -> str:
        """Return a header that may be kept and sent back, or nothing."""
        return header if header.isascii() and header.isprintable() and self._clean(header) == header else ""

    def _without_secret(self, body: bytes) -> bytes:
        """Return a body in which the host did not send the token back."""
        if self._request.credential is None:
            return body
        text = body.decode("utf-8", "surrogateescape")
        return self._request.credential.without_secret(text).encode("utf-8", "surrogateescape")

    def _refused(self, answer: Answer, url: str) -> "_AttemptFailedError":
        kind, what = _STATUSES.get(answer.status, (FailureKind.REFUSED, "refuses the request"))
        if answer.status >= 500:
            kind, what = FailureKind.UNAVAILABLE, "has a fault"
        message = f"{Origin.of(url).text} {what} (status {answer.status})."
        is_final = answer.status in {501, 505, 511}
        after = _retry_after(answer.headers.get("retry-after", ""), self._kernel.clock.now_ms())
        return _failed(kind, message, answer.status, is_final=is_final, retry_after=after)

    def _wait(self, failed: "_AttemptFailedError", number: int) -> None:
        longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (number - 1))
        # Half of the time is certain, so that two callers part without asking at once again.
        wait = longest * (0.5 + self._kernel.jitter() / 2)
        if failed.retry_after is not None:
            wait = failed.retry_after + wait * 0.1
        if self._kernel.clock.monotonic() + wait >= self._deadline:
            raise self._final(failed.error, number, f" Try again in {wait:.0f} s.") from failed.error
        self._waited += wait
        self._kernel.sleep(wait)

    def _final(self, error: ConnectorError, number: int, hint: str = "") -> ConnectorError:
        return ConnectorError(
            error.kind,
            self._clean(error.message + hint),
            retryable=error.kind in {FailureKind.RATE_LIMITED, FailureKind.UNAVAILABLE, FailureKind.TIMEOUT},
            attempts=number if self._n_sent else 0,
            http_status=error.http_status,
        )

    def _record(self, number: int, url: str, answer: Answer | None, error: ConnectorError | None, began: float) -> None:
        self._kernel.trace(
            Attempt(
                number,
                self._clean(url),
                answer.status if answer else None,
                str(error.kind) if error else "",
                len(answer.body) if answer else 0,
                round((self._kernel.clock.monotonic() - began) * 1000),
                round(self._waited * 1000),
            )
        )
        self._waited = 0.0

    def _clean(self, text: str) -> str:
        return clean(text, self._request.credential)


class _AttemptFailedError(Exception):
    """One attempt gave no answer; never leaves the kernel."""

    def __init__(self, error: ConnectorError, retry_after: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.retry_after = retry_after


def _failed(
    kind: FailureKind,
    message: str,
    status: int | None = None,
    *,
    is_final: bool = False,
    retry_after: float | None = None,
) -> _AttemptFailedError:
    error = ConnectorError(kind, message, retryable=False if is_final else None, http_status=status)
    return _AttemptFailedError(error, retry_after)


def _retry_after(text: str, now_ms: int) -> float | None:
    """Return the seconds that `Retry-After` asks for, as a number or as a date; None when it says nothing usable."""
    if text.isascii() and text.isdigit():
        return float(min(int(text[:9]), 10**6))
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    return max(0.0, moment.timestamp() - now_ms / 1000)


def _is_sendable(url: str) -> bool:
    return url.isascii() and url.isprintable() and " " not in url
