"""A file that is whole or not there: written under a name of its own in the same folder, and renamed when it is complete.

What always holds.
- Nobody finds a part of it under its name, whatever ends the writing; what stood there before stays until then.
- What is not completed is removed: by ``abandon``, by an exception in the ``with`` block, or with the object.
- The file is the process's that opened it. One that is forked meanwhile has the object and what it has buffered as well: it
  neither writes, nor completes, nor removes the file, however it ends.
- Several processes may write the same file: the last one to complete it wins.
"""

from __future__ import annotations

import os
import secrets
import weakref
from contextlib import suppress
from typing import Any, BinaryIO, Final, cast

from headrace.errors import FailedPreconditionError
from headrace.io.files import path_of
from headrace.io.no_room import told_as_ours
from headrace.io.write_state import WholeOrNothing, WritePhase, WriteState

__all__ = ["AtomicFile"]


class AtomicFile(WholeOrNothing):
    """Writes one file, which appears under its name when it is complete.

    Args:
        path: where it will stand: a local path, whose folder is made, or an address with ``://`` that fsspec knows.

    Attributes:
        path: as it was given.
        is_parents: whether this process was forked from the one that opened it.

    Raises:
        ResourceExhaustedError: the disk is full.
        FailedPreconditionError: nothing can be written there.
        MissingExtraError: a package for the kind of address is missing.

    Example:
        >>> import pathlib, tempfile
        >>> from headrace.io.atomic_file import AtomicFile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.bin"
        >>> with AtomicFile(path) as file:
        ...     file.write(b"all of it")
        ...     path.exists()
        False
        >>> path.read_bytes()
        b'all of it'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path_of(path)
        name = f"{self.path}.{os.getpid()}-{secrets.token_hex(4)}.part"
        with told_as_ours(self.path):
            self._part: _Local | _Remote = _Remote(name) if "://" in name else _Local(name)
        self._file = self._part.file
        self._state = WriteState()
        self.is_parents = False
        self._removal = weakref.finalize(self, _remove, self._part, os.getpid())
        _OPEN.add(self)

    @property
    def is_open(self) -> bool:
        """Whether it is neither complete nor abandoned."""
        return self._state.is_open

    def write(self, data: Any) -> None:
        """Writes bytes, or anything that holds some."""
        self.check_owner()
        with told_as_ours(self.path):
            self._file.write(data)

    def tell(self) -> int:
        """Returns how many bytes were written."""
        return self._file.tell()

    def complete(self) -> None:
        """Gives the file its name; once it was called, or ``abandon`` was, it does nothing."""
        if not self.is_open:
            return
        try:
            self.check_owner()
            with told_as_ours(self.path):
                self._part.rename_to(self.path)
        except BaseException:
            self.abandon()
            raise
        self._removal.detach()
        _OPEN.discard(self)
        self._state.end(WritePhase.COMPLETE)

    def abandon(self) -> None:
        """Leaves nothing behind, unless the file is complete."""
        if self.is_open:
            self._removal()
            _OPEN.discard(self)
            self._state.end(WritePhase.ABANDONED)

    def leave_to_parent(self) -> None:
        """Lets the file go in a process that was just forked: nothing reaches it from here, whatever is still buffered."""
        self.is_parents = True
        self._part.let_go()

    def check_owner(self) -> None:
        """Refuses to go on in a process that was forked from the one that opened the file.

        Raises:
            FailedPreconditionError: this is such a process.
        """
        if self.is_parents:
            message = (
                "is being written by the process that this one was forked from; make a writer of its own in this one"
            )
            raise FailedPreconditionError(f"{self.path} {message}")


# What is being written in this process.
_OPEN: Final[weakref.WeakSet[AtomicFile]] = weakref.WeakSet()


def _leave_to_parent() -> None:
    for file in list(_OPEN):
        file.leave_to_parent()
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


class _Local:
    """The part of a local file."""

    def __init__(self, name: str) -> None:
        self._name = name
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        self.file: BinaryIO = open(name, "xb")  # noqa: SIM115 - who made this closes it

    def rename_to(self, path: str) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        os.replace(self._name, path)

    def let_go(self) -> None:
        _turn_away(self.file)

    def remove(self) -> None:
        with suppress(OSError):  # what is not written yet does not fit on a full disk either
            self.file.close()
        os.unlink(self._name)


class _Remote:
    """The part of a file of fsspec's."""

    def __init__(self, name: str) -> None:
        import fsspec

        self._system, self._name = fsspec.core.url_to_fs(name)
        self.file = cast(BinaryIO, self._system.open(self._name, "wb"))

    def rename_to(self, path: str) -> None:
        self.file.close()
        self._system.mv(self._name, self._system._strip_protocol(path))  # noqa: SLF001 - the name that fsspec documents

    def let_go(self) -> None:
        try:
            _turn_away(self.file)  # where it lies in a local file after all
        except (OSError, AttributeError, NotImplementedError):
            with suppress(AttributeError):  # of bytes in memory, which the processes do not share
                self.file.closed = True  # type: ignore[misc]  # or fsspec would complete it with the object

    def remove(self) -> None:
        with suppress(Exception):  # a remote file system raises what it likes
            self.file.close()
        self._system.rm(self._name)


def _turn_away(file: BinaryIO) -> None:
    """Has what a file still writes go nowhere; the parent's descriptor stays what it is."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, file.fileno(), inheritable=False)
    finally:
        os.close(nowhere)


def _remove(part: _Local | _Remote, process: int) -> None:
    if process != os.getpid():  # a forked process has the object, and the file is its parent's
        return
    with suppress(Exception):  # the disk may be full or the network gone: what ended the writing is what is told
        part.remove()
