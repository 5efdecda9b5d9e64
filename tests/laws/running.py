"""How the tests of the laws run a plan: with which settings, in blocks of which size, and what came of it."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from tests.laws.jumping import Jumps, LateClock, jumping, jumps

import headrace as hr
from headrace.analysis.calls import CallsFigures
from headrace.clock import Clock
from headrace.iterator import DatasetIterator
from headrace.optimize.rules import RULES
from headrace.physical.budget import Budget
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.pace import Pace
from headrace.physical.run_policy import USUAL, RunPolicy
from headrace.physical.workers.calls_tuner import CallsTuner
from headrace.physical.workers.concurrency_tuner import ConcurrencyTuner
from headrace.physical.workers.depth_tuner import DepthTuner
from headrace.physical.workers.overlap_tuner import OverlapTuner
from headrace.physical.workers.reading_place import ReadingPlace
from headrace.physical.workers.ready_order import FIRST_READY, ReadyOrder
from headrace.plan.node import Node
from headrace.semantics.held_bytes import Holding
from headrace.testing.restoring import delivered, same, unmatched

T = TypeVar("T")
# Enough for every plan that ends; of an endless one so much is compared.
LIMIT = 60
# What takes long is tried in full by `make thorough`, and elsewhere in part.
THOROUGH = settings.default is not None and settings.default.max_examples > 1_000
# A timeout that no function of the tests comes near, on whatever machine: each is called as one that has a timeout.
HOURS_S = 36_000.0


@dataclasses.dataclass(frozen=True)
class Way:
    """One way of running a plan."""

    options: hr.Options
    block_sizes: tuple[int, ...] | None = None  # None: as measured
    rules: tuple[Callable[[Node], Node], ...] | None = None  # None: all of them
    last_ones_first: bool = False  # where operations may deliver in any order
    overlap: type[OverlapTuner] = OverlapTuner
    loops: LoopPolicy = USUAL.loops  # when a chain of functions goes link by link
    reading_place: type[ReadingPlace] = ReadingPlace
    concurrency: type[ConcurrencyTuner] = ConcurrencyTuner
    calls: type[CallsTuner] = CallsTuner
    depth: type[DepthTuner] = DepthTuner
    jumps: Jumps | None = None  # of the clock
    clock: Clock | None = None  # another one than the usual, for all but loops


class NeverAhead(OverlapTuner):
    """Has a prefetch make its elements where they are asked for."""

    def made_here(self, elements: int, made_s: float, gap_s: float | None, *, is_alone: bool = True) -> None:
        """Learns nothing."""


class AlwaysAhead(OverlapTuner):
    """Has a prefetch make its elements in a thread, from the first on."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = True

    def taken(self, elements: int, made_s: float, waited_s: float, gap_s: float) -> None:
        """Learns nothing."""


class Alternating(OverlapTuner):
    """Gives the input to a thread after each block that was made here, and has it back after each that the thread made."""

    def made_here(self, elements: int, made_s: float, gap_s: float | None, *, is_alone: bool = True) -> None:
        """Changes to the other way."""
        self.ahead = True

    def taken(self, elements: int, made_s: float, waited_s: float, gap_s: float) -> None:
        """Changes to the other way."""
        self.ahead = False


class NeverHere(ReadingPlace):
    """Has workers read all datasets of a parallel interleave."""

    def took(self, seconds: float, waited_s: float = 0.0) -> None:
        """Learns nothing."""


class AlwaysHere(ReadingPlace):
    """Has a parallel interleave read its datasets where their elements are asked for, from the first on."""

    def __init__(self) -> None:
        super().__init__()
        self.here = True

    def took(self, seconds: float, waited_s: float = 0.0) -> None:
        """Learns nothing."""


class HereAndThere(ReadingPlace):
    """Has them read elsewhere after each."""

    def took(self, seconds: float, waited_s: float = 0.0) -> None:
        """Changes to the other way."""
        self.here = not self.here


PLACES = (ReadingPlace, NeverHere, AlwaysHere, HereAndThere)


class Alone(ConcurrencyTuner):
    """Has what is left to headrace made by the thread that reads."""

    def observe(
        self, elements: int, start_s: float, end_s: float, beside: int, cpu_s: float = 0.0, placing_s: float = 0.0
    ) -> bool:
        """Learns nothing."""
        return True


