"""Names as git writes them where there is no NUL after them: odd ones in C-style quotes."""

import re
from typing import Final

from codeplane.git.commands import decode

_ESCAPE: Final = re.compile(rb"\\([abtnvfr\"\\]|[0-7]{3})")
_ESCAPED: Final = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


def unquoted(text: bytes) -> str:
    """Return a name unquoted."""
    if not (len(text) > 1 and text.startswith(b'"') and text.endswith(b'"')):
        return decode(text)
    return decode(_ESCAPE.sub(_character, text[1:-1]))


def _character(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 8) if len(found[1]) == 3 else _ESCAPED[found[1][0]]])
