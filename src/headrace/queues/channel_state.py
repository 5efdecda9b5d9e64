"""What a channel does while its lock is held: who comes in, who goes out, who is served next. No threads, no locks.

What always holds:
- What is inside weighs at most ``capacity`` elements and ``capacity_bytes`` bytes, or is one item that alone is
  heavier. Only what an unfinished ``get_many`` gives back can pass the bound.
- Nobody stands in line who could be served: the thread that changes the state calls ``settle``, which serves the heads of
  both lines until nothing moves. So a newcomer who finds no line, and what it wants, may go on at once.
- A head that cannot be served yet holds its line.

``closed``, ``cancelling``, ``failures`` and ``due`` are the exception to "while its lock is held": they are orders
that anybody gives at any time, each by a single atomic store or append. ``settle`` carries them out, and it marks
them as done (``due``) before it looks at them, so that an order given meanwhile is settled again.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from sys import maxsize
from types import TracebackType
from typing import Final, Generic, Literal, Protocol, TypeVar

from headrace.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OutOfRangeError
from headrace.queues.order import Entry, Order
from headrace.queues.snapshot import ChannelSnapshot
from headrace.queues.wait_times import FOLD_AT, WaitRecorder
from headrace.queues.waiting import Waiter

__all__ = ["EMPTY", "ChannelState", "Empty", "ProducerStatus"]

T = TypeVar("T")


class Empty(Enum):
    """The type of ``EMPTY``, so that a type checker can tell it from an item."""

    EMPTY = "nothing inside yet"


EMPTY: Final = Empty.EMPTY


class ProducerStatus(Protocol):
    """What is known of those who could still bring something."""

    def hopeless(self) -> BaseException | None:
        """Returns what a consumer that waits is to raise because nobody can bring anything any more, or None."""
        ...

    def explain(self) -> str:
        """Returns why a consumer may be waiting long, and what to do about it."""
        ...


class ChannelState(Generic[T]):
    """The state of one channel. The arguments are those of ``Channel``."""

    __slots__ = (
        "_calls_in",
        "_calls_out",
        "_consumers",
        "_elements_in",
        "_elements_out",
        "_held_back",
        "_name",
        "_nbytes_in",
        "_nbytes_out",
        "_peak_elements",
        "_peak_nbytes",
        "_producer_status",
        "_producers",
        "cancelling",
        "capacity",
        "capacity_bytes",
        "closed",
        "due",
        "failures",
        "inside",
        "waits_in",
        "waits_out",
    )

    def __init__(
        self,
        *,
        name: str,
        capacity: int,
        capacity_bytes: int | None,
        order: Order[T] | None,
        held_back: int,
        producer_status: ProducerStatus | None,
    ) -> None:
        _check_bounds(name, capacity, capacity_bytes, held_back)
        self._name = name
        self.capacity = capacity
        self.capacity_bytes = maxsize if capacity_bytes is None else capacity_bytes
        self._held_back = held_back
        self._producer_status = producer_status
        self.inside: Order[T] = deque() if order is None else order
        self._producers: deque[Waiter[Entry[T]]] = deque()
        self._consumers: deque[Waiter[Entry[T]]] = deque()
        self.closed = False
        self.cancelling = False
        self.due = False
        # A list, because append is atomic: of two failures at once, everybody sees the same one first.
        self.failures: list[tuple[BaseException, TracebackType | None]] = []
        self._elements_in = self._elements_out = self._nbytes_in = self._nbytes_out = 0
        self._peak_elements = self._peak_nbytes = 0
        self._calls_in = self._calls_out = 0
        self.waits_in = WaitRecorder()
        self.waits_out = WaitRecorder()

    # ---- for those who need not wait

    def accept(self, item: T, elements: int, nbytes: int) -> bool:
        """Lets ``item`` in if it need not wait; whether that was so."""
        if self.closed or self._producers or not self._has_room(elements, nbytes):
            return False
        self._calls_in += 1
        self._let_in((item, elements, nbytes))
        if self._consumers:
            self.settle()
        return True

    def take(self) -> T | Literal[Empty.EMPTY]:
        """Hands out the next item if its consumer need not wait, else ``EMPTY``."""
        if len(self.inside) <= self._held_back or self._consumers:
            return EMPTY
        self._calls_out += 1
        item = self._hand_out()[0]
        if self._producers:
            self.settle()
        return item

    # ---- for those who may have to

    def enqueue(self, waiter: Waiter[Entry[T]]) -> None:
        """Puts ``waiter`` at the end of its line, and serve whom that helps: it may be served when this returns."""
        if waiter.is_consumer:
            self._calls_out += 1
            self._consumers.append(waiter)
        elif self.closed:
            waiter.let_go(self.refusal())
        else:
            self._calls_in += 1
            self._producers.append(waiter)
        if len(self.waits_in.fresh) + len(self.waits_out.fresh) > FOLD_AT:
            self.waits_in.fold()
            self.waits_out.fold()
        self.settle()

    def withdraw(self, waiter: Waiter[Entry[T]], *, even_if_served: bool) -> bool:
        """Takes ``waiter`` out of its line, and takes back what it was given; whether that ended a wait.

        A consumer that was served keeps what it was given, unless ``even_if_served``.
        """
        line = self._consumers if waiter.is_consumer else self._producers
        if waiter in line:
            line.remove(waiter)
        if waiter.is_consumer and (even_if_served or not waiter.is_settled):
            self.take_back(waiter.entries)
        self.settle()
        return not waiter.is_settled

    def take_back(self, entries: list[Entry[T]]) -> None:
        """Puts entries that had left back to where they were, and empty the list."""
        for entry in entries:
            self._elements_out -= entry[1]
            self._nbytes_out -= entry[2]
        self.inside.extendleft(reversed(entries))
        entries.clear()

    def settle(self) -> None:
        """Serves the heads of both lines until nothing moves any more."""
        self.due = False
        while self.cancelling and self._producers:
            self._dismiss(self._producers, self.refusal())
        moved = True
        while moved:
            if self.closed and not self._producers:
                self._held_back = 0
            moved = bool(self._producers and self._serve_producer()) or bool(self._consumers and self._serve_consumer())

    def has_ended(self) -> bool:
        """Returns whether nothing more will come in: closed, and no waiting producer brings something."""
        return self.closed and not self._producers

    # ---- serving

    def _serve_producer(self) -> bool:
        """Lets in one entry of the producer that has waited longest; whether it could be served."""
        waiter = self._producers[0]
        if waiter.next_entry < len(waiter.entries):
            entry = waiter.entries[waiter.next_entry]
            if not self._has_room(entry[1], entry[2]):
                return False
            waiter.next_entry += 1
            self._let_in(entry)
        if waiter.next_entry == len(waiter.entries):
            self._dismiss(self._producers)
        return True

    def _serve_consumer(self) -> bool:
        """Serves the consumer that has waited longest, or sends it away at the end; whether either could be done."""
        waiter = self._consumers[0]
        missing = 0 if waiter.is_settled else waiter.wanted - len(waiter.entries)
        if missing <= max(0, len(self.inside) - self._held_back):
            self._give(waiter, missing)
            self._dismiss(self._consumers)
        elif self.has_ended():
            self._dismiss(self._consumers, self._give_rest(waiter))
        elif self._producers:
            # No room for more, and yet not enough: more is wanted than the capacity, or a capacity in bytes is below
            # what is held back. The consumer takes what there is, so that the next can come in.
            self._give(waiter, 1)
        elif self._producer_status is not None and (error := self._producer_status.hopeless()) is not None:
            if not self.closed:  # else it was closed since has_ended looked, and before its last producer ended: an end
                self.take_back(waiter.entries)
                self._dismiss(self._consumers, error)
        else:
            return False
        return True

    def _dismiss(self, line: deque[Waiter[Entry[T]]], error: BaseException | None = None) -> None:
        """Lets the head of a line go. Ctrl-C between the two steps leaves one in line who has gone, and who does no harm."""
        line[0].let_go(error)
        line.popleft()

    def _give(self, waiter: Waiter[Entry[T]], n: int) -> None:
        for _ in range(n):
            waiter.entries.append(self._hand_out())

    def _give_rest(self, waiter: Waiter[Entry[T]]) -> BaseException | None:
        """Gives what is left if that will do, else takes everything back and says why the wait ends."""
        if waiter.allow_fewer and (waiter.entries or self.inside):
            self._give(waiter, len(self.inside))
            return None
        self.take_back(waiter.entries)
        return self.end(waiter.wanted)

    def _has_room(self, elements: int, nbytes: int) -> bool:
        return (
            self._elements_in - self._elements_out + elements <= self.capacity
            and self._nbytes_in - self._nbytes_out + nbytes <= self.capacity_bytes
        ) or not self.inside

    def _let_in(self, entry: Entry[T]) -> None:
        # The append comes last: Ctrl-C falls only after a call, and then the item and its weight are both inside.
        self._elements_in = elements_in = self._elements_in + entry[1]
        self._nbytes_in = nbytes_in = self._nbytes_in + entry[2]
        # No max() for the peaks: it would be a call, and this is the common path.
        if elements_in - self._elements_out > self._peak_elements:  # noqa: PLR1730
            self._peak_elements = elements_in - self._elements_out
        if nbytes_in - self._nbytes_out > self._peak_nbytes:  # noqa: PLR1730
            self._peak_nbytes = nbytes_in - self._nbytes_out
        self.inside.append(entry)

    def _hand_out(self) -> Entry[T]:
        entry = self.inside.popleft()
        self._elements_out += entry[1]
        self._nbytes_out += entry[2]
        return entry

    # ---- what is raised, and what is told

    def refusal(self) -> BaseException:
        """Returns what a producer raises once the channel is closed."""
        refusal = CancelledError(f"{self._name} is closed: nothing can be put in any more")
        refusal.__cause__ = self.failures[0][0] if self.failures else None
        return refusal

    def end(self, wanted: int) -> BaseException:
        """Returns what a consumer raises once the channel has ended with too little inside."""
        if self.failures:
            error, traceback = self.failures[0]
            return error.with_traceback(traceback)  # as it was, however many consumers have raised it since
        counts = f"requested {wanted}, current size {len(self.inside)}"
        return OutOfRangeError(f"{self._name} is closed and has insufficient elements ({counts})")

    def lateness(self, waiter: Waiter[Entry[T]], timeout_s: float | None) -> BaseException:
        """Returns what a call raises whose wait lasted too long."""
        aim = f"{waiter.wanted} to take" if waiter.is_consumer else "room"
        state = f"{self.elements} of {self.capacity} elements are inside"
        return DeadlineExceededError(f"{self._name}: waited {timeout_s} s for {aim}; {state}")

    def shortage(self, waiter: Waiter[Entry[T]]) -> str:
        """Returns what a consumer waits for, and what there is."""
        held_back = f", where {self._held_back} stay until it is closed" if self._held_back else ""
        return f"{waiter.wanted} wanted, {len(self.inside)} inside{held_back}"

    @property
    def elements(self) -> int:
        """The weight of what is inside, in elements."""
        return self._elements_in - self._elements_out

    @property
    def nbytes(self) -> int:
        """The weight of what is inside, in bytes."""
        return self._nbytes_in - self._nbytes_out

    def picture(self) -> ChannelSnapshot:
        """Returns the state, frozen."""
        return ChannelSnapshot(
            name=self._name,
            capacity=self.capacity,
            capacity_bytes=None if self.capacity_bytes == maxsize else self.capacity_bytes,
            items=len(self.inside),
            elements=self.elements,
            nbytes=self.nbytes,
            elements_in=self._elements_in,
            elements_out=self._elements_out,
            nbytes_in=self._nbytes_in,
            nbytes_out=self._nbytes_out,
            peak_elements=self._peak_elements,
            peak_nbytes=self._peak_nbytes,
            producers_waiting=len(self._producers),
            consumers_waiting=len(self._consumers),
            is_closed=self.closed,
            producer_waits=self.waits_in.summary(self._calls_in),
            consumer_waits=self.waits_out.summary(self._calls_out),
        )


def _check_bounds(name: str, capacity: int, capacity_bytes: int | None, held_back: int) -> None:
    if capacity < 1:
        raise InvalidArgumentError(f"{name}: capacity must be at least 1, not {capacity}")
    if capacity_bytes is not None and capacity_bytes < 1:
        raise InvalidArgumentError(f"{name}: capacity_bytes must be at least 1, not {capacity_bytes}")
    if not 0 <= held_back < capacity:
        raise InvalidArgumentError(f"{name}: {held_back} elements are held back, but the capacity is {capacity}")
