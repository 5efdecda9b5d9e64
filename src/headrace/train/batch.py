"""Batches of examples in the order in which they come, made by threads of their own.

With one thread the order is that of the examples; with several, that in which the threads have them ready.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.queues.typed_elements import Shapes
from headrace.train.batching import BatchSpec, NextBatch, batches_from
from headrace.train.keep_input import KeepInput
from headrace.train.pulled import Pulled

__all__ = ["batch", "batch_join", "maybe_batch", "maybe_batch_join"]


def batch(
    tensors: Pulled,
    batch_size: int,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Shapes = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,  # noqa: ARG001 - names what sessions share, which are not here
    name: str | None = None,
) -> NextBatch:
    """Makes batches of examples, ahead, in threads.

    Args:
        tensors: where examples are pulled from: a callable without arguments that returns one (a tuple, a dict, any
            structure), a queue, or a structure of callables and queues.
        batch_size: how many examples a batch has, at least 1.
        num_threads: how many threads pull examples, at least 1.
        capacity: how many examples may wait.
        enqueue_many: whether what is pulled is many examples, along the first axis of each component.
        shapes: the shape of each component of an example, to be checked; None for those of the first one.
        dynamic_pad: whether sizes vary: a batch is padded to its largest, with 0 or the empty string. Those sizes that
            are None in ``shapes``, or all where that is None.
        allow_smaller_final_batch: whether the last batch may have fewer examples; if not, the rest is dropped.
        shared_name: accepted for the sake of ported programs.
        name: how messages call the queue.

    Returns:
        A callable that returns the next batch, and raises OutOfRangeError when there is none. Its runner is started by
        ``start_queue_runners``.

    Raises:
        InvalidArgumentError: an argument does not fit. An example that is not like the first one is refused in its
            thread, and the coordinator's ``join`` raises that.

    Example:
        >>> import headrace as hr
        >>> with hr.train.scope():
        ...     numbers = hr.train.range_input_producer(5, num_epochs=1, shuffle=False)
        ...     next_batch = hr.train.batch(numbers, batch_size=2, allow_smaller_final_batch=True)
        ...     coord = hr.train.Coordinator()
        ...     threads = hr.train.start_queue_runners(coord=coord)
        >>> next_batch(), next_batch(), next_batch()
        (array([0, 1]), array([2, 3]), array([4]))
        >>> coord.join(threads)
    """
    spec = BatchSpec(
        op="batch",
        batch_size=batch_size,
        capacity=capacity,
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )
    return batches_from([tensors] * num_threads, True, spec)


def maybe_batch(
    tensors: Pulled,
    keep_input: KeepInput,
    batch_size: int,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Shapes = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,  # noqa: ARG001 - names what sessions share, which are not here
    name: str | None = None,
) -> NextBatch:
    """Makes batches of those examples that are to be kept. Other arguments, and what is returned: see ``batch``.

    Args:
        tensors: as for ``batch``.
        keep_input: whether an example is kept: a function of its components, as for ``Dataset.filter``, that returns
            True or False; or a bool, or a queue of them. With ``enqueue_many`` also an array with a bool for each
            example.
        batch_size: as for ``batch``.
        num_threads: as for ``batch``.
        capacity: as for ``batch``.
        enqueue_many: as for ``batch``.
        shapes: as for ``batch``.
        dynamic_pad: as for ``batch``.
        allow_smaller_final_batch: as for ``batch``.
        shared_name: as for ``batch``.
        name: as for ``batch``.

    Raises:
        InvalidArgumentError: as for ``batch``; or ``keep_input`` is no bool, or has too many axes.

    Example:
        >>> import headrace as hr
        >>> with hr.train.scope():
        ...     numbers = hr.train.range_input_producer(9, num_epochs=1, shuffle=False)
        ...     next_batch = hr.train.maybe_batch(numbers, lambda number: number % 2 == 1, batch_size=4)
        ...     coord = hr.train.Coordinator()
        ...     threads = hr.train.start_queue_runners(coord=coord)
        >>> next_batch()
        array([1, 3, 5, 7])
        >>> coord.join(threads)
    """
    spec = BatchSpec(
        op="batch",
        batch_size=batch_size,
        capacity=capacity,
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )
    return batches_from([tensors] * num_threads, keep_input, spec)


def batch_join(
    tensors_list: Sequence[Pulled],
    batch_size: int,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Shapes = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,  # noqa: ARG001 - names what sessions share, which are not here
    name: str | None = None,
) -> NextBatch:
    """Makes batches of examples from several places, each in a thread of its own. Other arguments: see ``batch``.

    Args:
        tensors_list: for each thread what ``batch`` takes as ``tensors``; all give examples of one structure.
        batch_size: as for ``batch``.
        capacity: as for ``batch``.
        enqueue_many: as for ``batch``.
        shapes: as for ``batch``.
        dynamic_pad: as for ``batch``.
        allow_smaller_final_batch: as for ``batch``.
        shared_name: as for ``batch``.
        name: as for ``batch``.

    Raises:
        InvalidArgumentError: as for ``batch``.

    Example:
        >>> import headrace as hr
        >>> with hr.train.scope():
        ...     files = [hr.train.range_input_producer(4, num_epochs=1) for _ in range(2)]
        ...     next_batch = hr.train.batch_join(files, batch_size=8)
        ...     coord = hr.train.Coordinator()
        ...     threads = hr.train.start_queue_runners(coord=coord)
        >>> sorted(next_batch())
        [np.int64(0), np.int64(0), np.int64(1), np.int64(1), np.int64(2), np.int64(2), np.int64(3), np.int64(3)]
        >>> coord.join(threads)
    """
    spec = BatchSpec(
        op="batch_join",
        batch_size=batch_size,
        capacity=capacity,
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )
    return batches_from(tensors_list, True, spec)


def maybe_batch_join(
    tensors_list: Sequence[Pulled],
    keep_input: KeepInput,
    batch_size: int,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Shapes = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,  # noqa: ARG001 - names what sessions share, which are not here
    name: str | None = None,
) -> NextBatch:
    """Makes batches of those examples from several places that are to be kept: ``batch_join`` and ``maybe_batch``.

    Args:
        tensors_list: as for ``batch_join``.
        keep_input: as for ``maybe_batch``.
        batch_size: as for ``batch``.
        capacity: as for ``batch``.
        enqueue_many: as for ``batch``.
        shapes: as for ``batch``.
        dynamic_pad: as for ``batch``.
        allow_smaller_final_batch: as for ``batch``.
        shared_name: as for ``batch``.
        name: as for ``batch``.

    Raises:
        InvalidArgumentError: as for ``maybe_batch``.

    Example:
        >>> import headrace as hr
        >>> with hr.train.scope():
        ...     files = [hr.train.range_input_producer(4, num_epochs=1) for _ in range(2)]
        ...     next_batch = hr.train.maybe_batch_join(files, lambda number: number == 3, batch_size=2)
        ...     coord = hr.train.Coordinator()
        ...     threads = hr.train.start_queue_runners(coord=coord)
        >>> next_batch()
        array([3, 3])
        >>> coord.join(threads)
    """
    spec = BatchSpec(
        op="batch_join",
        batch_size=batch_size,
        capacity=capacity,
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )
    return batches_from(tensors_list, keep_input, spec)
