"""Names of definitions: their spellings, what they are qualified by, and their identities."""

import hashlib
from typing import Final

_UID_BYTES: Final = 8


def folded(name: str) -> str:
    """Return a name without case and underscores, so that `getUser`, `get_user` and `GET_USER` are the same."""
    return name.replace("_", "").replace("-", "").casefold() or name


def qualifier(modules: str, path: str) -> str:
    """Return what the names of a file's definitions begin with: its module, or its path where there is none."""
    return modules.partition("\n")[0] or path


def definition_uid(home: str, identity: str) -> bytes:
    """Return the identity of a definition: a hash of its context, module, path, signature and place among equals."""
    return hashlib.sha256((home + identity).encode("utf-8", "surrogatepass")).digest()[:_UID_BYTES]
