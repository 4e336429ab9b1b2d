"""Names of definitions: their spellings, what they are qualified by, and their identities."""

import hashlib
from functools import lru_cache
from typing import Final

_UID_BYTES: Final = 8
# Names and signatures come again and again: `setUp`, `(self)`.
_MAX_KEPT: Final = 10_000


@lru_cache(_MAX_KEPT)
def folded(name: str) -> str:
    """Return a name without case and underscores, so that `getUser`, `get_user` and `GET_USER` are the same."""
    return name.replace("_", "").replace("-", "").casefold() or name


def qualifier(modules: str, path: str) -> str:
    """Return what the names of a file's definitions begin with: its module, or its path where there is none."""
    return modules.partition("\n")[0] or path


@lru_cache(_MAX_KEPT)
def signature_hash(signature: str) -> str:
    """Return the hash of a signature's text, empty for none."""
    return hashlib.sha256(signature.encode("utf-8", "surrogatepass")).hexdigest()[:16] if signature else ""


def definition_uid(home: str, identity: str) -> bytes:
    """Return the identity of a definition: a hash of its context, module, path, signature and place among equals."""
    return hashlib.sha256((home + identity).encode("utf-8", "surrogatepass")).digest()[:_UID_BYTES]
