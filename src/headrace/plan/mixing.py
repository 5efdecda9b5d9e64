"""Plan nodes that choose which dataset the next element comes from, or which elements come again and which not at all."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from headrace.arguments import check_flags, check_function
from headrace.elements.structure import flatten
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.common_spec import common_spec
from headrace.plan.node import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Node,
    NodeOfSeveral,
    Spec,
    UnaryNode,
    function_name,
)
from headrace.plan.randomness import Randomness
from headrace.plan.sequencing import Repeat

__all__ = ["ChooseFromDatasets", "Mixture", "RejectionResample", "SampleFromDatasets", "checked_weights"]


@frozen(kw_only=True, eq=False)
class Mixture(NodeOfSeveral):
    """Elements of several datasets, one at a time.

    Attributes:
        datasets: where the elements come from.
        stop_on_empty_dataset: whether the first dataset that has nothing more to give ends it.
    """

    stop_on_empty_dataset: bool

    def __post_init__(self) -> None:
        check_flags(self, "stop_on_empty_dataset")
        if not self.datasets:
            raise InvalidArgumentError("there is no dataset to choose from", stage=self.op)
        self.spec()

    @property
    def selector(self) -> Node | None:
        """The dataset that decides where elements come from, where one does."""
        return None

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The datasets, and after them the one that decides."""
        return self.datasets if self.selector is None else (*self.datasets, self.selector)

    @property
    def source_names(self) -> list[str]:
        """How statistics call the datasets: by their last operation, or by what it repeats."""
        return [_source_name(dataset) for dataset in self.datasets]

    def _cardinality(self) -> int:
        """Returns INFINITE_CARDINALITY where it cannot end; otherwise only a run could tell, as in tf.data."""
        counts = [dataset.cardinality() for dataset in self.datasets]
        deciding = INFINITE_CARDINALITY if self.selector is None else self.selector.cardinality()
        endless = [count == INFINITE_CARDINALITY for count in counts]
        lasts = all(endless) if self.stop_on_empty_dataset else any(endless)
        return INFINITE_CARDINALITY if lasts and deciding == INFINITE_CARDINALITY else UNKNOWN_CARDINALITY

    def _spec(self) -> Spec:
        """Returns the narrowest that all datasets fit."""
        return common_spec([dataset.spec() for dataset in self.datasets], stage=self.op)


def _source_name(dataset: Node) -> str:
    while isinstance(dataset, Repeat) and dataset.name is None:
        dataset = dataset.input
    return dataset.name or dataset.label


@frozen(kw_only=True, eq=False)
class SampleFromDatasets(Mixture):
    """Each element comes from a dataset that is drawn at random.

    Attributes:
        weights: how likely each dataset is, positive, in any unit; empty where ``weights_dataset`` says it.
        weights_dataset: gives the weights of one draw after the other.
    """

    op: ClassVar[str] = "sample_from_datasets"
    changeable: ClassVar[str | None] = "weights"
    weights: tuple[float, ...]
    weights_dataset: Node | None = None
    randomness: Randomness
    rerandomize_each_iteration: bool = False

    def __post_init__(self) -> None:
        Mixture.__post_init__(self)  # super() does not know the class that slots make
        check_flags(self, "rerandomize_each_iteration")
        if self.weights_dataset is not None:
            _check_weights_spec(self.weights_dataset.spec(), len(self.datasets), stage=self.op)

    @property
    def selector(self) -> Node | None:
        return self.weights_dataset

    def _reading(self, inputs: tuple[Node, ...]) -> Self:
        count = len(self.datasets)
        weights = inputs[count] if self.weights_dataset is not None else None
        return dataclasses.replace(self, datasets=inputs[:count], weights_dataset=weights)

    def parameters(self) -> dict[str, Any]:
        """Returns what decides the draws."""
        return {
            "weights": list(self.weights) or None,
            "seed": self.randomness.seed,
            "stop_on_empty_dataset": self.stop_on_empty_dataset,
            "rerandomize_each_iteration": self.rerandomize_each_iteration,
        }


