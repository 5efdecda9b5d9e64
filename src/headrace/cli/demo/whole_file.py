"""A file that appears complete or not at all.

It is written under another name in the same folder and renamed when it is whole. Whatever stops the writing,
Ctrl-C included, takes the unfinished file away.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from headrace.errors import FailedPreconditionError
from headrace.io.no_room import told_as_ours

__all__ = ["check_folder_takes_files", "whole_file"]


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Open a text file for writing that takes its name only when the block ends well.

    Args:
        path: where the file shall be; one that is there already is replaced.

    Raises:
        FailedPreconditionError: the folder is missing or cannot be written.
        ResourceExhaustedError: the disk is full.

    Example:
        >>> target = Path(tempfile.mkdtemp()) / "greeting.txt"
        >>> with whole_file(target) as file:
        ...     _ = file.write("hello")
        ...     target.exists()
        False
        >>> target.read_text()
        'hello'
    """
    # The process id keeps two demos in one folder apart; no pattern of ours matches the name.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        file = unfinished.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        with told_as_ours(path):
            with file:
                yield file
            unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def check_folder_takes_files(path: Path) -> None:
    """See that a file can be written at ``path``, long before there is anything to write.

    Raises:
        FailedPreconditionError: the folder is missing or cannot be written, or ``path`` is a folder.

    Example:
        >>> check_folder_takes_files(Path(tempfile.mkdtemp()) / "report.html")
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
