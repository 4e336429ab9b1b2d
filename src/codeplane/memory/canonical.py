"""Canonical JSON as the public system writes it, for its hashes: ECMAScript spelling, keys in UTF-16 order.

`core.canonical_json` is what CodePlane itself hashes with. The two differ where RFC 8785 refuses: here NaN and
infinities become null, line ends become LF, lone surrogates are escaped, and large numbers are written as doubles.
"""

import hashlib
import hmac
import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

import rfc8785

_EXACT: Final = 2**53
_LINE_ENDS: Final = re.compile("\r\n?")
_LONE: Final = re.compile("[\ud800-\udfff]")


def canonical(value: Any) -> str:
    """Return the text of a JSON value; raises TypeError for anything else."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str):
        return _text(_LINE_ENDS.sub("\n", value))
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda key: str(key).encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_text(str(key))}:{canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    raise TypeError(f"{type(value).__name__} is not JSON")


def sha256(value: Any) -> str:
    """Return the SHA-256 of the canonical text in lower hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def hmac_sha256(secret: bytes, value: Any) -> str:
    """Return the HMAC-SHA256 of the canonical text in lower hexadecimal."""
    return hmac.digest(secret, canonical(value).encode(), "sha256").hex()


def _number(value: float) -> str:
    if isinstance(value, int) and abs(value) < _EXACT:
        return str(value)
    try:
        number = float(value)
    except OverflowError:
        return "null"
    return rfc8785.dumps(number).decode() if math.isfinite(number) else "null"


def _text(value: str) -> str:
    return _LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
