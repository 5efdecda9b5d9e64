"""What a process tells of its pipelines: the answer to a request, as a line of JSON.

``{"ask": "runs"}`` is the one request that there is. The answer tells of the process ``pid``, ``program``, ``rank`` and ``world_size``, and of each
open iterator, in ``runs``:

- ``number``: which of the process's iterators it is; a later one has a larger number.
- ``name``: its first source and its last operation.
- ``plan``: the lines of the plan as it runs, each with the place in ``stages`` of what it shows; -1 for settings.
- ``stages``: for each stage in the order of ``stats``: its ``kind``, the places of those that it ``reads``, and for how many elements it has
  ``room``, where that is a number.
- ``stats``: what ``stats().to_dict()`` gives; of a feed its ``pipeline``, with the steps of the feed.
- ``copies``: whether its elements go to a device.
- ``waits``: the part of the last seconds that its caller waited, with what it waits at this moment.
- ``bottleneck``: the place of the stage that holds it up, or None.
- ``verdict``: the same in words.
- ``stalls``: what each thread holds at this moment, and for how long.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from headrace.analysis.figures import CONSUMER, MachineFigures
from headrace.analysis.finding import HARDLY
from headrace.engine import physical_plan
from headrace.errors import InvalidArgumentError
from headrace.feed.feed_iterator import FeedIterator
from headrace.frozen import frozen
from headrace.iterator import DatasetIterator
from headrace.machine import current_share
from headrace.observe.iterators import ITERATORS
from headrace.observe.stats import IteratorStats
from headrace.observe.steps import StepStats
from headrace.observe.tables import duration
from headrace.plan.buffering import options_of
from headrace.plan.explain import name_of, plan_lines
from headrace.plan.node import Node
from headrace.plan.options import Options
from headrace.processes.snapshot import all_of
from headrace.profiling.explaining import limit_of, told
from headrace.profiling.telling import figures_of, told_nodes
from headrace.ranks import current

__all__ = ["FORMAT", "answered", "program"]

# So long a wait, and so many times as long as any before, is none for the next element of a slow pipeline.
_HELD_UP_S: Final = 1.0
_HELD_UP: Final = 10
# Counts up when an answer means something else.
FORMAT: Final = 1


def answered(request: bytes) -> bytes:
    """Returns the answer to a request, whatever it is."""
    try:
        asked = json.loads(request)
    except ValueError:
        asked = None
    known = isinstance(asked, dict) and asked.get("ask") == "runs"
    answer = _process() if known else {"format": FORMAT, "error": 'the one request is {"ask": "runs"}'}
    return json.dumps(_finite(answer), allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _finite(value: Any) -> Any:
    """Returns figures in which what JSON has no word for is None."""
    match value:
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case float():
            return value if math.isfinite(value) else None
        case str() | int() | None:
            return value
    return str(value)


def _process() -> dict[str, Any]:
    place = _place(Options())
    return {
        "format": FORMAT,
        "pid": os.getpid(),
        "program": program(),
        "rank": place[0],
        "world_size": place[1],
        "cores": current_share().cores,
        "runs": list(_runs()),
    }


def program() -> str:
    """Returns what a person calls this program: the name of its file, or of its module."""
    path = Path(sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c") else "python")
    return path.parent.name if path.name == "__main__.py" else path.name


def _place(options: Options) -> tuple[int, int]:
    try:
        rank = current(options.rank, options.world_size)
    except InvalidArgumentError:
        return 0, 1
    return rank.rank, rank.world_size


@frozen
class _Told:
    """What an iterator tells that does not change.

    Attributes:
        number: which one it is.
        plan: as it runs.
        options: of it.
    """

    number: int
    plan: Node
    options: Options


_numbers: Final = itertools.count(1)
_known: Final[weakref.WeakKeyDictionary[DatasetIterator, _Told]] = weakref.WeakKeyDictionary()


def _runs() -> Iterator[dict[str, Any]]:
    iterators = all_of(ITERATORS.begun)
    feeds = {id(one.pipeline): one for one in iterators if isinstance(one, FeedIterator)}
    found = [one for one in iterators if isinstance(one, DatasetIterator) and one.is_open]
    for iterator in sorted(found, key=lambda one: _told(one).number):
        try:
            yield _run(iterator, feeds.get(id(iterator)))
        except Exception as failed:  # noqa: BLE001 - the others are told all the same
            yield {"number": _told(iterator).number, "error": f"{type(failed).__name__}: {failed}"}


def _told(iterator: DatasetIterator) -> _Told:
    known = _known.get(iterator)
    if known is None:
        written = iterator.built_plan
        options = options_of(written)
        known = _known[iterator] = _Told(next(_numbers), physical_plan(written, options), options)
    return known


def _run(iterator: DatasetIterator, feed: FeedIterator | None) -> dict[str, Any]:
    known = _told(iterator)
    stats, copies, waiting_s = iterator.stats(), False, iterator.waiting_s
    if feed is not None:
        fed = feed.stats()
        # Who waits is the loop, and not the thread that reads ahead for it.
        stats, copies, waiting_s = _of_the_loop(fed.pipeline, fed.step, fed.wait_s), bool(fed.copies_s), 0.0
    waits = _waits(stats.step, waiting_s)
    nodes = told_nodes(known.plan)
    numbers = {id(node): number for number, node in enumerate(nodes)}
    stalls = iterator.stalls()
    is_held_up = waiting_s > max(_HELD_UP_S, _HELD_UP * stats.step.waited.max_s)
    limit = limit_of(known.plan, known.options, stats) if stats.stages and not is_held_up else None
    bottleneck = None if limit is None or limit.key == CONSUMER else limit.key
    if is_held_up and stalls:
        bottleneck = next((key for key, node in enumerate(nodes) if node.label == stalls[0].stage), None)
    figures = figures_of(known.plan, known.options, stats, MachineFigures(cores=current_share().cores))
    rank, world_size = _place(known.options)
    return {
        "number": known.number,
        "name": name_of(iterator.built_plan),
        "rank": rank,
        "world_size": world_size,
        "executor": known.options.executor or "thread",
        "plan": [[line, numbers.get(id(node), -1)] for line, node in plan_lines(known.plan)],
        "stages": [
            {"kind": stage.kind.value, "reads": list(stage.reads), "room": _room(nodes[stage.key])} for stage in figures
        ],
        "stats": stats.to_dict(),
        "copies": copies,
        "waits": waits,
        "bottleneck": bottleneck,
        "verdict": f"nothing has come for {duration(waiting_s)}"
        if is_held_up or (limit is None and waits >= HARDLY)
        else ". ".join(told(stats, limit)),
        "stalls": [
            {"stage": stall.stage, "origin": stall.origin, "held_s": stall.held_s, "thread": stall.thread}
            for stall in stalls
        ],
    }


def _waits(step: StepStats, waiting_s: float) -> float:
    """Returns the part of the time that the caller waits, with what it waits now."""
    waited_s = step.waited.total_s + waiting_s
    whole_s = waited_s + step.computed.total_s
    return waited_s / whole_s if whole_s > 0 else 0.0


def _room(node: Node) -> int | None:
    """Returns how many elements an operation may hold at most, where it has a number."""
    room = node.parameters().get("buffer_size")
    return room if isinstance(room, int) and room > 0 else None


def _of_the_loop(pipeline: IteratorStats, step: StepStats, wait_s: float) -> IteratorStats:
    import dataclasses

    return dataclasses.replace(pipeline, step=step, wait_s=wait_s)
