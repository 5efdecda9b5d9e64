"""What the frameworks know of a job's processes, where they are there already: nothing is imported or initialised for it."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["is_mesh", "jax_place", "place", "torch_distributed"]


def place() -> tuple[int, int] | None:
    """Returns the rank of this process and the number of ranks, as a framework knows them that was initialised; None otherwise."""
    distributed = torch_distributed()
    if distributed is not None:
        return distributed.get_rank(), distributed.get_world_size()
    return jax_place()


def torch_distributed() -> Any:
    """Returns the module ``torch.distributed`` where it is initialised; None otherwise."""
    module = sys.modules.get("torch.distributed")
    is_initialized = getattr(module, "is_initialized", None)  # missing in a build without it, and while it is imported
    return module if is_initialized is not None and is_initialized() else None


def jax_place() -> tuple[int, int] | None:
    """Returns which of JAX's processes this is, and how many there are; None where it is not distributed.

    JAX's own function would initialise the backends, after which nobody can choose their devices any more.
    """
    state = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
    if getattr(state, "client", None) is None:
        return None
    return int(getattr(state, "process_id", None) or 0), int(getattr(state, "num_processes", None) or 1)


def is_mesh(value: object) -> bool:
    """Returns whether it is a mesh of JAX's devices."""
    mesh = getattr(sys.modules.get("jax.sharding"), "Mesh", None)
    return mesh is not None and isinstance(value, mesh)
