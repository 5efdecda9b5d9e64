"""What ``batch``, ``shuffle_batch`` and their kin are made of: a queue of examples, its runner, and what takes batches out.

    pulled example --keep_input--> BatchQueue --dequeue_many or dequeue_up_to--> NextBatch

The runner is added to the open scope; ``start_queue_runners`` starts it. A thread of it ends when what it pulls raises
OutOfRangeError; after the last one the queue is closed, what is inside is handed out, and then NextBatch raises it, too.
Any other failure reaches the coordinator, whose ``join`` raises it, with a note of the queue and the record it was about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.clock import MONOTONIC
from headrace.coordination import QueueRunner, add_queue_runner
from headrace.coordination.queue_runner import EnqueueOp
from headrace.elements.structure import Element
from headrace.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from headrace.frozen import frozen
from headrace.queues import QueueBase
from headrace.queues.any_elements import Row
from headrace.queues.order import Order, ShuffledOrder
from headrace.queues.typed_elements import Shapes
from headrace.train.example_elements import ExampleElements
from headrace.train.keep_input import DROPPED, Keep, KeepInput, keeper
from headrace.train.last_record import forget_last_record, last_record
from headrace.train.pulled import Pull, Pulled, puller

__all__ = ["BatchQueue", "BatchSpec", "NextBatch", "batches_from"]

# Seconds after which a dequeue that waits says why: as for the other queues.
_WARN_AFTER_S = 5.0


class BatchQueue(QueueBase):
    """A bounded queue of examples, whose components are those of the first one.

    Args:
        name: how messages call it.
        capacity: how many examples may be inside, at least 1.
        shapes: as for ``ExampleElements``.
        dynamic_pad: as for ``ExampleElements``.
        order: in which order examples leave; first in, first out when None.
        min_after_dequeue: how many examples stay inside, to mix, until it is closed.
    """

    def __init__(
        self,
        *,
        name: str,
        capacity: int,
        shapes: Shapes,
        dynamic_pad: bool = False,
        order: Order[Row] | None = None,
        min_after_dequeue: int = 0,
    ) -> None:
        super().__init__(
            elements=ExampleElements(self._title(name), shapes, dynamic_pad=dynamic_pad),
            capacity=capacity,
            capacity_bytes=None,
            name=name,
            clock=MONOTONIC,
            warn_after_s=_WARN_AFTER_S,
            order=order,
            held_back=min_after_dequeue,
        )


@frozen(kw_only=True)
class BatchSpec:
    """What is asked of batches, by ``batch``, ``shuffle_batch`` and their kin alike.

    Attributes:
        op: the function that was called, which errors name.
        batch_size: how many examples a batch has.
        capacity: how many examples may wait.
        enqueue_many: whether what is pulled is many examples.
        shapes: the shape of each component of an example, or None for those of the first one.
        allow_smaller_final_batch: whether the last batch may have fewer examples.
        name: how messages call the queue; None for ``op``.
        dynamic_pad: whether sizes vary, and a batch is padded to its largest.
        shuffled: whether examples leave in random order; if not, the first in is the first out.
        min_after_dequeue: how many examples stay inside, to be mixed with those that come.
        seed: of the random order.
    """

    op: str
    batch_size: int
    capacity: int
    enqueue_many: bool
    shapes: Shapes
    allow_smaller_final_batch: bool
    name: str | None
    dynamic_pad: bool = False
    shuffled: bool = False
    min_after_dequeue: int = 0
    seed: int | None = None

    def queue(self) -> BatchQueue:
        """Makes the queue of examples.

        Raises:
            InvalidArgumentError: ``capacity``, ``min_after_dequeue`` or ``shapes`` do not fit.
        """
        name = self.name or self.op
        if not self.shuffled:
            kind = "padding_fifo_queue" if self.dynamic_pad else "fifo_queue"
            return BatchQueue(
                name=f"{name}/{kind}", capacity=self.capacity, shapes=self.shapes, dynamic_pad=self.dynamic_pad
            )
        if not 0 <= self.min_after_dequeue < self.capacity:
            bounds = f"capacity {self.capacity} must be bigger than min_after_dequeue {self.min_after_dequeue}, and that at least 0"
            raise InvalidArgumentError(f"{name}: {bounds}")
        return BatchQueue(
            name=f"{name}/random_shuffle_queue",
            capacity=self.capacity,
            shapes=self.shapes,
            order=ShuffledOrder(self.seed),
            min_after_dequeue=self.min_after_dequeue,
        )


@dataclass(frozen=True, slots=True)
class NextBatch:
    """Takes the next batch out of a queue when it is called, in any thread; what ``batch`` and its kin return.

    Attributes:
        queue: the queue of examples.
        batch_size: how many examples a batch has.
        allow_smaller_final_batch: whether the last batch may have fewer.
    """

    queue: QueueBase
    batch_size: int
    allow_smaller_final_batch: bool

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise InvalidArgumentError(f"{self.queue.name}: batch_size must be at least 1, not {self.batch_size}")

    def __call__(self, *, timeout_s: float | None = None) -> Element:
        """Returns the next batch: the structure of an example, each component with a new first axis.

        Args:
            timeout_s: seconds to wait at most; None waits as long as it takes.

        Raises:
            OutOfRangeError: nothing is left, or too little for a batch that may not be smaller.
            FailedPreconditionError: the runner's threads have ended without closing the queue.
            DeadlineExceededError: too few examples came in time.
        """
        if self.allow_smaller_final_batch:
            return self.queue.dequeue_up_to(self.batch_size, timeout_s=timeout_s)
        return self.queue.dequeue_many(self.batch_size, timeout_s=timeout_s)


def batches_from(threads_tensors: Sequence[Pulled], keep_input: KeepInput, spec: BatchSpec) -> NextBatch:
    """Makes a queue, and adds the runner that fills it, with one thread for each of ``threads_tensors``.

    Args:
        threads_tensors: what each thread pulls its examples from.
        keep_input: which examples are kept, as for ``maybe_batch``.
        spec: what is asked of the batches.

    Raises:
        InvalidArgumentError: there is no thread, or an argument does not fit.
    """
    queue = spec.queue()
    if not threads_tensors:
        raise InvalidArgumentError(f"{spec.op} needs at least one thread, and so at least one set of tensors")
    next_batch = NextBatch(queue, spec.batch_size, spec.allow_smaller_final_batch)
    keep = keeper(keep_input, enqueue_many=spec.enqueue_many, caller=spec.op)
    pulls: dict[int, Pull] = {id(tensors): puller(tensors, spec.op) for tensors in threads_tensors}
    ops = [_enqueue_op(queue, pulls[id(tensors)], keep, enqueue_many=spec.enqueue_many) for tensors in threads_tensors]
    add_queue_runner(QueueRunner(queue, ops))
    return next_batch


def _enqueue_op(queue: BatchQueue, pull_example: Pull, keep: Keep, *, enqueue_many: bool) -> EnqueueOp:
    enqueue = queue.enqueue_many if enqueue_many else queue.enqueue

    def enqueue_example() -> None:
        example = keep(pull_example())
        if example is not DROPPED:
            enqueue(example)
        elif queue.is_closed():  # as an enqueue would say: else a thread that drops everything would never end
            raise CancelledError(f"{queue.name} is closed: nothing can be put in any more")

    def enqueue_or_say_where_it_failed() -> None:
        forget_last_record()
        try:
            enqueue_example()
        except OutOfRangeError:
            raise  # the end is no failure
        except Exception as error:
            record = last_record()
            read = "" if record is None else f"; the last record read for it was {record}"
            error.add_note(f"This happened while an example was made for {queue.name!r}{read}.")
            raise

    return enqueue_or_say_where_it_failed
