"""Where a page goes: whether it can be written there is found out before there is anything to write."""

from __future__ import annotations

import tempfile
from pathlib import Path

from headrace.errors import FailedPreconditionError
from headrace.io.atomic_file import AtomicFile

__all__ = ["check_can_be_written", "write_page"]


def check_can_be_written(path: Path) -> None:
    """Checks that a file can be written at ``path``, long before there is anything to write.

    Raises:
        FailedPreconditionError: the folder is missing or cannot be written, or ``path`` is a folder.

    Example:
        >>> check_can_be_written(Path(tempfile.mkdtemp()) / "report.html")
    """
    if path.is_dir():
        raise FailedPreconditionError(f"cannot write {path}: it is a folder; name a file in it")
    try:
        # Asking for permission is not enough (a read-only disk, a root user): a file without a name tells.
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise _cannot_write(path, error) from error


def write_page(path: Path, page: str) -> None:
    """Writes a page; the file appears when it is complete, and what stood there stays until then.

    Raises:
        FailedPreconditionError: the folder is missing or cannot be written, or ``path`` is a folder.
    """
    check_can_be_written(path)
    with AtomicFile(path) as file:
        file.write(page.encode())


def _cannot_write(path: Path, error: OSError) -> FailedPreconditionError:
    return FailedPreconditionError(f"cannot write {path}: {error.strerror or error}")
