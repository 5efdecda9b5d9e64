"""A disk that is full: files below a folder take so many bytes more, and then writing is the system's own error.

``open`` is another function meanwhile, for this process; what a library writes by itself, in C, is not seen.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from headrace.errors import InvalidArgumentError
from headrace.testing.faults.arguments import an_int

__all__ = ["disk_full"]

_WRITING: Final = frozenset("wxa+")


@contextlib.contextmanager
def disk_full(folder: str | os.PathLike[str], *, after_bytes: int = 0, error: int = errno.ENOSPC) -> Iterator[None]:
    """Has the disk be full for the files below a folder, within a ``with`` block.

    It holds for files that this process opens with ``open``, in any thread: those of ``cache``, ``save`` and the writers of headrace are.

    Args:
        folder: the folder.
        after_bytes: how many bytes may be written before, to all files together. A write that comes to the end is made in part, as by the system.
        error: which error writing is then: ``errno.ENOSPC``, or ``errno.EDQUOT`` where a user's share is used up.

    Raises:
        InvalidArgumentError: an argument is of no use; says which.

    Example:
        >>> import tempfile, headrace as hr
        >>> from headrace.testing import faults
        >>> with tempfile.TemporaryDirectory() as folder, faults.disk_full(folder, after_bytes=1000):
        ...     try:
        ...         hr.Dataset.range(10_000).save(f"{folder}/numbers")
        ...     except hr.errors.ResourceExhaustedError as error:
        ...         print(str(error).partition("cannot ")[2])
        be written to its end: No space left on device; make room, or give another folder
    """
    an_int(after_bytes, "after_bytes", 0)
    if error not in errno.errorcode:
        raise InvalidArgumentError(f"error must be a number of the module errno, not {error!r}")
    before = builtins.open
    opened = _Disk(os.path.abspath(folder), _Room(after_bytes, error), before)  # noqa: PTH100 - links stay links
    builtins.open = io.open = opened  # pathlib has the second
    try:
        yield
    finally:
        builtins.open = io.open = before


class _Room:
    """How many bytes are left, for all files."""

    def __init__(self, left: int, error: int) -> None:
        self._left = left
        self._error = error
        self._lock = threading.Lock()

    def taken(self, nbytes: int) -> int:
        """Takes so many bytes, or what there is."""
        with self._lock:
            given = min(nbytes, self._left)
            self._left -= given
        if nbytes and not given:
            raise OSError(self._error, os.strerror(self._error))
        return given


class _File(io.FileIO):
    """A file on such a disk."""

    def __init__(self, room: _Room, *arguments: Any, **named: Any) -> None:
        self._room = room
        super().__init__(*arguments, **named)

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        return super().write(view[: self._room.taken(view.nbytes)]) or 0


class _Disk:
    """Opens files as ``open`` does."""

    def __init__(self, folder: str, room: _Room, before: Any) -> None:
        self._below = os.path.join(folder, "")  # noqa: PTH118 - a text that ends in a slash
        self._room = room
        self._before = before

    def __call__(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if not (_WRITING & set(mode) and self._holds(file)):
            return self._before(file, mode, buffering, encoding, errors, newline, closefd, opener)
        raw = _File(self._room, file, mode.translate({ord("b"): None, ord("t"): None}), closefd, opener)
        if buffering == 0 and "b" in mode:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)

    def _holds(self, file: Any) -> bool:
        return isinstance(file, (str, Path)) and os.path.abspath(file).startswith(self._below)  # noqa: PTH100 - as above
