"""Which examples go in: the ``keep_input`` of the ``maybe_*`` functions.

In TensorFlow it is a tensor, computed from the same example as the tensors beside it. Here that is a function of the
example, which it sees read-only; a value, or a queue of values, is possible as well.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from headrace.elements.leaf_arrays import plain_array
from headrace.elements.ownership import read_only
from headrace.elements.structure import Element, flatten, normalize, unflatten
from headrace.errors import InvalidArgumentError
from headrace.queues import QueueBase
from headrace.train.pulled import components, is_pulled, pull

__all__ = ["DROPPED", "Keep", "KeepInput", "keeper"]

# A bool, an array of them where many examples come at once, a queue of either, or a function of the example.
KeepInput: TypeAlias = Any


class _Dropped(Enum):
    DROPPED = "dropped"


DROPPED: Final = _Dropped.DROPPED
# What is left of an example, or of many.
Keep: TypeAlias = Callable[[Element], Element | Literal[_Dropped.DROPPED]]


def keeper(keep_input: KeepInput, *, enqueue_many: bool, caller: str) -> Keep:
    """Returns a function that takes an example, or many, and gives what is to be put in.

    Args:
        keep_input: as the ``maybe_*`` functions take it.
        enqueue_many: whether many examples come at once.
        caller: whom errors name.

    Raises:
        InvalidArgumentError: a constant ``keep_input`` is no bool, nor an array of them where that is possible.
    """
    if keep_input is True:
        return lambda example: example
    if not is_pulled(keep_input):
        _checked(keep_input, enqueue_many=enqueue_many, caller=caller)

    def keep(example: Element) -> Element | Literal[_Dropped.DROPPED]:
        decision = _checked(_decide(keep_input, example), enqueue_many=enqueue_many, caller=caller)
        if decision.ndim:
            return _selected(example, decision, caller)
        return example if decision else DROPPED

    return keep


def _decide(keep_input: KeepInput, example: Element) -> Any:
    if isinstance(keep_input, QueueBase) or not callable(keep_input):
        return pull(keep_input)
    arguments = read_only(components(example))  # it is put in as it was given
    return keep_input(*arguments) if type(arguments) is tuple else keep_input(arguments)


def _checked(decision: Any, *, enqueue_many: bool, caller: str) -> np.ndarray:
    flags = np.asarray(decision)
    if flags.dtype != bool:
        raise InvalidArgumentError(f"{caller}: keep_input is True or False, not {decision!r}")
    if flags.ndim > 1:
        raise InvalidArgumentError(f"{caller}: keep_input has at most one axis, not the shape {flags.shape}")
    if flags.ndim and not enqueue_many:
        raise InvalidArgumentError(f"{caller}: keep_input can be a vector only with enqueue_many=True")
    return flags


def _selected(examples: Element, flags: np.ndarray, caller: str) -> Element:
    leaves, treedef = flatten(normalize(components(examples)))
    columns = [plain_array(leaf, "examples") for leaf in leaves]
    for column in columns:
        if not column.ndim or len(column) != len(flags):
            raise InvalidArgumentError(f"{caller}: keep_input has {len(flags)} values, not one for each example")
    return unflatten(treedef, [column[flags] for column in columns])
