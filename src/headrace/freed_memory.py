"""Freed memory is kept for the next array of the same size, rather than given back to the system and asked for again.

A function over arrays frees at each element what it asks for at the next. glibc gives the pages back meanwhile, and the system
hands each out again by itself, a microsecond or more; of a function in a worker's thread that was two thirds of the work. How
large an array glibc keeps it learns from the largest one that it has seen freed (mallopt(3), M_MMAP_THRESHOLD); so it is shown
one, once, which nobody ever touches.

The price is that a process may keep up to 64 MB of freed memory for each of its arenas. Other allocators, and a glibc
that was given MALLOC_MMAP_THRESHOLD_, do not learn, and nothing changes. What was measured: docs/decisions/0145.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Final

import numpy as np

__all__ = ["keep_freed_memory"]

# The most that glibc learns from, less the header of a block.
_LARGEST: Final = (32 << 20) - (64 << 10)


@cache
def keep_freed_memory() -> None:
    """Does so once for the process, in microseconds."""
    with suppress(MemoryError):  # where the process may not have as much, it keeps less
        np.empty(_LARGEST, np.uint8)
