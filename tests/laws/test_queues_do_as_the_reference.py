"""Every queue, driven by real threads, does what the plainest queue does: step by step, whatever is called.

Each step makes one call in a thread of its own, and then waits until exactly those calls have ended that have ended in
the reference, and as many wait as wait there. Time is a clock that stands still until a step moves it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from tests.laws.queue_reference import Call, Reference
from tests.unit.queues.background import Background, HandClock, waiting

from headrace.errors import CancelledError, DeadlineExceededError, OutOfRangeError
from headrace.queues import Channel, FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
from headrace.queues.order import PriorityOrder, ShuffledOrder

ERRORS: dict[type[BaseException], str] = {
    CancelledError: "cancelled",
    OutOfRangeError: "out of range",
    DeadlineExceededError: "late",
    ZeroDivisionError: "failed",
}
WEIGHTS = st.tuples(st.integers(1, 3), st.integers(0, 4))


class Machine(RuleBasedStateMachine):
    """Drives one kind of queue; subclasses say which, and how it is called."""

    order = "fifo"
    most_held_back = 0

    def make(self, capacity: int, capacity_bytes: int | None, held_back: int) -> Channel[Any] | QueueBase:
        raise NotImplementedError

    def put(self, call: Call, timeout_s: float | None) -> Callable[[], object]:
        raise NotImplementedError

    def get(self, call: Call, timeout_s: float | None) -> Callable[[], object]:
        raise NotImplementedError

    # ---- the story

    @initialize(
        capacity=st.integers(1, 5), capacity_bytes=st.sampled_from([None, None, 4, 24]), held_back=st.integers(0, 4)
    )
    def begin(self, capacity: int, capacity_bytes: int | None, held_back: int) -> None:
        self.clock = HandClock()
        self.number = 0
        self.calls: list[tuple[Call, Background]] = []
        held_back = min(held_back, capacity - 1, self.most_held_back)
        self.reference = Reference(self.order, capacity, self.scaled(capacity_bytes), held_back)
        self.queue = self.make(capacity, self.scaled(capacity_bytes), held_back)
        self.let_in: set[int] = set()
        self.taken: list[int] = []

    def scaled(self, capacity_bytes: int | None) -> int | None:
        return capacity_bytes

    @rule(weights=st.lists(WEIGHTS, max_size=4), is_late=st.booleans())
    def something_is_put_in(self, weights: list[tuple[int, int]], is_late: bool) -> None:
        call = Call([self.next_item() for _ in weights], [self.weighed(weight) for weight in weights])
        self.begin_call(call, self.reference.put, self.put, is_late)

    @rule(wanted=st.integers(0, 7), allow_fewer=st.booleans(), is_late=st.booleans())
    def something_is_taken_out(self, wanted: int, allow_fewer: bool, is_late: bool) -> None:
        call = Call(wanted=wanted, allow_fewer=allow_fewer)
        self.begin_call(call, self.reference.get, self.get, is_late)

    @rule(cancel=st.booleans())
    @precondition(lambda self: self.number > 3)
    def it_is_closed(self, cancel: bool) -> None:
        if not (isinstance(self.queue, QueueBase) and self.reference.closed and not cancel):
            self.queue.close(cancel_pending_enqueues=cancel)
        self.reference.close(cancel=cancel)
        self.compare()

    @rule()
    @precondition(lambda self: any(call.deadline_s is not None for call, _ in self.calls))
    def time_goes_on_to_the_next_deadline(self) -> None:
        deadlines = [(call.deadline_s, call) for call, _ in self.calls if call.deadline_s is not None]
        deadline_s, late = min(deadlines, key=lambda deadline: deadline[0])
        self.clock.move(deadline_s - self.clock.now_s())
        self.reference.give_up(late)
        self.compare()

    def teardown(self) -> None:
        if not hasattr(self, "queue"):
            return
        self.queue.close(cancel_pending_enqueues=True)
        self.reference.close(cancel=True)
        self.compare()
        assert not self.calls
        rest = Call(wanted=max(1, len(self.reference.inside)), allow_fewer=True)
        self.begin_call(rest, self.reference.get, self.get, is_late=False)
        assert sorted(self.taken) == sorted(self.let_in), "an item was lost, or taken twice"

    # ---- how it is told

    def next_item(self) -> Any:
        self.number += 1
        return self.number

    def weighed(self, weight: tuple[int, int]) -> tuple[int, int]:
        return weight

    def begin_call(self, call: Call, in_reference: Callable[[Call], None], in_queue: Any, is_late: bool) -> None:
        # No two deadlines are the same, so that one step never ends two waits in an order that nobody can know.
        self.number += 1
        timeout_s = 10.0 + self.number / 1024 if is_late else None
        call.deadline_s = None if timeout_s is None else self.clock.now_s() + timeout_s
        self.calls.append((call, Background(in_queue(call, timeout_s))))
        in_reference(call)
        self.compare()

    def compare(self) -> None:
        for call, background in [*self.calls]:
            if call.outcome != "waits":
                self.calls.remove((call, background))
                self.compare_end(call, background)
        waiting(self.queue, producers=len(self.reference.producers), consumers=len(self.reference.consumers))
        assert all(background.runs for _, background in self.calls)
        assert self.queue.snapshot().items == len(self.reference.inside)
        assert self.queue.snapshot().elements == sum(weight[0] for _, weight in self.reference.inside)

    def compare_end(self, call: Call, background: Background) -> None:
        error = background.error()
        assert (ERRORS[type(error)] if error is not None else "done") == call.outcome
        if call.wanted is None:
            self.let_in |= {self.key(item) for item in call.items[: call.let_in]}
        elif call.outcome == "done":
            got = [int(item) for item in background.result()]
            assert len(got) == len(call.items)
            self.taken += got
            if self.order != "random":
                expected = sorted(call.items) if self.order == "priority" and call.wanted > 1 else call.items
                assert got == [self.key(item) for item in expected]

    def key(self, item: Any) -> int:
        return int(item)


class ChannelMachine(Machine):
    """A channel is called with weights, and can fail."""

    def make(self, capacity: int, capacity_bytes: int | None, held_back: int) -> Channel[Any]:
        self.channel: Channel[Any] = Channel(
            capacity=capacity,
            capacity_bytes=capacity_bytes,
            clock=self.clock,
            order={"fifo": lambda: None, "random": lambda: ShuffledOrder[Any](0), "priority": PriorityOrder}[
                self.order
            ](),
            held_back=held_back,
        )
        return self.channel

    def put(self, call: Call, timeout_s: float | None) -> Callable[[], object]:
        entries = [(item, *weight) for item, weight in zip(call.items, call.weights, strict=True)]
        if len(entries) == 1:
            item, elements, nbytes = entries[0]
            return lambda: self.channel.put(item, elements=elements, nbytes=nbytes, timeout_s=timeout_s)
        return lambda: self.channel.put_many(entries, timeout_s=timeout_s)

    def get(self, call: Call, timeout_s: float | None) -> Callable[[], object]:
        assert call.wanted is not None
        wanted = call.wanted
        if wanted == 1:
            return lambda: [self.number_of(self.channel.get(timeout_s=timeout_s))]
        return lambda: self.sorted_like_the_queues(
            self.channel.get_many(wanted, allow_fewer=call.allow_fewer, timeout_s=timeout_s)
        )

    def sorted_like_the_queues(self, items: list[Any]) -> list[int]:
        numbers = [self.number_of(item) for item in items]
        return sorted(numbers) if self.order == "priority" else numbers

    def number_of(self, item: Any) -> int:
        return int(item)

    @rule()
    @precondition(lambda self: self.number > 6)
    def it_fails(self) -> None:
        self.channel.fail(ZeroDivisionError())
        self.reference.fail()
        self.compare()


class ShuffledChannelMachine(ChannelMachine):
    order = "random"
    most_held_back = 4

    def weighed(self, weight: tuple[int, int]) -> tuple[int, int]:
        return 1, 3  # all the same: the reference does not know which one leaves


class PriorityChannelMachine(ChannelMachine):
    order = "priority"

    def next_item(self) -> Any:
        self.number += 1
        return (self.number * 7 % 11, self.number)  # priorities that are not in order, and some that are equal

    def number_of(self, item: Any) -> int:
        return self.key(item)

    def key(self, item: Any) -> int:
        return int(item[0] * 10_000 + item[1])


class QueueMachine(Machine):
    """A queue of the user: one element weighs one, and 8 bytes."""

    def scaled(self, capacity_bytes: int | None) -> int | None:
        return capacity_bytes and capacity_bytes * 3

    def weighed(self, weight: tuple[int, int]) -> tuple[int, int]:
        return 1, 8

    def put(self, call: Call, timeout_s: float | None) -> Callable[[], object]:
        assert isinstance(self.queue, QueueBase)
        queue = self.queue
        if len(call.items) == 1:
            return lambda: queue.enqueue(call.items[0], timeout_s=timeout_s)
        return lambda: queue.enqueue_many([call.items], timeout_s=timeout_s)

    def get(self, call: Call, timeout_s: float | None) -> Callable[[], object]:
        assert isinstance(self.queue, QueueBase)
        assert call.wanted is not None
        queue, wanted = self.queue, call.wanted
        if call.allow_fewer:
            return lambda: queue.dequeue_up_to(wanted, timeout_s=timeout_s)
        if wanted == 1:
            return lambda: [queue.dequeue(timeout_s=timeout_s)]
        return lambda: queue.dequeue_many(wanted, timeout_s=timeout_s)


class FIFOQueueMachine(QueueMachine):
    def make(self, capacity: int, capacity_bytes: int | None, held_back: int) -> QueueBase:
        return FIFOQueue(capacity, "int64", [()], capacity_bytes=capacity_bytes, clock=self.clock, warn_after_s=None)


class PaddingFIFOQueueMachine(QueueMachine):
    def make(self, capacity: int, capacity_bytes: int | None, held_back: int) -> QueueBase:
        return PaddingFIFOQueue(capacity, ["int64"], [()], capacity_bytes=capacity_bytes, clock=self.clock)


class RandomShuffleQueueMachine(QueueMachine):
    order = "random"
    most_held_back = 4

    def make(self, capacity: int, capacity_bytes: int | None, held_back: int) -> QueueBase:
        return RandomShuffleQueue(
            capacity, held_back, "int64", [()], seed=0, capacity_bytes=capacity_bytes, clock=self.clock
        )


class PriorityQueueMachine(QueueMachine):
    order = "priority"

    def make(self, capacity: int, capacity_bytes: int | None, held_back: int) -> QueueBase:
        return PriorityQueue(capacity, [], capacity_bytes=capacity_bytes, clock=self.clock)

    def next_item(self) -> Any:
        self.number += 1
        return self.number * 7919 % 10_007  # all different, and not in order


@pytest.mark.parametrize(
    "machine",
    [
        ChannelMachine,
        ShuffledChannelMachine,
        PriorityChannelMachine,
        FIFOQueueMachine,
        PaddingFIFOQueueMachine,
        RandomShuffleQueueMachine,
        PriorityQueueMachine,
    ],
)
def test_every_queue_does_what_the_plainest_queue_does(machine: type[Machine]) -> None:
    run_state_machine_as_test(machine, settings=settings(stateful_step_count=25))
