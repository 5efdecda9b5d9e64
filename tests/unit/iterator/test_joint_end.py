"""Ranks that end after the same step, where only a run can tell how many there are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import headrace as hr
from headrace.errors import FailedPreconditionError, HeadraceError, InvalidArgumentError
from headrace.feed.feeding import Feed
from headrace.plan.dealing_places import PlacesOfStream

# What a rank tells: nothing real, a real step, and that it has none.
FILLED_IN, REAL, NONE = range(3)


class Others:
    """The other ranks of a job, which have so many real steps, and are at their end for good after ``last``."""

    def __init__(self, real: int, last: int | None = None) -> None:
        self.real, self.last = real, last
        self.told: list[int] = []
        self.threads: set[int] = set()

    def __call__(self, number: int) -> int:
        step = len(self.told)
        self.told.append(number)
        self.threads.add(threading.get_ident())
        theirs = NONE if self.last is not None and step >= self.last else REAL if step < self.real else FILLED_IN
        return max(number, theirs)


def dealt(group: Any, *, rank: int = 0, end: str = "drop", elements: int = 40, executor: str = "thread") -> hr.Dataset:
    """Global batches of four, of four streams; each of two ranks has those of every second number that is kept."""
    plan = hr.Dataset.range(elements).filter(lambda x: x % 3 > 0)
    batches = plan.distributed_batch(4, num_streams=4, end=end, group=group)
    return batches.with_options(hr.Options(rank=rank, world_size=2, executor=executor, seed=1))


def given(iterator: Any, most: int = 100) -> list[Any]:
    return [batch for _, batch in zip(range(most), iterator, strict=False)]


class Handed:
    """A transfer that hands elements on; a thread of the feed's own reads ahead, where it takes time."""

    def __init__(self, *, takes_time: bool) -> None:
        self.takes_time = takes_time

    def begin(self, element: Any) -> Any:
        return element

    def finish(self, begun: Any) -> Any:
        return begun

    def copies_s(self) -> list[float]:
        return []


executors: Final = pytest.mark.parametrize("executor", ["thread", "inline"])


@executors
def test_a_batch_that_another_rank_cannot_match_is_dropped_and_not_counted(executor: str) -> None:
    others = Others(real=3, last=3)
    iterator = iter(dealt(others, executor=executor))
    assert len(given(iterator)) == 3
    assert others.told == [REAL] * 4
    assert next(iterator, None) is None
    assert len(others.told) == 4  # nobody waits for it any more
    state = iterator.state_dict()
    assert state["step"] == state["delivered"] == 3


@executors
def test_a_rank_that_has_ended_fills_in_until_all_have(executor: str) -> None:
    own = len(given(dealt(Others(real=0), end="pad", executor=executor)))
    others = Others(real=own + 3)
    batches = given(dealt(others, end="pad", executor=executor))
    assert [bool(mask.any()) for _, mask in batches] == [True] * own + [False] * 3
    assert others.told == [REAL] * own + [FILLED_IN] * 4
    assert all(np.array_equal(rows, batches[own][0]) for rows, _ in batches[own:])


@executors
def test_a_rank_whose_run_fails_takes_the_others_along(executor: str) -> None:
    others = Others(real=100)
    plan = hr.Dataset.range(40).filter(bool).shuffle(9).distributed_batch(4, num_streams=4, group=others)
    iterator = iter(plan.with_options(hr.Options(rank=0, world_size=2, executor=executor)))
    with pytest.raises(InvalidArgumentError, match="has no seed"):
        next(iterator)
    assert others.told == [NONE]
    assert next(iterator, None) is None
    assert others.told == [NONE]


