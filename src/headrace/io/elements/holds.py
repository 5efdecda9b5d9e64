"""Who uses a run of a saved dataset: its writer, and everybody who reads it. Whoever removes a run asks here first.

A hold is the file ``<run>.lock`` beside the run's folder, open, and locked for several together by the operating system. So it ends
with the process that has it, however that ends, and a forked process shares it. On Windows, where a file that somebody
has open can be neither renamed nor removed, to have it open is enough.

What always holds.
- The lock is held before the run's folder is there, and until the folder's metadata name the run.
- A run is removed by somebody who has its lock alone, and has then seen that the metadata name another.
"""

from __future__ import annotations

import os
import shutil
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from headrace.io.no_room import told_as_ours
from headrace.known_as import known_as

if sys.platform != "win32":
    import fcntl

__all__ = ["Hold", "held_run", "hold_new_run", "remove_if_unheld"]


@known_as("hold of a saved run")
class Hold:
    """A run that nobody removes while this lives, or until ``release``."""

    def __init__(self, folder: Path, run: str, file: int) -> None:
        self._place = (folder, run)
        self.release: Callable[[], Any] = weakref.finalize(self, os.close, file)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process holds it by itself.
        return held_run, self._place

    def __headrace_fingerprint__(self) -> str:
        return "who holds a file changes nothing in it"


def hold_new_run(folder: Path, run: str) -> Hold:
    """Holds a run that is about to be written, before there is anything of it.

    Raises:
        FailedPreconditionError: nothing can be written in the folder.
    """
    path = _lock_of(folder, run)
    while True:
        with told_as_ours(path):
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        _share(file)
        # Somebody who clears up may have taken it, just made, for a lock that was left.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(file)):
                return Hold(folder, run, file)
        os.close(file)


def held_run(folder: Path, run: str) -> Hold | None:
    """Holds a run to read it; None where it is gone, or where nobody can hold it. Then look at the metadata once more."""
    try:
        file = os.open(_lock_of(folder, run), os.O_RDONLY)
    except OSError:
        return None
    _share(file)
    return Hold(folder, run, file)


def remove_if_unheld(folder: Path, run: str, is_named: Callable[[], bool], *, was_replaced: bool) -> None:
    """Removes a run with all that belongs to it, unless somebody holds it or the metadata name it; says nothing either way.

    Args:
        folder: where it is.
        run: its name.
        is_named: whether the metadata name it now.
        was_replaced: whether it is the one that the metadata named until now. Where the file system has no locks, nobody
            knows who writes or reads, and only this one goes.
    """
    with suppress(OSError):
        if sys.platform == "win32":
            _remove_renamed(folder, run, is_named)
            return
        file = os.open(_lock_of(folder, run), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if _is_alone(file, otherwise=was_replaced) and not is_named():
                _remove(folder, run)
                os.unlink(_lock_of(folder, run))
        finally:
            os.close(file)


def _remove_renamed(folder: Path, run: str, is_named: Callable[[], bool]) -> None:
    """Renames and removes what nobody has open, where open files cannot be renamed."""
    lock, aside = _lock_of(folder, run), folder / f"{run}.gone"
    lock.touch()
    os.replace(lock, aside)
    if is_named():
        os.replace(aside, lock)
        return
    _remove(folder, run)
    os.unlink(aside)


def _remove(folder: Path, run: str) -> None:
    shutil.rmtree(folder / run, ignore_errors=True)
    (folder / f"{run}.json.part").unlink(missing_ok=True)


def _lock_of(folder: Path, run: str) -> Path:
    return folder / f"{run}.lock"


def _share(file: int) -> None:
    if sys.platform != "win32":
        # Whoever has it alone has it for as long as it takes to look, or to remove what is gone then.
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_SH)


def _is_alone(file: int, *, otherwise: bool) -> bool:
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return otherwise
    return True
