"""The folder in which the programs of one user have their sockets, which nobody else may have.

It is ``headrace`` in the user's runtime folder (``XDG_RUNTIME_DIR``), and where there is none ``headrace-UID`` in the
temporary folder. A socket is named for its process, and has a few random letters, as containers may share a folder and have the same numbers.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from headrace.errors import FailedPreconditionError

__all__ = ["SUFFIX", "check_own", "folders", "own_folder", "pid_of", "remove_dead"]

SUFFIX: Final = ".sock"
_PATIENCE_S: Final = 1.0
_PRIVATE: Final = 0o700
_OF_OTHERS: Final = 0o077


def folders(environ: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """Yields the folders in which a socket of this user may be, the first of which is for new ones."""
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    # One that su or sudo left in the environment is another user's.
    if Path(runtime).is_absolute() and _is_own(Path(runtime)):
        yield Path(runtime) / "headrace"
    yield Path(tempfile.gettempdir()) / f"headrace-{os.geteuid()}"


def own_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Returns the folder for new sockets, which is made where it is not there.

    Raises:
        FailedPreconditionError: somebody else has it, or may write to it.
        OSError: it cannot be made.
    """
    folder = next(folders(environ))
    folder.mkdir(mode=_PRIVATE, exist_ok=True)
    check_own(folder)
    return folder


def check_own(folder: Path) -> None:
    """Refuses a folder that is not this user's alone.

    Raises:
        FailedPreconditionError: it is not.
        FileNotFoundError: there is none.
    """
    found = folder.lstat()  # a link leads wherever its maker wants
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise FailedPreconditionError(
            f"{folder} should be the folder of your pipelines' sockets, but is no folder of yours: remove it, or set XDG_RUNTIME_DIR"
        )
    if found.st_mode & _OF_OTHERS:
        raise FailedPreconditionError(
            f"{folder} has sockets of your pipelines, and others may use it: chmod 700 {folder}"
        )


def _is_own(folder: Path) -> bool:
    try:
        return folder.is_dir() and folder.stat().st_uid == os.geteuid()
    except OSError:
        return False


def remove_dead(folder: Path) -> None:
    """Removes what processes left that were killed, and the folder where nothing is left in it."""
    import socket  # what few need who only ask for the folder

    for path in folder.iterdir():
        pid = pid_of(path)
        if pid is not None and not _is_there(pid):  # as far as this container sees
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as one:
                one.settimeout(_PATIENCE_S)
                try:
                    one.connect(os.fspath(path))
                except ConnectionRefusedError:
                    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # somebody is in it
        folder.rmdir()


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


def pid_of(path: Path) -> int | None:
    """Returns the number of the process whose socket it is; None where the name tells none."""
    number = path.name.removeprefix(".").partition("-")[0]
    return int(number) if number.isdecimal() else None
