"""The one hand-off: bounded, closable, fair, and a failure passes through it."""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.queues.background import LIMIT_S, Background, HandClock, until, waiting

from headrace.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OutOfRangeError
from headrace.queues import EMPTY, Channel


def filled(*items: Any, capacity: int = 100) -> Channel[Any]:
    channel: Channel[Any] = Channel(capacity=capacity)
    for item in items:
        channel.put(item)
    return channel


# ---- bounds


def test_items_leave_in_the_order_in_which_they_came() -> None:
    channel = filled(1, 2, 3)
    assert [channel.get() for _ in range(3)] == [1, 2, 3]


def test_a_put_beyond_the_capacity_waits_and_is_not_dropped() -> None:
    channel = filled(1, 2, capacity=2)
    put = Background(lambda: channel.put(3))
    waiting(channel, producers=1)
    assert len(channel) == 2
    assert channel.get() == 1
    put.result()
    assert [channel.get(), channel.get()] == [2, 3]


def test_an_item_weighs_as_many_elements_as_it_says() -> None:
    channel: Channel[str] = Channel(capacity=10)
    channel.put("block of 6", elements=6)
    assert not channel.put_nowait("block of 5", elements=5)
    assert channel.put_nowait("block of 4", elements=4)
    assert (channel.elements, len(channel)) == (10, 2)


def test_bytes_are_a_bound_of_their_own() -> None:
    channel: Channel[str] = Channel(capacity=10, capacity_bytes=100)
    channel.put("a", nbytes=60)
    assert not channel.put_nowait("b", nbytes=41)
    assert channel.put_nowait("c", nbytes=40)
    assert channel.nbytes == 100


def test_an_item_heavier_than_the_whole_capacity_comes_in_when_nothing_else_is_inside() -> None:
    channel: Channel[str] = Channel(capacity=4, capacity_bytes=10)
    channel.put("giant", elements=9, nbytes=99)
    assert not channel.put_nowait("small", elements=0)
    assert channel.get() == "giant"
    channel.put("small")
    giant = Background(lambda: channel.put("giant", elements=9))
    waiting(channel, producers=1)
    assert channel.get() == "small"
    giant.result()
    assert channel.get() == "giant"


@pytest.mark.parametrize(("capacity", "capacity_bytes"), [(0, None), (-1, None), (1, 0)])
def test_a_bound_below_one_is_refused(capacity: int, capacity_bytes: int | None) -> None:
    with pytest.raises(InvalidArgumentError, match="must be at least 1"):
        Channel(capacity=capacity, capacity_bytes=capacity_bytes)


def test_what_is_held_back_comes_out_once_it_is_closed() -> None:
    channel: Channel[int] = Channel(capacity=5, held_back=2)
    channel.put_many([(item, 1, 0) for item in range(3)])
    assert channel.get() == 0
    assert channel.get_nowait() is EMPTY
    get = Background(channel.get)
    waiting(channel, consumers=1)
    channel.close()
    assert get.result() == 1
    assert channel.get() == 2


def test_what_is_held_back_gives_way_when_a_bound_in_bytes_lets_no_more_in() -> None:
    channel: Channel[int] = Channel(capacity=10, capacity_bytes=100, held_back=5)
    channel.put(1, nbytes=100)
    put = Background(lambda: channel.put(2, nbytes=100))
    waiting(channel, producers=1)
    assert Background(channel.get).result() == 1
    put.result()


# ---- turns


def test_consumers_that_wait_are_served_in_the_order_in_which_they_came() -> None:
    channel: Channel[int] = Channel(capacity=10)
    gets = []
    for count in range(1, 5):
        gets.append(Background(channel.get))
        waiting(channel, consumers=count)
    for item in range(4):
        channel.put(item)
    assert [get.result() for get in gets] == [0, 1, 2, 3]