class Beside(Alone):
    """Has it made by as many workers as there are, from the first element on."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.now = most


class OneWorker(Alone):
    """Has what was asked for made one after the other by a worker, and the rest as ``Alone`` does."""

    @property
    def is_quick(self) -> bool:
        """Whether the thread that reads makes it: no."""
        return False


class Restless(ConcurrencyTuner):
    """Changes to the other way after each task, which is as large as was asked for, or small as those of an experiment.

    Of what was asked for the other way is the thread that reads and one worker, by turns.
    """

    @property
    def is_quick(self) -> bool:
        """Whether the thread that reads makes it: every other time."""
        return self._long_ones % 4 < 2

    def observe(
        self, elements: int, start_s: float, end_s: float, beside: int, cpu_s: float = 0.0, placing_s: float = 0.0
    ) -> bool:
        """Changes to the other way."""
        self.now = self._most if beside == 1 else 1
        self._long_ones += 1
        self._settled = self.now if self._long_ones % 3 else None
        return True


class SteadyCalls(CallsTuner):
    """Has as many calls at once as it began with."""

    def judge(self, figures: CallsFigures) -> None:
        """Learns nothing."""


class RestlessCalls(CallsTuner):
    """Has another number of calls at once, and another window, after almost each task."""

    every_s = 0.0
    rounds = 0
    most = 5

    def judge(self, figures: CallsFigures) -> None:
        """Goes up by two, and from the top to the bottom."""
        self.calls = self.decided = 1 + (self.calls + 1) % min(self._most, self.most)
        self._tasks = 1 + self._tasks % 3


class SteadyDepth(DepthTuner):
    """Has as many blocks ready as it began with."""

    def taken(self, ready: int, waited_s: float) -> None:
        """Learns nothing."""


class Deeper(DepthTuner):
    """Has a block more ready after each."""

    def taken(self, ready: int, waited_s: float) -> None:
        """Goes up by one."""
        self.blocks += 1


CONCURRENCIES = (ConcurrencyTuner, Alone, OneWorker, Beside, Restless)
OVERLAPS = (OverlapTuner, NeverAhead, AlwaysAhead, Alternating)
REFERENCE = Way(hr.Options(executor="inline", optimize=False, seed=7))


def prepare() -> None:
    """Says in a process which one it is, and that it is one; no thread calls it."""
    info = hr.worker_info()
    assert info is not None
    assert 0 <= info.index < info.num_workers


def ways() -> st.SearchStrategy[Way]:
    """The other ways, which must all give what the reference gives."""
    options = st.builds(
        hr.Options,
        executor=st.just("thread"),
        seed=st.just(7),
        num_workers=st.sampled_from([None, 1, 2, 5]),
        ram_budget=st.sampled_from([None, None, 1, 100, 5_000]),
        optimize=st.sampled_from([None, True, False]),
        timeout_s=st.sampled_from([None, None, None, HOURS_S]),
        worker_init=st.sampled_from([None, None, prepare]),
    )
    # Sizes take turns, so that blocks of unlike sizes meet.
    sizes = st.one_of(st.none(), st.lists(st.sampled_from([1, 2, 3, 7, 1000]), min_size=1, max_size=3).map(tuple))
    alone = st.one_of(st.none(), st.sampled_from(RULES).map(lambda rule: (rule,)))
    return st.builds(
        Way,
        options,
        sizes,
        alone,
        overlap=st.sampled_from([*OVERLAPS[:-1], *OVERLAPS]),  # the last one starts a thread for every other block
        loops=loop_policies(),
        reading_place=st.sampled_from(PLACES),
        concurrency=st.sampled_from(CONCURRENCIES),
        calls=st.sampled_from([CallsTuner, RestlessCalls]),
        depth=st.sampled_from([DepthTuner, Deeper]),
        jumps=st.one_of(st.none(), jumps()),
    )


def loop_policies() -> st.SearchStrategy[LoopPolicy]:
    """At once in a generated loop that knows nothing of results, or in one that has seen the first, or in turns; or in pieces."""
    return st.sampled_from(
        [
            LoopPolicy(probed=0),
            LoopPolicy(probed=1),
            LoopPolicy(probed=2, every=2),
            LoopPolicy(probed=3, every=1),
            LoopPolicy(probed=0, patience_s=0.0, rows_a_look=1),
            LoopPolicy(probed=1, patience_s=0.0, rows_a_look=2),
            LoopPolicy(),
        ]
    )


def unordered_ways() -> st.SearchStrategy[Way]:
    """The same, and some of them let every stage that was not told deliver in any order."""

    def in_any_order(way: Way) -> Way:
        return dataclasses.replace(way, options=way.options.merged(hr.Options(deterministic=False)))

    return st.one_of(ways(), ways().map(in_any_order))


class Lenient(Budget):
    """A budget for what can do with less: what must be held is let in, however much it is."""

    def refuse(self, holding: Holding, needs: str) -> None:
        """Refuses nothing."""


class LastOnesFirst(ReadyOrder):
    """Waits for all workers and hands on the latest result first: the worst order there is."""

    waits_for_all = True

    def next_of(self, ready: Iterator[T]) -> T | None:
        last = None
        for last in ready:  # noqa: B007 - the last one is wanted
            pass
        return last


def paced(sizes: Sequence[int] | None) -> Callable[..., Pace]:
    """Has every stage ask for blocks of these sizes in turn, as far as its own bounds allow."""
    if sizes is None:
        return Pace

    turns = tuple(sizes)

    class Turns(Pace):
        def __init__(self, **bounds: Any) -> None:
            super().__init__(**bounds)
            self._sizes = itertools.cycle(turns)
            self.observe(0, 0.0, 0)

        def observe(self, elements: int, seconds: float, nbytes: int) -> None:
            self.size = max(1, min(next(self._sizes), self.limit))

    return Turns


def in_blocks_of(
    sizes: Sequence[int] | None,
    dataset: hr.Dataset,
    *,
    overlap: type[OverlapTuner] = OverlapTuner,
    calls: type[CallsTuner] = CallsTuner,
) -> hr.DatasetIterator:
    """An iterator over the dataset in which every stage asks for blocks of these sizes in turn."""
    return DatasetIterator(
        dataset.__headrace_plan__(),
        policy=RunPolicy(
            pace=paced(sizes),
            overlap=lambda _: overlap(),
            depth=lambda _: SteadyDepth(),
            calls=lambda first, most, _: calls(first, most),
        ),
    )


@contextlib.contextmanager
def running(dataset: hr.Dataset, way: Way) -> Iterator[DatasetIterator]:
    """An iterator over the dataset, that way."""
    plan = dataset.with_options(way.options).__headrace_plan__()
    with jumping(way.jumps), DatasetIterator(plan, policy=policy_of(way)) as iterator:
        yield iterator


def policy_of(way: Way) -> RunPolicy:
    """What a run does that goes that way."""
    clock = LateClock()
    return RunPolicy(
        rules=RULES if way.rules is None else way.rules,
        pace=paced(way.block_sizes),
        budget=Lenient,
        loops=dataclasses.replace(way.loops, clock=clock),
        ready_order=LastOnesFirst() if way.last_ones_first else FIRST_READY,
        overlap=lambda _: way.overlap(),
        reading_place=lambda _: way.reading_place(),
        concurrency=lambda most, _: way.concurrency(most),
        calls=lambda first, most, _: way.calls(first, most),
        depth=lambda _: way.depth(),
        clock=clock if way.clock is None else way.clock,
    )


def elements_of(dataset: hr.Dataset, way: Way = REFERENCE, *, limit: int = LIMIT) -> list[Any]:
    """What the dataset gives, an error in place of each element that fails."""
    with running(dataset, way) as iterator:
        return list(delivered(iterator, limit))


def assert_same(expected: Sequence[Any], actual: Sequence[Any], *, in_order: bool = True) -> None:
    """Fails unless both are the same elements: structures, types, values; kinds and messages of errors."""
    if not in_order:
        lost, added = unmatched(expected, actual)
        assert (lost, added) == ([], []), f"{lost!r} do not come and {added!r} come instead"
        return
    for number, (mine, theirs) in enumerate(zip(expected, actual, strict=False)):
        assert same(mine, theirs), f"element {number} is {theirs!r} instead of {mine!r}"
    assert len(actual) == len(expected), f"{len(actual)} elements instead of {len(expected)}"


def through_json(state: dict[str, Any]) -> dict[str, Any]:
    restored: dict[str, Any] = json.loads(json.dumps(state))
    return restored


def history(dataset: hr.Dataset, way: Way, *, limit: int) -> tuple[list[Any], list[dict[str, Any]]]:
    """What the dataset gives, and the state before the first, and behind each of its elements."""
    with running(dataset, way) as iterator:
        states = [through_json(iterator.state_dict())]
        elements = []
        for element in delivered(iterator, limit):
            elements.append(element)
            states.append(through_json(iterator.state_dict()))
    return elements, states


def resumed(dataset: hr.Dataset, state: dict[str, Any], way: Way, *, limit: int) -> list[Any]:
    """What a fresh iterator gives that was loaded with a state."""
    with running(dataset, way) as iterator:
        iterator.load_state_dict(state)
        return list(delivered(iterator, limit))


def some_of(found: Sequence[T], *, one_in: int, apart: str = "") -> list[tuple[int, T]]:
    """Returns one of so many, with its place, and all in a thorough run; which ones, is another matter for each that is ``apart``."""
    first = 0 if THOROUGH else (len(found) + zlib.crc32(apart.encode())) % one_in
    return list(enumerate(found))[first :: 1 if THOROUGH else one_in]
