"""The one hand-off between threads: bounded, closable, fair, and a failure passes through it.

What always holds:
- What is inside weighs at most ``capacity`` elements and ``capacity_bytes`` bytes. An item heavier than the whole
  capacity is let in when nothing else is inside, so that no weight can block for ever. Only what an unfinished
  ``get_many`` gives back can pass the bound.
- Those who wait are served in the order in which they came, producers and consumers apart; a newcomer never
  overtakes. A head of a line that cannot be served yet holds the line.
- After ``close`` nothing new comes in. What is inside, and what waiting producers bring, is still handed out; then
  every ``get`` raises. With ``cancel_pending_enqueues`` waiting producers are sent away instead.
- ``fail`` is a close whose end is an error. The first failure is the one that everybody is told of.

How it works. One lock guards the state. Who finds room, or an item, goes on at once: that is the whole common path.
Otherwise a ``Waiter`` lines up, and whoever changes the state calls ``_settle``, which serves the heads of both lines
until nothing moves. Items are given to waiters directly, so a woken thread never finds that another was quicker.

Why ``close`` and ``fail`` never wait for the lock. They are called from ``__del__``, from weakref callbacks and from
signal handlers, and those run between any two instructions of a thread: of one that holds this very lock, where
waiting would be a deadlock; or of one that holds another channel's lock, while the holder of ours is in a callback
that wants that one. So they set flags (each a single atomic store), mark a settlement as due, and settle if the lock
is free. If it is not, its holder settles: everybody looks at the mark after letting go of the lock. That ``locked()``
is only a glance does no harm: in a ring of threads that each hold one lock and want the next, the last one to look
finds the next lock taken, and goes on. Other methods must not be called from such callbacks.

Why the lock is only ever taken by ``with``: it is the one form in which Ctrl-C cannot fall between taking a lock and
being sure to release it. And a waiter exists before it lines up, so that Ctrl-C always finds it to take it out.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections import deque
from collections.abc import Iterable
from enum import Enum
from sys import maxsize
from types import TracebackType
from typing import Final, Generic, Literal, TypeVar

from headrace.clock import MONOTONIC, Clock
from headrace.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OutOfRangeError
from headrace.queues.order import Entry, Order
from headrace.queues.snapshot import ChannelSnapshot
from headrace.queues.wait_times import WaitRecorder
from headrace.queues.waiting import Waiter, wait_at_gate

__all__ = ["EMPTY", "Channel", "Empty"]

T = TypeVar("T")


class Empty(Enum):
    """The type of ``EMPTY``, so that a type checker can tell it from an item."""

    EMPTY = "nothing inside yet"


EMPTY: Final = Empty.EMPTY


class Channel(Generic[T]):
    """A bounded hand-off from any number of producers to any number of consumers.

    Args:
        capacity: how many elements may be inside, at least 1.
        capacity_bytes: how many bytes may be inside, or None for no such bound.
        name: how messages call it.
        clock: what deadlines and waits are measured on.
        order: in which order items leave; first in, first out when None.
        held_back: how many items are not handed out before it is closed, less than ``capacity``.

    Raises:
        InvalidArgumentError: when a bound is below 1, or ``held_back`` is not in [0, capacity).

    Example:
        >>> from headrace.queues.channel import Channel
        >>> channel = Channel(capacity=2)
        >>> channel.put("a")
        >>> channel.close()
        >>> channel.get()
        'a'
        >>> channel.get()
        Traceback (most recent call last):
        headrace.errors.OutOfRangeError: channel is closed and has insufficient elements (requested 1, current size 0)
    """

    __slots__ = (
        "__weakref__",
        "_cancelling",
        "_capacity",
        "_capacity_bytes",
        "_clock",
        "_closed",
        "_consumer_waits",
        "_consumers",
        "_due",
        "_elements_in",
        "_elements_out",
        "_failures",
        "_gets",
        "_held_back",
        "_inside",
        "_lock",
        "_nbytes_in",
        "_nbytes_out",
        "_peak_elements",
        "_peak_nbytes",
        "_producer_waits",
        "_producers",
        "_puts",
        "name",
    )

    def __init__(
        self,
        *,
        capacity: int,
        capacity_bytes: int | None = None,
        name: str = "channel",
        clock: Clock = MONOTONIC,
        order: Order[T] | None = None,
        held_back: int = 0,
    ) -> None:
        _check_bounds(name, capacity, capacity_bytes, held_back)
        self.name = name
        self._clock = clock
        self._capacity = capacity
        self._capacity_bytes = maxsize if capacity_bytes is None else capacity_bytes
        self._held_back = held_back
        self._inside: Order[T] = deque() if order is None else order
        self._lock = allocate_lock()
        self._producers: deque[Waiter[Entry[T]]] = deque()
        self._consumers: deque[Waiter[Entry[T]]] = deque()
        self._closed = False
        self._cancelling = False
        self._due = False
        # A list, because append is atomic: of two failures at once, everybody sees the same one first.
        self._failures: list[tuple[BaseException, TracebackType | None]] = []
        self._elements_in = self._elements_out = self._nbytes_in = self._nbytes_out = 0
        self._peak_elements = self._peak_nbytes = 0
        self._puts = self._gets = 0
        self._producer_waits = WaitRecorder()
        self._consumer_waits = WaitRecorder()

    # ---- putting in

    def put(self, item: T, *, elements: int = 1, nbytes: int = 0, timeout_s: float | None = None) -> None:
        """Put ``item`` in, waiting while there is no room for it.

        Args:
            item: what is handed over.
            elements: its weight in elements, 0 or more.
            nbytes: its weight in bytes, 0 or more.
            timeout_s: seconds to wait at most; None waits as long as it takes.

        Raises:
            CancelledError: when the channel is closed, or closes with ``cancel_pending_enqueues`` during the wait.
            DeadlineExceededError: when there was no room in time; the item is not inside.
        """
        try:
            with self._lock:
                if self._accept(item, elements, nbytes):
                    return
        finally:
            if self._due:
                self._settle_if_free()
        self.put_many([(item, elements, nbytes)], timeout_s=timeout_s)

    def put_nowait(self, item: T, *, elements: int = 1, nbytes: int = 0) -> bool:
        """Put ``item`` in if there is room now; say whether it is inside.

        Raises:
            CancelledError: when the channel is closed.
        """
        try:
            with self._lock:
                accepted = self._accept(item, elements, nbytes)
        finally:
            if self._due:
                self._settle_if_free()
        if not accepted and self._closed:
            raise self._refusal()
        return accepted

    def put_many(self, entries: Iterable[Entry[T]], *, timeout_s: float | None = None) -> None:
        """Put items in one after the other, waiting for room; no other producer's items come between them.

        Args:
            entries: triples of an item, its weight in elements and its weight in bytes.
            timeout_s: seconds to wait at most for all of them; None waits as long as it takes.

        Raises:
            CancelledError: as for ``put``. What was let in before stays inside.
            DeadlineExceededError: when there was no room for all in time. What was let in before stays inside.
        """
        self._wait(Waiter(list(entries), since_s=self._clock.now_s()), timeout_s)

    # ---- getting out

    def get(self, *, timeout_s: float | None = None) -> T:
        """Take the next item out, waiting while there is none.

        Args:
            timeout_s: seconds to wait at most; None waits as long as it takes.

        Raises:
            OutOfRangeError: when the channel is closed and nothing more will come.
            DeadlineExceededError: when no item came in time.
            BaseException: the error given to ``fail``, when everything before it has been taken out.
        """
        try:
            with self._lock:
                if len(self._inside) > self._held_back and not self._consumers:
                    return self._take()
        finally:
            if self._due:
                self._settle_if_free()
        return self.get_many(1, timeout_s=timeout_s)[0]

    def get_nowait(self) -> T | Literal[Empty.EMPTY]:
        """Take the next item out if there is one now, else return ``EMPTY``.

        Raises:
            OutOfRangeError: when the channel is closed and nothing more will come.
            BaseException: the error given to ``fail``, when everything before it has been taken out.
        """
        try:
            with self._lock:
                if self._due:
                    self._settle()
                if len(self._inside) > self._held_back and not self._consumers:
                    return self._take()
                if not self._has_ended():
                    return EMPTY
        finally:
            if self._due:
                self._settle_if_free()
        raise self._end(wanted=1)

    def get_many(self, n: int, *, allow_fewer: bool = False, timeout_s: float | None = None) -> list[T]:
        """Take the next ``n`` items out, waiting until there are as many; ``n`` may be above the capacity.

        Args:
            n: how many items, 0 or more.
            allow_fewer: whether the rest will do once the channel is closed and has less than ``n`` (but not none).
            timeout_s: seconds to wait at most; None waits as long as it takes.

        Raises:
            OutOfRangeError: when the channel is closed and too few are left, which all stay inside.
            DeadlineExceededError: when too few came in time; they all stay inside.
            BaseException: the error given to ``fail``, when too few came before it.
        """
        waiter: Waiter[Entry[T]] = Waiter([], since_s=self._clock.now_s(), wanted=n, allow_fewer=allow_fewer)
        self._wait(waiter, timeout_s)
        return [entry[0] for entry in waiter.entries]

    # ---- ending

    def close(self, *, cancel_pending_enqueues: bool = False) -> None:
        """Let nothing new in, and wake everybody who can no longer be served. Never waits; may be called again.

        Args:
            cancel_pending_enqueues: whether producers that wait for room are sent away with ``CancelledError``
                instead of being served as room comes free.
        """
        if cancel_pending_enqueues:
            self._cancelling = True
        self._closed = True
        self._settle_if_free()

    def fail(self, error: BaseException) -> None:
        """Close and send waiting producers away; when consumers have taken what is inside, they raise ``error``.

        Of several failures the first counts; a failure after ``close`` still counts. Never waits.
        """
        self._failures.append((error, error.__traceback__))
        self.close(cancel_pending_enqueues=True)

    @property
    def is_closed(self) -> bool:
        """Whether it is closed to new items; there may still be some inside."""
        return self._closed

    # ---- looking at it

    def __len__(self) -> int:
        """How many items are inside."""
        return len(self._inside)

    @property
    def elements(self) -> int:
        """The weight of what is inside, in elements."""
        return self._elements_in - self._elements_out

    @property
    def nbytes(self) -> int:
        """The weight of what is inside, in bytes."""
        return self._nbytes_in - self._nbytes_out

    def snapshot(self) -> ChannelSnapshot:
        """What the channel holds, has let through, and how long both sides waited, at one moment."""
        try:
            with self._lock:
                return self._picture()
        finally:
            if self._due:
                self._settle_if_free()

    # ---- waiting

    def _wait(self, waiter: Waiter[Entry[T]], timeout_s: float | None) -> None:
        """Stand in line until served. However this ends, ``waiter`` is not in line afterwards."""
        try:
            self._line_up(waiter)
            if not waiter.gate.acquire(blocking=False):
                in_time = wait_at_gate(waiter, timeout_s, self._clock)
                self._waits_of(waiter).record(self._clock.now_s() - waiter.since_s)
                if not in_time and self._step_out(waiter, if_served=False):
                    waiter.error = self._lateness(waiter, timeout_s)
        except BaseException:  # Ctrl-C, or what a signal handler raises, must not leave a waiter that nobody waits on
            self._step_out(waiter, if_served=True)
            raise
        if waiter.error is not None:
            raise waiter.error

    def _line_up(self, waiter: Waiter[Entry[T]]) -> None:
        try:
            with self._lock:
                self._waits_of(waiter).fold_when_many()
                if waiter.is_consumer:
                    self._gets += 1
                    self._consumers.append(waiter)
                elif self._closed:
                    waiter.let_go(self._refusal())
                else:
                    self._puts += 1
                    self._producers.append(waiter)
                self._settle()
        finally:
            if self._due:
                self._settle_if_free()

    def _step_out(self, waiter: Waiter[Entry[T]], *, if_served: bool) -> bool:
        """Give the wait up, and what it was given back; whether that was so: a served wait is kept, unless asked."""
        try:
            with self._lock:
                line = self._consumers if waiter.is_consumer else self._producers
                waits = waiter in line
                if waits:
                    line.remove(waiter)
                if waiter.is_consumer and (waits or if_served):
                    self._take_back(waiter.entries)
                self._settle()
                return waits
        finally:
            if self._due:
                self._settle_if_free()

    def _settle_if_free(self) -> None:
        """Settle what is due; if somebody holds the lock, they do it when they let go."""
        self._due = True
        while self._due and not self._lock.locked():
            with self._lock:
                self._settle()

    # ---- with the lock held

    def _has_room(self, elements: int, nbytes: int) -> bool:
        return (
            self._elements_in - self._elements_out + elements <= self._capacity
            and self._nbytes_in - self._nbytes_out + nbytes <= self._capacity_bytes
        ) or not self._inside

    def _accept(self, item: T, elements: int, nbytes: int) -> bool:
        """Let ``item`` in if it need not wait; whether that was so."""
        if self._closed or self._producers or not self._has_room(elements, nbytes):
            return False
        self._puts += 1
        self._let_in((item, elements, nbytes))
        if self._consumers:
            self._settle()
        return True

    def _take(self) -> T:
        """Hand out an item that is there for a consumer that need not wait."""
        self._gets += 1
        item = self._hand_out()[0]
        if self._producers:
            self._settle()
        return item

    def _let_in(self, entry: Entry[T]) -> None:
        # The append comes last: Ctrl-C falls only after a call, and then the item and its weight are both inside.
        self._elements_in = elements_in = self._elements_in + entry[1]
        self._nbytes_in = nbytes_in = self._nbytes_in + entry[2]
        # No max() for the peaks: it would be a call, and this is the common path.
        if elements_in - self._elements_out > self._peak_elements:  # noqa: PLR1730
            self._peak_elements = elements_in - self._elements_out
        if nbytes_in - self._nbytes_out > self._peak_nbytes:  # noqa: PLR1730
            self._peak_nbytes = nbytes_in - self._nbytes_out
        self._inside.append(entry)

    def _hand_out(self) -> Entry[T]:
        entry = self._inside.popleft()
        self._elements_out += entry[1]
        self._nbytes_out += entry[2]
        return entry

    def _take_back(self, entries: list[Entry[T]]) -> None:
        for entry in entries:
            self._elements_out -= entry[1]
            self._nbytes_out -= entry[2]
        self._inside.extendleft(reversed(entries))
        entries.clear()

    def _settle(self) -> None:
        """Serve the heads of both lines until nothing moves any more."""
        self._due = False
        while self._cancelling and self._producers:
            self._producers.popleft().let_go(self._refusal())
        moved = True
        while moved:
            if self._has_ended():
                self._held_back = 0
            moved = self._serve_producer() or self._serve_consumer()

    def _has_ended(self) -> bool:
        """Whether nothing more will come in: closed, and no waiting producer brings something."""
        return self._closed and not self._producers

    def _serve_producer(self) -> bool:
        """Let in one entry of the producer that has waited longest; whether it could be served."""
        if not self._producers:
            return False
        waiter = self._producers[0]
        if waiter.next_entry < len(waiter.entries):
            entry = waiter.entries[waiter.next_entry]
            if not self._has_room(entry[1], entry[2]):
                return False
            waiter.next_entry += 1
            self._let_in(entry)
        if waiter.next_entry == len(waiter.entries):
            self._producers.popleft().let_go()
        return True

    def _serve_consumer(self) -> bool:
        """Serve the consumer that has waited longest, or send it away at the end; whether either could be done."""
        if not self._consumers:
            return False
        waiter = self._consumers[0]
        missing = waiter.wanted - len(waiter.entries)
        if missing <= max(0, len(self._inside) - self._held_back):
            self._give(waiter, missing)
            self._consumers.popleft().let_go()
        elif self._has_ended():
            self._consumers.popleft().let_go(self._give_rest(waiter))
        elif self._producers and self._inside:
            # No room for more, yet not enough: a take beyond the capacity, or a capacity in bytes below what is
            # held back. The consumer takes what there is, so that the next can come in.
            self._give(waiter, 1)
        else:
            return False
        return True

    def _give(self, waiter: Waiter[Entry[T]], n: int) -> None:
        for _ in range(n):
            waiter.entries.append(self._hand_out())

    def _give_rest(self, waiter: Waiter[Entry[T]]) -> BaseException | None:
        """Give what is left if that will do, else take everything back and say why the wait ends."""
        if waiter.allow_fewer and (waiter.entries or self._inside):
            self._give(waiter, len(self._inside))
            return None
        self._take_back(waiter.entries)
        return self._end(waiter.wanted)

    def _waits_of(self, waiter: Waiter[Entry[T]]) -> WaitRecorder:
        return self._consumer_waits if waiter.is_consumer else self._producer_waits

    # ---- what is raised

    def _refusal(self) -> BaseException:
        refusal = CancelledError(f"{self.name} is closed: nothing can be put in any more")
        refusal.__cause__ = self._failures[0][0] if self._failures else None
        return refusal

    def _end(self, wanted: int) -> BaseException:
        if self._failures:
            error, traceback = self._failures[0]
            return error.with_traceback(traceback)  # as it was, however many consumers have raised it since
        counts = f"requested {wanted}, current size {len(self._inside)}"
        return OutOfRangeError(f"{self.name} is closed and has insufficient elements ({counts})")

    def _lateness(self, waiter: Waiter[Entry[T]], timeout_s: float | None) -> BaseException:
        wanted = f"{waiter.wanted} to take" if waiter.is_consumer else "room"
        state = f"it holds {self.elements} of {self._capacity} elements"
        return DeadlineExceededError(f"{self.name}: waited {timeout_s} s for {wanted}; {state}")

    def _picture(self) -> ChannelSnapshot:
        return ChannelSnapshot(
            name=self.name,
            capacity=self._capacity,
            capacity_bytes=None if self._capacity_bytes == maxsize else self._capacity_bytes,
            items=len(self._inside),
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
            is_closed=self._closed,
            producer_waits=self._producer_waits.summary(self._puts),
            consumer_waits=self._consumer_waits.summary(self._gets),
        )


def _check_bounds(name: str, capacity: int, capacity_bytes: int | None, held_back: int) -> None:
    if capacity < 1:
        raise InvalidArgumentError(f"{name}: capacity must be at least 1, not {capacity}")
    if capacity_bytes is not None and capacity_bytes < 1:
        raise InvalidArgumentError(f"{name}: capacity_bytes must be at least 1, not {capacity_bytes}")
    if not 0 <= held_back < capacity:
        raise InvalidArgumentError(f"{name}: {held_back} elements are held back, but the capacity is {capacity}")
