"""Bring the index up to date beside everything else that a server does."""

import threading

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import fields, get_logger
from codeplane.workspace.workspace import Workspace

_log = get_logger(__name__)
# From here on indexing takes long enough to say how far it is.
_MANY_FILES = 500


class BackgroundIndexing:
    """Builds or refreshes the index in a thread of its own, so that the first question waits for less.

    Invariant: it starts once; told to stop, it ends at the next file, unless a call waits for the same update.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._is_stopping = False
        self._lock = threading.Lock()
        self.is_started = False
        self._last_step = 0
        self._error: CodePlaneError | None = None
        self.thread = threading.Thread(target=self._run, name="codeplane-index")

    def start(self) -> None:
        """Begin; a second time does nothing."""
        with self._lock:
            if not self.is_started and not self._is_stopping:
                self.is_started = True
                self.thread.start()

    def stop(self) -> None:
        """End soon, or never begin."""
        with self._lock:
            self._is_stopping = True

    def wait(self) -> CodePlaneError | None:
        """Return when it has ended, with what went wrong."""
        if self.is_started:
            self.thread.join()
        return self._error

    def _run(self) -> None:
        try:
            self._workspace.refresh_index(self._tell)
        except CodePlaneError as error:
            if self._is_stopping:
                return
            self._error = error
            _log.warning("the index could not be built yet", extra=fields(error=error.code, reason=error.message))

    def _tell(self, n_done: int, n_all: int) -> None:
        # An update that a call waits for is told here, too; that one goes on, so that the call has its answer.
        if self._is_stopping and threading.current_thread() is self.thread:
            raise CodePlaneError("SERVER_SHUTTING_DOWN")
        percent = 10 * int(10 * n_done / max(n_all, 1))
        if n_all >= _MANY_FILES and self._last_step < percent < 100:
            self._last_step = percent
            _log.info("indexing", extra=fields(percent=percent, files=n_all))
