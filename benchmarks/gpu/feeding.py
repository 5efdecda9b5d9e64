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
# A batch that is made is so many arrays, each filled by a call.
_ROWS: Final = 4
_WORKERS: Final = 4

Batches = Callable[[], Iterable[Any]]


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


class _Held(torch.utils.data.IterableDataset):  # type: ignore[misc]  # torch is not read by mypy
    def __init__(self, arrays: list[np.ndarray]) -> None:
        self._arrays = arrays

    def __iter__(self) -> Iterator[Any]:
        for number in range(_COUNT):
            yield torch.from_numpy(self._arrays[number % len(self._arrays)])


class _Made(torch.utils.data.Dataset):  # type: ignore[misc]  # torch is not read by mypy
    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return _COUNT * _ROWS

    def __getitem__(self, index: int) -> Any:
        return torch.full((self._size,), float(index))


def fed(mebibytes: int) -> Iterator[Fed]:
    """Brings batches of one size to the GPU; yields what each way reached."""
    weights = torch.randn(_SIDE, _SIDE, device="cuda", dtype=torch.bfloat16)
    ready = torch.zeros(mebibytes * _MIB // 4, device="cuda")

    def step(batch: Any) -> None:
        (weights @ weights).add_(batch.view(-1)[:1].to(torch.bfloat16))

    computing_s = _took_s(lambda: (ready for _ in range(_COUNT)), step)
    for how, batches in (_ways_held(mebibytes) | _ways_made(mebibytes)).items():
        copying_s = _took_s(batches, lambda _: None)
        yield Fed(mebibytes, how, mebibytes * _MIB / 1e9 / copying_s, _took_s(batches, step), computing_s)


def _ways_held(mebibytes: int) -> dict[str, Batches]:
    """Returns how batches are brought that lie in memory, and that a function returns which goes on holding them."""
    arrays = [np.full((mebibytes, _MIB // 4), number, np.float32) for number in range(8)]
    dataset = hr.Dataset.range(_COUNT).map(lambda x: arrays[int(x) % len(arrays)])
    loader = torch.utils.data.DataLoader(_Held(arrays), batch_size=None, pin_memory=True)
    return {
        "held: `to_torch`": lambda: dataset.to_torch("cuda"),
        "held: `DataLoader`, pinned": lambda: _sent(loader),
        "held: `.cuda()`": lambda: (torch.from_numpy(arrays[number % len(arrays)]).cuda() for number in range(_COUNT)),
    }


def _ways_made(mebibytes: int) -> dict[str, Batches]:
    """Returns how batches are brought that workers make of four arrays each."""
    size = mebibytes * _MIB // 4 // _ROWS
    made = hr.Dataset.range(_COUNT * _ROWS).map(lambda x: np.full(size, x, np.float32), num_parallel_calls=_WORKERS)
    dataset = made.batch(_ROWS)
    beside = dataset.with_options(hr.Options(executor="subprocess"))
    loader = torch.utils.data.DataLoader(
        _Made(size), _ROWS, num_workers=_WORKERS, pin_memory=True, persistent_workers=True
    )
    return {
        "made: 4 threads, `to_torch`": lambda: dataset.to_torch("cuda"),
        'made: 4 threads of a `"subprocess"`, `to_torch`': lambda: beside.to_torch("cuda"),
        "made: `DataLoader`, 4 workers, pinned": lambda: _sent(loader),
    }


def _sent(loader: Iterable[Any]) -> Iterator[Any]:
    return (batch.cuda(non_blocking=True) for batch in loader)


def _took_s(batches: Batches, step: Callable[[Any], None]) -> float:
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
