"""Pipelines drawn by number, each with one cause of waiting in it."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any, Final

from tests.bottlenecks.working import (
    bursts,
    compute,
    computing,
    copying,
    large,
    late,
    reading,
    sleep,
    sleeping,
    spin,
    spinning,
    straggling,
)

import headrace as hr

__all__ = ["CAUSES", "Plant", "planted"]

# More elements than a trial takes; where an epoch is to end in it, fewer are taken.
_MANY: Final = 200_000


@dataclasses.dataclass(frozen=True)
class Plant:
    """A pipeline in which steps wait for one thing.

    Attributes:
        cause: for what, as a verdict says it.
        dataset: the pipeline.
        step: what consumes its elements.
        stage: a part of the name of the operation that causes it; None where it is none.
        drawn: how it was made, in words.
        feed: brings the elements to the step; None where they come as they are.
        seconds: how long to run it, so that all that is rare comes several times.
    """

    cause: str
    dataset: Any
    step: Callable[[Any], object]
    stage: str | None
    drawn: str
    feed: Callable[[Any], Any] | None = None
    seconds: float = 1.0


class _Drawing:
    """What is drawn for a plant."""

    def __init__(self, cause: str, number: int) -> None:
        self._random = random.Random(f"{cause} {number}")
        self.number = number
        self.words: list[str] = []

    def one_of(self, name: str, choices: list[Any]) -> Any:
        chosen = self._random.choice(choices)
        self.words.append(f"{name}={getattr(chosen, '__name__', chosen)}")
        return chosen

    def in_turn(self, name: str, choices: list[Any]) -> Any:
        """Returns what stands there for this number: all come."""
        chosen = choices[self.number % len(choices)]
        self.words.append(f"{name}={getattr(chosen, '__name__', chosen)}")
        return chosen

    def around(self, ds: Any) -> Any:
        """Puts cheap operations behind what there is."""
        for _ in range(self._random.choice([0, 1, 2])):
            ds = self.one_of("cheap", [_mapped, _filtered, _shuffled, _numbered, _skipped])(ds)
        return ds


def _mapped(ds: Any) -> Any:
    return ds.map(lambda x: x + 1)


def _filtered(ds: Any) -> Any:
    return ds.filter(lambda x: x >= 0)


def _shuffled(ds: Any) -> Any:
    return ds.shuffle(32, seed=1)


def _numbered(ds: Any) -> Any:
    return ds.enumerate().map(lambda _, x: x)


def _skipped(ds: Any) -> Any:
    return ds.skip(1)


def _source(draw: _Drawing) -> tuple[Any, Any, str]:
    work = draw.in_turn("work", [sleep, spin, compute])
    each_s, batch = draw.one_of("each_s", [5e-4, 2e-3, 5e-3]), draw.one_of("batch", [4, 16])
    executor = draw.in_turn("executor", ["thread", "thread", "subprocess", "thread"])
    ds = hr.Dataset.from_generator(reading(int(0.5 / each_s), work, each_s))
    ds = draw.around(ds).batch(batch).prefetch(2).with_options(hr.Options(executor=executor))
    return ds, late(sleep, each_s * batch * draw.one_of("step", [0.2, 0.5])), "from_generator"


def _map(draw: _Drawing) -> tuple[Any, Any, str]:
    each_s, batch = draw.one_of("each_s", [1e-3, 4e-3]), draw.one_of("batch", [8, 32])
    how = draw.in_turn("how", ["thread", "process", "subprocess", "autotune"])
    ds = draw.around(hr.Dataset.range(int((2.0 if how == "process" else 0.8) / each_s)))
    calls = hr.AUTOTUNE if how == "autotune" else 2
    work = spinning(each_s) if how == "process" else computing(each_s)
    ds = ds.map(work, num_parallel_calls=calls, executor="process" if how == "process" else None)
    ds = ds.batch(batch).prefetch(2)
    if how == "subprocess":
        ds = ds.with_options(hr.Options(executor="subprocess"))
    return ds, late(sleep, each_s * batch * 0.2), "parse" if how == "process" else "decode"


def _gil(draw: _Drawing) -> tuple[Any, Any, str]:
    each_s, batch = draw.one_of("each_s", [3e-4, 2e-3]), draw.one_of("batch", [8, 32])
    calls = draw.in_turn("calls", [2, 4, hr.AUTOTUNE, None])
    executor = draw.in_turn("executor", ["thread", "thread", "thread", "thread", "subprocess"])
    ds = draw.around(hr.Dataset.range(_MANY)).shuffle(64)
    ds = ds.map(spinning(each_s), num_parallel_calls=calls)
    ds = draw.around(ds).batch(batch).prefetch(2).with_options(hr.Options(executor=executor))
    return ds, late(sleep, each_s * batch * 0.2), "parse"


def _parallelism(draw: _Drawing) -> tuple[Any, Any, str]:
    each_s, batch = draw.one_of("each_s", [1e-3, 5e-3]), draw.one_of("batch", [8, 32])
    executor = draw.in_turn("executor", ["thread", "thread", "inline", "subprocess", "thread"])
    calls = draw.in_turn("calls", [None, 2, None, 1, 4])
    ds = draw.around(hr.Dataset.range(_MANY)).shuffle(64)
    ds = draw.around(ds.map(sleeping(each_s), num_parallel_calls=calls))
    ds = ds.batch(batch).prefetch(2).with_options(hr.Options(executor=executor))
    return ds, late(sleep, each_s * batch * draw.one_of("step", [0.05, 0.1])), "fetch"


def _buffer(draw: _Drawing) -> tuple[Any, Any, None]:
    each_s, batch = draw.one_of("each_s", [5e-4, 2e-3]), draw.one_of("batch", [8, 32])
    make = draw.in_turn("work", [sleeping, computing, spinning])
    executor = draw.in_turn("executor", ["thread", "inline"])
    ds = draw.around(hr.Dataset.range(_MANY)).shuffle(64).map(make(each_s))
    ds = draw.around(ds).batch(batch).with_options(hr.Options(executor=executor))
    return ds, late(sleep, each_s * batch * draw.one_of("step", [1.6, 2.4])), None


def _burst(draw: _Drawing) -> tuple[Any, Any, str]:
    each, longest_s = draw.one_of("each", [32, 96]), draw.one_of("longest_s", [0.1, 0.2])
    batch, step = draw.one_of("batch", [4, 8]), draw.one_of("step", [1.5, 2.5])
    ds = draw.around(hr.Dataset.from_generator(bursts(_MANY, each, longest_s)))
    ds = ds.batch(batch).prefetch(1)
    return ds, late(sleep, longest_s / each * batch * step), "from_generator"


def _straggler(draw: _Drawing) -> tuple[Any, Any, str]:
    batch, step_s = draw.one_of("batch", [2, 4]), draw.one_of("step_s", [3e-3, 4e-3])
    steps, calls = 200, draw.in_turn("calls", [2, 4, None])
    every, longest_s = batch * steps, 0.5 * steps * step_s
    ds = hr.Dataset.range(_MANY).map(straggling(step_s / batch / 4, every, longest_s), num_parallel_calls=calls)
    return draw.around(ds).batch(batch).prefetch(2), late(sleep, step_s), "fetch"


def _memory_budget(draw: _Drawing) -> tuple[Any, Any, str]:
    nbytes, each_s = draw.one_of("nbytes", [1 << 20, 4 << 20]), draw.one_of("each_s", [1e-2, 2e-2])
    ds = (
        hr.Dataset.range(_MANY).shuffle(64).map(large(nbytes, each_s), num_parallel_calls=draw.one_of("calls", [8, 16]))
    )
    ds = ds.map(lambda array: array[:16]).prefetch(1)
    ds = ds.with_options(hr.Options(ram_budget=nbytes * draw.one_of("held", [4, 6]), optimize=False))
    return ds, late(sleep, each_s / 16), "load"


def _consumer(draw: _Drawing) -> tuple[Any, Any, None]:
    step_s, batch = draw.one_of("step_s", [5e-3, 2e-2]), draw.one_of("batch", [8, 32])
    executor = draw.in_turn("executor", ["thread", "inline", "process", "subprocess"])
    work = draw.one_of("step", [sleep, compute])
    ds = draw.around(draw.around(hr.Dataset.range(_MANY)))
    if executor != "inline":
        ds = ds.map(sleeping(step_s / batch / 4), num_parallel_calls=2)
    ds = ds.batch(batch).prefetch(2).with_options(hr.Options(executor=executor))
    return ds, late(work, step_s), None


def _trainer_slowed(draw: _Drawing) -> tuple[Any, Any, None]:
    step_s, batch = draw.one_of("step_s", [1e-2, 2e-2]), draw.one_of("batch", [4, 16])
    calls = draw.in_turn("calls", [2, None])
    ds = draw.around(hr.Dataset.range(_MANY)).map(spinning(step_s / batch * 0.7), num_parallel_calls=calls)
    return draw.around(ds).batch(batch).prefetch(4), late(spin, step_s), None


def _cache(draw: _Drawing) -> tuple[Any, Any, str]:
    each_s, batch = draw.one_of("each_s", [1e-3, 4e-3]), draw.one_of("batch", [8, 32])
    count = int(0.3 / each_s)
    ds = draw.around(hr.Dataset.range(_MANY)).map(sleeping(each_s)).cache().take(count)
    ds = ds.batch(batch).prefetch(2)
    return ds, late(sleep, each_s * batch * 0.1), "cache"


def _copy(draw: _Drawing) -> tuple[Any, Any, None]:
    step_s, batch = draw.one_of("step_s", [4e-3, 1e-2]), draw.one_of("batch", [8, 32])
    ds = draw.around(hr.Dataset.range(_MANY)).map(sleeping(step_s / batch / 8), num_parallel_calls=2)
    return draw.around(ds).batch(batch).prefetch(2), late(sleep, step_s), None


_DRAWN: Final[dict[str, Callable[[_Drawing], tuple[Any, Any, str | None]]]] = {
    "source": _source,
    "map": _map,
    "gil": _gil,
    "parallelism": _parallelism,
    "buffer": _buffer,
    "burst": _burst,
    "straggler": _straggler,
    "memory_budget": _memory_budget,
    "consumer": _consumer,
    "trainer_slowed": _trainer_slowed,
    "cache": _cache,
    "copy": _copy,
}
CAUSES: Final = (*_DRAWN,)


def planted(cause: str, number: int) -> Plant:
    """Returns the plant of a cause with that number, always the same."""
    draw = _Drawing(cause, number)
    ds, step, stage = _DRAWN[cause](draw)
    feed = None
    if cause == "copy":
        feed = copying(draw.one_of("copy_s", [1e-2, 2e-2]), draw.in_turn("buffer_size", [2, 0]))
    seconds = 4.0 if cause in ("straggler", "burst") else 1.0
    return Plant(cause, ds, step, stage, " ".join(draw.words), feed, seconds)
