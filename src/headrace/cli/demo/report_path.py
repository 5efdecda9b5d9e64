"""Whether the report can be written, found out before the first step of the demo."""

from __future__ import annotations

import tempfile
from pathlib import Path

from headrace.errors import FailedPreconditionError

__all__ = ["check_report_path"]


def check_report_path(path: Path) -> None:
    """Checks that a file can be written at ``path``, long before there is anything to write.

    Raises:
        FailedPreconditionError: the folder is missing or cannot be written, or ``path`` is a folder.

    Example:
        >>> check_report_path(Path(tempfile.mkdtemp()) / "report.html")
    """
    if path.is_dir():
        raise FailedPreconditionError(f"cannot write {path}: it is a folder; name a file in it")
    try:
        # Asking for permission is not enough (a read-only disk, a root user): a file without a name tells.
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> FailedPreconditionError:
    return FailedPreconditionError(f"cannot write {path}: {error.strerror or error}")