def test_producers_that_wait_are_served_in_the_order_in_which_they_came() -> None:
    channel = filled("first", capacity=1)
    for count in range(1, 5):
        Background(lambda item=count: channel.put(item))  # type: ignore[misc]  # binds the loop's variable
        waiting(channel, producers=count)
    assert [channel.get() for _ in range(5)] == ["first", 1, 2, 3, 4]


def test_a_newcomer_does_not_overtake_a_producer_that_waits_with_a_heavier_item() -> None:
    channel: Channel[str] = Channel(capacity=4)
    channel.put("a", elements=3)
    heavy = Background(lambda: channel.put("heavy", elements=2))
    waiting(channel, producers=1)
    assert not channel.put_nowait("light")
    assert channel.get() == "a"
    heavy.result()


def test_the_items_of_one_put_many_stand_together() -> None:
    channel: Channel[str] = Channel(capacity=1)
    many = Background(lambda: channel.put_many([(item, 1, 0) for item in "abc"]))
    waiting(channel, producers=1)
    other = Background(lambda: channel.put("x"))
    waiting(channel, producers=2)
    assert [channel.get() for _ in range(4)] == ["a", "b", "c", "x"]
    many.result()
    other.result()


# ---- many at once


def test_get_many_waits_until_there_are_enough() -> None:
    channel = filled(1)
    get = Background(lambda: channel.get_many(3))
    waiting(channel, consumers=1)
    channel.put(2)
    assert get.runs
    channel.put(3)
    assert get.result() == [1, 2, 3]


def test_get_many_of_more_than_the_capacity_comes_to_its_end() -> None:
    channel: Channel[int] = Channel(capacity=2)
    get = Background(lambda: channel.get_many(7))
    channel.put_many([(item, 1, 0) for item in range(9)])
    assert get.result() == list(range(7))
    assert [channel.get(), channel.get()] == [7, 8]


def test_a_get_behind_a_get_many_waits_its_turn() -> None:
    channel: Channel[int] = Channel(capacity=10)
    many = Background(lambda: channel.get_many(2))
    waiting(channel, consumers=1)
    one = Background(channel.get)
    waiting(channel, consumers=2)
    channel.put_many([(item, 1, 0) for item in range(3)])
    assert (many.result(), one.result()) == ([0, 1], 2)


def test_get_many_of_a_closed_channel_with_fewer_raises_and_loses_nothing() -> None:
    channel = filled(1, 2)
    channel.close()
    with pytest.raises(OutOfRangeError, match=r"requested 3, current size 2"):
        channel.get_many(3)
    assert channel.get_many(2) == [1, 2]


def test_get_many_that_took_a_part_already_gives_it_back_in_order_when_the_channel_closes() -> None:
    channel: Channel[int] = Channel(capacity=2)
    get = Background(lambda: channel.get_many(9))
    waiting(channel, consumers=1)
    channel.put_many([(item, 1, 0) for item in range(5)])
    channel.close()
    assert isinstance(get.error(), OutOfRangeError)
    assert channel.get_many(9, allow_fewer=True) == [0, 1, 2, 3, 4]


def test_get_many_takes_the_rest_where_that_will_do() -> None:
    channel = filled(1, 2)
    channel.close()
    assert channel.get_many(3, allow_fewer=True) == [1, 2]
    with pytest.raises(OutOfRangeError):
        channel.get_many(3, allow_fewer=True)


def test_nothing_at_all_is_put_and_taken_without_waiting() -> None:
    channel: Channel[int] = Channel(capacity=1)
    assert channel.get_many(0) == []
    channel.close()
    channel.put_many([])
    assert channel.get_many(0) == []


def test_a_negative_number_of_items_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="-1"):
        filled().get_many(-1)


def test_items_that_are_given_back_are_the_next_to_leave() -> None:
    channel = filled(1, 2, 3)
    taken = channel.get_many(2)
    channel.close()
    channel.give_back([(item, 1, 0) for item in taken])
    assert channel.get_many(3) == [1, 2, 3]


