"""Folders that are whole whenever they have their name: written beside and renamed, renamed away and deleted.

    .best.part   is being written, or deleted
    .best.old    the folder before, where the file system cannot exchange two names at once

``recover`` puts right what a kill left between two of these steps. Whoever calls it is the only one who writes there.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["recover", "removed", "written_whole"]

_AT_THE_WORKING_FOLDER: Final = -100  # AT_FDCWD
_EXCHANGE: Final = 2  # RENAME_EXCHANGE


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yields an empty folder to write into, which gets the name ``path`` when the block ends, and replaces what had it.

    There is no moment in which neither the old nor the new folder is there. Where the block fails, nothing is left of it.
    """
    beside = _beside(path)
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        yield beside
        _put(beside, path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


def _put(beside: Path, path: Path) -> None:
    if not path.exists():
        beside.rename(path)
    elif not _exchanged(beside, path):
        old = path.with_name(f".{path.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        path.rename(old)
        beside.rename(path)
        shutil.rmtree(old, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Returns whether two names could be exchanged at once, which Linux can on most of its file systems."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        return False
    names = (_AT_THE_WORKING_FOLDER, os.fsencode(one), _AT_THE_WORKING_FOLDER, os.fsencode(other))
    if rename(*names, _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}:
        return False
    raise OSError(number, os.strerror(number), str(other))


def removed(path: Path) -> None:
    """Deletes a folder, which loses its name first."""
    beside = _beside(path)
    shutil.rmtree(beside, ignore_errors=True)
    path.rename(beside)
    shutil.rmtree(beside, ignore_errors=True)


def recover(folder: Path, names: str = "*") -> None:
    """Puts right what a kill left in a folder: no part stays, and what was put aside comes back if nothing took its place."""
    for old in folder.glob(f".{names}.old"):
        path = old.with_name(old.name.removeprefix(".").removesuffix(".old"))
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(path)
    for part in folder.glob(f".{names}.part"):
        shutil.rmtree(part, ignore_errors=True)
