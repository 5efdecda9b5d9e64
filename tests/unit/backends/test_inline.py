"""The reference: element by element, in the caller's thread."""

from __future__ import annotations

import threading

import headrace as hr

INLINE = hr.Options(executor="inline")


def test_everything_happens_in_the_callers_thread_and_only_when_asked_for() -> None:
    seen: list[tuple[int, threading.Thread]] = []

    def note(x: int) -> int:
        seen.append((x, threading.current_thread()))
        return x

    dataset = hr.Dataset.range(9).map(note, num_parallel_calls=4).prefetch(5).batch(2).prefetch(3)
    with iter(dataset.with_options(INLINE)) as iterator:
        for count in (2, 4, 6):
            next(iterator)
            assert seen == [(x, threading.main_thread()) for x in range(count)]


def test_a_prefetch_and_parallelism_mean_nothing_to_it() -> None:
    plain = hr.Dataset.range(9).map(lambda x: x * 2)
    ahead = hr.Dataset.range(9).prefetch(2).map(lambda x: x * 2, num_parallel_calls=3, deterministic=False)
    assert list(plain.with_options(INLINE)) == list(ahead.with_options(INLINE))
