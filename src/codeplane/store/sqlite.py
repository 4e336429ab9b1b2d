"""Open, lock and migrate one SQLite file that several threads and processes share."""

import errno
import queue
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from codeplane.core.errors import CodePlaneError


@dataclass(frozen=True, slots=True)
class Schema:
    """How a file gets from empty to current: script N brings version N to N + 1; `backs_up` copies the file first."""

    name: str
    migrations: tuple[str, ...]
    backs_up: bool = False


class Database:
    """One SQLite file in WAL mode.

    Invariant: at most one writer at a time over all threads and processes. Writers queue on an operating-system lock
    before they open a transaction, because SQLite's own busy handler lets parallel writers starve.
    """

    def __init__(self, path: Path, schema: Schema, *, durable: bool, lock_timeout: float = 30.0) -> None:
        self.path = path
        self._schema = schema
        self._synchronous = "FULL" if durable else "NORMAL"
        self._lock_timeout = lock_timeout
        self._thread_lock = threading.RLock()
        self._process_lock = FileLock(f"{path}.lock", thread_local=False)
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._closed = False
        self._writer = self._open()
        self._inode = path.stat().st_ino

    def _open(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._locked():
                return self._connect_and_migrate()
        except sqlite3.DatabaseError as error:
            raise store_error(error, self.path) from error
        except OSError as error:
            message = f"{self.path.name} cannot be opened: {error.strerror or error}"
            code = "DISK_FULL" if is_disk_full(error) else "DATABASE_UNAVAILABLE"
            raise CodePlaneError(code, message) from error

    def _connect_and_migrate(self) -> sqlite3.Connection:
        connection = self._connect()
        try:
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=5.0, check_same_thread=False, isolation_level=None)
        connection.row_factory = sqlite3.Row
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={self._synchronous}")
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute("PRAGMA cell_size_check=ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(self._schema.migrations):
            raise CodePlaneError(
                "MIGRATION_FAILED",
                f"{self.path.name} has schema {version}; this CodePlane knows up to {len(self._schema.migrations)}",
            )
        if self._schema.backs_up and 0 < version < len(self._schema.migrations):
            self._back_up(connection, version)
        for number, script in enumerate(self._schema.migrations[version:], start=version + 1):
            connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version={number};\nCOMMIT;")

    def _back_up(self, connection: sqlite3.Connection, version: int) -> None:
        target = sqlite3.connect(self.path.with_name(f"{self.path.name}.v{version}.bak"))
        try:
            connection.backup(target)
        finally:
            target.close()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._thread_lock:
            try:
                acquired = self._process_lock.acquire(timeout=self._lock_timeout)
            except Timeout as error:
                raise CodePlaneError("STORE_BUSY", f"{self.path.name} is held by another process") from error
            with acquired:
                yield

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give the writing connection inside one transaction; commit at the end, roll back on any exception."""
        with self._locked():
            self.check_file()
            connection = self._writer
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise store_error(error, self.path) from error

    def check_file(self) -> None:
        """Refuse to write into a file that was deleted or replaced: the rows would be lost."""
        try:
            inode = self.path.stat().st_ino
        except OSError:
            inode = None
        if inode != self._inode:
            hint = "Start CodePlane again; it then uses the current file."
            raise CodePlaneError("DATABASE_UNAVAILABLE", f"{self.path.name} was removed while in use.", hint=hint)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a reading connection; readers neither wait for writers nor hold them up."""
        connection = self._reader()
        try:
            yield connection
        except sqlite3.Error as error:
            connection.close()
            raise store_error(error, self.path) from error
        except BaseException:
            connection.close()
            raise
        if self._closed:
            connection.close()
        else:
            self._readers.put(connection)

    def _reader(self) -> sqlite3.Connection:
        try:
            return self._readers.get_nowait()
        except queue.Empty:
            pass
        try:
            return self._connect()
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error

    def problems(self) -> tuple[str, ...]:
        """Return what SQLite's own integrity check finds; empty when the file is sound."""
        try:
            with self.read() as connection:
                rows = [str(row[0]) for row in connection.execute("PRAGMA quick_check(10)")]
        except CodePlaneError as error:
            # Some damage stops the check itself.
            if error.code != "STORE_CORRUPT":
                raise
            return (error.message,)
        return tuple(row for row in rows if row != "ok")

    def compact(self) -> None:
        """Rewrite the file without deleted content and empty the write-ahead log."""
        with self._locked():
            self.check_file()
            try:
                self._writer.execute("VACUUM")
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                raise store_error(error, self.path) from error

    def close(self) -> None:
        """Close every connection that is not in use."""
        self._closed = True
        with self._thread_lock:
            self._writer.close()
        while True:
            try:
                self._readers.get_nowait().close()
            except queue.Empty:
                return


def store_error(error: sqlite3.Error, path: Path) -> CodePlaneError:
    """Translate an SQLite error into a code of the registry."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return CodePlaneError("STORE_CORRUPT", f"{path.name} is damaged: {error}", details={"file": path.name})
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return CodePlaneError("STORE_BUSY", f"{path.name} is busy: {error}")
    if name.startswith("SQLITE_FULL"):
        return CodePlaneError("DISK_FULL", f"{path.name} could not be written: {error}")
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_IOERR")):
        return CodePlaneError("DATABASE_UNAVAILABLE", f"{path.name} cannot be used: {error}")
    if isinstance(error, sqlite3.ProgrammingError) and "closed database" in str(error):
        # It was closed for good while a call was still at work; the file is sound.
        return CodePlaneError("SERVER_SHUTTING_DOWN", f"{path.name} is closed: the server stops.")
    return CodePlaneError("QUERY_FAILED", f"{path.name}: {error}")


def is_disk_full(error: OSError) -> bool:
    """Tell whether the operating system ran out of space or quota."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT}
