"""What the processes of a job tell each other, in the thread of the caller, by the framework that they have for it.

Each of these is a call that every process must make, as a barrier is.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final

from headrace.errors import FailedPreconditionError
from headrace.ranks.frameworks import is_mesh, jax_place, torch_distributed

__all__ = ["Largest", "gathered", "is_group", "largest_of", "left_to_torch", "shared_entropy"]

# Given a number by each process, returns to all of them the largest.
Largest = Callable[[int], int]

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


class _OfTorch:
    """A process group of torch's, for as long as torch has it: its threads end with who has it last, and must not outlive their job."""

    def __init__(self, group: Any) -> None:
        self._group = weakref.ref(group)

    def __repr__(self) -> str:
        return repr(self._group())

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError(f"cannot pickle a process group: {self!r}")

    @property
    def there(self) -> Any:
        """The group.

        Raises:
            FailedPreconditionError: it was destroyed.
        """
        group = self._group()
        if group is None:
            raise FailedPreconditionError(
                "the process group of group= was destroyed: take all steps before destroy_process_group(), and make the dataset anew "
                "with the group of a new job"
            )
        return group


def left_to_torch(group: Any) -> Any:
    """Returns a group to be kept: one of torch's ends when torch ends it, whoever keeps this."""
    return _OfTorch(group) if _is_of_torch(group) else group


def is_group(group: object) -> bool:
    """Returns whether processes can be told numbers by that: True for all of them, a group of torch's, a mesh, or a function."""
    return group is True or is_mesh(group) or callable(group) or isinstance(group, _OfTorch) or _is_of_torch(group)


def largest_of(group: Any, world_size: int) -> Largest:
    """Returns what each process of a group calls with a number, to get the largest that any of them gave.

    Args:
        group: what ``is_group`` says is one.
        world_size: how many processes must be in it.

    Raises:
        FailedPreconditionError: it has fewer, or what it belongs to is not initialised.
    """
    distributed, group = torch_distributed(), _there(group)
    if group is True or is_mesh(group):
        place = jax_place()
        _check_size(1 if place is None else place[1], world_size)
        _check_mesh(group)
        return _largest_by_jax
    if not _is_of_torch(group):
        largest: Largest = group
        return largest
    _check_size(0 if distributed is None else distributed.get_world_size(group), world_size)
    return _LargestByTorch(group)


def gathered(group: Any, own: Any) -> list[Any]:
    """Returns what each process of a group gave, by rank: plain data that JSON can hold.

    Args:
        group: as for ``largest_of``, which has looked at it; a function of the caller's tells numbers alone, so that one has its own back.
        own: what this process gives.
    """
    distributed, group = torch_distributed(), _there(group)
    if _is_of_torch(group):
        found = [None] * distributed.get_world_size(group)
        distributed.all_gather_object(found, own, group=group)
        return found
    return _gathered_by_jax(own) if group is True or is_mesh(group) else [own]


def _gathered_by_jax(own: Any) -> list[Any]:
    import json

    import numpy as np
    from jax.experimental.multihost_utils import process_allgather

    text = np.frombuffer(json.dumps(own).encode(), np.uint8)
    room = np.zeros(_largest_by_jax(len(text)), np.uint8)  # all are to be of one length
    room[: len(text)] = text
    return [json.loads(bytes(row).rstrip(b"\0")) for row in np.asarray(process_allgather(room)).astype(np.uint8)]


def _there(group: Any) -> Any:
    """Returns a group that may have been left to torch, or that of all processes, if that is torch's."""
    distributed = torch_distributed()
    if group is True and distributed is not None:
        return distributed.group.WORLD
    return group.there if isinstance(group, _OfTorch) else group


def _is_of_torch(group: object) -> bool:
    distributed = torch_distributed()
    return distributed is not None and isinstance(group, distributed.ProcessGroup)


def _check_size(size: int, world_size: int) -> None:
    if size < world_size:
        raise FailedPreconditionError(
            f"group= has {size} processes, and the plan is dealt to {world_size} ranks: initialise torch.distributed or JAX with all of "
            "them first; or, where only some processes read this plan, say which of how many this one is, by Options(rank=, world_size=)"
        )


def _check_mesh(mesh: Any) -> None:
    """Refuses a mesh of some processes: JAX's own function asks all."""
    if mesh is True:
        return
    place = jax_place()
    there = {device.process_index for device in mesh.devices.flat}
    if place is not None and len(there) < place[1]:
        raise FailedPreconditionError(
            f"the mesh of group= has devices of {len(there)} of JAX's {place[1]} processes: give one of all, or group=True"
        )


def _largest_by_jax(number: int) -> int:
    import numpy as np
    from jax.experimental.multihost_utils import process_allgather

    return int(np.max(process_allgather(np.int32(number))))


class _LargestByTorch:
    """An all-reduce of one number over a group, on a device that its backend knows."""

    def __init__(self, group: Any) -> None:
        import torch

        self._group = _OfTorch(group)
        kinds = [device.type for device in getattr(group, "_device_types", ())]
        kind = "cpu" if not kinds or "cpu" in kinds else kinds[0]
        self._number = torch.zeros(1, dtype=torch.int64, device=kind)

    def __call__(self, number: int) -> int:
        distributed, group = torch_distributed(), self._group.there
        self._number.fill_(number)
        distributed.all_reduce(self._number, op=distributed.ReduceOp.MAX, group=group)
        return int(self._number.item())
