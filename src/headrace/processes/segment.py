"""Memory that two processes share and that has no name: the kernel frees it when the last of them is gone, however it went."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import sys
from collections.abc import Callable
from typing import Final, Self

import numpy as np

from headrace.errors import MissingExtraError, ResourceExhaustedError
from headrace.reused_memory import Pages

__all__ = ["Segment", "refuse_this_system"]

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EDQUOT, errno.EFBIG})


def refuse_this_system() -> None:
    """Refuses a system on which no memory can be shared in this way.

    Raises:
        MissingExtraError: it is Windows.
    """
    if sys.platform == "win32":
        raise MissingExtraError(
            "processes of headrace's own need Linux or macOS: leave out executor=, which runs the pipeline in threads"
        )


class Segment:
    """One piece of shared memory.

    Args:
        descriptor: of the memory, which stays its caller's.
        nbytes: its size.
        is_shared: False keeps to this process what it writes there.

    Attributes:
        bytes: all of it (uint8).
        nbytes: its size.
        pages: the same memory, for a device that copies from it.
    """

    __slots__ = ("_mapped", "bytes", "nbytes", "pages")

    def __init__(self, descriptor: int, nbytes: int, *, is_shared: bool = True) -> None:
        access = mmap.ACCESS_WRITE if is_shared else mmap.ACCESS_COPY
        try:
            self._mapped = mmap.mmap(descriptor, nbytes, access=access)  # which has a descriptor of its own
        except OSError as error:
            raise _refused(nbytes, error) from error
        self.nbytes = nbytes
        self.bytes: np.ndarray = np.frombuffer(self._mapped, np.uint8)
        self.pages = Pages(self.bytes, are_own=True)

    @classmethod
    def made(cls, nbytes: int) -> tuple[Self, int]:
        """Returns new memory, all of whose pages are there, and a descriptor of it for whoever is to share it.

        Raises:
            ResourceExhaustedError: the system has no more memory or descriptors.
        """
        try:
            descriptor = _anonymous()
        except OSError as error:
            raise _refused(nbytes, error) from error
        try:
            os.ftruncate(descriptor, nbytes)
            if hasattr(os, "posix_fallocate"):  # or full memory would be a signal at the first byte that is written
                os.posix_fallocate(descriptor, 0, nbytes)
            return cls(descriptor, nbytes), descriptor
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError) and not isinstance(error, ResourceExhaustedError):
                raise _refused(nbytes, error) from error
            raise

    @classmethod
    def received(cls, descriptor: int, *, is_shared: bool = True) -> Self:
        """Returns the memory that another process made, of which this one was sent a descriptor, which it takes over."""
        try:
            return cls(descriptor, os.fstat(descriptor).st_size, is_shared=is_shared)
        finally:
            os.close(descriptor)


def _anonymous() -> int:
    create: Callable[[str], int] | None = getattr(os, "memfd_create", None)
    if create is not None:
        return create("headrace")
    import secrets
    from _posixshmem import shm_open, shm_unlink  # type: ignore[import-not-found]  # what multiprocessing itself is made of

    while True:
        name = f"/headrace-{secrets.token_hex(8)}"
        with contextlib.suppress(FileExistsError):
            descriptor: int = shm_open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode=0o600)
            shm_unlink(name)
            return descriptor


def _refused(nbytes: int, error: OSError) -> Exception:
    if error.errno not in _NO_ROOM:
        return error
    if error.errno in (errno.EMFILE, errno.ENFILE):
        instead = "raise its limit (ulimit -n), keep fewer large batches, or run in threads"
    else:
        instead = "give it less to hold (Options(ram_budget=)), or run in threads"
    return ResourceExhaustedError(
        f"the system gives no {nbytes / 2**20:.0f} MiB of shared memory to a process beside the trainer: {error.strerror}; {instead}"
    )
