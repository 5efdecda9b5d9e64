"""Law 5: however a run ends, no thread and no open file is left, and nothing hangs."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import add_one, csv_file, csv_of, few, text_file
from tests.laws.plans import Recipe, recipes
from tests.laws.running import Way, running, ways
from tests.laws.sources_columnar import parquet_file

import headrace as hr
from headrace.backends.thread import WorkerPool
from headrace.physical.workers.prefetch import PrefetchStage
from headrace.testing.restoring import delivered

ROOT = Path(__file__).parents[2]
LIMIT_S = 30.0


OPEN_BEFORE = {file.path for file in psutil.Process().open_files()}


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("headrace")]


def open_files() -> set[str]:
    """The files of plans that are open; others, as where pytest's own output goes, are not theirs."""
    endings = (".txt", ".csv", ".part")
    return {file.path for file in psutil.Process().open_files() if file.path.endswith(endings)} - OPEN_BEFORE


def nothing_left() -> bool:
    return not threads() and not open_files()


def busy_plans() -> dict[str, hr.Dataset]:
    """Plans with every kind of thread, and every kind of file, none of which ends soon."""
    lines = hr.TextLineDataset([csv_file(9, good=True), csv_file(5, good=True)]).filter(lambda line: "1" not in line)
    endless = hr.Dataset.counter()
    return {
        "one thread": lines.repeat(),
        "prefetch": lines.repeat().prefetch(2),
        "two prefetches": lines.repeat().prefetch(2).batch(2).prefetch(hr.AUTOTUNE),
        "files read ahead": hr.ParquetDataset([parquet_file(9), parquet_file(6), parquet_file(5)], ["x"]).repeat(),
        "parallel map": endless.map(add_one, num_parallel_calls=3),
        "unordered map": endless.map(add_one, num_parallel_calls=3, deterministic=False).batch(3),
        "interleaved files": endless.interleave(
            lambda _: hr.TextLineDataset([text_file(3), text_file(2)]), cycle_length=3, num_parallel_calls=2
        ),
        "everything": hr.Dataset.zip((csv_of(csv_file(9, good=True)).repeat().prefetch(3), endless.prefetch(2)))
        .map(lambda row, number: number, num_parallel_calls=2)
        .interleave(few(5), num_parallel_calls=hr.AUTOTUNE)
        .shuffle(9)
        .prefetch(1),
        "inline": lines.repeat().with_options(hr.Options(executor="inline")),
    }


ENDLESS = sorted(busy_plans())


@given(recipes(), ways())
def test_a_plan_that_was_read_to_its_end_has_closed_itself(recipe: Recipe, way: Way) -> None:
    dataset = Recipe(f"{recipe}.take(30)", recipe.source, (*recipe.steps, lambda ds: ds.take(30))).build()
    with running(dataset, way):
        iterator = iter(dataset.with_options(way.options))
        ended = len(list(delivered(iterator, 60))) < 60
        assert not ended or nothing_left()
        iterator.close()


@given(recipes(), ways(), st.integers(0, 9))
def test_closing_in_the_middle_leaves_nothing(recipe: Recipe, way: Way, count: int) -> None:
    with running(recipe.build(), way) as iterator:
        list(delivered(iterator, count))
    assert nothing_left()
    assert list(iterator) == []


@pytest.mark.parametrize("plan", ENDLESS)
def test_closing_at_every_element_leaves_nothing(plan: str) -> None:
    dataset = busy_plans()[plan]
    for count in range(12):
        iterator = iter(dataset)
        for _ in range(count):
            next(iterator)
        iterator.close()
        iterator.close()
        assert nothing_left(), f"closed after {count}"
        with pytest.raises(StopIteration):
            next(iterator)


@pytest.mark.parametrize("plan", ENDLESS)
def test_a_break_leaves_nothing(plan: str) -> None:
    for number, _ in enumerate(busy_plans()[plan]):
        if number == 5:
            break
    assert nothing_left()


@pytest.mark.parametrize("plan", ENDLESS)
def test_an_exception_in_the_consumer_leaves_nothing(plan: str) -> None:
    def consume() -> None:
        for number, _ in enumerate(busy_plans()[plan]):
            if number == 5:
                raise KeyError(number)

    with pytest.raises(KeyError) as caught:
        consume()
    del caught  # its traceback holds the frame, and the frame the loop's iterator
    gc.collect()
    assert nothing_left()


def break_three(x: int) -> int:
    if x == 3:
        raise ValueError(x)
    return x


