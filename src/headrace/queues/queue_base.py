"""What all queues of the user have in common: TensorFlow's methods and errors over one ``Channel``.

A queue is a channel (who waits, and when it ends), an order (who leaves next) and its elements (what goes in and comes
out). Each kind of queue only chooses these three. Where TensorFlow is kept, and where not:

- A call that cannot go on waits. ``enqueue`` on a closed queue raises CancelledError; ``dequeue`` takes out what is
  left and then raises OutOfRangeError; ``dequeue_many`` of more than is left raises it and takes nothing.
- ``close`` does not wait for producers that still wait for room (it does there): they are served, and the end comes
  after them, but the thread that closes goes on.
- The capacity is a bound: negative means "none" there, and is refused here. 0 hangs for ever there, and is refused.
- Here a queue may be made without dtypes: then elements of any structure go through as they are. Arrays are copied, as there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.clock import Clock
from headrace.elements.structure import Element
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import CancelledError, InvalidArgumentError
from headrace.queues.any_elements import AnyElements, Elements, Row
from headrace.queues.channel import Channel
from headrace.queues.order import Order
from headrace.queues.producers import Producer, Producers
from headrace.queues.snapshot import ChannelSnapshot
from headrace.queues.typed_elements import DTypes, Names, Shapes, TypedElements, typed_elements

__all__ = ["QueueBase", "elements_of"]


class QueueBase:
    """The methods of every queue. Made by its subclasses, ``FIFOQueue`` and so on."""

    def __init__(
        self,
        *,
        elements: Elements,
        capacity: int,
        capacity_bytes: int | None,
        name: str,
        clock: Clock,
        warn_after_s: float | None,
        order: Order[Row] | None = None,
        held_back: int = 0,
    ) -> None:
        self._name = name
        self._elements = elements
        self._weighs = capacity_bytes is not None
        self._producers = Producers(self._title(name), self._recheck)
        self._channel: Channel[Row] = Channel(
            capacity=capacity,
            capacity_bytes=capacity_bytes,
            name=self._title(name),
            clock=clock,
            order=order,
            held_back=held_back,
            producer_status=self._producers,
            warn_after_s=warn_after_s,
        )

    @classmethod
    def _title(cls, name: str) -> str:
        return f"{cls.__name__} {name!r}"

    # ---- what it is

    @property
    def name(self) -> str:
        """The name it was given."""
        return self._name

    @property
    def dtypes(self) -> list[Any] | None:
        """The dtype of each component, or None for a queue without dtypes."""
        return None if self._specs is None else [spec.dtype for spec in self._specs]

    @property
    def shapes(self) -> list[tuple[int | None, ...] | None] | None:
        """The shape of each component (None where it was not given), or None for a queue without dtypes."""
        return None if self._specs is None else [spec.shape for spec in self._specs]

    @property
    def names(self) -> list[str] | None:
        """The names of the components, or None when elements are no dicts."""
        return (
            list(self._elements.names) if isinstance(self._elements, TypedElements) and self._elements.names else None
        )

    @property
    def _specs(self) -> tuple[TensorSpec, ...] | None:
        return self._elements.specs if isinstance(self._elements, TypedElements) else None

    @staticmethod
    def from_list(index: int, queues: list[QueueBase]) -> QueueBase:
        """Returns the queue at ``index`` of queues that hold the same kind of elements.

        Args:
            index: which one.
            queues: at least one queue.

        Raises:
            TypeError: ``queues`` is no list of queues, or their dtypes or names differ.

        Example:
            >>> from headrace.queues import FIFOQueue, QueueBase
            >>> QueueBase.from_list(1, [FIFOQueue(2, "int32", name="a"), FIFOQueue(3, "int32", name="b")]).name
            'b'
        """
        given: object = queues  # whatever a caller without a type checker passes
        if not isinstance(given, list) or not given or not all(isinstance(queue, QueueBase) for queue in given):
            raise TypeError("from_list needs a list of at least one queue")
        if any(queue.dtypes != queues[0].dtypes for queue in queues):
            raise TypeError(f"the queues differ in dtypes: {[queue.dtypes for queue in queues]}")
        if any(queue.names != queues[0].names for queue in queues):
            raise TypeError(f"the queues differ in names: {[queue.names for queue in queues]}")
        return queues[index]

    # ---- putting in

    def enqueue(self, vals: Element, *, timeout_s: float | None = None) -> None:
        """Puts one element in, waiting while the queue is full.

        Args:
            vals: one value a component, as a tuple or a list; a bare value where there is one component; a dict where
                components have names. Any structure for a queue without dtypes. It is copied, so the caller may write to
                its arrays again.
            timeout_s: seconds to wait at most; None waits as long as it takes.

        Raises:
            InvalidArgumentError: a component does not fit; it is named.
            CancelledError: the queue is closed, or closes with ``cancel_pending_enqueues`` during the wait.
            DeadlineExceededError: it was full all the time; the element is not inside.
        """
        row = self._elements.pack(vals)
        self._channel.put(row, nbytes=self._elements.nbytes(row) if self._weighs else 0, timeout_s=timeout_s)

    def enqueue_many(self, vals: Element, *, timeout_s: float | None = None) -> None:
        """Puts in the elements that lie along the first axis of every component, waiting while the queue is full.

        Args:
            vals: as for ``enqueue``, each component with one more axis in front, all of the same length. They go in
                one after the other, with no other producer's elements between them.
            timeout_s: seconds to wait at most for all of them; None waits as long as it takes.

        Raises:
            InvalidArgumentError: a component does not fit; it is named, and nothing is put in.
            CancelledError: as for ``enqueue``; elements that were let in before stay inside.
            DeadlineExceededError: not all found room in time; those that did stay inside.
        """
        self._channel.put_many([self._entry(row) for row in self._elements.pack_many(vals)], timeout_s=timeout_s)

    # ---- taking out

    def dequeue(self, *, timeout_s: float | None = None) -> Element:
        """Takes one element out, waiting while there is none.

        Args:
            timeout_s: seconds to wait at most; None waits as long as it takes.

        Returns:
            A tuple of the components, the bare value where there is one, a dict where they have names.

        Raises:
            OutOfRangeError: the queue is closed and empty.
            FailedPreconditionError: everybody who was registered to fill it has ended, without closing it.
            DeadlineExceededError: none came in time.
        """
        return self._elements.unpack(self._channel.get(timeout_s=timeout_s))

    def dequeue_many(self, n: int, *, timeout_s: float | None = None) -> Element:
        """Takes ``n`` elements out as one, waiting until there are as many; ``n`` may be above the capacity.

        Args:
            n: how many, 0 or more.
            timeout_s: seconds to wait at most; None waits as long as it takes.

        Returns:
            What ``dequeue`` returns, each component an array with a first axis of length ``n``.

        Raises:
            InvalidArgumentError: ``n`` is negative, shapes were not given, or elements do not fit together.
            OutOfRangeError: the queue is closed and holds fewer; they stay inside.
            FailedPreconditionError: everybody who was registered to fill it has ended, without closing it.
            DeadlineExceededError: too few came in time; they stay inside.
        """
        return self._dequeue_stacked(n, allow_fewer=False, timeout_s=timeout_s)

    def dequeue_up_to(self, n: int, *, timeout_s: float | None = None) -> Element:
        """Takes ``n`` elements out as ``dequeue_many`` does; a closed queue that holds fewer gives what it has.

        Args:
            n: how many at most, 0 or more.
            timeout_s: seconds to wait at most; None waits as long as it takes.

        Returns:
            What ``dequeue_many`` returns; the first axis is shorter only at the end.

        Raises:
            InvalidArgumentError: ``n`` is negative, shapes were not given, or elements do not fit together.
            OutOfRangeError: the queue is closed and empty.
            FailedPreconditionError: everybody who was registered to fill it has ended, without closing it.
            DeadlineExceededError: too few came in time; they stay inside.
        """
        return self._dequeue_stacked(n, allow_fewer=True, timeout_s=timeout_s)

    def _dequeue_stacked(self, n: int, *, allow_fewer: bool, timeout_s: float | None) -> Element:
        self._elements.check_stackable()
        rows = self._channel.get_many(n, allow_fewer=allow_fewer, timeout_s=timeout_s)
        try:
            return self._elements.stack(self._arranged(rows))
        except InvalidArgumentError:
            self._channel.give_back([self._entry(row) for row in rows])  # elements that do not fit are not lost
            raise

    def _arranged(self, rows: list[Row]) -> Sequence[Row]:
        """Returns elements that were taken together, in the order in which they are handed out."""
        return rows

    def _entry(self, row: Row) -> tuple[Row, int, int]:
        return row, 1, self._elements.nbytes(row) if self._weighs else 0

    # ---- ending

    def close(self, cancel_pending_enqueues: bool = False) -> None:
        """Lets nothing new in. What is inside, and what waiting producers bring, can still be taken out.

        It returns at once, and a second call is refused at once, also while producers wait for room: they are served when
        somebody takes elements out. In TensorFlow both calls wait for them, for ever where nobody does.

        Args:
            cancel_pending_enqueues: send producers that wait for room away with CancelledError instead.

        Raises:
            CancelledError: it is closed already. Never raised with ``cancel_pending_enqueues``.
        """
        if self._channel.is_closed and not cancel_pending_enqueues:
            raise CancelledError(f"{self._channel.name} is already closed")
        self._channel.close(cancel_pending_enqueues=cancel_pending_enqueues)

    def is_closed(self) -> bool:
        """Returns whether ``close`` was called; there may still be elements inside."""
        return self._channel.is_closed

    # ---- looking at it

    def size(self) -> int:
        """Returns how many elements are inside."""
        return len(self._channel)

    def snapshot(self) -> ChannelSnapshot:
        """Returns what it holds, what has gone through, and how long both sides have waited, at one moment.

        Bytes are counted where ``capacity_bytes`` was given.
        """
        return self._channel.snapshot()

    def register_producer(self, name: str) -> Producer:
        """Says that somebody called ``name`` will fill this queue, so that a wait that cannot end is noticed.

        Args:
            name: how messages call it.

        Returns:
            A token: call ``started()`` when it begins, and ``ended()`` when it will bring nothing more.

        Example:
            >>> from headrace.queues import FIFOQueue
            >>> queue = FIFOQueue(2)
            >>> producer = queue.register_producer("reader")
            >>> producer.ended()
            >>> queue.dequeue()
            Traceback (most recent call last):
            headrace.errors.FailedPreconditionError: FIFOQueue 'fifo_queue': nothing more can come, ...
        """
        return self._producers.register(name)

    def _recheck(self) -> None:
        self._channel.recheck()


def elements_of(queue: str, dtypes: DTypes, shapes: Shapes, names: Names) -> Elements:
    """Returns how elements go in and come out of a queue that was made with these arguments."""
    if dtypes is None and shapes is None and names is None:
        return AnyElements(queue)
    return typed_elements(queue, dtypes, shapes, names)
