"""What the statistics cost that are always on: the same work with them and without, by turns, in one process.

    make stats-cost
    make stats-cost ARGS="--work memory --rounds 200"
    make stats-cost ARGS="--without lock --examples 5000000 --rounds 12"

No program can turn them off. Here the methods that count are replaced by some that do nothing, for one of two epochs. Both are the
same code in the same memory, and what else the machine does disturbs both, so the median of many ratios is certain to less than a
hundredth; the bounds between which it lies with 95 % are told. With ``--without nothing`` both epochs are the same, and the ratio is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple
from unittest import mock

import headrace.engine.run as engine
from headrace.blocks.block import Block
from headrace.observe.iterators import Iterators
from headrace.observe.meter import Gauge, Meter
from headrace.observe.onlookers import Onlookers
from headrace.observe.steps import StepMeter
from headrace.observe.window import Window
from headrace.physical.stage import Item, Stage
from paired import SOURCES

# Elements of the epoch before each that is timed: CPython learns the other methods in it.
_WARM: Final = 20_000
# A median of so many ratios lies between two of them with 95 %: their ranks are so many roots of the count from the middle.
_RANKS: Final = 0.98


def _pull(self: Stage, limit: int) -> Item:
    """``Stage.pull`` without what it counts."""
    item: Item = self._surplus
    if item is None:
        item = self._pull(limit)
    self._surplus = None
    if isinstance(item, Block):
        elements = len(item)
        most = limit if self.granularity == 1 else max(limit // self.granularity, 1) * self.granularity
        if elements > most:
            item, self._surplus = item.slice(0, most), item.slice(most, elements)
            elements = most
        self._before = (item.cursor, elements)
    elif item is not None:
        self._before = (item.after, 0)
    return item


def _read(self: Stage, source: Stage, limit: int) -> Item:
    return source.pull(limit)


def _nothing(*_: Any, **__: Any) -> None:
    pass


# What is always on, by parts: each a method, and what stands for it.
PARTS: Final[dict[str, Sequence[tuple[Any, str, Any]]]] = {
    "nothing": (),
    "stages": ((Stage, "pull", _pull), (Stage, "_read", _read), (Meter, "add", _nothing), (Gauge, "set", _nothing)),
    "steps": ((StepMeter, "has", _nothing), (StepMeter, "ends", _nothing)),
    "window": ((Window, "begin", _nothing), (Window, "note", _nothing)),
    "lock": ((engine, "lock_use_of", _nothing),),
    "onlookers": (
        *((Onlookers, name, _nothing) for name in ("begins", "lasts", "ends")),
        (Onlookers, "is_waiting", False),
        *((Iterators, name, _nothing) for name in ("begins", "ends")),
    ),
    "stalls": ((engine, "may_hang", _nothing),),
}


@contextlib.contextmanager
def without(parts: Sequence[str]) -> Iterator[None]:
    """Has these parts do nothing."""
    with contextlib.ExitStack() as replaced:
        for where, name, instead in (one for part in parts for one in PARTS[part]):
            replaced.enter_context(mock.patch.object(where, name, instead))
        yield


# The thread that warns of stalls is there for that, whatever is counted.
STATISTICS: Final = [part for part in PARTS if part not in ("nothing", "stalls")]


class Taken(NamedTuple):
    """What an epoch took, in seconds: of the processor, and of the clock on the wall."""

    cpu_s: float
    wall_s: float


def taken(epoch: Callable[[], Any]) -> Taken:
    """Returns what an epoch took."""
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    for _ in epoch():
        pass
    return Taken(time.process_time() - cpu_s, time.perf_counter() - wall_s)


class Ratio(NamedTuple):
    """A median, and the bounds between which it lies with 95 %."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> Ratio:
        """Returns that of ratios."""
        ordered = sorted(ratios)
        beside = math.ceil(_RANKS * math.sqrt(len(ordered)))
        half = len(ordered) / 2
        low, high = max(0, math.floor(half) - beside), min(len(ordered) - 1, math.ceil(half) - 1 + beside)
        return cls(statistics.median(ordered), ordered[low], ordered[high])

    def __str__(self) -> str:
        return f"{self.middle:.4f} ({self.low:.4f} to {self.high:.4f})"


def compare(work: str, parts: Sequence[str], *, examples: int, rounds: int) -> tuple[Ratio, Ratio]:
    """Returns how many times the processor's time, and the time, an epoch with the parts takes of one without."""
    candidate = import_module(f"works.{work}").headrace
    epoch, warm = (candidate(SOURCES[work](count)) for count in (examples, _WARM))
    pairs: list[dict[bool, Taken]] = []
    for number in range(rounds + 1):
        pair: dict[bool, Taken] = {}
        for counts in [True, False] if number % 2 else [False, True]:
            with without([] if counts else parts):
                taken(warm)
                pair[counts] = taken(epoch)
        pairs.append(pair)
    del pairs[0]  # which warms up
    return (
        Ratio.of([pair[True].cpu_s / pair[False].cpu_s for pair in pairs]),
        Ratio.of([pair[True].wall_s / pair[False].wall_s for pair in pairs]),
    )


def main() -> None:
    """Measures, as it is told on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", choices=SOURCES, default="overhead")
    parser.add_argument(
        "--without", nargs="+", choices=PARTS, default=STATISTICS, help="the parts that the other epochs do without"
    )
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--examples", type=int, default=1_000_000)
    given = parser.parse_args()
    cpu, wall = compare(given.work, given.without, examples=given.examples, rounds=given.rounds)
    print(
        f"{given.work}, {given.examples:,} examples, {given.rounds} pairs, without {', '.join(given.without)}: "
        f"{cpu} times the processor's time, {wall} times the time"
    )


if __name__ == "__main__":
    main()
