"""Laws 3 and 6 where several threads have one iterator: who asks while another does is refused, and nothing is lost or given twice.

Its state may be taken, and it may be closed, by any thread at any time, and by a function of its own, as a handler of signals does. Where
``executor="inline"`` has no position before the element that it makes, that is an error, and no other position.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr

SIZE = 600


@pytest.fixture(autouse=True, scope="module")
def threads_switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def refused(x: int) -> int:
    if x % 50 == 7:
        raise ValueError(x)
    return x


def same(x: int) -> int:
    return x


NUMBERS = hr.Dataset.range(SIZE)
PLANS = {
    "a source": NUMBERS,
    "a map": NUMBERS.map(same),
    "failures": NUMBERS.map(refused),
    "workers": NUMBERS.map(refused, num_parallel_calls=2),
    "a thread ahead": NUMBERS.map(same, num_parallel_calls=2).prefetch(4),
    "a shuffle": NUMBERS.shuffle(50, seed=1, reshuffle_each_iteration=False),
    "a filter": NUMBERS.filter(lambda x: bool(x % 3)),
}
READERS: dict[str, Callable[[hr.Dataset], Any]] = {
    "the iterator": iter,
    "inline": lambda ds: iter(ds.with_options(hr.Options(executor="inline"))),
    "of NumPy's numbers": lambda ds: ds.as_numpy_iterator(),
    "a feed": lambda ds: iter(ds.to_torch()),
}


def taken(iterator: Any) -> list[int | str]:
    """Takes elements, and errors as their texts, until the end; asks again where another thread was before it."""
    came: list[int | str] = []
    while True:
        try:
            came.append(int(next(iterator)))
        except StopIteration:
            return came
        except hr.errors.DataError as error:
            came.append(str(error))
        except hr.errors.FailedPreconditionError as error:
            assert "another thread is taking" in str(error)  # noqa: PT017 - as many as come


def together(tasks: list[Callable[[], Any]]) -> list[Any]:
    """Returns what each task gave, in a thread of its own; all begin at once."""
    gate, results = threading.Barrier(len(tasks)), [None] * len(tasks)

    def run(number: int) -> None:
        gate.wait()
        results[number] = tasks[number]()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@given(st.sampled_from(sorted(PLANS)), st.sampled_from(sorted(READERS)), st.integers(2, 4))
def test_each_element_comes_to_one_thread_and_in_order(plan: str, reader: str, threads: int) -> None:
    pytest.importorskip("torch")
    ds, read = PLANS[plan], READERS[reader]
    alone = taken(read(ds))
    iterator = read(ds)
    parts = together([lambda: taken(iterator)] * threads)
    places = {element: place for place, element in enumerate(alone)}
    assert sorted(places[element] for part in parts for element in part) == list(range(len(alone)))
    for part in parts:
        assert [places[element] for element in part] == sorted(places[element] for element in part)


USES: dict[str, Callable[[Any], Any]] = {"its state": lambda it: it.state_dict(), "its end": lambda it: it.close()}
CHAINS: dict[str, Callable[[Callable[[int], int]], hr.Dataset]] = {
    "map": lambda f: hr.Dataset.range(40).map(f),
    "filter": lambda f: hr.Dataset.range(40).filter(lambda x: f(x) % 2 == 1),
    "batch": lambda f: hr.Dataset.range(40).map(f).batch(3).map(lambda x: int(x[0])),
    "generator": lambda f: hr.Dataset.from_generator(lambda: map(f, range(40))),
    "scan": lambda f: hr.Dataset.range(40).scan(0, lambda s, x: (s + x, f(x))),
    "flat_map": lambda f: hr.Dataset.range(4).flat_map(lambda k: hr.Dataset.range(10 * k, 10 * k + 10).map(f)),
    "shuffle": lambda f: hr.Dataset.range(40).map(f).shuffle(5, seed=1, reshuffle_each_iteration=False),
}


@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize("use", sorted(USES))
@pytest.mark.parametrize("chain", sorted(CHAINS))
def test_a_state_from_within_a_function_is_exact_or_refused(chain: str, use: str, executor: str) -> None:
    asked: list[Any] = []
    states: list[Any] = []

    def used(x: int) -> int:
        if asked and x == 25:
            (iterator,) = asked
            asked.clear()
            try:
                USES[use](iterator)
                states.append(iterator.state_dict())
            except hr.errors.FailedPreconditionError:
                assert executor == "inline"
        return x

    dataset = CHAINS[chain](used).with_options(hr.Options(executor=executor))
    alone = taken(iter(dataset))
    iterator = iter(dataset)
    asked.append(iterator)
    came = taken(iterator)
    if use == "its end":
        try:
            states.append(iterator.state_dict())
            assert states[-1]["delivered"] == len(came)
        except hr.errors.FailedPreconditionError:
            assert executor == "inline"
    else:
        assert came == alone
    for state in states:
        again = iter(dataset)
        again.load_state_dict(state)
        assert taken(again) == alone[state["delivered"] :]


@given(st.sampled_from(sorted(set(PLANS) - {"failures", "workers"})), st.booleans())
def test_a_state_that_another_thread_took_goes_on_after_what_it_counts(plan: str, is_fed: bool) -> None:
    pytest.importorskip("torch")
    ds = PLANS[plan]
    alone = taken(iter(ds))
    iterator: Any = iter(ds.to_torch()) if is_fed else iter(ds)
    states = together([lambda: taken(iterator), lambda: [iterator.state_dict() for _ in range(20)]])[1]
    for state in states[::5]:
        again = iter(ds)
        again.load_state_dict(state)
        assert taken(again) == alone[state["delivered"] :]


@given(st.sampled_from(sorted(set(PLANS) - {"failures", "workers"})), st.integers(-1, SIZE))
def test_closed_by_another_thread_its_state_counts_what_came(plan: str, at_least: int) -> None:
    ds = PLANS[plan]
    alone = taken(iter(ds))
    iterator, reached = iter(ds), threading.Event()
    if at_least < 0:
        reached.set()

    def counted() -> Iterator[Any]:
        for number, element in enumerate(iterator):
            if number == at_least:
                reached.set()
            yield element
        reached.set()

    def close() -> None:
        reached.wait()
        iterator.close()

    first, _ = together([lambda: list(counted()), close])
    again = iter(ds)
    again.load_state_dict(iterator.state_dict())
    assert first + taken(again) == alone


@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize("read", [iter, lambda ds: iter(ds.to_torch())])
def test_a_function_may_not_use_the_iterator_that_calls_it(executor: str, read: Callable[[Any], Any]) -> None:
    pytest.importorskip("torch")
    asked: list[Any] = []
    state: dict[str, Any] = {}

    def used(x: int) -> int:
        if x == 3:
            asked[0].load_state_dict(state)
        elif x == 4:
            next(asked[0])
        return x

    iterator = read(NUMBERS.take(6).map(used).with_options(hr.Options(executor=executor)))
    asked.append(iterator)
    state.update(iterator.state_dict())
    came: list[Any] = []
    for _ in range(6):
        try:
            came.append(int(next(iterator)))
        except hr.errors.FailedPreconditionError as error:
            came.append("that is calling it" in str(error))
    assert came == [0, 1, 2, True, True, 5]
    assert next(iterator, None) is None
