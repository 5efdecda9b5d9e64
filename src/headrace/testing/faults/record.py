"""What of a fault has happened, in a file: a process that is killed forgets, and others know nothing of it.

Each entry is appended by one write, which the system puts at the end of the file as a whole, whoever else writes. Its place among the others
says what came before it, so nobody needs a lock, which a process that is killed would keep.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from pathlib import Path
from typing import Final

from headrace.errors import FailedPreconditionError

__all__ = ["ENTRY_BYTES", "Record"]

ENTRY_BYTES: Final = 16


class Record:
    """A file of entries.

    Args:
        path: the file, which is made where it is not there, and stays; None is a temporary one, which goes with this object.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        if path is None:
            descriptor, self._path = tempfile.mkstemp(prefix="headrace-faults-")
            os.close(descriptor)
            weakref.finalize(self, _remove, self._path, os.getpid())
        else:
            self._path = str(Path(path).absolute())
            Path(self._path).touch()

    def __reduce__(self) -> tuple[object, ...]:
        return _elsewhere, (self._path,)

    def add(self, entry: bytes) -> int:
        """Adds an entry; returns how many stand before it.

        Raises:
            FailedPreconditionError: the file is gone.
        """
        return self._added(entry) // ENTRY_BYTES

    def add_equal(self, entry: bytes) -> int:
        """Adds an entry; returns how many that are equal stand before it; raises as ``add`` does."""
        end = self._added(entry)
        before = Path(self._path).read_bytes()[:end]
        return sum(before[at : at + ENTRY_BYTES] == entry for at in range(0, len(before), ENTRY_BYTES))

    def _added(self, entry: bytes) -> int:
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        except FileNotFoundError:
            raise FailedPreconditionError(
                f"the record of a fault, {self._path}, is gone: keep the dataset, or give record= a file of your own"
            ) from None
        try:
            os.write(descriptor, entry)
            return os.lseek(descriptor, 0, os.SEEK_CUR) - ENTRY_BYTES
        finally:
            os.close(descriptor)


def _elsewhere(path: str) -> Record:
    """Returns the record in another process, which does not own it."""
    record = Record.__new__(Record)
    record._path = path  # noqa: SLF001 - its own
    return record


def _remove(path: str, owner: int) -> None:
    if os.getpid() == owner:  # and no fork of it
        with contextlib.suppress(OSError):
            Path(path).unlink()
