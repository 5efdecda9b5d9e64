"""The fluent facade: a dataset is an immutable, lazy description that holds one plan node and nothing else.

Names, arguments, defaults and edges are ``tf.data``'s, without TensorFlow: functions are any Python, elements are
structures of NumPy arrays, Python and NumPy scalars, strings and objects.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.dataset.buffering import Buffering
from headrace.dataset.combining import Combining
from headrace.dataset.consuming import Consuming
from headrace.dataset.elementwise import Elementwise
from headrace.dataset.feeding import Feeding
from headrace.dataset.grouping import Grouping
from headrace.dataset.mixing import Mixing
from headrace.dataset.nesting import Nesting
from headrace.dataset.packing import Packing
from headrace.dataset.sequencing import Sequencing
from headrace.dataset.shuffling import Shuffling
from headrace.dataset.skipping import Skipping
from headrace.dataset.sources import Sources
from headrace.dataset.stateful import Stateful
from headrace.dataset.storing import Storing
from headrace.dataset.windowing import Windowing
from headrace.plan.node import Node

__all__ = ["Dataset"]


class Dataset(
    Sources,
    Elementwise,
    Stateful,
    Skipping,
    Sequencing,
    Shuffling,
    Combining,
    Nesting,
    Grouping,
    Windowing,
    Packing,
    Mixing,
    Buffering,
    Storing,
    Feeding,
    Consuming,
):
    """A description of elements and of what is done to them; nothing runs until it is iterated.

    Every operation returns a new dataset. Each ``iter`` is a new epoch: a shuffle reshuffles.

    Example:
        >>> import headrace as hr
        >>> ds = hr.Dataset.range(6).map(lambda x: x * 10).batch(4)
        >>> for batch in ds:
        ...     print(batch)
        [ 0 10 20 30]
        [40 50]
    """

    __slots__ = ()

    def __init__(self, plan: Node) -> None:
        if not isinstance(plan, Node):
            raise TypeError(
                "a Dataset is made by one of its sources, such as Dataset.range or Dataset.from_tensor_slices"
            )
        self._plan = plan
        self._access = None

    @staticmethod
    def _of(plan: Node) -> Dataset:
        return Dataset(plan)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """One object, not its elements: NumPy must not read a whole dataset because it has a length and numbers."""
        whole = np.empty((), object)
        whole[()] = self
        return whole if dtype is None else whole.astype(dtype)

    def __getstate__(self) -> Node:
        return self._plan

    def __setstate__(self, plan: Node) -> None:
        self._plan = plan
        self._access = None

    def __repr__(self) -> str:
        spec = self._plan.spec()
        return f"<Dataset {self._plan.label}{'' if spec is None else f' of {spec}'}>"
