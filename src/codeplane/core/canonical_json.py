"""JSON with one spelling for each value (RFC 8785), for digests, signatures and comparisons."""

import math
from typing import Any, Final

import rfc8785

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_bytes

_FIRST_INEXACT: Final = 2**53


def canonical_bytes(value: Any) -> bytes:
    """Return the canonical form in UTF-8.

    Raises:
        CodePlaneError: `VALIDATION_ERROR`, when the value holds what JSON cannot carry exactly: NaN, infinities,
            integers of 2**53 and more, keys that are not strings, lone surrogates, other types, nesting without end.
    """
    try:
        return rfc8785.dumps(value)
    # Besides its own errors the library lets those of encoding and of number printing through: all are ValueErrors.
    except (ValueError, RecursionError) as error:
        place = _place_of_fault(value)
        raise CodePlaneError(
            "VALIDATION_ERROR",
            f"The value at {place} cannot be written as canonical JSON: {_reason(error)}.",
            details={"place": place},
        ) from error


def canonical_text(value: Any) -> str:
    """Return the canonical form as text; raises what `canonical_bytes` raises."""
    return canonical_bytes(value).decode("utf-8")


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical form in hexadecimal; raises what `canonical_bytes` raises."""
    return sha256_bytes(canonical_bytes(value))


def representable(value: Any) -> Any:
    """Return JSON of a stranger with the numbers and texts that the canonical form cannot carry written as marked text.

    Nesting without end stays: whoever writes it gets the error.
    """
    if isinstance(value, dict):
        return {_text(str(key)): representable(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [representable(one) for one in value]
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"number {value}"
    if isinstance(value, int) and abs(value) >= _FIRST_INEXACT:
        return f"number {hex(value)}"
    return value


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeEncodeError):
        return "a key holds a lone surrogate"
    if isinstance(error, rfc8785.CanonicalizationError):
        return str(error)[:200]
    return "a number is too large"


def _place_of_fault(value: Any) -> str:
    """Return where the first fault is, as `$.key[0]`; `$` when it is the value itself."""
    place = "$"
    # Deeper than this the fault is the depth, and a longer place would not help.
    for _ in range(50):
        step = next((step for step in _children(value) if not _is_writable(step[1])), None)
        if step is None:
            return place
        place, value = place + step[0], step[1]
    return place + "…"


def _children(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f".{ascii(key)[1:-1][:40]}", item) for key, item in value.items() if isinstance(key, str)]
    if isinstance(value, list | tuple):
        return [(f"[{i}]", item) for i, item in enumerate(value)]
    return []


def _is_writable(value: Any) -> bool:
    try:
        rfc8785.dumps(value)
    except (ValueError, RecursionError):
        return False
    return True
