"""Operations left to headrace among others: one loop with their neighbours while they have no workers, and the same in any form."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import fail_on
from tests.laws.running import Alone, Restless, Way, assert_same, elements_of, history, resumed, running

import headrace as hr
from headrace.physical.workers.concurrency_tuner import ConcurrencyTuner
from headrace.physical.workers.gates import Gate
from headrace.physical.workers.own_turn import OwnTurn, call_in_turns

A = hr.AUTOTUNE


class KnownToBeCheap(Alone):
    """Has found that workers gain nothing."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._settle(1)


class Asked:
    """Numbers that tell how many of them were asked for at once."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.asked: list[int] = []

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> int:
        return index

    def __getitems__(self, indices: Sequence[int]) -> list[int]:
        self.asked.append(len(indices))
        return [*indices]


def chain(numbers: hr.Dataset, calls: int | None) -> hr.Dataset:
    made = numbers.map(lambda x: x + 1, num_parallel_calls=calls).filter(lambda x: x % 3 > 0)
    pairs = made.map(lambda x: (x, str(x)), num_parallel_calls=calls).filter(lambda x, text: len(text) < 9)
    return pairs.map(lambda x, text: x, num_parallel_calls=calls)


@pytest.mark.parametrize("concurrency", [KnownToBeCheap, ConcurrencyTuner])
def test_cheap_elements_come_in_as_few_blocks_as_without_workers(concurrency: type[ConcurrencyTuner]) -> None:
    asked: dict[int | None, list[int]] = {}
    for calls in (None, A):
        source = Asked(4_000)
        way = Way(hr.Options(num_workers=2), block_sizes=(500,), concurrency=concurrency)
        with running(chain(hr.Dataset.source(source), calls).batch(500), way) as iterator:
            assert sum(map(len, iterator)) == 2666 + (4_000 % 3 > 0)
        asked[calls] = source.asked
    # Four times as many each time, until it is known that they are cheap.
    assert len(asked[A]) <= len(asked[None]) + (0 if concurrency is KnownToBeCheap else 12)


def test_a_map_in_a_loop_goes_to_workers_although_a_filter_after_it_lets_nothing_through() -> None:
    threads: list[str] = []

    def slow(x: int) -> int:
        threads.append(threading.current_thread().name)
        return x

    class AtOnce(ConcurrencyTuner):
        def observe(
            self,
            elements: int,
            start_s: float,
            end_s: float,
            beside: int,
            cpu_s: float = 0.0,
            placing_s: float = 0.0,
        ) -> bool:
            self.now = self._most
            return True

    dataset = hr.Dataset.range(22).map(slow, num_parallel_calls=A).filter(lambda x: x > 20)
    with running(dataset, Way(hr.Options(num_workers=2), block_sizes=(1,), concurrency=AtOnce)) as iterator:
        assert list(iterator) == [21]
    assert threads.count(threading.current_thread().name) == 1


CHAINS: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "filters": lambda ds: (
        ds.filter(lambda x: x % 5 != 1).map(fail_on(3, 50), num_parallel_calls=A).filter(lambda x: x % 7 != 2)
    ),
    "numbers": lambda ds: (
        ds.map(lambda x: x + 1).enumerate().map(lambda i, x: i * x, num_parallel_calls=A).filter(lambda x: x % 4 != 1)
    ),
    "random numbers": lambda ds: ds.filter(lambda x: x % 3 != 1).random_map(
        lambda rng, x: (x, int(rng.integers(100))), seed=3, num_parallel_calls=A
    ),
    "maps of all kinds": lambda ds: (
        ds.map(fail_on(3, 50), num_parallel_calls=A)
        .map(lambda x: x + 1)
        .map(lambda x: (x, x), num_parallel_calls=A)
        .map(lambda x, y: x, num_parallel_calls=A)
        .map(fail_on(7, 60))
    ),
    "unordered ones": lambda ds: (
        ds.map(lambda x: x + 1, num_parallel_calls=A)
        .filter(lambda x: x % 3 > 0)
        .map(lambda x: x, num_parallel_calls=A, deterministic=True)
    ),
    "skipped failures": lambda ds: (
        ds.map(fail_on(3, 50), num_parallel_calls=A, on_error="skip").filter(lambda x: x % 3 > 0).map(abs, num_parallel_calls=A)
    ),
    "batches": lambda ds: (
        ds.filter(lambda x: x % 4 > 0)
        .map(lambda x: x * 2, num_parallel_calls=A)
        .batch(3, num_parallel_calls=A)
        .map(lambda x: x.tolist(), num_parallel_calls=A)
    ),
}  # fmt: skip


@given(
    st.sampled_from(sorted(CHAINS)),
    st.integers(0, 40),
    st.sampled_from([None, (1,), (2, 7), (1000,)]),
    st.sampled_from([1, 2]),
    st.sampled_from([Restless, ConcurrencyTuner, KnownToBeCheap]),
)
def test_elements_and_states_are_the_same_however_often_the_form_changes(
    name: str,
    length: int,
    block_sizes: tuple[int, ...] | None,
    workers: int,
    concurrency: type[ConcurrencyTuner],
) -> None:
    dataset = CHAINS[name](hr.Dataset.range(length))
    way = Way(hr.Options(num_workers=workers, seed=7), concurrency=concurrency, block_sizes=block_sizes)
    elements, states = history(dataset, way, limit=200)
    fresh = CHAINS[name](hr.Dataset.range(length))  # in its first epoch
    assert_same(elements_of(fresh, limit=200), elements)
    for number, state in [*enumerate(states)][:: max(1, len(states) // 5)]:
        assert_same(elements[number:], resumed(dataset, state, way, limit=200))


class Kept:
    """A pool that runs nothing."""

    workers = 1
    is_free = True

    def submit(self, task: Callable[[], None]) -> None:
        """Keeps nothing."""

    def resize(self, more: int) -> None:
        """Has none."""


def test_a_function_is_called_only_while_it_has_a_turn_of_each_operation() -> None:
    gates = [Gate(Kept(), 1), Gate(Kept(), 1)]
    turns = [OwnTurn(gate, "map") for gate in gates]
    free: list[Any] = []

    def function() -> str:
        free.extend(gate.run_here(lambda: None) for gate in gates)
        return "made"

    assert call_in_turns(turns, function) == ["made"]
    assert free == [False, False]
    gates[0].submit(lambda: None)  # has the only turn from now on
    assert call_in_turns(turns, function) == []
    assert gates[1].run_here(lambda: None)


@pytest.mark.parametrize("passes", [None, lambda x: x >= 0])
def test_the_numbers_by_which_datasets_are_chosen_may_be_made_so(passes: Callable[[int], bool] | None) -> None:
    numbers = hr.Dataset.range(6).map(lambda x: x % 2, num_parallel_calls=A)
    numbers = numbers if passes is None else numbers.filter(passes)
    chosen = hr.Dataset.choose_from_datasets([hr.Dataset.range(3), hr.Dataset.range(10, 13)], numbers)
    assert list(chosen) == [0, 10, 1, 11, 2, 12]
