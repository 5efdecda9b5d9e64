"""The six shapes: what an element takes, and the settings among which a person would look for the best one."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

# Releases Python's lock, as most of what decodes does: about two milliseconds of one core.
_BYTES: Final = np.random.default_rng(0).integers(0, 64, 105_000, dtype=np.uint8).tobytes()
_ENDLESS: Final = 1 << 40
# One element in so many takes long.
_SELDOM: Final = 25
# A source that gives so many at once, and then nothing for a while.
_BURST: Final = 100
_PAUSE_S: Final = 0.1

Function = Callable[[Any], Any]


def waiting(seconds: float) -> Function:
    """A function that waits, as for a disk or a network."""

    def wait(x: Any) -> Any:
        time.sleep(seconds)
        return x

    return wait


def computing() -> Function:
    """A function that computes without Python's lock."""

    def compute(x: Any) -> Any:
        zlib.compress(_BYTES, 6)
        return x

    return compute


def mostly_short() -> Function:
    """A function that waits, for one element of many far longer."""

    def wait(x: Any) -> Any:
        time.sleep(0.1 if int(x) % _SELDOM == 0 else 1e-3)
        return x

    return wait


def bursts() -> Iterator[int]:
    """Numbers that come many at once, as at the beginning of each file."""
    for number in range(_ENDLESS):
        if number % _BURST == 0:
            time.sleep(_PAUSE_S)
        yield number


@dataclass(frozen=True, slots=True)
class Setting:
    """What a person chooses: how many calls at once of each map, None for no workers, and how many elements lie ready."""

    calls: tuple[int | None, ...]
    ready: int = 16

    def __str__(self) -> str:
        calls = ", ".join("serial" if one is None else str(one) for one in self.calls)
        return f"{calls or 'no map'}; prefetch({self.ready})"


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape of work.

    Attributes:
        name: what it is called.
        maps: make the functions of its maps, each for one run, as a run learns of its functions.
        by_hand: the settings that are tried.
        how: what it is, in words.
        bursts: whether the source gives many at once, and then nothing for a while.
        batch: how many elements a step takes; None for one by one.
        step_s: how long a step takes after it has its element.
    """

    name: str
    maps: tuple[Callable[[], Function], ...]
    by_hand: tuple[Setting, ...]
    how: str
    bursts: bool = False
    batch: int | None = None
    step_s: float = 0.0


def _plus_one() -> Function:
    return lambda x: x + 1


SHAPES: Final = (
    Shape(
        "io",
        (lambda: waiting(0.02),),
        tuple(Setting((calls,)) for calls in (2, 8, 32, 64)),
        "one map that waits 20 ms",
    ),
    Shape(
        "cpu",
        (computing,),
        tuple(Setting((calls,)) for calls in (None, 1, 2, 3)),
        "one map that computes for about 2 ms, without Python's lock",
    ),
    Shape(
        "unequal",
        (lambda: waiting(0.01), computing),
        tuple(Setting(calls) for calls in ((2, 2), (8, 2), (16, 2), (16, 3))),
        "a map that waits 10 ms, and one that computes for about 2 ms",
    ),
    Shape(
        "tailed",
        (mostly_short,),
        tuple(Setting((calls,)) for calls in (2, 8, 32, 64)),
        "a map that waits 1 ms, and for one element of 25 a tenth of a second",
    ),
    Shape(
        "cheap",
        (_plus_one,),
        tuple(Setting((calls,), ready) for calls in (None, 2) for ready in (0, 2)),
        "a map that adds one; batches of 256",
        batch=256,
    ),
    Shape(
        "bursty",
        (),
        tuple(Setting((), ready) for ready in (0, 8, 128, 512)),
        "a source that gives 100 elements at once and then nothing for 0.1 s; a step takes 1 ms",
        bursts=True,
        step_s=1e-3,
    ),
)
