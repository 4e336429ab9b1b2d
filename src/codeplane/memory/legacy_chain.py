"""The per-session hash chain of the public system, computed only to verify stores that are imported.

CodePlane's own record of calls is the ledger. This chain covers neither ids, sessions nor `meta_json`, and nothing
shows that its end was cut off, as `WHAT_IT_PROVES` says.
"""

import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from codeplane.memory.canonical import hmac_sha256, sha256

_HEX: Final = re.compile(r"[0-9a-f]{64}")
WHAT_IT_PROVES: Final = "Rows in the middle were not changed. Removed last rows and changed metadata do not show."


@dataclass(frozen=True, slots=True)
class LegacyVerdict:
    """Whether the rows of one session hold together."""

    valid: bool
    errors: tuple[str, ...]
    count: int


def row_hash(prev_hash: str | None, tool_name: str, input_hash: str, output_hash: str, ts: str) -> str:
    """Return the hash of an invocation on top of the one before; the first has none."""
    return sha256(
        {
            "prev_hash": prev_hash,
            "tool_name": tool_name,
            "input_hash": input_hash,
            "output_hash": output_hash,
            "ts": ts,
        }
    )


def verify(rows: Iterable[Mapping[str, Any]]) -> LegacyVerdict:
    """Check the links and hashes of one session's rows, in the order of their ids."""
    errors: list[str] = []
    previous: str | None = None
    ordered = sorted(rows, key=lambda row: int(row["id"]))
    for row in ordered:
        if row["prev_hash"] != previous:
            errors.append(f"row {row['id']} does not follow the row before it")
        parts = (row["prev_hash"], row["tool_name"], row["input_hash"], row["output_hash"], row["ts"])
        if row_hash(*parts) != row["hash"]:
            errors.append(f"row {row['id']} was changed")
        previous = row["hash"]
    return LegacyVerdict(not errors, tuple(errors), len(ordered))


def cell_key(scene_id: int, cell_type: str, title: str) -> str:
    """Return the key of a cell in a store of the public system."""
    return sha256({"scene_id": scene_id, "cell_type": cell_type, "title": " ".join(title.lower().split())})


def is_signed(secret: bytes, payload: Any, signature: Any) -> bool:
    """Tell whether a receipt or token of the public system was signed with this key."""
    is_hex = isinstance(signature, str) and _HEX.fullmatch(signature) is not None
    return is_hex and hmac.compare_digest(bytes.fromhex(signature), bytes.fromhex(hmac_sha256(secret, payload)))
