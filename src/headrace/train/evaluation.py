"""An evaluation: a trainer's metrics over a dataset, each batch by its number of examples."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from headrace.dataset.dataset import Dataset
from headrace.elements.ragged import RaggedTensor
from headrace.elements.structure import flatten
from headrace.errors import InvalidArgumentError
from headrace.feed.feeding import Feed
from headrace.plan.node import INFINITE_CARDINALITY
from headrace.train.inputs import bounded, features_and_labels
from headrace.train.random_numbers import RandomState, drawing_from, stream_of
from headrace.train.results import Results
from headrace.train.specs import EvalSpec

__all__ = ["Evaluation", "as_numbers"]


def as_numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Metrics as floats; a tensor on a device is fetched here."""
    return {name: float(value) for name, value in metrics.items()}


class Evaluation:
    """Judges a trainer again and again; the dataset is built once, and started anew each time.

    Its random numbers are its own, and the same ones each time, so that a job that goes on finds what it would have found.

    Args:
        spec: what is judged on.
        ram_budget: bytes that its input may hold ready, or None.
        folder: where results are kept, or None.
        random: where its random numbers come from.

    Raises:
        InvalidArgumentError: all of an endless dataset is to be taken.
        TypeError: the input is nothing that can be iterated.
    """

    def __init__(self, spec: EvalSpec, ram_budget: int | None, folder: Path | None, random: RandomState) -> None:
        self._spec = spec
        self._ram_budget = ram_budget
        self._random = random
        self._results = None if folder is None else Results(folder / (f"eval_{spec.name}" if spec.name else "eval"))
        self._made = self._make()
        self._is_read = False

    def _make(self) -> Any:
        with drawing_from(stream_of(self._random, "evaluation input")):
            made = _startable(bounded(self._spec.input_fn(), self._ram_budget))
        if self._spec.steps is None and isinstance(made, Dataset | Feed):
            count = made.cardinality()
            if int(count) == INFINITE_CARDINALITY:
                message = (
                    "the evaluation would never end: its dataset is endless, and EvalSpec(steps=None) takes all of it"
                )
                raise InvalidArgumentError(f"{message}; give steps=, or take the repeat() out")
        return made

    def run(self, trainer: Any, step: int) -> dict[str, float]:
        """Returns the means of the metrics over all examples, and ``global_step``.

        Raises:
            ValueError: the input gave no batch at all.
        """
        if self._is_read and isinstance(self._made, _Once):
            self._made = self._make()
        self._is_read = True
        with drawing_from(stream_of(self._random, "evaluation")):
            means = self._judged(trainer)
        result = means | {"global_step": float(step)}
        if self._results is not None:
            self._results.add(step, result)
        return result

    def _judged(self, trainer: Any) -> dict[str, float]:
        sums: dict[str, float] = {}
        examples: dict[str, int] = {}  # of each metric: a batch may lack one
        is_empty = True
        iterator = iter(self._made)
        try:
            for element in itertools.islice(iterator, self._spec.steps):
                is_empty = False
                features, labels = features_and_labels(element)
                size = _examples_in(features)
                for name, value in as_numbers(trainer.eval_step(features, labels)).items():
                    sums[name] = sums.get(name, 0.0) + value * size
                    examples[name] = examples.get(name, 0) + size
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()
        if is_empty or (sums and not any(examples.values())):
            raise ValueError("the evaluation's input_fn gave no batch at all")
        return {name: total / examples[name] if examples[name] else float("nan") for name, total in sums.items()}


class _Once:
    """An iterator, which can be read once: the next evaluation asks its ``input_fn`` for another."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def __iter__(self) -> Any:
        return self._iterator


def _startable(made: Any) -> Any:
    if not isinstance(made, Iterable):
        raise TypeError(f"input_fn must return a Dataset or anything that can be iterated, not {type(made).__name__}")
    return _Once(made) if isinstance(made, Iterator) else made


def _examples_in(features: Any) -> int:
    """Returns how many examples a batch has: the length of the first of its parts that has one."""
    size = _size_of(features)
    return 1 if size is None else size


def _size_of(value: Any) -> int | None:
    """Returns the number of rows; None of what has none, as a number or a text."""
    if isinstance(value, RaggedTensor):
        return len(value)
    shape = getattr(value, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    if isinstance(value, str | bytes) or np.isscalar(value) or value is None:
        return None
    parts = _parts_of(value)
    if not parts:
        return len(value) if hasattr(value, "__len__") else None
    sizes = (size for part in parts if (size := _size_of(part)) is not None)
    # A list of numbers or texts is the batch itself.
    return next(sizes, len(parts) if isinstance(value, list) else None)


def _parts_of(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, tuple | list):
        return list(value)
    leaves = flatten(value)[0]  # of a dataclass
    return [] if len(leaves) == 1 and leaves[0] is value else leaves