@frozen(kw_only=True, eq=False)
class ChooseFromDatasets(Mixture):
    """Each element comes from the dataset whose number another dataset gives."""

    op: ClassVar[str] = "choose_from_datasets"
    choice_dataset: Node

    def __post_init__(self) -> None:
        Mixture.__post_init__(self)
        spec = self.choice_dataset.spec()
        if spec is not None and spec != TensorSpec((), np.dtype(np.int64)):
            raise TypeError(f"{self.op}: the choices must be int64 scalars, not {spec}")

    @property
    def selector(self) -> Node | None:
        return self.choice_dataset

    def _reading(self, inputs: tuple[Node, ...]) -> Self:
        return dataclasses.replace(self, datasets=inputs[:-1], choice_dataset=inputs[-1])

    def parameters(self) -> dict[str, Any]:
        """Returns when it ends."""
        return {"stop_on_empty_dataset": self.stop_on_empty_dataset}


def _check_weights_spec(spec: Spec, count: int, *, stage: str) -> None:
    if spec is None:
        return
    leaves = flatten(spec)[0]
    if any(np.dtype(leaf.dtype).kind != "f" for leaf in leaves if isinstance(leaf.dtype, np.dtype)):
        raise TypeError(f"{stage}: the weights must be floats, not {spec}")
    shapes = {leaf.shape for leaf in leaves}
    fits = shapes <= {(count,), (None,), None} if len(leaves) == 1 else (len(leaves) == count and shapes <= {(), None})
    if not fits:
        message = f"an element of the weights must be {count} floats, one for each dataset, not {spec}"
        raise InvalidArgumentError(message, stage=stage)


def checked_weights(weights: Any, count: int, *, stage: str) -> list[float]:
    """Weights that a user gave, as floats; negative ones, and those that are no number, are 0.

    Raises:
        TypeError: they are ints, or no numbers.
        InvalidArgumentError: there are more or fewer than datasets, or one is infinite.
    """
    array = np.asarray(weights)
    if array.shape != (count,):
        message = f"weights must have one number for each of the {count} datasets, not the shape {array.shape}"
        raise InvalidArgumentError(message, stage=stage)
    if array.dtype.kind != "f":
        raise TypeError(f"{stage}: weights must be floats, not {array.dtype}: write 2.0 instead of 2")
    if np.isposinf(array).any():
        raise InvalidArgumentError("a weight is infinite", stage=stage)
    return [weight if weight > 0 else 0.0 for weight in array.tolist()]


@frozen(kw_only=True, eq=False)
class RejectionResample(UnaryNode):
    """Pairs of class and element, repeated and rejected so that the classes come in the proportions of a target.

    Attributes:
        target_dist: the proportion of each class, summing to 1.
        initial_dist: the proportions in the input, summing to 1; None estimates them.
    """

    op: ClassVar[str] = "rejection_resample"
    class_func: Callable[..., Any]
    target_dist: tuple[float, ...]
    initial_dist: tuple[float, ...] | None = None
    randomness: Randomness

    def __post_init__(self) -> None:
        check_function(self.class_func, stage=self.op)
        target = _distribution(self.target_dist, field="target_dist", stage=self.op)
        object.__setattr__(self, "target_dist", target)
        if self.initial_dist is None:
            return
        initial = _distribution(self.initial_dist, field="initial_dist", stage=self.op)
        if len(initial) != len(target):
            message = f"target_dist has {len(target)} classes, initial_dist has {len(initial)}"
            raise InvalidArgumentError(message, stage=self.op)
        object.__setattr__(self, "initial_dist", initial)

    def _cardinality(self) -> int:
        """Returns INFINITE_CARDINALITY where it reads no end; otherwise only a run could tell."""
        inner = self.input.cardinality()
        return inner if inner in (0, INFINITE_CARDINALITY) else UNKNOWN_CARDINALITY

    def _spec(self) -> Spec:
        """Returns None: only the function could tell."""
        return None

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Returns the user's function."""
        return (self.class_func,)

    def parameters(self) -> dict[str, Any]:
        """Returns the function's name, and what decides the draws."""
        return {
            "class_func": function_name(self.class_func),
            "target_dist": list(self.target_dist),
            "initial_dist": None if self.initial_dist is None else list(self.initial_dist),
            "seed": self.randomness.seed,
        }


def _distribution(values: Any, *, field: str, stage: str) -> tuple[float, ...]:
    """Returns the values as proportions that sum to 1."""
    array = np.asarray(values)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "iuf":
        raise InvalidArgumentError(f"{field} must be one number for each class, not {values!r}", stage=stage)
    numbers = array.astype(np.float64).tolist()
    total = math.fsum(numbers)
    if min(numbers) < 0 or not math.isfinite(total) or total == 0:
        message = f"{field} must have no negative or infinite number and a sum above 0, not {values!r}"
        raise InvalidArgumentError(message, stage=stage)
    return tuple(number / total for number in numbers)
