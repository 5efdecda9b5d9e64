"""What a process beside the trainer needs of the system's descriptors, and what is said where there are none left."""

from __future__ import annotations

import os
from collections.abc import Iterable

from headrace.errors import ResourceExhaustedError

__all__ = ["copied", "refused_by_system"]


def refused_by_system(what: str, error: OSError) -> ResourceExhaustedError:
    """Returns the error for a descriptor that the system does not give."""
    return ResourceExhaustedError(
        f"the system gives no {what} to a process beside the trainer: {error.strerror}; raise the limit of descriptors (ulimit -n), "
        "have fewer at once, or run in threads"
    )


def copied(descriptors: Iterable[int]) -> tuple[int, ...]:
    """Returns copies, which the caller closes: all of them or none.

    Raises:
        ResourceExhaustedError: this process may have no more descriptors.
    """
    copies: list[int] = []
    try:
        for descriptor in descriptors:
            copies.append(os.dup(descriptor))  # noqa: PERF401 - what was copied is closed when the next one fails
    except OSError as error:
        for copy in copies:
            os.close(copy)
        raise refused_by_system("descriptors", error) from error
    return tuple(copies)
