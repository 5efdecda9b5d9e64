"""Memory from which CUDA copies as it is, because it was told of it: that in which batches are made again and again.

A copy from other memory goes through pinned memory, which is a copy more. To tell CUDA of some takes a fraction of a millisecond for
each megabyte; so it is told when a second batch comes from the same memory, and never of what lies anywhere else: only of
headrace's own does anybody know when it goes.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from typing import Any, Final

import numpy as np

from headrace.reused_memory import Pages

__all__ = ["home_of", "is_locked"]

# Less is copied in a tenth of a millisecond.
_FEWEST_BYTES: Final = 256 << 10
_PORTABLE: Final = 1  # cudaHostRegisterPortable: for every device's context

_lock: Final = threading.Lock()


class _Forks:
    """Counts copies of the process: older kernels give either of the two new pages for those that the device knows, at the next write."""

    count = 0

    @classmethod
    def count_one(cls) -> None:
        cls.count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_parent=_Forks.count_one, after_in_child=_Forks.count_one)


def home_of(array: np.ndarray) -> Pages | None:
    """Returns the memory in which an array lies, if it may be locked: it is used again, and all of the array is there in one piece."""
    if array.nbytes < _FEWEST_BYTES or not array.flags.c_contiguous or not array.dtype.isnative:
        return None
    if not array.flags.writeable:  # PyTorch has no tensors that are read-only
        return None
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    home = getattr(owner, "home", None)
    return home if isinstance(home, Pages) and home.are_own else None


def is_locked(home: Pages) -> bool:
    """Returns whether CUDA copies from this memory as it is; it is told of it when it is asked for the second time."""
    with _lock:
        home.lots += 1
        leaving = home.leaving
        if isinstance(leaving, functools.partial) and leaving.args[1:] == (_Forks.count, os.getpid()):
            return True
        if home.lots < 2:
            return False
        if leaving is not None:
            _wait_for_copies()
            home.leaving = None
            leaving()
        address = home.bytes.ctypes.data
        if not _registered(address, home.bytes.nbytes):
            home.are_own = False  # whatever the reason is, it will be one again
            return False
        home.leaving = functools.partial(_unregister, address, _Forks.count, os.getpid())
        return True


def _registered(address: int, nbytes: int) -> bool:
    import torch

    if int(torch.cuda.cudart().cudaHostRegister(address, nbytes, _PORTABLE)) == 0:
        return True
    with contextlib.suppress(RuntimeError):  # the next kernel takes the error for its own, whoever starts it
        torch.zeros(1, device="cuda")
    return False


def _wait_for_copies() -> None:
    import torch

    torch.cuda.synchronize()


def _unregister(address: int, _: int, process: int) -> None:
    import torch

    if os.getpid() == process:
        torch.cuda.cudart().cudaHostUnregister(address)
