"""The whole ledger as JSON lines that can be verified without CodePlane; `EXPORT_RECIPE` says how."""

import json
from collections.abc import Iterator

from codeplane.core.errors import CodePlaneError
from codeplane.ledger.chain import EventChain
from codeplane.ledger.checkpoint import read_checkpoint
from codeplane.ledger.row_hash import hashed_bytes
from codeplane.ledger.seals import parse_head
from codeplane.ledger.verification import records, snapshot

EXPORT_VERSION = 1
EXPORT_RECIPE = r"""
The first line is {"ledger": ...} with the repository id and, if rows were
retired, the checkpoint. Then one line for each row, oldest first:
{"hash":"...","row":{...},"seal":"..."}. The last line is {"end": ...}, so
that a file that was cut shows. Lines end with a line feed.

Hashes: what is hashed is the text between the first "row": and the last
,"seal": of a line. Its SHA-256 is the line's hash. The row's prev_hash is the
hash of the line before, and 64 zeros in the first. After rows were retired,
rows with a seq up to the checkpoint's retired_to are those in its list kept;
the first row after them follows the checkpoint's hash. The end has the number
of rows and the last hash.

Seals, for those who have the key (the 32 bytes of `key` in the user state
directory): a seal is the first 16 hexadecimal digits of
SHA-256("codeplane-ledger-key\n" + key), a colon, and the HMAC-SHA-256 of
"codeplane-ledger-row-1\n<repo_id>\n<seq>\n<hash>". That of a checkpoint is
over "codeplane-ledger-checkpoint-1\n<text>". The mac of sealed_head is over
"codeplane-ledger-head-1\n" and its JSON without mac, keys in order, no spaces.
"""


def export_lines(chain: EventChain) -> Iterator[str]:
    """Yield the lines of an export, all from one moment.

    Raises:
        CodePlaneError: CHAIN_BROKEN for a row that cannot be written down; `verify` names what is wrong with it.
    """
    chain.flush()
    anchor = chain.sealer.anchor if chain.sealer is not None else None
    record = anchor.record() if anchor is not None else None
    head = parse_head(record) if record is not None else None
    count, last = 0, {"seq": 0, "hash": None}
    with chain.database.read() as connection, snapshot(connection):
        stored = read_checkpoint(connection)
        ledger = {
            "version": EXPORT_VERSION,
            "repo_id": anchor.repo_id if anchor is not None else None,
            "checkpoint": {"text": stored.text, "seal": stored.seal} if stored is not None else None,
        }
        yield json.dumps({"ledger": ledger}, ensure_ascii=False)
        for *values, own_hash, seal in records(connection):
            try:
                text = hashed_bytes(tuple(values)).decode()
            except (TypeError, ValueError) as error:
                raise CodePlaneError("CHAIN_BROKEN", f"Row {count + 1} of the export cannot be written.") from error
            count, last = count + 1, {"seq": values[5], "hash": own_hash}
            yield f'{{"hash":{json.dumps(own_hash)},"row":{text},"seal":{json.dumps(seal)}}}'
    sealed = json.loads(head.as_text()) if head is not None else None
    yield json.dumps({"end": {"rows": count, **last, "sealed_head": sealed}}, ensure_ascii=False)
