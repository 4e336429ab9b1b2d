"""One request and its answer over HTTP/1.1, bounded in time and size.

The time for resolving a host's name is the system's own; everything after it ends at the deadline, however slowly the
other side sends.
"""

import http.client
import io
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import urlsplit

from codeplane.controller.connectors.credentials import Origin
from codeplane.controller.connectors.failures import ConnectorError, FailureKind
from codeplane.core.clock import Clock

_CHUNK: Final = 1 << 16
MakeContext = Callable[[], ssl.SSLContext]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a host sent; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long one exchange may take, as a moment and per connection, and how much may be read."""

    deadline: float
    connect_timeout: float
    max_bytes: int


def send_get(url: str, headers: Mapping[str, str], limits: Limits, clock: Clock, tls: MakeContext) -> Answer:
    """Send a GET request and read the answer; the body only of an answer with status 200.

    Raises:
        ConnectorError: the connection failed, or the answer is not HTTP, too large or too slow.
    """
    origin = Origin.of(url)
    try:
        connected = _connect(origin, limits, clock, tls)
        with connected:
            connection = http.client.HTTPConnection(origin.host, origin.port)
            connection.sock = cast("Any", _TimedSocket(connected, limits.deadline, clock))
            connection.request("GET", _target(url), headers=dict(headers))
            return _read(connection.getresponse(), limits.max_bytes)
    except TimeoutError as error:
        raise ConnectorError(FailureKind.TIMEOUT, f"{origin.text} did not answer in time.") from error
    except ssl.SSLError as error:
        reason = error.reason or "unknown reason"
        message = f"No trusted TLS connection to {origin.text}: {reason}. Check the address and its certificate."
        raise ConnectorError(FailureKind.TLS_FAILED, message) from error
    except OSError as error:
        reason = error.strerror or "connection lost"
        raise ConnectorError(FailureKind.UNAVAILABLE, f"{origin.text} cannot be reached: {reason}.") from error
    except http.client.HTTPException as error:
        message = f"{origin.text} ended its answer early or did not answer in HTTP ({type(error).__name__})."
        raise ConnectorError(FailureKind.UNAVAILABLE, message) from error


def _connect(origin: Origin, limits: Limits, clock: Clock, tls: MakeContext) -> socket.socket:
    timeout = min(limits.connect_timeout, limits.deadline - clock.monotonic())
    if timeout <= 0:
        raise TimeoutError
    plain = socket.create_connection((origin.host, origin.port), timeout)
    if origin.scheme == "http":
        return plain
    try:
        return tls().wrap_socket(plain, server_hostname=origin.host)
    except BaseException:
        plain.close()
        raise


def _target(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _read(response: http.client.HTTPResponse, max_bytes: int) -> Answer:
    headers = {name.lower(): value for name, value in response.getheaders()}
    if response.status != 200:
        return Answer(response.status, headers)
    if response.length is not None and response.length > max_bytes:
        raise _too_large(max_bytes)
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise ConnectorError(FailureKind.BAD_RESPONSE, "The answer is compressed, which was not asked for.")
    body = bytearray()
    while chunk := response.read(_CHUNK):
        body += chunk
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
    if response.length:
        raise http.client.IncompleteRead(b"")
    return Answer(200, headers, bytes(body))


def _too_large(max_bytes: int) -> ConnectorError:
    hint = "Raise controller.connectors.max_bytes if that is wanted."
    return ConnectorError(FailureKind.TOO_LARGE, f"The answer is larger than {max_bytes} bytes. {hint}")


class _TimedSocket:
    """The part of a socket that http.client uses; no read or write goes on after the deadline."""

    def __init__(self, connected: socket.socket, deadline: float, clock: Clock) -> None:
        self._socket = connected
        self._deadline = deadline
        self._clock = clock

    def wait_at_most(self) -> None:
        """Set the time that is left for the next step."""
        left = self._deadline - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)

    def receive_into(self, buffer: Any) -> int:
        """Read what is there."""
        self.wait_at_most()
        return self._socket.recv_into(buffer)

    def sendall(self, data: bytes) -> None:
        """Send everything."""
        self.wait_at_most()
        self._socket.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return a reader of the answer."""
        return io.BufferedReader(_SocketReader(self))

    def close(self) -> None:
        """Do nothing: http.client closes before the body is read; the one who connected closes."""


class _SocketReader(io.RawIOBase):
    """Reads from a `_TimedSocket`."""

    def __init__(self, source: _TimedSocket) -> None:
        super().__init__()
        self._source = source

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there into a buffer."""
        return self._source.receive_into(buffer)
