"""What a worker of PyTorch's ``DataLoader`` reads: processes that each iterate the same dataset.

A DataLoader that is given an iterable sends it to every worker, and every worker reads all of it, unless somebody deals
the elements out. A feed that is itself the DataLoader's dataset deals them (``dealt``). Where a class of the user's stands
between, headrace cannot know who does, and says in the log that nobody seems to (``warn_of_whole_copies``).
"""

from __future__ import annotations

import itertools
import sys
import weakref
from typing import Any, Final, NamedTuple

from headrace.log import warn_once
from headrace.plan.buffering import WithOptions, options_of
from headrace.plan.node import Node, nodes_of
from headrace.plan.options import Options
from headrace.plan.sequencing import Shard

__all__ = ["Worker", "dealt", "warn_of_whole_copies", "worker_here"]


# That of each plan, by its latest operation: an address is later that of another.
_numbers: Final[weakref.WeakKeyDictionary[object, int]] = weakref.WeakKeyDictionary()
_fresh: Final = itertools.count()


class Worker(NamedTuple):
    """One of several workers of a DataLoader.

    Attributes:
        number: which, from 0.
        workers: of how many.
        seed: the same for all of them, another one in each epoch of the DataLoader.
    """

    number: int
    workers: int
    seed: int


def worker_here(dataset: object | None = None) -> Worker | None:
    """Returns the worker that this process is, None if it is none; of a DataLoader of that very dataset, if one is named."""
    info = _info()
    if info is None or (dataset is not None and info.dataset is not dataset):
        return None
    return Worker(info.id, info.num_workers, (info.seed - info.id) % (1 << 63))


def dealt(plan: Node, worker: Worker | None) -> Node:
    """Returns the worker's part of the elements: one of every ``workers``, in an order on which all workers agree.

    So the DataLoader, which takes from its workers in turns, gives the elements in the plan's order.
    """
    if worker is None:
        return plan
    if options_of(plan).seed is None:
        plan = WithOptions(input=plan, options=Options(seed=worker.seed))
    return Shard(input=plan, num_shards=worker.workers, index=worker.number)


def warn_of_whole_copies(iterated: object, plan: Node) -> None:
    """Says in the log, once a process, that what the DataLoader's own dataset holds is read whole by each worker.

    Args:
        iterated: a dataset, or a feed.
        plan: its plan.
    """
    info = _info()
    if info is None or info.num_workers < 2 or not _is_held(iterated, info.dataset) or _has_shard(plan):
        return
    warn_once(
        f"each of {info.num_workers} workers of a DataLoader reads all of {plan.label}, so each element comes "
        f"{info.num_workers} times: give the DataLoader the dataset's to_torch() itself, with batch_size=None, which deals the "
        "elements out; or iterate dataset.shard(info.num_workers, info.id), with info = torch.utils.data.get_worker_info()",
        about=f"who reads the plan {_numbers.setdefault(plan.operations[0], next(_fresh))}",
    )


def _info() -> Any:
    module = sys.modules.get("torch.utils.data")  # who runs in a worker has imported it
    return module.get_worker_info() if module is not None and hasattr(module, "get_worker_info") else None


def _is_held(iterated: object, dataset: Any) -> bool:
    """Returns whether it was made before there were workers: what a worker makes for itself may well be its own part."""
    if hasattr(type(dataset), "__getitems__") or not hasattr(type(dataset), "__iter__"):
        return False  # a DataLoader asks it for elements by index, each one once
    return any(held is iterated for held in getattr(dataset, "__dict__", {}).values())


def _has_shard(plan: Node) -> bool:
    return any(isinstance(node, Shard) for node in nodes_of(plan))
