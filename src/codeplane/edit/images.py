"""A file image: everything that an edit may change and undo must restore."""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_bytes

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_MODE = 0o666


@dataclass(frozen=True)
class FileImage:
    """A regular file, or a symlink whose target is its data; None means no file at all.

    `mode` is None for a file that is to get what the process gives new files. Owner and extended attributes are
    restored as far as the system allows.
    """

    data: bytes
    mode: int | None = None
    is_link: bool = False
    owner: tuple[int, int] | None = None
    attributes: tuple[tuple[str, bytes], ...] = ()

    @cached_property
    def sha256(self) -> str:
        """Return the digest of the data."""
        return sha256_bytes(self.data)

    def is_like(self, other: "FileImage | None") -> bool:
        """Tell whether both are the same kind of thing with the same data and, where both say so, the same mode."""
        if other is None or self.is_link != other.is_link or self.data != other.data:
            return False
        return self.is_link or None in {self.mode, other.mode} or self.mode == other.mode


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file as it is now, and how many names it has."""

    image: FileImage
    n_links: int


def read_file(directory: int, name: str) -> FoundFile | None:
    """Return what is at a name of an open directory, None when there is nothing.

    Raises:
        CodePlaneError: NOT_A_FILE for a directory or a device.
        OSError: it cannot be read.
    """
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(name, dir_fd=directory)
        return FoundFile(FileImage(os.fsencode(target), is_link=True), 1)
    if not stat.S_ISREG(status.st_mode):
        raise CodePlaneError("NOT_A_FILE", f"{name} is not a regular file.")
    descriptor = os.open(name, _READ, dir_fd=directory)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise CodePlaneError("NOT_A_FILE", f"{name} is not a regular file.")
        image = FileImage(
            data=file.readall(),
            mode=stat.S_IMODE(status.st_mode),
            owner=(status.st_uid, status.st_gid),
            attributes=_attributes(descriptor),
        )
    return FoundFile(image, status.st_nlink)


def write_file(directory: int, name: str, image: FileImage) -> None:
    """Make a new file from an image, durable when this returns.

    Raises:
        OSError: it cannot be written; a partial file is removed.
    """
    if image.is_link:
        os.symlink(os.fsdecode(image.data), name, dir_fd=directory)
        return
    descriptor = os.open(name, _WRITE, _NEW_MODE if image.mode is None else 0o600, dir_fd=directory)
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            view = memoryview(image.data)
            while view:
                view = view[file.write(view) :]
            _apply_metadata(descriptor, image)
            os.fsync(descriptor)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=directory)
        raise


def _apply_metadata(descriptor: int, image: FileImage) -> None:
    """Give a file its owner, attributes and mode; what needs privileges stays as it is."""
    if image.owner is not None:
        status = os.fstat(descriptor)
        if (status.st_uid, status.st_gid) != image.owner:
            with suppress(PermissionError):
                os.fchown(descriptor, *image.owner)
    for name, value in image.attributes:
        with suppress(OSError):
            os.setxattr(descriptor, name, value)
    if image.mode is not None:
        # Last, because changing the owner clears special bits.
        os.fchmod(descriptor, image.mode)


def _attributes(descriptor: int) -> tuple[tuple[str, bytes], ...]:
    if not hasattr(os, "listxattr"):
        return ()
    try:
        return tuple((name, os.getxattr(descriptor, name)) for name in sorted(os.listxattr(descriptor)))
    except OSError:
        # A file system without them.
        return ()
