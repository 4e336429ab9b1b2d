"""Which characters a command may consist of: what a reviewer cannot see must not decide."""

import re
import unicodedata
from typing import Final

from codeplane.govern.shell_risk.report import UnclearCommandError

MAX_CHARACTERS: Final = 10_000
_PLAIN: Final = re.compile(r"[\t\n\x20-\x7e]*")
# Letters, digits and pictures; signs of other scripts look like dashes, quotes and separators.
_SEEN_CATEGORIES: Final = frozenset({"Ll", "Lm", "Lo", "Lt", "Lu", "Nd", "Nl", "No", "So"})
_ARROWS: Final = range(0x2190, 0x2200)
# Letters and symbols by category, but drawn as nothing.
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0\U0001d159\ufffc\ufffd")


def check_characters(text: str) -> None:
    """Refuse what is too long, cannot be encoded, or holds something invisible.

    Raises:
        UnclearCommandError: With the reason.
    """
    if len(text) > MAX_CHARACTERS:
        raise UnclearCommandError(f"longer than {MAX_CHARACTERS} characters")
    if _PLAIN.fullmatch(text):
        return
    for character in text:
        if character in "\t\n" or " " <= character <= "~":
            continue
        is_seen = unicodedata.category(character) in _SEEN_CATEGORIES or ord(character) in _ARROWS
        if not is_seen or character in _BLANK:
            raise UnclearCommandError(f"an invisible, control or misleading character: U+{ord(character):04X}")
