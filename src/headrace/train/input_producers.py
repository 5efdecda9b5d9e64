"""Queues of work: file names, numbers or rows, each epoch in an order of its own.

Each producer makes a queue, and a runner that fills it, which ``start_queue_runners`` starts. An epoch is put in in
portions of the queue's capacity, so that what is on the way is bounded, however long an epoch is.

Different from TensorFlow: patterns that match nothing are an error where they are given, and no rows without an end of
epochs are one, too (there it spins for ever). Numbers are Python's own, int64 and not int32.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from headrace.coordination import QueueRunner, add_queue_runner
from headrace.coordination.queue_runner import EnqueueOp
from headrace.elements.leaf_specs import leaf_spec
from headrace.elements.structure import normalize, object_array
from headrace.errors import InvalidArgumentError
from headrace.io.files import FilePaths, match_files
from headrace.queues import FIFOQueue, QueueBase
from headrace.train.epochs import limit_epochs
from headrace.train.pulled import Pull, Pulled, is_pulled, pull

__all__ = [
    "input_producer",
    "match_filenames_once",
    "range_input_producer",
    "string_input_producer",
]


def match_filenames_once(
    pattern: FilePaths,
    name: str | None = None,  # noqa: ARG001 - TensorFlow names an operation
) -> list[str]:
    """Returns the files that match, sorted, looked up once and now.

    Args:
        pattern: a glob pattern, or several.
        name: accepted for the sake of ported programs.

    Raises:
        InvalidArgumentError: nothing matches; why is said.

    Example:
        >>> import pathlib, tempfile
        >>> import headrace as hr
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for file in ("b.csv", "a.csv"):
        ...         pathlib.Path(folder, file).touch()
        ...     [pathlib.Path(path).name for path in hr.train.match_filenames_once(f"{folder}/*.csv")]
        ['a.csv', 'b.csv']
    """
    return match_files(pattern)


def input_producer(
    input_tensor: Pulled,
    element_shape: Sequence[int | None] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,  # noqa: ARG001 - names what sessions share, which are not here
    summary_name: str | None = None,  # noqa: ARG001 - there are no summaries here
    name: str | None = None,
    cancel_op: EnqueueOp | None = None,
) -> QueueBase:
    """Returns a queue of the rows of ``input_tensor``, epoch after epoch.

    Args:
        input_tensor: the rows, along the first axis of an array or a list; or what they are pulled from in each epoch.
        element_shape: the shape of a row, to be checked; a size of None may be any.
        num_epochs: how many times each row comes before OutOfRangeError, at least 1; None for no end.
        shuffle: whether each epoch has a new random order.
        seed: the same seed gives the same orders; they are not TensorFlow's.
        capacity: how many rows the queue holds.
        shared_name: accepted for the sake of ported programs, as is ``summary_name``.
        summary_name: see ``shared_name``.
        name: how messages call the queue.
        cancel_op: what closes the queue on a stop; see ``QueueRunner``.

    Returns:
        The queue. Its runner is started by ``start_queue_runners``.

    Raises:
        InvalidArgumentError: there are no rows, or not of that shape; or an argument is below 1. What is pulled is
            checked when it is, and the coordinator hears of it.

    Example:
        >>> import headrace as hr
        >>> with hr.train.scope():
        ...     rows = hr.train.input_producer([[1, 2], [3, 4]], num_epochs=1, shuffle=False)
        ...     coord = hr.train.Coordinator()
        ...     threads = hr.train.start_queue_runners(coord=coord)
        >>> rows.dequeue(), rows.dequeue()
        (array([1, 2]), array([3, 4]))
        >>> coord.join(threads)
    """
    title = name or "input_producer"
    if is_pulled(input_tensor):
        queue = FIFOQueue(capacity, name=title)
    else:
        rows = _rows(input_tensor, element_shape, num_epochs, title)
        queue = FIFOQueue(capacity, [leaf_spec(rows).dtype], shapes=[rows.shape[1:]], name=title)
    next_rows = limit_epochs(input_tensor, num_epochs, title)
    order = np.random.default_rng(seed).permutation if shuffle else np.arange

    def enqueue_epoch() -> None:
        rows = _rows(next_rows(), element_shape, num_epochs, title)
        for portion in _portions(rows, order, capacity):
            queue.enqueue_many(portion)

    add_queue_runner(QueueRunner(queue, [enqueue_epoch], cancel_op=cancel_op))
    return queue


def string_input_producer(
    string_tensor: Pulled,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: EnqueueOp | None = None,
) -> QueueBase:
    """Returns a queue of strings, such as file names, epoch after epoch.

    Args:
        string_tensor: a list of strings or paths, at least one; or what it is pulled from in each epoch.
        num_epochs: as for ``input_producer``.
        shuffle: as for ``input_producer``.
        seed: as for ``input_producer``.
        capacity: as for ``input_producer``.
        shared_name: as for ``input_producer``.
        name: as for ``input_producer``.
        cancel_op: as for ``input_producer``.

    Returns:
        The queue. Its runner is started by ``start_queue_runners``.

    Raises:
        InvalidArgumentError: there are no strings; or as for ``input_producer``.

    Example:
        >>> import headrace as hr
        >>> with hr.train.scope():
        ...     names = hr.train.string_input_producer(["a.csv", "b.csv"], num_epochs=2, seed=0)
        ...     coord = hr.train.Coordinator()
        ...     threads = hr.train.start_queue_runners(coord=coord)
        >>> sorted(names.dequeue_many(4))
        ['a.csv', 'a.csv', 'b.csv', 'b.csv']
        >>> coord.join(threads)
    """
    strings = _pulled_strings(string_tensor) if is_pulled(string_tensor) else _strings(string_tensor)
    return input_producer(strings, (), num_epochs, shuffle, seed, capacity, shared_name, None, name, cancel_op)


def range_input_producer(
    limit: int,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Returns a queue of the integers from 0 to ``limit`` - 1, epoch after epoch.

    Args:
        limit: how many integers.
        num_epochs: as for ``input_producer``.
        shuffle: as for ``input_producer``.
        seed: as for ``input_producer``.
        capacity: as for ``input_producer``.
        shared_name: as for ``input_producer``.
        name: as for ``input_producer``.

    Returns:
        The queue. Its runner is started by ``start_queue_runners``.

    Raises:
        InvalidArgumentError: as for ``input_producer``.

    Example:
        >>> import headrace as hr
        >>> with hr.train.scope():
        ...     numbers = hr.train.range_input_producer(3, num_epochs=2, shuffle=False)
        ...     coord = hr.train.Coordinator()
        ...     threads = hr.train.start_queue_runners(coord=coord)
        >>> numbers.dequeue_many(6)
        array([0, 1, 2, 0, 1, 2])
        >>> coord.join(threads)
    """
    return input_producer(np.arange(limit), (), num_epochs, shuffle, seed, capacity, shared_name, None, name)


