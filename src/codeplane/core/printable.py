"""Text that is safe to show: no control characters that move a terminal's cursor or start a new line for a model."""

import os
import re

_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]")
_CONTROL_IN_TEXT = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f]")


def printable_name(name: str) -> str:
    """Return a file name on one line; bytes that are not UTF-8 and control characters show as escapes."""
    text = os.fsencode(name).decode("utf-8", errors="backslashreplace")
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def printable_text(text: str) -> str:
    """Return text for a terminal; only line ends and tabs are left of the control characters."""
    return _CONTROL_IN_TEXT.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
