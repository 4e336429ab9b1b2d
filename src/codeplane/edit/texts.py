"""A file's bytes as text, such that every unedited byte survives.

Text is worked on with line feeds only; encoding, byte order mark and the ending of each line are remembered. Bytes that
are not valid in their encoding become lone surrogates and come back as they were.
"""

import codecs
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import add
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.line_matching import matching_blocks

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SNIFF: Final = 8192


@dataclass(frozen=True)
class SourceFile:
    """A text file.

    `lines` are without their endings, `endings` say what each ended with; the last one may be empty.
    """

    encoding: str
    mark: bytes
    lines: tuple[str, ...]
    endings: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        """Return the whole text with line feeds."""
        return "".join(line + ("\n" if ending else "") for line, ending in zip(self.lines, self.endings, strict=True))

    @cached_property
    def starts(self) -> list[int]:
        """Return where each line starts in `text`, and where the text ends."""
        return list(
            accumulate((len(line) + bool(end) for line, end in zip(self.lines, self.endings, strict=True)), initial=0)
        )

    @property
    def line_ending(self) -> str:
        """Return LF, CRLF, mixed or none."""
        found = set(self.endings) - {""}
        if len(found) > 1:
            return "mixed"
        return {"\n": "LF", "\r\n": "CRLF"}.get(next(iter(found), ""), "none")

    def line_at(self, offset: int) -> int:
        """Return the number of the line at an offset of the text, from 1."""
        return max(1, min(bisect_right(self.starts, offset), len(self.lines)))

    @cached_property
    def raw(self) -> str:
        """Return the whole text with its own endings."""
        return "".join(map(add, self.lines, self.endings))

    @cached_property
    def _raw_starts(self) -> list[int]:
        return list(accumulate(map(len, map(add, self.lines, self.endings)), initial=0))

    def raw_offset(self, offset: int) -> int:
        """Return where an offset of `text` is in `raw`."""
        line = bisect_right(self.starts, offset) - 1
        return self._raw_starts[line] + offset - self.starts[line]

    def encode(self, raw: str) -> bytes:
        """Return a text with its endings in this file's encoding.

        Raises:
            CodePlaneError: INVALID_ARGUMENTS when the encoding cannot represent it.
        """
        try:
            errors = "surrogateescape" if self.encoding == "utf-8" else "surrogatepass"
            return self.mark + raw.encode(self.encoding, errors)
        except UnicodeEncodeError as error:
            message = f"The new text cannot be written in {self.encoding}: {error}."
            raise CodePlaneError("INVALID_ARGUMENTS", message) from error


def read_text(data: bytes) -> SourceFile:
    """Return the text of a file.

    Raises:
        CodePlaneError: FILE_BINARY when it is not text.
    """
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    body = data[len(mark) :]
    if encoding == "utf-8" and b"\0" in body[:_SNIFF]:
        raise CodePlaneError("FILE_BINARY", "The file is not text; it can only be replaced as a whole.")
    try:
        text = body.decode(encoding, "surrogateescape" if encoding == "utf-8" else "surrogatepass")
    except UnicodeDecodeError as error:
        raise CodePlaneError("FILE_BINARY", f"The file claims to be {encoding}, but is not: {error}.") from error
    lines, endings = split_lines(text)
    return SourceFile(encoding, mark, tuple(lines), tuple(endings))


def split_lines(text: str) -> tuple[list[str], list[str]]:
    """Return lines and their endings; a lone carriage return does not end a line."""
    lines, endings = [], []
    for line in text.split("\n"):
        is_crlf = line.endswith("\r")
        lines.append(line[:-1] if is_crlf else line)
        endings.append("\r\n" if is_crlf else "\n")
    if lines[-1] == "" and endings[-1] == "\n":
        lines.pop()
        endings.pop()
    elif endings:
        # The text after the last line feed has no ending; a carriage return there belongs to the line.
        if endings[-1] == "\r\n":
            lines[-1] += "\r"
        endings[-1] = ""
    return lines, endings


def endings_for(old_lines: list[str], old_endings: list[str], new_lines: list[str], usual: str) -> list[str]:
    """Return the endings of lines that replace others: an unchanged line keeps its own, others get the usual one."""
    kinds = set(old_endings) - {""}
    if len(kinds) <= 1:
        return [next(iter(kinds), usual)] * len(new_lines)
    endings = [old_endings[0] or usual] * len(new_lines)
    for old, new, size in matching_blocks(old_lines, new_lines):
        for step in range(size):
            endings[new + step] = old_endings[old + step] or usual
    return endings