FAILING: dict[str, Callable[[], hr.Dataset]] = {
    "map": lambda: hr.Dataset.range(9).map(break_three),
    "map ahead": lambda: hr.Dataset.range(9).map(break_three).prefetch(2),
    "parallel map": lambda: hr.Dataset.range(9).map(break_three, num_parallel_calls=2),
    "filter": lambda: hr.Dataset.range(9).filter(lambda x: break_three(x) >= 0).prefetch(2),
    "interleave": lambda: hr.Dataset.range(9).interleave(
        lambda x: hr.Dataset.range(break_three(x)), num_parallel_calls=2
    ),
    "inside an interleave": lambda: hr.Dataset.range(2).interleave(
        lambda _: hr.Dataset.range(9).map(break_three), num_parallel_calls=2
    ),
    "batch": lambda: hr.TextLineDataset(csv_file(9, good=True)).map(lambda line: [0] * len(line)).batch(3),
    "generator": lambda: hr.Dataset.from_generator(lambda: map(break_three, range(9))).prefetch(2),
    "text": lambda: hr.TextLineDataset(text_file(9)),
    "text ahead": lambda: hr.TextLineDataset(text_file(9)).prefetch(2),
    "csv": lambda: csv_of(csv_file(9, good=False)).map(lambda *row: row, num_parallel_calls=2),
}


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize("plan", sorted(FAILING))
def test_a_loop_that_an_error_left_is_over_without_the_garbage_collector(plan: str, executor: str) -> None:
    failed = False
    try:
        for _ in FAILING[plan]().with_options(hr.Options(executor=executor)):
            pass
    except hr.errors.HeadraceError as error:
        failed = bool(str(error))
    assert failed
    assert nothing_left()


@pytest.mark.parametrize("plan", ENDLESS)
def test_a_with_block_that_an_exception_leaves_leaves_nothing(plan: str) -> None:
    with pytest.raises(ZeroDivisionError), iter(busy_plans()[plan]) as iterator:
        next(iterator)
        raise ZeroDivisionError
    assert nothing_left()


@pytest.mark.parametrize("plan", ENDLESS)
def test_an_iterator_that_nobody_holds_is_closed(plan: str) -> None:
    iterator = iter(busy_plans()[plan])
    next(iterator)
    del iterator
    assert nothing_left()


@pytest.mark.parametrize("plan", ENDLESS)
def test_an_iterator_in_a_reference_cycle_is_closed_with_it(plan: str) -> None:
    holder: dict[str, Any] = {"iterator": iter(busy_plans()[plan])}
    holder["itself"] = holder
    next(holder["iterator"])
    del holder
    gc.collect()
    assert nothing_left()


@pytest.mark.parametrize("plan", ENDLESS)
def test_an_iterator_inside_a_generator_is_closed_with_it(plan: str) -> None:
    def training() -> Generator[Any, None, None]:
        yield from busy_plans()[plan]

    steps = training()
    next(steps)
    steps.close()
    gc.collect()
    assert nothing_left()


def test_as_numpy_iterator_is_closed_when_it_is_dropped() -> None:
    numbers = busy_plans()["parallel map"].as_numpy_iterator()
    next(numbers)
    del numbers
    assert nothing_left()


def test_reduce_that_fails_leaves_nothing() -> None:
    def fail(state: int, x: int) -> int:
        raise KeyError(x)

    with pytest.raises(KeyError) as caught:
        hr.Dataset.range(100).map(add_one, num_parallel_calls=2).reduce(0, fail)
    del caught
    assert nothing_left()


def test_a_generator_is_ended_with_the_run_so_that_its_finally_runs() -> None:
    ended: list[str] = []

    def generate() -> Iterator[int]:
        try:
            yield from range(100)
        finally:
            ended.append(threading.current_thread().name)

    for dataset in (
        hr.Dataset.from_generator(generate),
        hr.Dataset.from_generator(generate).prefetch(2),
        hr.Dataset.from_generator(generate).with_options(hr.Options(executor="inline")),
    ):
        ended.clear()
        with iter(dataset) as iterator:
            next(iterator)
        assert len(ended) == 1


def test_a_new_state_ends_the_run_before_it() -> None:
    with iter(busy_plans()["everything"]) as iterator:
        state = iterator.state_dict()
        for _ in range(4):
            next(iterator)
            iterator.load_state_dict(state)
            assert nothing_left()


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_a_resume_that_finds_its_data_gone_leaves_nothing(executor: str) -> None:
    data = list(range(9))
    ahead = hr.Dataset.range(9).interleave(few(7), num_parallel_calls=2)
    dataset = hr.Dataset.zip((ahead, hr.Dataset.from_generator(lambda: iter(data)).flat_map(few(7))))
    iterator = iter(dataset)
    for _ in range(9):
        next(iterator)
    iterator.close()
    data.clear()
    again = iter(dataset.with_options(hr.Options(executor=executor)))
    again.load_state_dict(iterator.state_dict())
    with pytest.raises(hr.errors.DataLossError, match="changed"):
        next(again)
    assert nothing_left()


# ------------------------------------------------------------------------- several threads at once


