"""Why a connector gave no answer, in one form for all of them."""

from enum import StrEnum
from typing import Any


class FailureKind(StrEnum):
    """What went wrong, for programs."""

    NOT_CONFIGURED = "not_configured"
    HOST_NOT_ALLOWED = "host_not_allowed"
    INVALID_ARGUMENT = "invalid_argument"
    TOKEN_UNUSABLE = "token_unusable"  # noqa: S105 - a word of the interface
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    TLS_FAILED = "tls_failed"
    TOO_LARGE = "too_large"
    REDIRECT_REFUSED = "redirect_refused"
    BAD_RESPONSE = "bad_response"
    BAD_DOCUMENT = "bad_document"


RETRYABLE = frozenset({FailureKind.RATE_LIMITED, FailureKind.UNAVAILABLE, FailureKind.TIMEOUT})


class ConnectorError(Exception):
    """A fault of a connector; it is no denial."""

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        retryable: bool | None = None,
        attempts: int = 0,
        http_status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retryable = kind in RETRYABLE if retryable is None else retryable
        self.attempts = attempts
        self.http_status = http_status

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild from all fields."""
        return (_rebuild, (self.kind, self.message, self.retryable, self.attempts, self.http_status))

    def as_dict(self) -> dict[str, Any]:
        """Return the error object of a turn's result."""
        status = {} if self.http_status is None else {"httpStatus": self.http_status}
        return {
            "kind": str(self.kind),
            "message": self.message,
            "retryable": self.retryable,
            "attempts": self.attempts,
            **status,
        }


def _rebuild(
    kind: FailureKind,
    message: str,
    retryable: bool,  # noqa: FBT001 - pickle passes positions only
    attempts: int,
    http_status: int | None,
) -> ConnectorError:
    return ConnectorError(kind, message, retryable=retryable, attempts=attempts, http_status=http_status)
