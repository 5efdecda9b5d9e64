"""TensorFlow's rules for queues, each as it was seen on TensorFlow 2.21 (docs/decisions/0011)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.unit.queues.background import Background, HandClock, waiting

from headrace.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OutOfRangeError
from headrace.queues import FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue

Make = Callable[..., QueueBase]

# Each holds int64 scalars, and for these tests behaves as a first-in-first-out queue.
KINDS: dict[str, Make] = {
    "FIFOQueue": lambda capacity, **settings: FIFOQueue(capacity, "int64", [()], **settings),
    "PaddingFIFOQueue": lambda capacity, **settings: PaddingFIFOQueue(capacity, ["int64"], [()], **settings),
    "PriorityQueue": lambda capacity, **settings: PriorityQueue(capacity, [], **settings),
}


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Make:
    name: str = request.param
    return KINDS[name]


def test_an_enqueue_beyond_the_capacity_waits_and_is_not_dropped(make: Make) -> None:
    queue = make(1)
    queue.enqueue(1)
    enqueue = Background(lambda: queue.enqueue(2))
    waiting(queue, producers=1)
    assert queue.dequeue() == 1
    enqueue.result()
    assert queue.dequeue() == 2


def test_after_close_enqueues_are_cancelled_and_dequeues_take_what_is_left(make: Make) -> None:
    queue = make(5)
    queue.enqueue_many([[1, 2]])
    queue.close()
    assert queue.is_closed()
    with pytest.raises(CancelledError):
        queue.enqueue(3)
    with pytest.raises(CancelledError):
        queue.enqueue_many([[3]])
    queue.enqueue_many([np.zeros(0, np.int64)])  # nothing is not refused
    with pytest.raises(OutOfRangeError, match=r"requested 3, current size 2"):
        queue.dequeue_many(3)
    assert queue.size() == 2
    assert_array_equal(queue.dequeue_up_to(3), [1, 2])
    with pytest.raises(OutOfRangeError):
        queue.dequeue()
    with pytest.raises(OutOfRangeError):
        queue.dequeue_up_to(3)
    assert queue.dequeue_many(0).shape == (0,)


def test_a_second_close_is_cancelled_unless_it_cancels(make: Make) -> None:
    queue = make(5)
    queue.close()
    with pytest.raises(CancelledError, match="already closed"):
        queue.close()
    queue.close(cancel_pending_enqueues=True)


def test_no_close_waits_for_a_pending_enqueue(make: Make) -> None:
    queue = make(1)
    queue.enqueue(1)
    enqueues = [Background(lambda: queue.enqueue(2)), Background(lambda: queue.enqueue(3))]
    waiting(queue, producers=2)
    assert Background(queue.close).result() is None
    assert isinstance(Background(queue.close).error(), CancelledError)
    assert queue.dequeue() == 1
    waiting(queue, producers=1)  # one was served
    assert Background(lambda: queue.close(cancel_pending_enqueues=True)).result() is None
    errors = [enqueue.error() for enqueue in enqueues]
    assert sorted(error is None for error in errors) == [False, True]
    assert isinstance(next(error for error in errors if error is not None), CancelledError)


def test_several_enqueue_many_serve_dequeue_many_beyond_the_capacity(make: Make) -> None:
    queue = make(2)

    def fill(first: int) -> Background:
        return Background(lambda: queue.enqueue_many([list(range(first, first + 4))]))

    filling = [fill(0), fill(10), fill(20)]
    waiting(queue, producers=3)
    taking = [Background(lambda: queue.dequeue_many(6)) for _ in range(2)]
    taken = np.concatenate([call.result() for call in taking])
    assert sorted(taken.tolist()) == [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]
    assert all(call.error() is None for call in filling)


def test_pending_enqueues_come_before_the_end(make: Make) -> None:
    queue = make(1)
    queue.enqueue(1)
    enqueue = Background(lambda: queue.enqueue(2))
    waiting(queue, producers=1)
    queue.close()
    assert_array_equal(queue.dequeue_up_to(3), [1, 2])
    enqueue.result()


def test_pending_enqueues_can_be_cancelled(make: Make) -> None:
    queue = make(3)
    many = Background(lambda: queue.enqueue_many([[1, 2, 3, 4, 5]]))
    waiting(queue, producers=1)
    queue.close(cancel_pending_enqueues=True)
    assert isinstance(many.error(), CancelledError)
    assert queue.size() == 3


def test_dequeue_many_may_ask_for_more_than_the_capacity(make: Make) -> None:
    queue = make(2)
    get = Background(lambda: queue.dequeue_many(5))
    for item in range(5):
        queue.enqueue(item)
    assert_array_equal(get.result(), range(5))


def test_a_waiting_dequeue_many_gives_back_what_it_has_when_the_queue_closes(make: Make) -> None:
    queue = make(5)
    many = Background(lambda: queue.dequeue_many(3))
    waiting(queue, consumers=1)
    queue.enqueue(1)
    one = Background(queue.dequeue)
    waiting(queue, consumers=2)
    queue.enqueue(2)
    queue.close()
    assert isinstance(many.error(), OutOfRangeError)
    assert one.result() == 1
    assert queue.dequeue() == 2


def test_a_waiting_dequeue_up_to_takes_the_rest_when_the_queue_closes(make: Make) -> None:
    queue = make(5)
    get = Background(lambda: queue.dequeue_up_to(3))
    waiting(queue, consumers=1)
    queue.enqueue(1)
    assert get.runs
    queue.close()
    assert_array_equal(get.result(), [1])


@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
def test_a_negative_number_is_refused(make: Make, method: str) -> None:
    with pytest.raises(InvalidArgumentError, match="-1"):
        getattr(make(1), method)(-1)


def test_every_call_that_waits_has_a_deadline(make: Make) -> None:
    clock = HandClock()
    empty, full = make(1, clock=clock), make(1, clock=clock)
    full.enqueue(1)
    calls = [
        Background(lambda: empty.dequeue(timeout_s=2)),
        Background(lambda: empty.dequeue_many(1, timeout_s=2)),
        Background(lambda: empty.dequeue_up_to(1, timeout_s=2)),
        Background(lambda: full.enqueue(2, timeout_s=2)),
        Background(lambda: full.enqueue_many([[2, 3]], timeout_s=2)),
    ]
    waiting(empty, consumers=3)
    waiting(full, producers=2)
    clock.move(2)
    assert all(isinstance(call.error(), DeadlineExceededError) for call in calls)


def test_a_queue_is_bounded_in_bytes_too(make: Make) -> None:
    queue = make(100, capacity_bytes=20)
    queue.enqueue_many([[1, 2]])
    enqueue = Background(lambda: queue.enqueue(3))
    waiting(queue, producers=1)
    assert queue.snapshot().nbytes == 16
    assert queue.dequeue() == 1
    enqueue.result()


# ---- random order


def test_the_minimum_stays_inside_until_the_queue_is_closed() -> None:
    queue = RandomShuffleQueue(10, 3, "int64", [()], seed=0)
    queue.enqueue_many([[1, 2, 3, 4]])
    taken = [queue.dequeue()]
    get = Background(queue.dequeue)
    waiting(queue, consumers=1)
    assert queue.size() == 3
    queue.close()
    taken += [get.result(), *queue.dequeue_up_to(9)]
    assert sorted(taken) == [1, 2, 3, 4]


def test_dequeue_many_leaves_the_minimum_inside_too() -> None:
    queue = RandomShuffleQueue(10, 3, "int64", [()], seed=0)
    queue.enqueue_many([[1, 2, 3, 4, 5]])
    get = Background(lambda: queue.dequeue_many(3))
    waiting(queue, consumers=1)
    queue.enqueue(6)
    assert len(get.result()) == 3
    assert queue.size() == 3


@pytest.mark.parametrize("minimum", [-1, 3, 4])
def test_the_minimum_is_below_the_capacity(minimum: int) -> None:
    with pytest.raises(InvalidArgumentError, match="min_after_dequeue"):
        RandomShuffleQueue(3, minimum)


def test_the_same_seed_gives_the_same_order() -> None:
    def order(seed: int) -> list[int]:
        queue = RandomShuffleQueue(50, 0, "int64", [()], seed=seed)
        queue.enqueue_many([range(50)])
        return [queue.dequeue() for _ in range(50)]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert sorted(order(1)) == list(range(50))
