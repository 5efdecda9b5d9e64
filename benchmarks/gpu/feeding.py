"""Batches to the GPU while it computes: by headrace's ``to_torch``, and by torch's ``DataLoader`` with pinned memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch

import headrace as hr

__all__ = ["Fed", "fed"]

_COUNT: Final = 200
_MIB: Final = 1 << 20
# Of the matrices that the GPU multiplies while the next batch comes.
_SIDE: Final = 4096


@dataclass(frozen=True, slots=True)
class Fed:
    """What became of batches of one size.

    Attributes:
        mebibytes: in a batch.
        how: who brought them.
        copied_gb_per_s: gigabytes a second, where the loop does nothing with them.
        beside_s: what a step took that computes, of which the batch is the input, in seconds.
        computing_s: what it takes on a batch that is there.
    """

    mebibytes: int
    how: str
    copied_gb_per_s: float
    beside_s: float
    computing_s: float


class _Arrays(torch.utils.data.IterableDataset):  # type: ignore[misc]  # torch is not read by mypy
    def __init__(self, arrays: list[np.ndarray]) -> None:
        self._arrays = arrays

    def __iter__(self) -> Iterator[Any]:
        for number in range(_COUNT):
            yield torch.from_numpy(self._arrays[number % len(self._arrays)])


def fed(mebibytes: int) -> Iterator[Fed]:
    """Brings batches of one size to the GPU, which lie in memory already; yields what each way reached."""
    arrays = [np.full((mebibytes, _MIB // 4), number, np.float32) for number in range(8)]
    weights = torch.randn(_SIDE, _SIDE, device="cuda", dtype=torch.bfloat16)

    def step(batch: Any) -> None:
        (weights @ weights).add_(batch.view(-1)[:1].to(torch.bfloat16))

    def ready() -> Iterable[Any]:
        batch = torch.from_numpy(arrays[0]).cuda()
        return (batch for _ in range(_COUNT))

    def headrace() -> Iterable[Any]:
        return hr.Dataset.range(_COUNT).map(lambda x: arrays[int(x) % len(arrays)]).to_torch("cuda")

    def loader() -> Iterable[Any]:
        loading = torch.utils.data.DataLoader(_Arrays(arrays), batch_size=None, pin_memory=True)
        return (batch.cuda(non_blocking=True) for batch in loading)

    def plain() -> Iterable[Any]:
        return (torch.from_numpy(arrays[number % len(arrays)]).cuda() for number in range(_COUNT))

    computing_s = _took_s(ready, step)
    for how, batches in (("to_torch", headrace), ("DataLoader, pinned", loader), (".cuda()", plain)):
        copying_s = _took_s(batches, lambda _: None)
        yield Fed(mebibytes, how, mebibytes * _MIB / 1e9 / copying_s, _took_s(batches, step), computing_s)


def _took_s(batches: Callable[[], Iterable[Any]], step: Callable[[Any], None]) -> float:
    """Returns what a step takes, the second time that all are taken."""
    took_s = 0.0
    for _ in range(2):
        torch.cuda.synchronize()
        began_s = time.perf_counter()
        for batch in batches():
            step(batch)
        torch.cuda.synchronize()
        took_s = time.perf_counter() - began_s
    return took_s / _COUNT
