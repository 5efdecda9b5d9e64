"""One of JAX's processes, which tell each other what all ranks need."""

from __future__ import annotations

import os
from typing import Any

import jax
import numpy as np
from jax._src import xla_bridge

import headrace as hr

RANKS = 2


def filtered(group: Any = None) -> hr.Dataset:
    """Returns streams of different lengths, which only a run can tell."""
    return (
        hr.Dataset.range(103).filter(lambda x: x % 2 == 0 or x % 3 > 0).distributed_batch(4, num_streams=4, group=group)
    )


def seen_at(port: int) -> dict[str, Any]:
    """Returns what this rank saw of each case; the job's processes meet at the port."""
    rank = int(os.environ.pop("RANK"))
    del os.environ["WORLD_SIZE"]  # it is JAX that tells
    jax.distributed.initialize(f"127.0.0.1:{port}", RANKS, rank, initialization_timeout=60)
    current = hr.ranks.current()
    is_untouched = not xla_bridge.backends_are_initialized()
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("all",))
    shuffled = hr.Dataset.range(40).shuffle(40).distributed_batch(4)
    seen = {
        "who": [current.rank, current.world_size, is_untouched],
        "drop": [batch.tolist() for batch in filtered(group=True)],
        "drop, a mesh": [batch.tolist() for batch in filtered(group=mesh).to_jax()],
        "shuffled": [[int(x) for batch in shuffled for x in batch] for _ in range(2)],
    }
    jax.distributed.shutdown()
    return seen
