"""The fluent facade: a dataset is an immutable, lazy description that holds one plan node and nothing else.

Names, arguments, defaults and edges are ``tf.data``'s, without TensorFlow: functions are any Python, elements are
structures of NumPy arrays, Python and NumPy scalars, strings and objects.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.dataset.buffering import Buffering
from headrace.dataset.combining import Combining
from headrace.dataset.consuming import Consuming
from headrace.dataset.dealing import Dealing
from headrace.dataset.elementwise import Elementwise
from headrace.dataset.feeding import Feeding
from headrace.dataset.grouping import Grouping
from headrace.dataset.mixing import Mixing
from headrace.dataset.nesting import Nesting
from headrace.dataset.packing import Packing
from headrace.dataset.profiling import Profiling
from headrace.dataset.sequencing import Sequencing
from headrace.dataset.shuffling import Shuffling
from headrace.dataset.skipping import Skipping
from headrace.dataset.sources import Sources
from headrace.dataset.stateful import Stateful
from headrace.dataset.storing import Storing
from headrace.dataset.windowing import Windowing
from headrace.known_as import known_as
from headrace.near_names import FOR_DATASETS, unknown_attribute
from headrace.plan.depth import make_room
from headrace.plan.node import Node, nodes_of

__all__ = ["Dataset"]

_new = object.__new__


@known_as("class of Dataset")
class _DatasetClass(abc.ABCMeta):  # an ABCMeta, so that a class may be a Dataset and torch's IterableDataset
    """The class of ``Dataset``, for constructors that it does not have: ``Dataset.from_list``."""

    if not TYPE_CHECKING:  # a type checker would take it for a promise that there is any name

        def __getattr__(cls, name: str) -> object:
            raise unknown_attribute(f"type object {cls.__name__!r}", name, lambda: _names_of(cls), FOR_DATASETS)


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
    Dealing,
    Windowing,
    Packing,
    Mixing,
    Buffering,
    Storing,
    Feeding,
    Consuming,
    Profiling,
    metaclass=_DatasetClass,
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
        make_room(plan)
        self._plan = plan
        self._access = None

    @staticmethod
    def _of(plan: Node) -> Dataset:
        dataset = _new(Dataset)  # past a look at what it is: functions make datasets of windows by the thousand
        dataset._plan = plan  # noqa: SLF001 - of this very class
        dataset._access = None  # noqa: SLF001 - as above
        make_room(plan)
        return dataset

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Returns one object, not its elements: NumPy must not read a whole dataset because it has a length and indices."""
        whole = np.empty((), object)
        whole[()] = self
        return whole if dtype is None else whole.astype(dtype)

    def __getstate__(self) -> tuple[Node, ...]:
        # All nodes, sources first: each is written when what it reads is written already, however deep the plan.
        return tuple(nodes_of(self._plan))

    def __setstate__(self, nodes: tuple[Node, ...]) -> None:
        self._plan = nodes[-1]
        self._access = None
        make_room(self._plan)

    def __repr__(self) -> str:
        from headrace.dataset.showing import text_of

        return text_of(self._plan)

    def _repr_html_(self) -> str:
        """Returns what a notebook shows."""
        from headrace.dataset.showing import html_of

        return html_of(self._plan)

    if not TYPE_CHECKING:  # a type checker would take it for a promise that there is any name

        def __getattr__(self, name: str) -> object:
            kind = type(self)
            if hasattr(kind, name):  # a property that raised, or nothing is set yet: its own error is the one to tell
                return object.__getattribute__(self, name)
            raise unknown_attribute(f"{kind.__name__!r} object", name, lambda: _names_of(kind, run=True), FOR_DATASETS)


def _names_of(kind: type, *, run: bool = False) -> dict[str, str]:
    """Returns the names of a dataset that may have been meant, and how each is written; with those of one run of it."""
    names = {name: name for name in dir(kind) if not name.startswith("_")}
    if not run:
        return names
    from headrace.iterator import DatasetIterator

    return {**{name: f"iter(ds).{name}" for name in dir(DatasetIterator) if not name.startswith("_")}, **names}
