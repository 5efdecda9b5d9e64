"""What the processes of a job tell each other, in the thread of the caller, by the framework that they have for it.

Each of these is a call that every process must make, as a barrier is.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Final

from headrace.ranks.frameworks import jax_place, torch_distributed

__all__ = ["shared_entropy"]

# Bytes of a random number that fits int64.
_ENTROPY_BYTES: Final = 7
_telling: Final = threading.Lock()
# The number, and a reference to the group by which it was told: another group has other processes.
_told: list[tuple[Any, int]] = []


def shared_entropy(world_size: int) -> int | None:
    """Returns a random number that all ranks of a job have alike, the same each time; None where they have no way to tell it.

    The first call waits until all of them have called it.

    Args:
        world_size: how many must have it; a framework that knows of fewer processes cannot tell all of them.
    """
    with _telling:
        distributed = torch_distributed()
        if distributed is not None:
            return _once(distributed.group.WORLD, _by_torch) if distributed.get_world_size() >= world_size else None
        place = jax_place()
        return _once(None, _by_jax) if place is not None and place[1] >= world_size else None


def _once(group: Any, tell: Any) -> int:
    """Returns the number that this group was told."""
    for known, entropy in _told:
        if known is None if group is None else known is not None and known() is group:
            return entropy
    entropy = tell(int.from_bytes(os.urandom(_ENTROPY_BYTES), "little"))
    _told[:] = [(None if group is None else weakref.ref(group), entropy)]
    return int(entropy)


def _by_torch(own: int) -> int:
    numbers = [own]
    distributed = torch_distributed()
    distributed.broadcast_object_list(numbers, src=0)  # whatever the backend: it knows which device its messages need
    return numbers[0]


def _by_jax(own: int) -> int:
    import numpy as np
    from jax.experimental.multihost_utils import broadcast_one_to_all

    # Byte by byte, because JAX keeps 32 bits of a number.
    told = broadcast_one_to_all(np.frombuffer(own.to_bytes(_ENTROPY_BYTES, "little"), np.uint8))
    return int.from_bytes(np.asarray(told).astype(np.uint8).tobytes(), "little")
