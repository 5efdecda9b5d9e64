"""The thread that looks at runs: when it looks, and that it is there as long as there is one."""

from __future__ import annotations

import threading

from tests.unit.queues.background import HandClock

from headrace.observe.watch import Watch

LIMIT_S = 30.0


class Watched:
    """Is due after so many seconds, again and again."""

    def __init__(self, clock: HandClock, every_s: float) -> None:
        self._clock = clock
        self._every_s = every_s
        self.looks = threading.Semaphore(0)

    def due_s(self) -> float:
        return self._clock.now_s() + self._every_s

    def look(self) -> None:
        self.looks.release()

    def was_looked_at(self) -> bool:
        return self.looks.acquire(timeout=LIMIT_S)


def watchers() -> int:
    return sum(thread.name == "headrace-watch" for thread in threading.enumerate())


def test_a_run_is_looked_at_again_when_it_is_due() -> None:
    clock = HandClock()
    watch, run = Watch(clock=clock), Watched(clock, 30)
    watch.add(run)
    assert run.was_looked_at()
    clock.move(31)
    assert run.was_looked_at()
    watch.remove(run)
    assert not watchers()


def test_one_with_less_patience_is_not_looked_at_too_late() -> None:
    clock = HandClock()
    watch, patient, hasty = Watch(clock=clock), Watched(clock, 1_000), Watched(clock, 1)
    watch.add(patient)
    assert patient.was_looked_at()
    watch.add(hasty)
    assert hasty.was_looked_at()
    clock.move(2)
    assert hasty.was_looked_at()
    watch.remove(patient)
    watch.remove(hasty)
    assert not watchers()


def test_what_is_added_and_removed_from_many_threads_leaves_nothing() -> None:
    clock = HandClock()
    watch = Watch(clock=clock)

    def work() -> None:
        for _ in range(50):
            run = Watched(clock, 30)
            watch.add(run)
            watch.remove(run)
            watch.remove(run)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert not watch._watched
    run = Watched(clock, 30)
    watch.add(run)  # it still works
    assert run.was_looked_at()
    watch.remove(run)
    for thread in threading.enumerate():
        if thread.name == "headrace-watch":
            thread.join(LIMIT_S)
    assert not watchers()


def test_a_copy_of_the_process_begins_a_thread_of_its_own() -> None:
    clock = HandClock()
    watch, run = Watch(clock=clock), Watched(clock, 30)
    watch.add(run)
    assert run.was_looked_at()
    before = watch._looker
    watch.forget()
    watch.add(run)
    assert run.was_looked_at()
    watch.remove(run)
    assert before is not None
    before.end()
    assert not watchers()
