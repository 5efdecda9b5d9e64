"""The one hand-off between threads: bounded, closable, fair, and a failure passes through it.

What always holds:
- What is inside weighs at most ``capacity`` elements and ``capacity_bytes`` bytes. An item heavier than the whole
  capacity is let in when nothing else is inside, so that no weight can block for ever. Only what an unfinished
  ``get_many`` gives back can pass the bound.
- Those who wait are served in the order in which they came, producers and consumers apart.
- After ``close`` nothing new comes in. What is inside, and what waiting producers bring, is still handed out; then
  every ``get`` raises. With ``cancel_pending_enqueues`` waiting producers are sent away instead.
- ``fail`` is a close whose end is an error. The first failure is the one that everybody is told of.

How it works. ``ChannelState`` is all but the lock; this file adds the lock around it and the waiting. Who finds room, or an
item, goes on at once: that is the whole common path. Otherwise a ``Waiter`` lines up, and the thread that changes the state
serves it. Items are given to waiters directly, so a woken thread never finds that another was quicker.

Why ``close`` and ``fail`` never wait for the lock. They are called from ``__del__``, from weakref callbacks and from
signal handlers, and those run between any two instructions of a thread: of one that holds this very lock, where
waiting would be a deadlock; or of one that holds another channel's lock, while the holder of ours is in a callback
that wants that one. So they give orders (each a single atomic store), mark them as due, and settle them if the lock
is free. If it is not, its holder settles: everybody looks at the mark after letting go of the lock. That ``locked()``
is only a glance does no harm: in a ring of threads that each hold one lock and want the next, the last one to look
finds the next lock taken, and goes on. Other methods must not be called from such callbacks.

Why the lock is only ever taken by ``with``: it is the one form in which Ctrl-C cannot fall between taking a lock and
being sure to release it. And a waiter exists before it lines up, so that Ctrl-C always finds it to take it out.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Iterable
from typing import Generic, Literal, TypeVar

from headrace.clock import MONOTONIC, Clock
from headrace.errors import InvalidArgumentError
from headrace.log import LOG
from headrace.queues.channel_state import EMPTY, ChannelState, Empty, ProducerStatus
from headrace.queues.order import Entry, Order
from headrace.queues.snapshot import ChannelSnapshot
from headrace.queues.waiting import Waiter, wait_at_gate

__all__ = ["EMPTY", "Channel", "Empty"]

T = TypeVar("T")


class Channel(Generic[T]):
    """A bounded hand-off from any number of producers to any number of consumers.

    Args:
        capacity: how many elements may be inside, at least 1.
        capacity_bytes: how many bytes may be inside, or None for no such bound.
        name: how messages call it.
        clock: what deadlines and waits are measured on.
        order: in which order items leave; first in, first out when None.
        held_back: how many items are not handed out before it is closed, less than ``capacity``.
        producer_status: what is known of those who could still bring something; None when nothing is known.
        warn_after_s: seconds after which a consumer that still waits logs what is known of the producers; None for never.

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

    __slots__ = ("__weakref__", "_clock", "_lock", "_producer_status", "_state", "_warn_after_s", "name")

    def __init__(
        self,
        *,
        capacity: int,
        capacity_bytes: int | None = None,
        name: str = "channel",
        clock: Clock = MONOTONIC,
        order: Order[T] | None = None,
        held_back: int = 0,
        producer_status: ProducerStatus | None = None,
        warn_after_s: float | None = None,
    ) -> None:
        self.name = name
        self._clock = clock
        self._producer_status = producer_status
        self._warn_after_s = warn_after_s
        self._lock = allocate_lock()
        self._state: ChannelState[T] = ChannelState(
            name=name,
            capacity=capacity,
            capacity_bytes=capacity_bytes,
            order=order,
            held_back=held_back,
            producer_status=producer_status,
        )

    # ---- putting in

    def put(self, item: T, *, elements: int = 1, nbytes: int = 0, timeout_s: float | None = None) -> None:
        """Puts ``item`` in, waiting while there is no room for it.

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
                if self._state.accept(item, elements, nbytes):
                    return
        finally:
            if self._state.due:
                self._settle_if_free()
        self._wait(Waiter([(item, elements, nbytes)], since_s=self._clock.now_s()), timeout_s)

    def put_nowait(self, item: T, *, elements: int = 1, nbytes: int = 0) -> bool:
        """Puts ``item`` in if there is room now; say whether it is inside.

        Raises:
            CancelledError: when the channel is closed.
        """
        try:
            with self._lock:
                if self._state.accept(item, elements, nbytes):
                    return True
        finally:
            if self._state.due:
                self._settle_if_free()
        if self._state.closed:
            raise self._state.refusal()
        return False

    def put_many(self, entries: Iterable[Entry[T]], *, timeout_s: float | None = None) -> None:
        """Puts items in one after the other, waiting for room; no other producer's items come between them.

        Args:
            entries: triples of an item, its weight in elements and its weight in bytes. None at all is never refused.
            timeout_s: seconds to wait at most for all of them; None waits as long as it takes.

        Raises:
            CancelledError: as for ``put``. What was let in before stays inside.
            DeadlineExceededError: when there was no room for all in time. What was let in before stays inside.
        """
        waiter = Waiter(list(entries), since_s=self._clock.now_s())
        if waiter.entries:
            self._wait(waiter, timeout_s)

    # ---- getting out

    def get(self, *, timeout_s: float | None = None) -> T:
        """Takes the next item out, waiting while there is none.

        Args:
            timeout_s: seconds to wait at most; None waits as long as it takes.

        Raises:
            OutOfRangeError: when the channel is closed and nothing more will come.
            DeadlineExceededError: when no item came in time.
            BaseException: the error given to ``fail``, when everything before it has been taken out.
        """
        try:
            with self._lock:
                if (item := self._state.take()) is not EMPTY:
                    return item
        finally:
            if self._state.due:
                self._settle_if_free()
        waiter: Waiter[Entry[T]] = Waiter([], since_s=self._clock.now_s(), wanted=1)
        self._wait(waiter, timeout_s)
        return waiter.entries[0][0]

    def get_nowait(self) -> T | Literal[Empty.EMPTY]:
        """Takes the next item out if there is one now, else return ``EMPTY``.

        Raises:
            OutOfRangeError: when the channel is closed and nothing more will come.
            BaseException: the error given to ``fail``, when everything before it has been taken out.
        """
        try:
            with self._lock:
                if self._state.due:
                    self._state.settle()
                if (item := self._state.take()) is not EMPTY or not self._state.has_ended():
                    return item
        finally:
            if self._state.due:
                self._settle_if_free()
        raise self._state.end(wanted=1)

    def get_many(self, n: int, *, allow_fewer: bool = False, timeout_s: float | None = None) -> list[T]:
        """Takes the next ``n`` items out, waiting until there are as many; ``n`` may be above the capacity.

        Args:
            n: how many items; none at all never waits.
            allow_fewer: whether the rest will do once the channel is closed and has less than ``n`` (but not none).
            timeout_s: seconds to wait at most; None waits as long as it takes.

        Raises:
            InvalidArgumentError: when ``n`` is negative.
            OutOfRangeError: when the channel is closed and too few are left, which all stay inside.
            DeadlineExceededError: when too few came in time; they all stay inside.
            BaseException: the error given to ``fail``, when too few came before it.
        """
        if n < 0:
            raise InvalidArgumentError(f"{self.name}: cannot take {n} items")
        waiter: Waiter[Entry[T]] = Waiter([], since_s=self._clock.now_s(), wanted=n, allow_fewer=allow_fewer)
        if n:
            self._wait(waiter, timeout_s)
        return [entry[0] for entry in waiter.entries]

    def give_back(self, entries: list[Entry[T]]) -> None:
        """Puts entries that were taken out back to where they were; the list is empty afterwards.

        They were inside before, so this never waits, may pass the bounds, and is possible on a closed channel.
        """
        try:
            with self._lock:
                self._state.take_back(entries)
                self._state.settle()
        finally:
            if self._state.due:
                self._settle_if_free()

    # ---- ending

    def close(self, *, cancel_pending_enqueues: bool = False) -> None:
        """Lets nothing new in, and wake everybody who can no longer be served. Never waits; may be called again.

        Args:
            cancel_pending_enqueues: whether producers that wait for room are sent away with ``CancelledError``
                instead of being served as room comes free.
        """
        if cancel_pending_enqueues:
            self._state.cancelling = True
        self._state.closed = True
        self._settle_if_free()

    def fail(self, error: BaseException) -> None:
        """Closes and sends waiting producers away; when consumers have taken what is inside, they raise ``error``.

        Of several failures the first counts; a failure after ``close`` still counts. Never waits.
        """
        self._state.failures.append((error, error.__traceback__))
        self.close(cancel_pending_enqueues=True)

    def bound_elements(self, elements: int) -> None:
        """Sets the bound of elements, not below what it was, from now on; who waits for room is served with the next item. Never waits."""
        self._state.capacity = max(self._state.capacity, elements)

    def bound_bytes(self, nbytes: int) -> None:
        """Sets the bound of bytes, at least 1, from now on; what is inside already stays. Never waits."""
        self._state.capacity_bytes = nbytes

    def recheck(self) -> None:
        """Serves those that wait, or sends them away, because what is known of the producers has changed. Never waits."""
        self._settle_if_free()

    @property
    def is_closed(self) -> bool:
        """Whether it is closed to new items; there may still be some inside."""
        return self._state.closed

    # ---- looking at it

    def __len__(self) -> int:
        """Returns how many items are inside."""
        return len(self._state.inside)

    def __bool__(self) -> bool:
        """Returns True: a channel is a channel, also when nothing is inside."""
        return True

    @property
    def elements(self) -> int:
        """The weight of what is inside, in elements."""
        return self._state.elements

    @property
    def nbytes(self) -> int:
        """The weight of what is inside, in bytes."""
        return self._state.nbytes

    def snapshot(self) -> ChannelSnapshot:
        """Returns what the channel holds, has let through, and how long both sides waited, at one moment."""
        try:
            with self._lock:
                return self._state.picture()
        finally:
            if self._state.due:
                self._settle_if_free()

    # ---- waiting

    def _wait(self, waiter: Waiter[Entry[T]], timeout_s: float | None) -> None:
        """Stands in line until served. However this ends, ``waiter`` is not in line afterwards."""
        try:
            self._enqueue(waiter)
            if not waiter.gate.acquire(False):
                wait = wait_at_gate if self._producer_status is None else self._wait_or_warn
                in_time = wait(waiter, timeout_s, self._clock)
                waits = self._state.waits_out if waiter.is_consumer else self._state.waits_in
                waits.fresh.append(self._clock.now_s() - waiter.since_s)
                if not in_time and self._withdraw(waiter, even_if_served=False):
                    waiter.error = self._state.lateness(waiter, timeout_s)
        except BaseException:  # Ctrl-C, or what a signal handler raises, must not leave a waiter that nobody waits on
            self._withdraw(waiter, even_if_served=True)
            raise
        if (error := waiter.error) is not None:
            waiter.error = (
                None  # an error that can be reached from its own traceback would keep the caller's frames alive
            )
            try:
                raise error
            finally:
                del error

    def _wait_or_warn(self, waiter: Waiter[Entry[T]], timeout_s: float | None, clock: Clock) -> bool:
        """Waits at the gate; a consumer that waits long says why. Whether it was let go in time."""
        patience_s = self._warn_after_s
        will_warn = patience_s is not None and (timeout_s is None or timeout_s > patience_s)
        if self._producer_status is not None and waiter.is_consumer and will_warn:
            if wait_at_gate(waiter, patience_s, clock):
                return True
            shortage, why = self._state.shortage(waiter), self._producer_status.explain()
            LOG.warning("%s: a dequeue has waited %g s (%s). %s", self.name, patience_s, shortage, why)
        return wait_at_gate(waiter, timeout_s, clock)

    def _enqueue(self, waiter: Waiter[Entry[T]]) -> None:
        try:
            with self._lock:
                self._state.enqueue(waiter)
        finally:
            if self._state.due:
                self._settle_if_free()

    def _withdraw(self, waiter: Waiter[Entry[T]], *, even_if_served: bool) -> bool:
        try:
            with self._lock:
                return self._state.withdraw(waiter, even_if_served=even_if_served)
        finally:
            if self._state.due:
                self._settle_if_free()

    def _settle_if_free(self) -> None:
        """Settles what is due; if somebody holds the lock, they do it when they let go."""
        self._state.due = True
        while self._state.due and not self._lock.locked():
            with self._lock:
                self._state.settle()
