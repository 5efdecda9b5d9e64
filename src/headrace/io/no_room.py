"""What the operating system says where a file cannot be written, or no more files be opened, as an error of ours that names the place."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from headrace.errors import FailedPreconditionError, HeadraceError, MissingExtraError, ResourceExhaustedError

__all__ = ["no_more_files", "told_as_ours"]

# The disk is full, or this user's part of it, or the largest size that a process may write.
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_DESCRIPTORS: Final = (errno.EMFILE, errno.ENFILE)


def no_more_files(error: OSError, path: object) -> ResourceExhaustedError | None:
    """Returns the error where this process, or the system, may have no more files open; None where something else is wrong."""
    if error.errno not in _NO_DESCRIPTORS:
        return None
    return ResourceExhaustedError(
        f"{path} cannot be opened: {error.strerror}; raise the limit of descriptors (ulimit -n), or read fewer files at once (cycle_length)"
    )


@contextmanager
def told_as_ours(place: object, *, stage: str | None = None) -> Iterator[None]:
    """Turns an ``OSError``, or an ``ImportError``, into ours.

    Raises:
        ResourceExhaustedError: there is no room left.
        FailedPreconditionError: nothing can be written there.
        MissingExtraError: what knows this kind of address is not installed.

    Example:
        >>> import errno
        >>> from headrace.io.no_room import told_as_ours
        >>> with told_as_ours("a.bin"):
        ...     raise OSError(errno.ENOSPC, "No space left on device")
        Traceback (most recent call last):
            ...
        headrace.errors.ResourceExhaustedError: a.bin cannot be written to its end: No space left on device; make room, or give another folder
    """
    try:
        yield
    except HeadraceError:
        raise  # some of ours are OSErrors as well
    except ImportError as error:
        raise MissingExtraError(f"{place} needs a package for its kind of address: {error}", stage=stage) from error
    except OSError as error:
        if error.errno is None:  # not the system's: somebody's own, raised while the file was open
            raise
        why = error.strerror or str(error)
        if error.errno in _FULL:
            message = f"{place} cannot be written to its end: {why}; make room, or give another folder"
            raise ResourceExhaustedError(message, stage=stage) from error
        message = f"{place} cannot be written: {why}; look at its folder, its owner and its mode"
        raise FailedPreconditionError(message, stage=stage) from error