# ---- without waiting


def test_the_twins_that_do_not_wait_say_how_it_went() -> None:
    channel: Channel[int] = Channel(capacity=1)
    assert channel.get_nowait() is EMPTY
    assert channel.put_nowait(1)
    assert not channel.put_nowait(2)
    assert channel.get_nowait() == 1
    channel.close()
    with pytest.raises(CancelledError):
        channel.put_nowait(3)
    with pytest.raises(OutOfRangeError):
        channel.get_nowait()


# ---- the end


def test_after_close_what_is_inside_still_comes_out_and_then_it_is_over() -> None:
    channel = filled(1, 2)
    channel.close()
    assert channel.is_closed
    with pytest.raises(CancelledError):
        channel.put(3)
    assert [channel.get(), channel.get()] == [1, 2]
    for _ in range(2):
        with pytest.raises(OutOfRangeError, match="requested 1, current size 0"):
            channel.get()


def test_close_wakes_consumers_for_whom_nothing_will_come() -> None:
    channel: Channel[int] = Channel(capacity=1)
    gets = [Background(channel.get) for _ in range(3)]
    waiting(channel, consumers=3)
    channel.close()
    assert all(isinstance(get.error(), OutOfRangeError) for get in gets)


def test_what_waiting_producers_bring_is_still_served_after_close() -> None:
    channel = filled(1, capacity=1)
    put = Background(lambda: channel.put(2))
    waiting(channel, producers=1)
    channel.close()
    assert [channel.get(), channel.get()] == [1, 2]
    put.result()


def test_close_can_send_waiting_producers_away() -> None:
    channel: Channel[int] = Channel(capacity=3)
    many = Background(lambda: channel.put_many([(item, 1, 0) for item in range(5)]))
    waiting(channel, producers=1)
    put = Background(lambda: channel.put(9))
    waiting(channel, producers=2)
    channel.close(cancel_pending_enqueues=True)
    assert isinstance(many.error(), CancelledError)
    assert isinstance(put.error(), CancelledError)
    assert channel.get_many(9, allow_fewer=True) == [0, 1, 2]


def test_close_may_be_called_again_and_then_send_producers_away() -> None:
    channel = filled(1, capacity=1)
    put = Background(lambda: channel.put(2))
    waiting(channel, producers=1)
    channel.close()
    channel.close()
    assert put.runs
    channel.close(cancel_pending_enqueues=True)
    assert isinstance(put.error(), CancelledError)


def test_a_failure_comes_after_what_was_put_in_before_it() -> None:
    channel = filled(1)
    channel.fail(ValueError("broken"))
    assert channel.get() == 1
    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            channel.get()
    with pytest.raises(ValueError, match="broken"):
        channel.get_nowait()


def test_a_failure_wakes_consumers_and_sends_producers_away_with_its_cause() -> None:
    empty: Channel[int] = Channel(capacity=1)
    get = Background(empty.get)
    waiting(empty, consumers=1)
    full = filled(1, capacity=1)
    put = Background(lambda: full.put(2))
    waiting(full, producers=1)
    failure = OSError("disk")
    empty.fail(failure)
    full.fail(failure)
    assert get.error() is failure
    refusal = put.error()
    assert isinstance(refusal, CancelledError)
    assert refusal.__cause__ is failure


def test_of_two_failures_everybody_hears_the_first() -> None:
    channel = filled()
    channel.fail(ValueError("first"))
    channel.fail(ValueError("second"))
    with pytest.raises(ValueError, match="first"):
        channel.get()


def test_a_failure_after_a_close_is_not_lost() -> None:
    channel = filled()
    channel.close()
    channel.fail(ValueError("late"))
    with pytest.raises(ValueError, match="late"):
        channel.get()


