"""Eight producers and eight consumers against closes, cancels, failures and collections: nothing lost, doubled or stuck.

    python -m tests.stress.queues --rounds 10000

Each round is one small battle with a seed of its own. Rounds of queues: every thread calls what it likes, some calls
have deadlines, and at a random moment the queue is closed, cancelled or fails, in half of the rounds from a finalizer
that the garbage collector runs in any thread at any allocation. Rounds of runners: a coordinator, runners that fill a
queue from another, and a stop or a failure at a random moment.

What must hold after a round: every thread has ended; what was taken out and what is left inside are together what was
let in, each once; of a call that was cut off a first part is inside; the first failure is the one that is raised.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import logging
import random
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.coordination import Coordinator, QueueRunner
from headrace.errors import CancelledError, DeadlineExceededError, OutOfRangeError
from headrace.queues import EMPTY, Channel, FIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue

__all__ = ["stress"]

PRODUCERS: Final = 8
CONSUMERS: Final = 8
ITEMS: Final = 24  # of each producer
# Real seconds after which a thread that should have ended hangs: beyond any load.
HANG_S: Final = 60.0


class BrokenError(Exception):
    """The failure that rounds inject."""


@dataclass
class Ledger:
    """What the threads of one round know, each in a list of its own."""

    let_in: list[int] = field(default_factory=list)  # put in for certain
    cut_off: list[list[int]] = field(default_factory=list)  # of each of these, a first part is inside
    taken: list[int] = field(default_factory=list)
    surprises: list[BaseException] = field(default_factory=list)

    def check(self, left: list[int]) -> None:
        assert not self.surprises, self.surprises
        found = self.taken + left
        assert len(found) == len(set(found)), "an item was taken twice"
        missing = set(self.let_in) - set(found)
        assert not missing, f"items were lost: {sorted(missing)}"
        strangers = set(found) - set(self.let_in)
        for items in self.cut_off:
            part = [item in strangers for item in items]
            assert part == sorted(part, reverse=True), f"not a first part of {items} is inside: {part}"
            strangers -= set(items)
        assert not strangers, f"items came from nowhere: {sorted(strangers)}"


class Door:
    """One way to call a channel or a queue: the same few words for all of them."""

    def __init__(self, queue: Channel[Any] | QueueBase) -> None:
        self.queue = queue

    def put(self, items: list[int], timeout_s: float | None) -> None:
        if isinstance(self.queue, Channel):
            self.queue.put_many([(item, 1 + item % 3, item % 5) for item in items], timeout_s=timeout_s)
        elif len(items) == 1:
            self.queue.enqueue(items[0], timeout_s=timeout_s)
        else:
            self.queue.enqueue_many([items], timeout_s=timeout_s)

    def get(self, n: int, allow_fewer: bool, timeout_s: float | None) -> list[int]:
        if isinstance(self.queue, Channel):
            if n == 1:
                return [self.queue.get(timeout_s=timeout_s)]
            return self.queue.get_many(n, allow_fewer=allow_fewer, timeout_s=timeout_s)
        if n == 1:
            return [int(self.queue.dequeue(timeout_s=timeout_s))]
        method = self.queue.dequeue_up_to if allow_fewer else self.queue.dequeue_many
        return [int(item) for item in method(n, timeout_s=timeout_s)]

    def left(self) -> list[int]:
        channel = self.queue if isinstance(self.queue, Channel) else self.queue._channel
        inside: list[int] = []
        while len(channel):
            item = channel.get_nowait()
            assert item is not EMPTY, "something is inside a closed channel and does not come out"
            inside.append(int(item if isinstance(self.queue, Channel) else item[0]))
        return inside


def any_queue(dice: random.Random) -> Channel[Any] | QueueBase:
    """A queue of any kind and of any small capacity."""
    capacity = dice.choice([1, 2, 3, 8, 64])
    capacity_bytes = dice.choice([None, None, 8, 40])
    kind = dice.choice(["channel", "channel", "fifo", "shuffle", "priority"])
    if kind == "channel":
        return Channel(capacity=capacity, capacity_bytes=capacity_bytes)
    if kind == "fifo":
        return FIFOQueue(capacity, "int64", [()], capacity_bytes=capacity_bytes)
    if kind == "shuffle":
        return RandomShuffleQueue(capacity, dice.randrange(capacity), "int64", [()], capacity_bytes=capacity_bytes)
    return PriorityQueue(capacity, [], capacity_bytes=capacity_bytes)


def produce(door: Door, number: int, ledger: Ledger, seed: int) -> None:
    dice = random.Random(seed)
    items = list(range(number * ITEMS, (number + 1) * ITEMS))
    while items:
        count = dice.choice([1, 1, 1, 3, 7])
        portion, items = items[:count], items[count:]
        try:
            door.put(portion, dice.choice([None, None, None, 0.0, 0.001]))
        except DeadlineExceededError:
            ledger.cut_off.append(portion)
        except CancelledError:
            ledger.cut_off.append(portion)
            return
        else:
            ledger.let_in.extend(portion)


def consume(door: Door, ledger: Ledger, seed: int) -> None:
    dice = random.Random(seed)
    while True:
        n, allow_fewer = dice.choice([1, 1, 1, 2, 5, 9]), dice.random() < 0.5
        try:
            ledger.taken.extend(door.get(n, allow_fewer, dice.choice([None, None, None, 0.0, 0.001])))
        except DeadlineExceededError:
            continue
        except (OutOfRangeError, BrokenError):
            return


class Rubbish:
    """In a circle, so that only the collector finds it, when and where it likes."""

    def __init__(self) -> None:
        self.itself = self


def end(queue: Channel[Any] | QueueBase, dice: random.Random) -> Callable[[], bool]:
    """Close, cancel or fail, now or whenever the collector runs next; what is returned tells whether it is done."""
    fails, cancel = dice.random() < 0.3, dice.random() < 0.5

    def act() -> None:
        if fails and isinstance(queue, Channel):
            queue.fail(BrokenError())
        else:
            queue.close(cancel_pending_enqueues=cancel)

    if dice.random() < 0.5:
        finalizer = weakref.finalize(Rubbish(), act)
        return lambda: not finalizer.alive
    act()
    return lambda: True


def queue_round(seed: int) -> None:
    """Everybody at one queue, which ends at a random moment."""
    dice = random.Random(seed)
    queue = any_queue(dice)
    door = Door(queue)
    ledgers = [Ledger() for _ in range(PRODUCERS + CONSUMERS)]
    producers = [watched(produce, door, at, ledgers[at], dice.random()) for at in range(PRODUCERS)]
    consumers = [watched(consume, door, ledgers[PRODUCERS + at], dice.random()) for at in range(CONSUMERS)]
    threads = dice.sample(producers + consumers, PRODUCERS + CONSUMERS)
    moment = dice.randrange(len(threads) + 4)
    has_ended: Callable[[], bool] = bool
    for at, thread in enumerate(threads):
        if at == moment:
            has_ended = end(queue, dice)
        thread.start()
    if moment >= len(threads):
        join(producers)  # the usual end: everything was put in
        has_ended = end(queue, dice)
    while not has_ended():
        gc.collect()  # again, because it does nothing while another thread collects
    join(threads, queue)
    together = Ledger()
    for ledger in ledgers:
        for name in vars(together):
            getattr(together, name).extend(getattr(ledger, name))
    together.check(door.left())


def runner_round(seed: int) -> None:
    """A coordinator, a queue that is filled from another by runners, and a stop or a failure at a random moment."""
    dice = random.Random(seed)
    coord = Coordinator()
    source, rows = FIFOQueue(dice.choice([1, 3, 40])), FIFOQueue(dice.choice([1, 3, 40]))
    numbers = iter(range(PRODUCERS * ITEMS))
    turn = threading.Lock()
    failure = BrokenError("the first")
    fails_at = dice.choice([None, dice.randrange(PRODUCERS * ITEMS)])

    def make() -> None:
        with turn:
            number = next(numbers, None)
        if number is None:
            raise OutOfRangeError("the numbers are at their end")
        if number == fails_at:
            raise failure
        source.enqueue(number)

    runners = [
        QueueRunner(source, [make] * (PRODUCERS // 2)),
        QueueRunner(rows, [lambda: rows.enqueue(source.dequeue())] * (PRODUCERS // 2)),
    ]
    threads = [thread for runner in runners for thread in runner.create_threads(coord)]
    ledgers = [Ledger() for _ in range(CONSUMERS)]
    consumers = [watched(consume_rows, rows, ledger) for ledger in ledgers]
    everybody = dice.sample(threads + consumers, len(threads) + len(consumers))
    stops_at = dice.choice([None, dice.randrange(len(everybody))])
    for at, thread in enumerate(everybody):
        thread.start()
        if at == stops_at:
            coord.request_stop()
    join(consumers)
    raised = None
    try:
        coord.join(threads, stop_grace_period_secs=HANG_S)
    except BrokenError as error:
        raised = error
    taken = [item for ledger in ledgers for item in ledger.taken]
    assert not [surprise for ledger in ledgers for surprise in ledger.surprises]
    assert len(taken) == len(set(taken)), "an item was taken twice"
    if stops_at is None:
        assert raised is (failure if fails_at is not None else None), raised
        assert raised is not None or sorted(taken) == list(range(PRODUCERS * ITEMS)), "items were lost"


def consume_rows(rows: FIFOQueue, ledger: Ledger) -> None:
    while True:
        try:
            ledger.taken.append(rows.dequeue())
        except OutOfRangeError:
            return


def watched(call: Callable[..., None], *args: Any) -> threading.Thread:
    """A thread that keeps what nobody expected in the ledger among its arguments."""
    ledger = next(arg for arg in args if isinstance(arg, Ledger))

    def run() -> None:
        try:
            call(*args)
        except BaseException as error:  # whatever it is, the round reports it
            ledger.surprises.append(error)

    return threading.Thread(target=run, name="headrace-stress", daemon=True)


def join(threads: list[threading.Thread], queue: Channel[Any] | QueueBase | None = None) -> None:
    end_s = time.monotonic() + HANG_S
    for thread in threads:
        thread.join(max(0.0, end_s - time.monotonic()))
    if alive := [thread for thread in threads if thread.is_alive()]:
        faulthandler.dump_traceback(all_threads=True)
        raise AssertionError(f"{len(alive)} threads hang; {queue.snapshot() if queue is not None else ''}")


def stress(rounds: int, first_seed: int = 0, *, tell: Callable[[str], object] = lambda line: None) -> None:
    """Run that many rounds, with the seeds that follow ``first_seed``; a failure names its seed.

    Raises:
        AssertionError: in some round something was lost, doubled or stuck.
    """
    interval_s, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-5)  # threads change places everywhere, not only where they wait
    try:
        for seed in range(first_seed, first_seed + rounds):
            gc.set_threshold(random.Random(seed).choice([5, 50, 700]))  # and the collector runs everywhere
            play = runner_round if seed % 4 == 3 else queue_round
            try:
                play(seed)
            except BaseException as error:
                error.add_note(f"{play.__name__}({seed})")
                raise
            if (seed + 1 - first_seed) % 500 == 0:
                tell(f"{seed + 1 - first_seed} of {rounds} rounds")
    finally:
        sys.setswitchinterval(interval_s)
        gc.set_threshold(*thresholds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    logging.getLogger("headrace").setLevel(logging.ERROR)
    begin_s = time.monotonic()
    stress(arguments.rounds, arguments.seed, tell=lambda line: print(line, flush=True))  # noqa: T201
    taken_s = time.monotonic() - begin_s
    print(f"{arguments.rounds} rounds: nothing lost, nothing doubled, nothing stuck ({taken_s:.0f} s)")  # noqa: T201


if __name__ == "__main__":
    main()