def _rows(value: Any, element_shape: Sequence[int | None] | None, num_epochs: int | None, title: str) -> np.ndarray:
    """Returns the rows of one epoch as an array, checked."""
    rows = np.asarray(normalize(list(value) if isinstance(value, tuple) else value))
    if not rows.ndim:
        raise InvalidArgumentError(f"{title}: rows lie along the first axis, and {value!r} has none")
    if not len(rows) and num_epochs is None:
        raise InvalidArgumentError(f"{title}: there are no rows, and num_epochs=None makes that endless")
    if element_shape is not None and not _fits(rows.shape[1:], element_shape):
        raise InvalidArgumentError(f"{title}: rows have the shape {rows.shape[1:]}, not {tuple(element_shape)}")
    return rows


def _fits(shape: tuple[int, ...], wanted: Sequence[int | None]) -> bool:
    return len(shape) == len(wanted) and all(
        most is None or size == most for size, most in zip(shape, wanted, strict=True)
    )


def _portions(rows: np.ndarray, order: Callable[[int], np.ndarray], size: int) -> Iterator[np.ndarray]:
    indices = order(len(rows))
    return (rows[indices[start : start + size]] for start in range(0, len(rows), size))


def _pulled_strings(source: Pulled) -> Pull:
    return lambda: _strings(pull(source))


def _strings(values: Any) -> np.ndarray:
    if isinstance(values, (str, bytes, os.PathLike)) or not len(values):
        raise InvalidArgumentError(f"string_input_producer needs a list of at least one string, not {values!r}")
    return object_array([_string(value) for value in values])


def _string(value: object) -> str:
    name: object = os.fspath(value) if isinstance(value, os.PathLike) else value
    if isinstance(name, bytes):
        return name.decode("utf-8", "surrogateescape")  # a name of a file, as TensorFlow's strings are
    if not isinstance(name, str):
        raise InvalidArgumentError(f"string_input_producer needs strings or paths, not {value!r}")
    return str(name)  # NumPy's own strings become Python's