@executors
def test_a_batch_that_fails_is_a_step(executor: str) -> None:
    own = [PlacesOfStream(4, stream).among(0, 10).tolist() for stream in (0, 2)]

    def fail_in_the_third(x: Any) -> Any:
        if x == own[0][2]:
            raise ValueError("the third")
        return x

    others = Others(real=100)
    plan = hr.Dataset.range(40).filter(lambda x: x >= 0).map(fail_in_the_third)
    batches = plan.distributed_batch(4, num_streams=4, group=others)
    iterator = iter(batches.with_options(hr.Options(rank=0, world_size=2, executor=executor)))
    first = given(iterator, 2)
    with pytest.raises(HeadraceError, match="the third"):
        next(iterator)
    rest = given(iterator)
    assert [batch.tolist() for batch in first + rest] == [
        list(rows) for rows in zip(*own, strict=True) if rows[0] != own[0][2]
    ]
    assert others.told == [REAL] * 10 + [NONE]


def test_steps_are_told_in_the_thread_of_the_loop_however_far_others_read_ahead() -> None:
    others = Others(real=3, last=3)
    batches = dealt(others).map(lambda x: x + 1, num_parallel_calls=2).prefetch(8)
    assert len(given(batches)) == 3
    assert len(others.told) == 4
    assert others.threads == {threading.get_ident()}


@pytest.mark.parametrize("end", ["drop", "pad"])
@pytest.mark.parametrize("ahead", [False, True])
def test_a_feed_ends_with_the_others_and_tells_them_in_the_thread_of_the_loop(ahead: bool, end: str) -> None:
    others = Others(real=20, last=20 if end == "pad" else 3)
    feed = Feed(dealt(others, end=end).__headrace_plan__(), lambda: Handed(takes_time=ahead), 4)
    iterator = iter(feed)
    count = 20 if end == "pad" else 3
    assert len(given(iterator)) == count
    assert others.told[-1] == (FILLED_IN if end == "pad" else REAL)
    assert len(others.told) == count + 1
    assert others.threads == {threading.get_ident()}
    assert iterator.state_dict()["step"] == count
    assert next(iterator, None) is None
    assert feed.state_dict()["ended"]


@executors
def test_a_run_that_goes_on_counts_its_steps_from_there(executor: str) -> None:
    own = len(given(dealt(Others(real=0), end="pad", executor=executor)))
    for at in (0, own - 1, own, own + 2):
        iterator = iter(dealt(Others(real=100), end="pad", executor=executor))
        given(iterator, at)
        state = hr.merge_states([iterator.state_dict(), state_of(1, at, executor)])
        others = Others(real=own + 3 - at)
        again = iter(dealt(others, end="pad", executor=executor))
        given(again, 2)
        others.told.clear()
        again.load_state_dict(state)
        masks = [bool(mask.any()) for _, mask in given(again)]
        assert masks == [step < own for step in range(at, own + 3)]
        assert others.told == [REAL] * (own - at) + [FILLED_IN] * (own + 4 - max(own, at))


def state_of(rank: int, at: int, executor: str) -> dict[str, Any]:
    iterator = iter(dealt(Others(real=100), rank=rank, end="pad", executor=executor))
    given(iterator, at)
    return iterator.state_dict()


@pytest.mark.parametrize(
    "behind",
    [
        lambda ds: ds.filter(lambda x: x.any()),
        lambda ds: ds.batch(2),
        lambda ds: ds.unbatch(),
        lambda ds: ds.repeat(2),
        lambda ds: ds.skip(1),
        lambda ds: ds.map(abs, on_error="skip"),
        lambda ds: ds.shuffle(3, seed=1),
    ],
    ids=["filter", "batch", "unbatch", "repeat", "skip", "map that skips", "shuffle"],
)
def test_operations_whose_elements_are_no_steps_are_refused_behind_it(
    behind: Callable[[hr.Dataset], hr.Dataset],
) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^\w+.*: with group= .* an element of this is no step"):
        iter(behind(dealt(Others(real=9))))


