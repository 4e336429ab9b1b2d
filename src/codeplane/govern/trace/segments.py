"""The chain of a segment: each line's hash covers the line before, so that an edit, a gap or a fork shows.

A segment has one writer. Its lines are canonical JSON (RFC 8785); the hash of a line is the SHA-256 over the hash
before and the line's text without `chain_hash`.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Final

from codeplane.govern.trace.records import VENDOR

HEAD_KIND: Final = "trace_head"
START: Final = "0" * 64
_HASH: Final = re.compile(r'"chain_hash":"([0-9a-f]{64})",')


@dataclass(frozen=True, slots=True)
class Head:
    """The newest line of a segment; number 0 is a segment without lines."""

    segment: str
    seq: int = 0
    hash: str = START

    def as_dict(self) -> dict[str, Any]:
        """Return the form that rows and lines hold."""
        return {"segment": self.segment, "seq": self.seq, "hash": self.hash}


def head_of(value: Any) -> Head | None:
    """Return a head from its stored form, None when it is not one."""
    match value:
        case {"segment": str() as segment, "seq": int() as seq, "hash": str() as found}:
            return Head(segment, seq, found)
    return None


@dataclass(frozen=True, slots=True)
class ChainLine:
    """One line of the file as far as the chain is concerned; `text` is the record without its chain."""

    record_id: str
    head: Head
    prev: str
    continues: Head | None
    is_sound: bool
    body: dict[str, Any]


def chained(record: dict[str, Any], before: Head, continues: Head | None) -> tuple[str, Head]:
    """Return a record as the next line of a segment, and the new head."""
    chain: dict[str, Any] = {"segment": before.segment, "seq": before.seq + 1, "prev": before.hash}
    if continues is not None:
        chain["continues"] = continues.as_dict()
    own = _line_hash(before.hash, _written(_with_chain(record, chain)))
    text = _written(_with_chain(record, {**chain, "chain_hash": own}))
    return text, Head(before.segment, before.seq + 1, own)


def read_line(text: str) -> ChainLine | None:
    """Return a line of ours, None for a valid line of another program.

    Raises:
        ValueError: it is not JSON, or its chain is not complete.
    """
    body = json.loads(text)
    if not isinstance(body, dict):
        raise TypeError("it is not an object")
    ours = body.get("metadata", {}).get(VENDOR) if isinstance(body.get("metadata"), dict) else None
    if ours is None:
        return None
    chain = ours.get("chain") if isinstance(ours, dict) else None
    if not isinstance(chain, dict):
        raise TypeError("it has no place in a chain")
    match chain:
        case {"segment": str() as segment, "seq": int() as seq, "prev": str() as prev, "chain_hash": str() as own}:
            continues = head_of(chain.get("continues"))
        case _:
            raise ValueError("its chain is not complete")
    head = Head(segment, seq, own)
    is_sound = _line_hash(prev, _HASH.sub("", text, count=1)) == own or _is_respelled(body, prev, own)
    return ChainLine(str(body.get("id")), head, prev, continues, is_sound, body)


def without_chain(body: dict[str, Any]) -> dict[str, Any]:
    """Return a record as the ledger has it."""
    ours = {name: value for name, value in body["metadata"][VENDOR].items() if name != "chain"}
    return {**body, "metadata": {**body["metadata"], VENDOR: ours}}


def record_digest(record: dict[str, Any]) -> str:
    """Return the digest by which a line and the ledger are compared."""
    return hashlib.sha256(_written(record).encode()).hexdigest()


def _is_respelled(body: dict[str, Any], prev: str, own: str) -> bool:
    """Tell whether only the spelling of the JSON was changed, as a formatter does."""
    ours = body["metadata"][VENDOR]
    chain = {name: value for name, value in ours["chain"].items() if name != "chain_hash"}
    return _line_hash(prev, _written(_with_chain(without_chain(body), chain))) == own


def _with_chain(record: dict[str, Any], chain: dict[str, Any]) -> dict[str, Any]:
    ours = {**record["metadata"][VENDOR], "chain": chain}
    return {**record, "metadata": {**record["metadata"], VENDOR: ours}}


def _written(value: Any) -> str:
    """Return canonical JSON: records have ASCII keys and whole numbers, so sorting the keys is all that it takes."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _line_hash(prev: str, text: str) -> str:
    return hashlib.sha256(f"{prev}\n{text}".encode()).hexdigest()
