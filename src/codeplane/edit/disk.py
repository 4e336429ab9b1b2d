"""The file-system operations of the editor, each atomic; fault tests replace them."""

import ctypes
import errno
import os
import sys
from typing import Final

from codeplane.edit.directories import Place
from codeplane.edit.images import FileImage, write_file

_EXCHANGE: Final = 2
_MAC_SWAP: Final = 2
# Errors that mean two names cannot be exchanged here, so the fallback is needed.
_UNSUPPORTED: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


class ExchangeUnsupportedError(Exception):
    """The file system or the kernel cannot exchange two names."""


class Disk:
    """Real files."""

    def stage(self, place: Place, image: FileImage) -> None:
        """Write a new staged file, durable when this returns."""
        write_file(*place, image)

    def create(self, staged: Place, place: Place) -> None:
        """Give a staged file its name unless the name is taken.

        Raises:
            FileExistsError: there is.
        """
        try:
            os.link(
                staged.name, place.name, src_dir_fd=staged.directory, dst_dir_fd=place.directory, follow_symlinks=False
            )
        except OSError as error:
            if error.errno not in {*_UNSUPPORTED, errno.EPERM, errno.EMLINK}:
                raise
            # No hard links on this file system: check and rename are not one step there.
            if _exists(place):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), place.name) from error
            self.move(staged, place)
            return
        os.unlink(staged.name, dir_fd=staged.directory)

    def exchange(self, staged: Place, place: Place) -> None:
        """Exchange two names in one step, so the replaced file can be checked and put back.

        Raises:
            ExchangeUnsupportedError: not supported here.
        """
        arguments = (staged.directory, os.fsencode(staged.name), place.directory, os.fsencode(place.name))
        if _RENAME is None:
            raise ExchangeUnsupportedError
        if _RENAME(*arguments, _EXCHANGE if sys.platform != "darwin" else _MAC_SWAP) != 0:
            number = ctypes.get_errno()
            if number in _UNSUPPORTED:
                raise ExchangeUnsupportedError
            raise OSError(number, os.strerror(number), place.name)

    def move(self, source: Place, target: Place) -> None:
        """Rename, replacing any existing file."""
        os.rename(source.name, target.name, src_dir_fd=source.directory, dst_dir_fd=target.directory)

    def remove(self, place: Place) -> None:
        """Remove a file that may already be gone."""
        try:
            os.unlink(place.name, dir_fd=place.directory)
        except FileNotFoundError:
            return

    def sync(self, directory: int) -> None:
        """Make the names of a directory durable."""
        os.fsync(directory)


def _exists(place: Place) -> bool:
    try:
        os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _find_rename() -> "ctypes._NamedFuncPointer | None":
    library = ctypes.CDLL(None, use_errno=True)
    function = getattr(library, "renameatx_np" if sys.platform == "darwin" else "renameat2", None)
    if function is not None:
        function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return function


_RENAME: Final = _find_rename()