def test_a_failure_that_is_raised_often_keeps_the_traceback_it_came_with() -> None:
    channel = filled()
    try:
        int("no number")
    except ValueError as error:
        channel.fail(error)
    depths = []
    for _ in range(3):
        with pytest.raises(ValueError) as caught:
            channel.get()
        depths.append(len(traceback.extract_tb(caught.value.__traceback__)))
    assert len(set(depths)) == 1


# ---- time


def test_a_get_that_waits_too_long_says_so_and_takes_nothing() -> None:
    clock = HandClock()
    channel: Channel[int] = Channel(capacity=2, clock=clock)
    get = Background(lambda: channel.get_many(2, timeout_s=7.0))
    waiting(channel, consumers=1)
    channel.put(1)
    clock.move(6.9)
    assert get.runs
    clock.move(0.2)
    error = get.error()
    assert isinstance(error, DeadlineExceededError)
    assert "7.0 s" in str(error)
    assert channel.get() == 1


def test_a_put_that_waits_too_long_says_so_and_brings_nothing_more() -> None:
    clock = HandClock()
    channel: Channel[int] = Channel(capacity=2, clock=clock)
    put = Background(lambda: channel.put_many([(item, 1, 0) for item in range(5)], timeout_s=1.0))
    waiting(channel, producers=1)
    clock.move(1.0)
    assert isinstance(put.error(), DeadlineExceededError)
    channel.close()
    assert channel.get_many(9, allow_fewer=True) == [0, 1]


def test_a_deadline_of_nothing_is_a_look() -> None:
    channel: Channel[int] = Channel(capacity=1, clock=HandClock())
    with pytest.raises(DeadlineExceededError):
        channel.get(timeout_s=0)
    channel.put(1, timeout_s=0)
    with pytest.raises(DeadlineExceededError):
        channel.put(2, timeout_s=-1.0)


def test_who_gives_up_lets_the_next_have_its_turn() -> None:
    clock = HandClock()
    channel: Channel[int] = Channel(capacity=9, clock=clock)
    many = Background(lambda: channel.get_many(5, timeout_s=1.0))
    waiting(channel, consumers=1)
    one = Background(channel.get)
    waiting(channel, consumers=2)
    channel.put(1)
    clock.move(1.0)
    assert isinstance(many.error(), DeadlineExceededError)
    assert one.result() == 1


# ---- what is observed


def test_a_snapshot_tells_what_is_inside_and_what_went_through() -> None:
    channel: Channel[str] = Channel(capacity=10, capacity_bytes=1000, name="rows")
    channel.put("a", elements=4, nbytes=400)
    channel.put("b", elements=5, nbytes=500)
    channel.get()
    snapshot = channel.snapshot()
    assert (snapshot.name, snapshot.capacity, snapshot.capacity_bytes) == ("rows", 10, 1000)
    assert (snapshot.items, snapshot.elements, snapshot.nbytes) == (1, 5, 500)
    assert (snapshot.elements_in, snapshot.elements_out, snapshot.peak_elements) == (9, 4, 9)
    assert (snapshot.nbytes_in, snapshot.nbytes_out, snapshot.peak_nbytes) == (900, 400, 900)
    assert not snapshot.is_closed


def test_a_snapshot_tells_how_long_each_side_waited() -> None:
    clock = HandClock()
    channel: Channel[int] = Channel(capacity=1, clock=clock)
    get = Background(channel.get)
    waiting(channel, consumers=1)
    clock.move(3.0)
    channel.put(1)
    get.result()
    for _ in range(3):
        channel.put(1)
        channel.get()
    snapshot = channel.snapshot()
    assert (snapshot.consumer_waits.calls, snapshot.consumer_waits.waited) == (4, 1)
    assert (snapshot.consumer_waits.total_s, snapshot.consumer_waits.max_s) == (3.0, 3.0)
    assert (snapshot.consumer_waits.p50_s, snapshot.consumer_waits.p99_s) == (0.0, 3.0)
    assert (snapshot.producer_waits.calls, snapshot.producer_waits.waited) == (4, 0)


