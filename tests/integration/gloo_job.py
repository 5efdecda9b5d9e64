"""A job whose processes reduce something over all of them in each step.

A collective that one rank does not come to fails after a minute, and with it the job.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

import headrace as hr
from headrace.errors import HeadraceError
from headrace.plan.dealing_places import PlacesOfStream

RANKS: Final = 4
BATCH: Final = 8
ELEMENTS: Final = 240
FAILING_RANK: Final = 2
FAILS: Final = PlacesOfStream(BATCH, FAILING_RANK).at(5)
TIMEOUT: Final = dt.timedelta(seconds=60)


def is_kept(x: int) -> bool:
    """Keeps fewer elements of some streams than of others."""
    return x % BATCH == 0 or x % (2 + x % BATCH) > 0


def filtered(**arguments: Any) -> hr.Dataset:
    """Returns streams of different lengths, which only a run can tell."""
    return hr.Dataset.range(ELEMENTS).filter(is_kept).distributed_batch(BATCH, **arguments)


def fail_at_one(x: Any) -> Any:
    if x == FAILS:
        raise ValueError("this one fails")
    return x


def failing(**arguments: Any) -> hr.Dataset:
    """Returns the same, of which one batch fails on one rank."""
    return (
        hr.Dataset.range(ELEMENTS)
        .filter(lambda x: is_kept(x) or x == FAILS)
        .map(fail_at_one)
        .distributed_batch(BATCH, **arguments)
    )


def steps_of(batches: Iterator[Any], read: Callable[[Any], list[Any]] = lambda batch: batch.tolist()) -> list[Any]:
    """Returns each batch of this rank, and how many ranks were in its step; a failed one is its error's name."""
    steps: list[Any] = []
    while True:
        try:
            given: Any = read(next(batches))
        except StopIteration:
            return steps
        except HeadraceError as error:
            given = type(error).__name__
        present = torch.ones(1)
        dist.all_reduce(present)
        steps.append([given, int(present)])


def padded(batch: Any) -> list[Any]:
    rows, mask = batch
    return [rows[mask].tolist(), len(rows)]


def joined() -> list[Any]:
    """Trains on batches of which ranks have different numbers, as PyTorch's Join allows."""
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    steps = []
    with Join([model]):
        for batch in filtered(end="uneven").to_torch(dtype=torch.float32):
            model(batch.reshape(-1, 1).float()).sum().backward()
            steps.append(batch.tolist())
    return steps


def shuffled(**arguments: Any) -> list[Any]:
    dataset = hr.Dataset.range(ELEMENTS).shuffle(ELEMENTS, **arguments).distributed_batch(BATCH)
    return [[batch.tolist() for batch in dataset] for _ in range(2)]


def resumed() -> list[Any]:
    """Stops after two steps, and goes on from the merged states of all ranks."""
    first = iter(filtered(group=True))
    steps = [[next(first).tolist(), RANKS] for _ in range(2)]
    states: list[Any] = [None] * RANKS
    dist.all_gather_object(states, first.state_dict())
    again = iter(filtered(group=True))
    again.load_state_dict(hr.merge_states(states))
    return steps + steps_of(again)


def profiled() -> Any:
    """Steps together with ranks of which one has slow data; returns what this one is told."""
    rank = hr.ranks.current().rank

    def fetch(x: Any) -> Any:
        time.sleep(1e-2 if rank == FAILING_RANK else 0)
        return x

    def step(_: Any) -> None:
        time.sleep(1e-2)
        dist.all_reduce(torch.ones(1))

    ds = hr.Dataset.range(10_000).distributed_batch(BATCH, num_streams=BATCH).unbatch().map(fetch).batch(8).prefetch(1)
    verdict = ds.profile(step, seconds=1.5, group=True).verdict
    with contextlib.suppress(hr.errors.InvalidArgumentError):  # each rank would try something else
        ds.profile(step, seconds=1.5, group=True, apply=True)
        raise AssertionError
    return [verdict.cause, verdict.stage, verdict.text]


CASES: Final[dict[str, Callable[[], Any]]] = {
    "who": lambda: [hr.ranks.current().rank, hr.ranks.current().world_size],
    "drop": lambda: steps_of(iter(filtered(group=True))),
    "drop, a group": lambda: steps_of(iter(filtered(group=dist.new_group()))),
    "drop, a feed": lambda: steps_of(iter(filtered(group=True).prefetch(4).to_torch())),
    "pad": lambda: steps_of(iter(filtered(end="pad", group=True)), padded),
    "uneven": joined,
    "fails": lambda: steps_of(iter(failing(group=True))),
    "resumed": resumed,
    "shuffled": shuffled,
    "profiled": profiled,
    "one order": lambda: shuffled(reshuffle_each_iteration=False),
}


def seen_in(folder: str) -> dict[str, Any]:
    """Returns what this rank saw of each case; the job's processes meet in a file of the folder."""
    rank = int(os.environ.pop("RANK"))
    del os.environ["WORLD_SIZE"]  # it is torch.distributed that tells
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS, timeout=TIMEOUT)
    seen = {name: case() for name, case in CASES.items()}
    dist.destroy_process_group()
    return seen
