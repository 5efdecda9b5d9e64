"""Examples that are rows of arrays in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.elements.leaf_arrays import plain_array
from headrace.elements.ownership import read_only
from headrace.elements.rows_and_columns import scalars_as_elements
from headrace.elements.structure import Element, TreeDef, flatten, normalize, paths_of, unflatten
from headrace.errors import InvalidArgumentError
from headrace.queues import QueueBase
from headrace.train.input_producers import range_input_producer
from headrace.train.pulled import components

__all__ = ["Slices", "slice_input_producer"]


class Slices:
    """Gives the next slice when it is called, in any thread; made by ``slice_input_producer``."""

    def __init__(self, indices: QueueBase, treedef: TreeDef, columns: Sequence[np.ndarray]) -> None:
        self._indices = indices
        self._treedef = treedef
        self._columns = columns

    @property
    def queue(self) -> QueueBase:
        """The queue of the numbers of the next slices."""
        return self._indices

    def __call__(self) -> Element:
        """Returns the next slice of each array.

        Raises:
            OutOfRangeError: all epochs are over.
        """
        index = self._indices.dequeue()
        return scalars_as_elements(unflatten(self._treedef, [column[index] for column in self._columns]))


def slice_input_producer(
    tensor_list: Element,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> Slices:
    """Returns the slices of arrays along their first axis, one of each at a time, epoch after epoch.

    Args:
        tensor_list: a list of arrays of the same length (TensorFlow does not check that), or any structure of them.
        num_epochs: how many times each slice comes before OutOfRangeError, at least 1; None for no end.
        shuffle: whether each epoch has a new random order.
        seed: the same seed gives the same orders; they are not TensorFlow's.
        capacity: how many slices are chosen ahead.
        shared_name: accepted for the sake of ported programs.
        name: how messages call the queue.

    Returns:
        A callable that returns the next slices: a tuple for a list, else the structure that was given. Its runner is
        started by ``start_queue_runners``.

    Raises:
        InvalidArgumentError: there is no array, one has no first axis, or they differ in length.

    Example:
        >>> import headrace as hr
        >>> with hr.train.scope():
        ...     next_slice = hr.train.slice_input_producer([[1, 2], ["a", "b"]], num_epochs=1, shuffle=False)
        ...     coord = hr.train.Coordinator()
        ...     threads = hr.train.start_queue_runners(coord=coord)
        >>> next_slice(), next_slice()
        ((1, 'a'), (2, 'b'))
        >>> coord.join(threads)
    """
    arrays = read_only(normalize(components(tensor_list)))
    leaves, treedef = flatten(arrays)
    columns = [plain_array(leaf, "slices") for leaf in leaves]
    _check(columns, paths_of(treedef))
    indices = range_input_producer(
        len(columns[0]), num_epochs, shuffle, seed, capacity, shared_name, f"{name or 'input_producer'}/input_producer"
    )
    return Slices(indices, treedef, columns)


def _check(columns: Sequence[np.ndarray], paths: Sequence[str]) -> None:
    if not columns:
        raise InvalidArgumentError("slice_input_producer needs at least one array")
    for column, path in zip(columns, paths, strict=True):
        if not column.ndim:
            raise InvalidArgumentError(f"slice_input_producer: the array {path} has no first axis to slice along")
        if len(column) != len(columns[0]):
            lengths = f"has {len(column)} slices, and the first has {len(columns[0])}"
            raise InvalidArgumentError(f"slice_input_producer: the array {path} {lengths}")
