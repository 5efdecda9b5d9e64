"""Runs of one shape: with AUTOTUNE everywhere, with each setting by hand, and in tf.data with its AUTOTUNE."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import headrace as hr
from autotune.shapes import Setting, Shape, bursts

_ENDLESS: Final = 1 << 40
# A run that has not answered by then does not.
_PATIENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Times:
    """How long a run is: AUTOTUNE has so long to find out, a setting so long to warm up; then rates are measured in turns."""

    finding_s: float = 5.0
    warming_s: float = 1.0
    turn_s: float = 1.0
    turns: int = 5


@dataclass(frozen=True, slots=True)
class Measured:
    """Steps a second of one shape.

    Attributes:
        shape: which.
        tuned: with AUTOTUNE everywhere, after five seconds.
        ratio: that as a part of the rate of the best setting: the median of the ratios of turns.
        best: the best setting by hand.
        by_hand: with each setting.
        peer: of tf.data with its AUTOTUNE, after five seconds; None where it is not there.
        decisions: what AUTOTUNE decided, in words.
    """

    shape: Shape
    tuned: float
    ratio: float
    best: Setting
    by_hand: dict[Setting, float]
    peer: float | None
    decisions: tuple[str, ...]


def measured(shape: Shape, times: Times, *, peer: bool) -> Measured:
    """Measure one shape: the best setting is searched, and then takes turns with AUTOTUNE, so that both have the same machine."""
    by_hand = {one: _by_hand(shape, one, times) for one in shape.by_hand}
    best = max(by_hand, key=lambda setting: by_hand[setting])
    with iter(dataset_of(shape, None)) as tuned, iter(dataset_of(shape, best)) as other:
        rate(tuned, shape.step_s, 0.0, times.finding_s)
        turns = [
            [rate(one, shape.step_s, times.turn_s / 2, times.turn_s) for one in (tuned, other)]
            for _ in range(times.turns)
        ]
        decisions = tuple(map(str, tuned.stats().decisions))
    by_hand[best] = statistics.median(theirs for _, theirs in turns)
    ratio = statistics.median(ours / theirs for ours, theirs in turns)
    found = statistics.median(ours for ours, _ in turns)
    return Measured(shape, found, ratio, best, by_hand, _of_peer(shape, times) if peer else None, decisions)


def _by_hand(shape: Shape, setting: Setting, times: Times) -> float:
    with iter(dataset_of(shape, setting)) as iterator:
        return rate(iterator, shape.step_s, times.warming_s, times.turn_s)


def dataset_of(shape: Shape, setting: Setting | None) -> hr.Dataset:
    """The shape with a setting; with AUTOTUNE everywhere where there is none."""
    dataset = (
        hr.Dataset.from_generator(bursts, output_signature=hr.TensorSpec((), "int64"))
        if shape.bursts
        else hr.Dataset.range(_ENDLESS)
    )
    calls = (hr.AUTOTUNE,) * len(shape.maps) if setting is None else setting.calls
    for make, number in zip(shape.maps, calls, strict=True):
        dataset = dataset.map(make(), num_parallel_calls=number)
    if shape.batch is not None:
        dataset = dataset.batch(shape.batch)
    return dataset.prefetch(hr.AUTOTUNE if setting is None else setting.ready)


def rate(elements: Iterable[Any], step_s: float, before_s: float, measured_s: float) -> float:
    """Steps a second of a run, after the time before."""
    source: Iterator[Any] = iter(elements)
    begun_s = time.perf_counter()
    _steps(source, step_s, begun_s + before_s)
    from_s = time.perf_counter()
    steps = _steps(source, step_s, from_s + measured_s)
    return steps / (time.perf_counter() - from_s)


def _steps(source: Iterator[Any], step_s: float, until_s: float) -> int:
    steps = 0
    for _ in source:
        steps += 1
        if step_s:
            time.sleep(step_s)
        if time.perf_counter() >= until_s:
            break
    return steps


def _of_peer(shape: Shape, times: Times) -> float | None:
    """Steps a second of tf.data, in a process of its own."""
    script = Path(__file__).with_name("peer.py")
    arguments = [shape.name, str(times.finding_s), str(times.turn_s)]
    try:
        ran = subprocess.run(
            [sys.executable, str(script), *arguments], capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    return float(json.loads(ran.stdout.splitlines()[-1])) if ran.returncode == 0 else None