def test_a_group_is_asked_nothing_where_all_ranks_know_their_end() -> None:
    others = Others(real=0)
    endless = hr.Dataset.range(40).repeat()
    mixed = hr.Dataset.sample_from_datasets([endless, endless.filter(bool)])
    for plan in (hr.Dataset.range(40), hr.Dataset.range(40).batch(1).unbatch().repeat(), mixed.filter(bool).shuffle(9)):
        options = hr.Options(rank=0, world_size=2, seed=1)
        batches = plan.distributed_batch(4, num_streams=4, group=others).with_options(options)
        assert len(given(batches, 9)) == 9
    assert len(given(dealt(others).with_options(hr.Options(rank=0, world_size=1)), 3)) == 3
    assert others.told == []


def test_what_cannot_end_together_says_what_to_give() -> None:
    with pytest.raises(InvalidArgumentError, match="give group=, by which the ranks tell each other, or steps="):
        endless = hr.Dataset.range(9).repeat().take_while(bool).filter(bool)
        iter(endless.distributed_batch(4).with_options(hr.Options(rank=0, world_size=2, seed=1)))
    with pytest.raises(InvalidArgumentError, match="give group=, by which the ranks tell each other, or steps="):
        iter(dealt(None))
    plan = hr.Dataset.range(9).filter(bool)
    for arguments in ({"end": "uneven"}, {"steps": 3}):
        with pytest.raises(InvalidArgumentError, match="leave out group="):
            plan.distributed_batch(4, group=Others(real=1), **arguments)
    with pytest.raises(InvalidArgumentError, match="group must be a group of torch"):
        plan.distributed_batch(4, group="gloo")
    with pytest.raises(FailedPreconditionError, match="group= has 1 processes, and the plan is dealt to 2 ranks"):
        iter(dealt(True))


def test_the_group_is_no_part_of_what_a_plan_is() -> None:
    iterator = iter(dealt(Others(real=2, last=2)))
    given(iterator)
    again = iter(dealt(Others(real=9, last=9)))
    again.load_state_dict(hr.merge_states([iterator.state_dict(), state_of_drop()]))
    assert next(again, None) is not None


def state_of_drop() -> dict[str, Any]:
    iterator = iter(dealt(Others(real=2, last=2), rank=1))
    given(iterator)
    return iterator.state_dict()


@executors
def test_a_rank_that_has_nothing_to_fill_with_fails_until_all_have_ended(executor: str) -> None:
    def build(others: Others) -> hr.DatasetIterator:
        plan = hr.Dataset.range(40).filter(lambda _: False)
        batches = plan.distributed_batch(4, num_streams=2, end="pad", group=others)
        return iter(batches.with_options(hr.Options(rank=1, world_size=2, executor=executor)))

    others = Others(real=3)
    iterator = build(others)
    states = []
    for _ in range(3):
        states.append(iterator.state_dict())
        with pytest.raises(FailedPreconditionError, match="stream 1 has no element that could be read"):
            next(iterator)
    assert next(iterator, None) is None
    assert others.told == [FILLED_IN] * 4
    again = build(Others(real=1))
    again.load_state_dict(states[-1])
    with pytest.raises(FailedPreconditionError, match="stream 1 has no element that could be read"):
        next(again)
    assert next(again, None) is None


@pytest.mark.parametrize("ranks", [1, 2, 4])
@executors
def test_where_all_elements_fail_a_padded_batch_fails_on_all_ranks(executor: str, ranks: int) -> None:
    def fail(x: Any) -> Any:
        raise ValueError(x)

    def steps(rank: int) -> int:
        options = hr.Options(rank=rank, world_size=ranks, executor=executor)
        plan = hr.Dataset.range(5).map(fail).unique().distributed_batch(4, num_streams=4, end="pad")
        iterator = iter(plan.with_options(options))
        with pytest.raises(HeadraceError):
            next(iterator)
        state = iterator.state_dict()
        with pytest.raises(HeadraceError):
            next(iterator)
        assert next(iterator, None) is None
        again = iter(plan.with_options(options))
        again.load_state_dict(state)
        with pytest.raises(HeadraceError):
            next(again)
        assert next(again, None) is None
        return int(iterator.state_dict()["step"])

    assert [steps(rank) for rank in range(ranks)] == [2] * ranks