def test_a_channel_is_true_also_when_it_is_empty() -> None:
    assert Channel(capacity=1)


# ---- where it is called from


class ClosesOnDel:
    """Closes a channel when it is collected, and is in a cycle, so that the collector does it at any time."""

    def __init__(self, channel: Channel[Any]) -> None:
        self.itself = self
        self.closer = weakref.finalize(self, channel.close)


class Interposed(deque[Any]):
    """An order in which something else happens at one step, while the lock is held."""

    def __init__(self, **steps: Callable[[], object]) -> None:
        super().__init__()
        self.steps = steps

    def append(self, entry: Any, /) -> None:
        self.steps.get("append", int)()
        super().append(entry)

    def __len__(self) -> int:
        self.steps.get("len", int)()
        return super().__len__()


def test_close_from_a_finalizer_of_the_thread_that_holds_the_lock_does_not_deadlock() -> None:
    def collect_a_closer() -> None:
        ClosesOnDel(channel)
        gc.collect()

    channel: Channel[int] = Channel(capacity=5, order=Interposed(append=collect_a_closer))
    gets = [Background(channel.get) for _ in range(2)]
    waiting(channel, consumers=2)
    Background(lambda: channel.put(1)).result()
    assert sorted(type(get.error()).__name__ for get in gets) == ["NoneType", "OutOfRangeError"]
    assert channel.is_closed


def test_a_close_while_another_thread_holds_the_lock_returns_at_once_and_is_carried_out_by_that_thread() -> None:
    entered, leave = threading.Event(), threading.Event()
    order = Interposed()
    channel: Channel[int] = Channel(capacity=5, order=order)
    gets = [Background(channel.get) for _ in range(2)]
    waiting(channel, consumers=2)

    def stay() -> None:
        order.steps.clear()
        entered.set()
        assert leave.wait(LIMIT_S)

    order.steps["len"] = stay
    look = Background(channel.snapshot)  # holds the lock, and serves nobody
    assert entered.wait(LIMIT_S)
    channel.close()
    assert all(get.runs for get in gets)
    leave.set()
    look.result()
    assert all(isinstance(get.error(), OutOfRangeError) for get in gets)


def test_threads_that_hold_one_lock_and_close_the_other_channel_do_not_deadlock() -> None:
    met = threading.Barrier(2)
    channels: list[Channel[int]] = []

    def close_the(other: int) -> None:
        met.wait(LIMIT_S)  # each thread holds its own lock now
        channels[other].close()

    channels += [
        Channel(capacity=1, order=Interposed(append=lambda: close_the(1))),
        Channel(capacity=1, order=Interposed(append=lambda: close_the(0))),
    ]
    for put in [Background(lambda channel=channel: channel.put(1)) for channel in channels]:  # type: ignore[misc]
        put.result()
    assert all(channel.is_closed and channel.get() == 1 for channel in channels)


class Interruption(BaseException):
    """What a signal handler raises in these tests, as Ctrl-C does."""


@pytest.fixture
def interrupt_main_thread() -> Any:
    taken = threading.Event()

    def handler(number: int, frame: object) -> None:
        if not taken.is_set():
            taken.set()
            raise Interruption

    before = signal.signal(signal.SIGUSR1, handler)
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        # One signal can fall between the interpreter's last look and the wait itself, and is then only seen at the next.
        while not taken.is_set():
            signal.pthread_kill(main, signal.SIGUSR1)

    yield interrupt
    signal.signal(signal.SIGUSR1, before)


def test_a_wait_in_the_main_thread_can_be_interrupted_and_leaves_no_trace(interrupt_main_thread: Any) -> None:
    channel: Channel[int] = Channel(capacity=1)

    def interrupt_when_it_waits() -> None:
        waiting(channel, consumers=1)
        interrupt_main_thread()

    helper = Background(interrupt_when_it_waits)
    with pytest.raises(Interruption):
        channel.get()
    helper.result()
    assert channel.snapshot().consumers_waiting == 0
    channel.put(1)
    assert channel.get() == 1


