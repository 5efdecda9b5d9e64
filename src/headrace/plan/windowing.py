"""Plan nodes that make datasets of runs and of groups of elements: window, group_by_window, and what those datasets hold.

A user gets a window as a ``Dataset``, which only the facade makes. So these nodes are given its ``dataset_of``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from headrace.arguments import check_flags, check_function, check_int
from headrace.elements.leaf_specs import general_spec
from headrace.elements.structure import Element, flatten, unflatten
from headrace.elements.tensor_spec import DatasetSpec
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.known_as import known_as
from headrace.plan.node import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    DatasetOf,
    Node,
    Spec,
    UnaryNode,
    function_label,
    function_name,
)
from headrace.plan.randomness import Randomness

__all__ = ["GroupByWindow", "Window", "WindowContents", "WindowElements"]


class WindowElements(Protocol):
    """Elements at hand, and where they came from."""

    def __len__(self) -> int: ...

    def rows(self) -> Sequence[Element]:
        """Returns the elements."""
        ...

    def origin(self, index: int) -> str:
        """Returns where an element came from, in words."""
        ...


@known_as("elements of a window")
@frozen(kw_only=True, eq=False)
class WindowContents(Node):
    """Elements at hand: the dataset that a window is."""

    op: ClassVar[str] = "window"
    spec_is_of_elements: ClassVar[bool] = True
    elements: WindowElements

    def cardinality(self) -> int:
        """Returns how many are held; there is nothing to remember."""
        return len(self.elements)

    def _spec(self) -> Spec:
        """Returns the narrowest that all elements fit, where they are alike in structure and dtype."""
        return general_spec(self.elements.rows())

    def parameters(self) -> dict[str, Any]:
        """Returns how many there are; the values are the run's own."""
        return {"length": len(self.elements)}


@frozen(kw_only=True, eq=False)
class Window(UnaryNode):
    """Runs of elements, each as a dataset; ``shift`` elements lie between the first ones of two neighbours."""

    op: ClassVar[str] = "window"
    size: int
    shift: int | None = None
    stride: int = 1
    drop_remainder: bool = False
    dataset_of: DatasetOf

    def __post_init__(self) -> None:
        check_flags(self, "drop_remainder")
        object.__setattr__(self, "shift", self.size if self.shift is None else self.shift)
        for field in ("size", "shift", "stride"):
            value = check_int(getattr(self, field), field=field, stage=self.op)
            if value < 1:
                raise InvalidArgumentError(f"{field} must be at least 1, not {value}", stage=self.op)
            object.__setattr__(self, field, value)

    @property
    def step(self) -> int:
        """How many elements lie between the first ones of two neighbours."""
        assert self.shift is not None  # decided when the node was made
        return self.shift

    @property
    def span(self) -> int:
        """How many elements of the input a whole window reaches over."""
        return (self.size - 1) * self.stride + 1

    def _cardinality(self) -> int:
        """Returns the number of elements at which a window begins; of whole windows, if the rest is dropped."""
        count = self.input.cardinality()
        if count < 0:
            return count
        return max(0, (count - self.span) // self.step + 1) if self.drop_remainder else -(-count // self.step)

    def _spec(self) -> Spec:
        """Returns a dataset in place of each component."""
        inner = self.input.spec()
        if inner is None:
            return None
        leaves, treedef = flatten(inner)
        return unflatten(treedef, [DatasetSpec(leaf) for leaf in leaves])

    def parameters(self) -> dict[str, Any]:
        """Returns how long windows are, and where they begin."""
        return {"size": self.size, "shift": self.shift, "stride": self.stride, "drop_remainder": self.drop_remainder}


@frozen(kw_only=True, eq=False)
class GroupByWindow(UnaryNode):
    """The elements of the datasets that a function makes of groups of elements with one key.

    It counts as random because those datasets may be.
    """

    op: ClassVar[str] = "group_by_window"
    opens_plans: ClassVar[bool] = True
    key_func: Callable[..., Any]
    reduce_func: Callable[..., Any]
    window_size: int | None = None
    window_size_func: Callable[..., Any] | None = None
    dataset_of: DatasetOf
    randomness: Randomness = dataclasses.field(default_factory=Randomness)

    def __post_init__(self) -> None:
        check_function(self.key_func, stage=self.op)
        check_function(self.reduce_func, stage=self.op)
        if (self.window_size is None) == (self.window_size_func is None):
            raise InvalidArgumentError("give either window_size or window_size_func", stage=self.op)
        if self.window_size_func is not None:
            check_function(self.window_size_func, stage=self.op)
        else:
            size = check_int(self.window_size, field="window_size", stage=self.op)
            object.__setattr__(self, "window_size", size)

    def key_of(self, key: Any) -> int:
        """Returns the key that the user's function gave.

        Raises:
            InvalidArgumentError: it is no int64.
        """
        return _int64(key, "key_func")

    def size_of(self, key: int) -> int:
        """Returns how many elements the groups with this key have.

        Raises:
            InvalidArgumentError: below 1, or no int64.
        """
        size = self.window_size
        if size is None:
            assert self.window_size_func is not None  # one of the two was given
            size = _int64(self.window_size_func(key), "window_size_func")
        if size < 1:
            raise InvalidArgumentError(f"the window size must be at least 1, not {size} (key {key})")
        return size

    @property
    def reduce_label(self) -> str:
        """How messages call the function that makes the datasets."""
        return self.recall("reduce_label", lambda: function_label(self.op, self.reduce_func, self.name))

    def _cardinality(self) -> int:
        """Returns INFINITE_CARDINALITY where its input is endless, as tf.data (though groups may give nothing); else only a run could tell."""
        return INFINITE_CARDINALITY if self.input.cardinality() == INFINITE_CARDINALITY else UNKNOWN_CARDINALITY

    def _spec(self) -> Spec:
        """Returns None: only the function could tell."""
        return None

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Returns the user's functions."""
        sizing = () if self.window_size_func is None else (self.window_size_func,)
        return (self.key_func, self.reduce_func, *sizing)

    def parameters(self) -> dict[str, Any]:
        """Returns the functions' names, and the size where it is the same for all keys."""
        sizing = self.window_size_func
        return {
            "key_func": function_name(self.key_func),
            "reduce_func": function_name(self.reduce_func),
            "window_size": self.window_size,
            "window_size_func": None if sizing is None else function_name(sizing),
        }


def _int64(value: Any, function: str) -> int:
    if type(value) is int and -(1 << 63) <= value < 1 << 63:
        return value
    if isinstance(value, (np.generic, np.ndarray)) and value.dtype == np.int64 and value.shape == ():
        return int(value)
    raise InvalidArgumentError(f"{function} must return one int64, but returned {_kind(value)}")


def _kind(value: Any) -> str:
    if isinstance(value, (np.generic, np.ndarray)):
        return f"{value.dtype} of shape {value.shape}"
    return type(value).__name__
