"""What the system says of many files at once; when they are many, a second process asks for half of them.

Asking is most of what a pass over an unchanged tree costs, and one interpreter cannot ask on two cores.
"""

import marshal
import os
import sys
import threading
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import fields, get_logger
from codeplane.core.messages import serve
from codeplane.core.processes import WorkerGoneError, WorkerProcess

_log = get_logger(__name__)
Stamp = tuple[int, int, int, int, int, int]
"""Times of content and of attributes, size, inode, device, mode."""
# Below so many places a second process takes longer to wake than it saves.
MANY_PLACES: Final = 2000
_PATIENCE_S: Final = 30.0
_READ: Final = b"read"
_NOTHING: Final = marshal.dumps([])
_STAMP_OF: Final = attrgetter("st_mtime_ns", "st_ctime_ns", "st_size", "st_ino", "st_dev", "st_mode")


def stamp_of(place: str) -> Stamp:
    """Return the stamp of what is at a place, of a link and not of its target.

    Raises:
        OSError: nothing is there, or it cannot be asked for.
    """
    return _STAMP_OF(os.lstat(place))


class Stamps:
    """The stamps of a list of places, read again and again.

    Invariant: `values` are those of the last reading, None for what could not be read. Whatever becomes of the second
    process, every place is read; it is asked only while it knows the second half of these very places.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._helper: WorkerProcess | None = None
        self._introduction: threading.Thread | None = None
        self._introduced: list[str] = []
        self._may_help = True
        self.places: list[str] = []
        self.values: list[Stamp | None] = []

    @property
    def is_shared(self) -> bool:
        """Tell whether a second process knows its half."""
        return self._helper is not None and self._introduced is self.places and self._may_help

    def arrange(self, places: list[str], values: list[Stamp | None]) -> None:
        """Take other places, and what was just read there."""
        self.places, self.values = places, values

    def read(self) -> list[int]:
        """Read them all; return the numbers of those that are not as they were."""
        helper = self._asked_helper()
        if helper is None:
            return self._take(0, read_stamps(self.places))
        n_mine = len(self.places) // 2
        try:
            changed = self._take(0, read_stamps(self.places[:n_mine]))
        except BaseException:
            # Its answer would be taken for that to the next question.
            self.close()
            raise
        theirs = self._received(helper)
        if theirs is None:
            return changed + self._take(n_mine, read_stamps(self.places[n_mine:]))
        for number, value in theirs:
            if self.values[n_mine + number] != value:
                self.values[n_mine + number] = value
                changed.append(n_mine + number)
        return changed

    def close(self) -> None:
        """End the second process."""
        self._may_help = False
        if self._helper is not None:
            self._helper.end()
        if self._introduction is not None:
            self._introduction.join()
        helper, self._helper = self._helper, None
        if helper is not None:
            helper.close()

    def _take(self, start: int, found: list[Stamp | None]) -> list[int]:
        before = self.values[start : start + len(found)]
        if found == before:
            return []
        self.values[start : start + len(found)] = found
        return [start + number for number in _differing(before, found)]

    def _asked_helper(self) -> WorkerProcess | None:
        """Return the second process after it was told to read its half; None while there is none that knows it.

        It is told of new places at the second reading, in the background: most processes read but once.
        """
        if len(self.places) < MANY_PLACES or not self._may_help:
            return None
        if self._introduction is not None and self._introduction.is_alive():
            return None
        helper = self._helper
        if helper is None or not self.is_shared:
            self._introduction = threading.Thread(target=self._introduce, args=(self.places,), daemon=True)
            self._introduction.start()
            return None
        try:
            helper.send(_READ)
        except WorkerGoneError:
            self._do_without()
            return None
        return helper

    def _introduce(self, places: list[str]) -> None:
        try:
            if self._helper is None:
                argv = (sys.executable, "-P", "-m", "codeplane.index.stamps")
                self._helper = WorkerProcess(argv, self._directory)
            self._helper.ask(marshal.dumps(places[len(places) // 2 :]), _PATIENCE_S)
            self._introduced = places
        except (WorkerGoneError, CodePlaneError):
            self._may_help = False

    def _received(self, helper: WorkerProcess) -> list[tuple[int, Stamp | None]] | None:
        try:
            answer: list[tuple[int, Stamp | None]] = marshal.loads(helper.receive(_PATIENCE_S))  # noqa: S302 - our own
        except (WorkerGoneError, ValueError, EOFError, TypeError):
            self._do_without()
            return None
        return answer

    def _do_without(self) -> None:
        _log.warning("the process that reads half of the stamps is gone", extra=fields(places=len(self.places)))
        self.close()


def read_stamps(places: Sequence[str]) -> list[Stamp | None]:
    """Return the stamps of some places, None for what cannot be read."""
    try:
        return list(map(_STAMP_OF, map(os.lstat, places)))
    except OSError:
        return [_stamp_or_none(place) for place in places]


def _stamp_or_none(place: str) -> Stamp | None:
    try:
        return stamp_of(place)
    except OSError:
        return None


def _differing(before: Sequence[Stamp | None], after: Sequence[Stamp | None]) -> list[int]:
    return [number for number, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]


class _Half:
    """What the second process knows: its places, and what it answered last."""

    def __init__(self) -> None:
        self._places: list[str] = []
        self._values: list[Stamp | None] = []

    def answer(self, message: bytes) -> bytes:
        """Take places, or read them and answer what differs; the first time that is everything."""
        if message != _READ:
            self._places, self._values = marshal.loads(message), []  # noqa: S302 - from the process that started this one
            return b""
        before, self._values = self._values, read_stamps(self._places)
        if before == self._values:
            return _NOTHING
        numbers = _differing(before, self._values) if before else range(len(self._values))
        return marshal.dumps([(number, self._values[number]) for number in numbers])


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer, _Half().answer)