def test_an_interrupted_producer_is_not_in_line_any_more(interrupt_main_thread: Any) -> None:
    channel = filled(1, capacity=1)

    def interrupt_when_it_waits() -> None:
        waiting(channel, producers=1)
        interrupt_main_thread()

    helper = Background(interrupt_when_it_waits)
    with pytest.raises(Interruption):
        channel.put(2)
    helper.result()
    assert channel.get() == 1
    assert channel.get_nowait() is EMPTY


def test_an_item_given_to_a_consumer_that_is_interrupted_meanwhile_is_given_back() -> None:
    channel: Channel[int] = Channel(capacity=2)
    channel.put(1)
    channel.put(2)

    class InterruptsOnce(HandClock):
        """Raises where a signal handler would: between being served and going on."""

        armed = False

        def now_s(self) -> float:
            if self.armed:
                self.armed = False
                raise Interruption
            return super().now_s()

    clock = InterruptsOnce()
    channel = Channel(capacity=2, clock=clock)

    def get() -> None:
        channel.get()

    consumer = Background(get)
    waiting(channel, consumers=1)
    clock.armed = True  # the next look at the clock is the one after the wake-up
    channel.put(7)
    assert isinstance(consumer.error(), Interruption)
    assert channel.get() == 7


class InterruptedLine(deque[Any]):
    """A line in which a signal arrives just before the one who was let go is taken out."""

    is_armed = True

    def popleft(self) -> Any:
        if self.is_armed:
            self.is_armed = False
            raise Interruption
        return super().popleft()


def test_who_was_let_go_while_the_server_was_interrupted_is_awake_and_is_not_served_again() -> None:
    channel: Channel[int] = Channel(capacity=5)
    channel._state._consumers = InterruptedLine()
    first = Background(channel.get)
    waiting(channel, consumers=1)
    second = Background(channel.get)
    waiting(channel, consumers=2)
    with pytest.raises(Interruption):
        channel.put(1)
    assert first.result() == 1
    channel.put(2)
    assert second.result() == 2


def test_a_producer_that_was_let_in_while_the_server_was_interrupted_is_awake_and_is_let_in_once() -> None:
    channel = filled(1, capacity=1)
    channel._state._producers = InterruptedLine()
    put = Background(lambda: channel.put(2))
    waiting(channel, producers=1)
    with pytest.raises(Interruption):
        channel.get()
    put.result()
    channel.close()
    assert channel.get_many(9, allow_fewer=True) == [2]


def test_an_error_does_not_keep_what_the_caller_had() -> None:
    channel = filled()
    channel.close()

    class Big:
        pass

    def call() -> weakref.ref[Big]:
        big = Big()
        with contextlib.suppress(OutOfRangeError):
            channel.get()
        return weakref.ref(big)

    gc.disable()
    try:
        assert call()() is None
    finally:
        gc.enable()


def test_many_threads_lose_nothing_and_take_nothing_twice() -> None:
    channel: Channel[tuple[int, int]] = Channel(capacity=3)
    taken: list[tuple[int, int]] = []

    def consume() -> None:
        while True:
            taken.append(channel.get())

    def produce(number: int) -> None:
        for item in range(500):
            channel.put((number, item))

    consumers = [Background(consume) for _ in range(4)]
    for producer in [Background(lambda number=number: produce(number)) for number in range(4)]:  # type: ignore[misc]
        producer.result()
    channel.close()
    assert all(isinstance(consumer.error(), OutOfRangeError) for consumer in consumers)
    assert sorted(taken) == [(number, item) for number in range(4) for item in range(500)]
    until(lambda: channel.snapshot().consumers_waiting == 0)