def bounded(target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def joined(thread: threading.Thread) -> None:
    thread.join(LIMIT_S)
    assert not thread.is_alive(), "it hangs"


class Gate:
    """A function that waits until it is let go, and says when somebody waits."""

    def __init__(self) -> None:
        self.entered, self.go = threading.Event(), threading.Event()

    def __call__(self, x: int) -> int:
        self.entered.set()
        assert self.go.wait(LIMIT_S)
        return x

    def lines(self) -> Iterator[int]:
        yield self(0)
        yield 1


GATED: dict[str, Callable[[Gate], hr.Dataset]] = {
    "map": lambda gate: hr.Dataset.range(9).map(gate),
    "map behind files": lambda gate: hr.TextLineDataset(text_file(3)).map(len).map(gate),
    "generator": lambda gate: hr.Dataset.from_generator(gate.lines),
    "generator ahead": lambda gate: hr.Dataset.from_generator(gate.lines).prefetch(2),
    "parallel map": lambda gate: hr.Dataset.range(9).map(gate, num_parallel_calls=2),
    "parallel map without prefetch": lambda gate: (
        hr.Dataset.range(9).map(gate, num_parallel_calls=2).with_options(hr.Options(optimize=False))
    ),
    "above interleave": lambda gate: hr.Dataset.range(9).map(gate).interleave(few(3), num_parallel_calls=2),
    "inside interleave": lambda gate: hr.Dataset.range(9).interleave(
        lambda _: hr.Dataset.from_generator(gate.lines), num_parallel_calls=2
    ),
    "inline": lambda gate: hr.Dataset.from_generator(gate.lines).with_options(hr.Options(executor="inline")),
}


@pytest.mark.parametrize("plan", sorted(GATED))
def test_close_from_another_thread_ends_a_next_that_waits(plan: str) -> None:
    gate = Gate()
    iterator = iter(GATED[plan](gate))
    outcome: list[Any] = []

    def consume() -> None:
        try:
            outcome.extend(iterator)
        except Exception as error:  # whatever it is, the assertion shows it
            outcome.append(error)

    consumer = bounded(consume)
    assert gate.entered.wait(LIMIT_S)
    closer = bounded(iterator.close)
    gate.go.set()
    joined(closer)
    joined(consumer)
    assert not [one for one in outcome if isinstance(one, Exception)]
    assert nothing_left()
    assert list(iterator) == []


@pytest.mark.parametrize("plan", sorted(GATED))
def test_a_stop_that_comes_while_a_stage_is_about_to_start_work_is_not_missed(plan: str) -> None:
    gate = Gate()
    iterator = iter(GATED[plan](gate))
    consumer = bounded(lambda: list(iterator))
    assert gate.entered.wait(LIMIT_S)
    last: Any = PrefetchStage if plan == "generator ahead" else WorkerPool  # who is told last
    stop = last.stop

    def stop_and_let_go(told: Any) -> None:
        stop(told)  # everybody has been told to stop, and only now the function returns
        gate.go.set()

    with mock.patch.object(last, "stop", stop_and_let_go):
        closer = bounded(iterator.close)
        if plan in ("map", "map behind files", "generator", "inline"):  # these have no workers
            gate.go.set()
        joined(closer)
    joined(consumer)
    assert nothing_left()


def test_many_threads_may_close_at_once() -> None:
    for _ in range(20):
        iterator = iter(busy_plans()["everything"])
        next(iterator)
        closers = [bounded(iterator.close) for _ in range(4)]
        for closer in closers:
            joined(closer)
        assert nothing_left()


def test_a_function_may_close_the_iterator_that_calls_it() -> None:
    for calls in (None, 2):
        holder: list[hr.DatasetIterator] = []

        def close_at_three(x: int, held: list[hr.DatasetIterator] = holder) -> int:
            if x == 3:
                held[0].close()
            return x

        dataset = hr.Dataset.range(1000).map(close_at_three, num_parallel_calls=calls)
        holder.append(iter(dataset))
        consumer = bounded(lambda: list(holder[0]))  # noqa: B023 - joined before the next turn
        joined(consumer)
        for thread in threading.enumerate():
            if thread.name in threads():  # a worker that closed cannot wait for itself: it may be on its way out
                joined(thread)
        holder.clear()
        gc.collect()
        assert nothing_left()


class Ending(RuntimeError):  # noqa: N818 - what it does, not what is wrong
    """What a generator raises when it is closed."""


@pytest.mark.parametrize("executor", ["inline", "thread"])
@pytest.mark.parametrize("plan", ["zip", "sample", "interleave", "nested"])
def test_every_generator_is_closed_whatever_one_of_them_raises(plan: str, executor: str) -> None:
    closed: list[int] = []

    def endless(number: int) -> hr.Dataset:
        def generate() -> Iterator[int]:
            try:
                while True:
                    yield number
            finally:
                closed.append(number)
                if number != 1:
                    raise Ending(number)

        return hr.Dataset.from_generator(generate)

    parts = [endless(number) for number in range(3)]
    dataset = {
        "zip": lambda: hr.Dataset.zip(*parts),
        "sample": lambda: hr.Dataset.sample_from_datasets(parts, seed=1),
        "interleave": lambda: hr.Dataset.range(3).interleave(lambda number: parts[number], cycle_length=3),
        "nested": lambda: hr.Dataset.zip(hr.Dataset.zip(parts[0], parts[1].batch(2)), parts[2].prefetch(1)),
    }[plan]()
    iterator = iter(dataset.with_options(hr.Options(executor=executor)))
    for _ in range(20):
        next(iterator)
    with pytest.raises(Ending) as caught:
        iterator.close()
    assert sorted(closed) == [0, 1, 2]
    assert any("Ending" in note for note in caught.value.__notes__)
    iterator.close()
