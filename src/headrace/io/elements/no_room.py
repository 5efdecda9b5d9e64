"""What the operating system says where a file of elements cannot be written, as an error of ours that names the place."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from headrace.errors import FailedPreconditionError, HeadraceError, ResourceExhaustedError

__all__ = ["told_as_ours"]

# The disk is full, or this user's part of it, or the largest size that a process may write.
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def told_as_ours(place: Path, *, stage: str | None = None) -> Iterator[None]:
    """Turns an ``OSError`` into ours.

    Raises:
        ResourceExhaustedError: there is no room left.
        FailedPreconditionError: nothing can be written there.
    """
    try:
        yield
    except HeadraceError:
        raise  # some of ours are OSErrors as well
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno in _FULL:
            message = f"{place} cannot be written to its end: {why}; make room, or give another folder"
            raise ResourceExhaustedError(message, stage=stage) from error
        message = f"{place} cannot be written: {why}; look at its folder, its owner and its mode"
        raise FailedPreconditionError(message, stage=stage) from error
