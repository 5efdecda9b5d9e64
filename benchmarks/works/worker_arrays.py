"""Large arrays out of two workers: what *arrays_1mb*, *arrays_10mb* and *arrays_batched* have in common.

Making an array costs one pass over its memory, so what is measured is how it comes from the process that made it to the one that wants it. The
limit makes the same arrays where they are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from contest import Batch, Candidate, Epoch, Program, Work, WrongResultError

Array: TypeAlias = npt.NDArray[np.float32]

WORKERS: Final = 2


def made(shape: tuple[int, ...], number: int) -> Array:
    """One array."""
    return np.full(shape, number, np.float32)


class _Arrays:
    """The arrays by number: what a library that reads by index needs."""

    def __init__(self, numbers: range, make: Callable[[int], Array]) -> None:
        self.numbers = numbers
        self.make = make

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> Array:
        return self.make(self.numbers[index])


def _dataset(numbers: range, make: Callable[[int], Array], batch: int, **how: Any) -> Any:
    dataset = import_module("headrace").Dataset.range(len(numbers)).map(make, num_parallel_calls=WORKERS, **how)
    return (dataset if batch == 1 else dataset.batch(batch)).prefetch(2)


def _candidates(make: Callable[[int], Array], batch: int) -> tuple[Candidate[range], ...]:
    def limit(numbers: range) -> Epoch:
        """numpy.full where the arrays are wanted, and numpy.stack."""

        def epoch() -> Iterator[Batch]:
            for start in range(0, len(numbers), batch):
                arrays = [make(number) for number in numbers[start : start + batch]]
                yield arrays[0] if batch == 1 else np.stack(arrays)

        return epoch

    def headrace_threads(numbers: range) -> Epoch:
        """range, map with 2 parallel calls, in threads."""
        dataset = _dataset(numbers, make, batch)
        return lambda: dataset

    def headrace_process(numbers: range) -> Epoch:
        """range, map(executor="process") with 2 parallel calls."""
        dataset = _dataset(numbers, make, batch, executor="process")
        return lambda: dataset

    def headrace_subprocess(numbers: range) -> Epoch:
        """range, map with 2 parallel calls, with Options(executor="subprocess"): 1 process."""
        options = import_module("headrace").Options(executor="subprocess")
        dataset = _dataset(numbers, make, batch).with_options(options)
        return lambda: dataset

    def torch_2(numbers: range) -> Epoch:
        """DataLoader over a map-style dataset, 2 persistent workers."""
        loader = import_module("torch.utils.data").DataLoader(
            _Arrays(numbers, make),
            batch_size=None if batch == 1 else batch,
            num_workers=WORKERS,
            persistent_workers=True,
            prefetch_factor=4,
            multiprocessing_context="fork",
        )
        return lambda: loader

    return (
        Candidate(prepare=limit, library="numpy", module="numpy", program=Program.LIMIT),
        Candidate(prepare=headrace_threads, library="headrace", module="headrace"),
        Candidate(prepare=headrace_process, library="headrace", module="headrace"),
        Candidate(prepare=headrace_subprocess, library="headrace", module="headrace"),
        Candidate(prepare=torch_2, library="torch", module="torch"),
    )


def work_of(name: str, title: str, shape: tuple[int, ...], batch: int, full: int) -> Work[range]:
    """The work of arrays of a shape, in batches or, with a batch of one, by themselves."""

    def _verify_order(numbers: range, firsts: list[float]) -> None:
        if firsts != list(numbers[::batch]):
            raise WrongResultError("the arrays are not in order")

    return Work(
        name=name,
        title=title,
        full=full,
        probe=8 * batch,
        batch_size=batch,
        make=lambda folder: None,
        load=lambda folder, examples: range(examples),
        size=(lambda one: 1) if batch == 1 else len,
        first=(lambda one: float(one[0, 0])) if batch == 1 else lambda one: float(one[0, 0, 0]),
        total=lambda one: float(np.asarray(one).sum(dtype=np.float64)),
        expected_total=lambda numbers: sum(numbers) * float(np.prod(shape)),
        verify_order=_verify_order,
        candidates=_candidates(partial(made, shape), batch),
    )
