"""What stands for a tensor that is evaluated again and again: a value that is pulled.

A pulled value is a queue (its next element), a callable without arguments (what it returns), a structure of such, or
anything else (that very value, again and again; a list inside a structure is an array). Wherever TensorFlow's queue
layer takes a tensor, a pulled value is taken here.

The components of one example belong together. A callable that returns a whole example sees to that itself, and runs in
several threads at once. The parts of a structure are pulled under one lock, because two threads that pull the parts of
two examples in turn would mix them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import optree

from headrace.elements.structure import NAMESPACE, Element, normalize, unflatten
from headrace.errors import InvalidArgumentError
from headrace.queues import QueueBase

__all__ = ["Pull", "Pulled", "components", "is_pulled", "pull", "puller"]

Pulled: TypeAlias = Any  # a queue, a callable, a structure of them, or a constant
Pull: TypeAlias = Callable[[], Element]


def is_pulled(value: object) -> bool:
    """Returns whether it is a queue or a callable."""
    return isinstance(value, QueueBase) or callable(value)


def pull(value: Pulled) -> Element:
    """Returns the next value of a queue or a callable; anything else is its own."""
    if isinstance(value, QueueBase):
        return value.dequeue()
    return value() if callable(value) else value


def puller(tensors: Pulled, caller: str) -> Pull:
    """Returns a callable that pulls one example at a call.

    Args:
        tensors: a queue, a callable, or a structure of them; a list is a tuple, and one of one component is that
            component, as in TensorFlow.
        caller: whom an error names.

    Raises:
        InvalidArgumentError: there is nothing in ``tensors``.
    """
    if is_pulled(tensors):
        return lambda: pull(tensors)
    structure = components(tensors)
    leaves, treedef = optree.tree_flatten(structure, _is_whole, namespace=NAMESPACE)
    if not leaves:
        raise InvalidArgumentError(f"{caller} needs at least one tensor: a callable, a queue, or a structure of them")
    if any(type(leaf) is list and any(map(is_pulled, leaf)) for leaf in leaves):
        raise InvalidArgumentError(f"{caller}: a list inside a structure is an array; write a tuple of what is pulled")
    leaves = [normalize(leaf) if type(leaf) is list else leaf for leaf in leaves]
    if isinstance(structure, tuple) and len(structure) == 1 and len(leaves) == 1:
        return lambda: pull(leaves[0])
    together = threading.Lock()

    def pull_together() -> Element:
        with together:
            return unflatten(treedef, [pull(leaf) for leaf in leaves])

    return pull_together


def _is_whole(value: object) -> bool:
    # A callable may be a dataclass, too, and so a structure anywhere else.
    return type(value) is list or is_pulled(value)


def components(element: Element) -> Element:
    """Returns the element with its outermost list as a tuple: in the queue layer that list is components, not an array."""
    return tuple(element) if type(element) is list else element
