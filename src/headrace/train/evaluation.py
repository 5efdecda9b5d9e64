"""An evaluation: a trainer's metrics over a dataset, each batch by its number of examples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from headrace.structure import flatten
from headrace.train.inputs import bounded, features_and_labels
from headrace.train.specs import EvalSpec

__all__ = ["Evaluation", "as_numbers"]


def as_numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Metrics as floats; a tensor on a device is fetched here."""
    return {name: float(value) for name, value in metrics.items()}


class Evaluation:
    """Judges a trainer again and again; the dataset is built once, and started anew each time.

    Args:
        spec: what is judged on.
        ram_budget: bytes that its input may hold ready, or None.
        folder: where results are kept, or None.
    """

    def __init__(self, spec: EvalSpec, ram_budget: int | None, folder: Path | None) -> None:
        self._spec = spec
        self._ram_budget = ram_budget
        self._made: Any = None
        self._folder = None if folder is None else folder / (f"eval_{spec.name}" if spec.name else "eval")

    def run(self, trainer: Any, step: int) -> dict[str, float]:
        """The means of the metrics over all examples, and ``global_step``.

        Raises:
            ValueError: the input gave no batch at all.
        """
        if self._made is None or isinstance(self._made, _Once):
            self._made = _startable(bounded(self._spec.input_fn(), self._ram_budget))
        sums: dict[str, float] = {}
        examples = 0
        iterator = iter(self._made)
        try:
            for _, element in zip(range(self._spec.steps) if self._spec.steps else _endless(), iterator, strict=False):
                features, labels = features_and_labels(element)
                size = _examples_in(features)
                examples += size
                for name, value in as_numbers(trainer.eval_step(features, labels)).items():
                    sums[name] = sums.get(name, 0.0) + value * size
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()
        if not examples:
            raise ValueError("the evaluation's input_fn gave no batch at all")
        result = {name: total / examples for name, total in sums.items()} | {"global_step": float(step)}
        self._keep(result)
        return result

    def _keep(self, result: dict[str, float]) -> None:
        """Adds a line to the results of this name."""
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / "results.jsonl").open("a") as file:
                file.write(json.dumps(result) + "\n")


class _Once:
    """An iterator, which can be read once: the next evaluation asks its ``input_fn`` for another."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def __iter__(self) -> Any:
        return self._iterator


def _startable(made: Any) -> Any:
    if not isinstance(made, Iterable):
        raise TypeError(f"input_fn must return a Dataset or anything that can be iterated, not {type(made).__name__}")
    return _Once(made) if iter(made) is made else made


def _endless() -> Any:
    return iter(int, 1)


def _examples_in(features: Any) -> int:
    """The length of the first axis of the first component that has one."""
    for leaf in flatten(features)[0]:
        shape = getattr(leaf, "shape", None)
        if shape:
            return int(shape[0])
        if shape is None and not np.isscalar(leaf) and hasattr(leaf, "__len__"):
            return len(leaf)
    return 1
