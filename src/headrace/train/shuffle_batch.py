"""Batches of examples in random order, made by threads of their own.

Each example that leaves is drawn from all that wait. With one thread and a seed the batches are the same each time;
with several, they depend on which thread has its example ready first.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.queues.typed_elements import Shapes
from headrace.train.batching import BatchSpec, NextBatch, batches_from
from headrace.train.keep_input import KeepInput
from headrace.train.pulled import Pulled

__all__ = ["maybe_shuffle_batch", "maybe_shuffle_batch_join", "shuffle_batch", "shuffle_batch_join"]


def shuffle_batch(
    tensors: Pulled,
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Shapes = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,  # noqa: ARG001 - names what sessions share, which are not here
    name: str | None = None,
) -> NextBatch:
    """Makes batches of examples in random order, ahead, in threads.

    Args:
        tensors: where examples are pulled from: a callable without arguments that returns one (a tuple, a dict, any
            structure), a queue, or a structure of callables and queues.
        batch_size: how many examples a batch has, at least 1.
        capacity: how many examples may wait. A rule of thumb is ``min_after_dequeue`` and, for each thread and once
            more, a batch.
        min_after_dequeue: how many examples stay inside, to be mixed with those that come; less than ``capacity``.
            At the end none do.
        num_threads: how many threads pull examples, at least 1.
        seed: of the order, which is not TensorFlow's; None gives another one each time.
        enqueue_many: whether what is pulled is many examples, along the first axis of each component.
        shapes: the shape of each component of an example, to be checked; None for those of the first one.
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
        ...     numbers = hr.train.range_input_producer(6, num_epochs=1)
        ...     next_batch = hr.train.shuffle_batch(numbers, batch_size=6, capacity=10, min_after_dequeue=3)
        ...     coord = hr.train.Coordinator()
        ...     threads = hr.train.start_queue_runners(coord=coord)
        >>> sorted(next_batch().tolist())
        [0, 1, 2, 3, 4, 5]
        >>> coord.join(threads)
    """
    spec = BatchSpec(
        op="shuffle_batch",
        batch_size=batch_size,
        capacity=capacity,
        shuffled=True,
        min_after_dequeue=min_after_dequeue,
        seed=seed,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )
    return batches_from([tensors] * num_threads, True, spec)


def maybe_shuffle_batch(
    tensors: Pulled,
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    keep_input: KeepInput,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Shapes = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,  # noqa: ARG001 - names what sessions share, which are not here
    name: str | None = None,
) -> NextBatch:
    """Makes shuffled batches of those examples that are to be kept: ``shuffle_batch`` and ``maybe_batch``.

    Args:
        tensors: as for ``shuffle_batch``.
        batch_size: as for ``shuffle_batch``.
        capacity: as for ``shuffle_batch``.
        min_after_dequeue: as for ``shuffle_batch``.
        keep_input: as for ``maybe_batch``.
        num_threads: as for ``shuffle_batch``.
        seed: as for ``shuffle_batch``.
        enqueue_many: as for ``shuffle_batch``.
        shapes: as for ``shuffle_batch``.
        allow_smaller_final_batch: as for ``shuffle_batch``.
        shared_name: as for ``shuffle_batch``.
        name: as for ``shuffle_batch``.

    Raises:
        InvalidArgumentError: as for ``shuffle_batch`` and ``maybe_batch``.

    Example:
        >>> import headrace as hr
        >>> with hr.train.scope():
        ...     numbers = hr.train.range_input_producer(6, num_epochs=1)
        ...     next_batch = hr.train.maybe_shuffle_batch(numbers, 2, 10, 3, lambda number: number > 3)
        ...     coord = hr.train.Coordinator()
        ...     threads = hr.train.start_queue_runners(coord=coord)
        >>> sorted(next_batch().tolist())
        [4, 5]
        >>> coord.join(threads)
    """
    spec = BatchSpec(
        op="shuffle_batch",
        batch_size=batch_size,
        capacity=capacity,
        shuffled=True,
        min_after_dequeue=min_after_dequeue,
        seed=seed,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )
    return batches_from([tensors] * num_threads, keep_input, spec)


def shuffle_batch_join(
    tensors_list: Sequence[Pulled],
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Shapes = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,  # noqa: ARG001 - names what sessions share, which are not here
    name: str | None = None,
) -> NextBatch:
    """Makes shuffled batches of examples from several places, each in a thread of its own.

    Args:
        tensors_list: for each thread what ``shuffle_batch`` takes as ``tensors``; all give examples of one structure.
        batch_size: as for ``shuffle_batch``.
        capacity: as for ``shuffle_batch``.
        min_after_dequeue: as for ``shuffle_batch``.
        seed: as for ``shuffle_batch``.
        enqueue_many: as for ``shuffle_batch``.
        shapes: as for ``shuffle_batch``.
        allow_smaller_final_batch: as for ``shuffle_batch``.
        shared_name: as for ``shuffle_batch``.
        name: as for ``shuffle_batch``.

    Raises:
        InvalidArgumentError: as for ``shuffle_batch``.

    Example:
        >>> import headrace as hr
        >>> with hr.train.scope():
        ...     files = [hr.train.range_input_producer(2, num_epochs=1) for _ in range(2)]
        ...     next_batch = hr.train.shuffle_batch_join(files, batch_size=4, capacity=10, min_after_dequeue=3)
        ...     coord = hr.train.Coordinator()
        ...     threads = hr.train.start_queue_runners(coord=coord)
        >>> sorted(next_batch().tolist())
        [0, 0, 1, 1]
        >>> coord.join(threads)
    """
    spec = BatchSpec(
        op="shuffle_batch_join",
        batch_size=batch_size,
        capacity=capacity,
        shuffled=True,
        min_after_dequeue=min_after_dequeue,
        seed=seed,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )
    return batches_from(tensors_list, True, spec)


def maybe_shuffle_batch_join(
    tensors_list: Sequence[Pulled],
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    keep_input: KeepInput,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Shapes = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,  # noqa: ARG001 - names what sessions share, which are not here
    name: str | None = None,
) -> NextBatch:
    """Makes shuffled batches of those examples from several places that are to be kept.

    Args:
        tensors_list: as for ``shuffle_batch_join``.
        batch_size: as for ``shuffle_batch``.
        capacity: as for ``shuffle_batch``.
        min_after_dequeue: as for ``shuffle_batch``.
        keep_input: as for ``maybe_batch``.
        seed: as for ``shuffle_batch``.
        enqueue_many: as for ``shuffle_batch``.
        shapes: as for ``shuffle_batch``.
        allow_smaller_final_batch: as for ``shuffle_batch``.
        shared_name: as for ``shuffle_batch``.
        name: as for ``shuffle_batch``.

    Raises:
        InvalidArgumentError: as for ``maybe_shuffle_batch``.

    Example:
        >>> import headrace as hr
        >>> with hr.train.scope():
        ...     files = [hr.train.range_input_producer(4, num_epochs=1) for _ in range(2)]
        ...     next_batch = hr.train.maybe_shuffle_batch_join(files, 2, 10, 3, lambda number: number == 3)
        ...     coord = hr.train.Coordinator()
        ...     threads = hr.train.start_queue_runners(coord=coord)
        >>> next_batch()
        array([3, 3])
        >>> coord.join(threads)
    """
    spec = BatchSpec(
        op="shuffle_batch_join",
        batch_size=batch_size,
        capacity=capacity,
        shuffled=True,
        min_after_dequeue=min_after_dequeue,
        seed=seed,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        name=name,
    )
    return batches_from(tensors_list, keep_input, spec)
