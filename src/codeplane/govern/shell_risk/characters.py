"""Which characters a command may consist of: what a reviewer cannot see must not decide."""

import re
import unicodedata
from typing import Final

from codeplane.govern.shell_risk.report import UnclearCommandError

MAX_CHARACTERS: Final = 10_000
PRINTS_CONTROL: Final = "prints control characters, which can steer the terminal"
_PLAIN: Final = re.compile(r"[\t\n\x20-\x7e]*")
# Letters, digits and pictures; signs of other scripts look like dashes, quotes and separators.
_SEEN_CATEGORIES: Final = frozenset({"Ll", "Lm", "Lo", "Lt", "Lu", "Nd", "Nl", "No", "So"})
_ARROWS: Final = range(0x2190, 0x2200)
# Letters and symbols by category, but drawn as nothing.
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0\U0001d159\ufffc\ufffd")
# What printing programs make of a backslash: a pair, a number in some base, or a letter.
_ESCAPE: Final = re.compile(
    r"\\(?:(?P<pair>\\)|x\{?(?P<hex>[0-9A-Fa-f]{1,2})|u\{?(?P<short>[0-9A-Fa-f]{1,4})|U(?P<point>[0-9A-Fa-f]{1,8})|o(?P<oct>[0-7]{1,3})"
    r"|d(?P<dec>[0-9]{3})|(?P<plain>[0-7]{1,4})|(?P<letter>[abcefrvE]))"
)
_BASES: Final = {"hex": 16, "short": 16, "point": 16, "oct": 8, "dec": 10, "plain": 8}
_HARMLESS_CODES: Final = frozenset({0, 9, 10})
_FORMAT_CODE: Final = re.compile(r"%x?([0-9A-Fa-f]{2})")


def makes_control(text: str) -> bool:
    """Tell whether backslashes in a text become control characters, which may steer the terminal."""
    for found in _ESCAPE.finditer(text):
        kind = found.lastgroup or "pair"
        if kind == "letter" or (kind != "pair" and is_control_code(int(found[kind], _BASES[kind]))):
            return True
    return False


def formats_control(text: str) -> bool:
    """Tell the same of `%x1b` and `%1b` in a format of git."""
    return any(is_control_code(int(code, 16)) for code in _FORMAT_CODE.findall(text))


def is_control_code(code: int) -> bool:
    """Tell whether a number is a control character other than a line end, a tab or zero."""
    return (code < 0x20 and code not in _HARMLESS_CODES) or 0x7F <= code < 0xA0


def check_characters(text: str) -> None:
    """Refuse what is too long, cannot be encoded, or holds something invisible.

    Raises:
        UnclearCommandError: With the reason.
    """
    if len(text) > MAX_CHARACTERS:
        raise UnclearCommandError(f"is longer than {MAX_CHARACTERS} characters")
    if _PLAIN.fullmatch(text):
        return
    for character in text:
        if character in "\t\n" or " " <= character <= "~":
            continue
        is_seen = unicodedata.category(character) in _SEEN_CATEGORIES or ord(character) in _ARROWS
        if not is_seen or character in _BLANK:
            raise UnclearCommandError(f"has an invisible, control or misleading character: U+{ord(character):04X}")
