"""States that were saved before still load: their words are part of what we promise, whatever the code is called today.

``python -m tests.laws.test_saved_states_load`` writes those of programs that have none yet, and leaves the others alone.
"""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.laws.running import through_json

import headrace as hr
from headrace.testing.restoring import delivered

SAVED = pathlib.Path(__file__).with_name("saved_states")
DS = hr.Dataset
LIMIT = 40


def fail_on_three(x: Any) -> Any:
    if x == 3:
        raise ValueError("a three")
    return x


def few(x: Any) -> hr.Dataset:
    return DS.range(x, x + x % 3 + 1).map(lambda y: y * 10)


def total(state: Any, x: Any) -> Any:
    return state + x, state * x


def drawn(rng: np.random.Generator, x: Any) -> Any:
    return x, int(rng.integers(1000))


def counted(n: int = 8) -> Any:
    return iter(range(n))


class Resumable:
    """A generator with a state of its own."""

    def __init__(self, n: int) -> None:
        self.n, self.at = n, 0

    def __iter__(self) -> Resumable:
        return self

    def __next__(self) -> int:
        if self.at == self.n:
            raise StopIteration
        self.at += 1
        return self.at

    def state_dict(self) -> dict[str, int]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.at = state["at"]


def lines() -> hr.Dataset:
    pathlib.Path("lines.txt").write_text("".join(f"line {i}\n" for i in range(9)), encoding="utf-8")
    return hr.TextLineDataset(["lines.txt", "lines.txt"])


def table() -> hr.Dataset:
    pathlib.Path("table.csv").write_text("".join(f"{i},{i}.5,w{i}\n" for i in range(9)), encoding="utf-8")
    return hr.CsvDataset("table.csv", [np.int64, np.float32, str])


def rows(n: int = 10) -> hr.Dataset:
    return DS.from_tensor_slices((np.arange(n), np.arange(2 * n).reshape(n, 2)))


def ragged() -> hr.Dataset:
    return DS.range(12).map(lambda x: np.arange(x % 5))


PROGRAMS: dict[str, Callable[[], hr.Dataset]] = {
    "range": lambda: DS.range(2, 20, 3),
    "slices": rows,
    "generator": lambda: DS.from_generator(counted),
    "resumable generator": lambda: DS.from_generator(Resumable, args=(7,)),
    "random": lambda: DS.random(seed=3).take(9),
    "unseeded random": lambda: DS.random().take(9),
    "lines": lines,
    "csv": table,
    "map and filter": lambda: DS.range(12).map(fail_on_three).filter(lambda x: x % 2 == 1),
    "parallel map": lambda: DS.range(12).map(fail_on_three, num_parallel_calls=2).map(lambda x: x + 1, 2),
    "map that skips": lambda: DS.range(12).map(fail_on_three, on_error="skip").with_options(hr.Options(max_failures=5)),
    "random_map": lambda: DS.range(9).random_map(drawn, seed=1),
    "scan": lambda: DS.range(9).scan(1, total),
    "scan of arrays": lambda: DS.range(9).scan(np.zeros(2, np.int64), total),
    "take_while": lambda: DS.range(9).take_while(lambda x: x < 7),
    "unique": lambda: DS.range(14).map(lambda x: x * x % 11).unique(),
    "ignore_errors": lambda: DS.range(9).map(fail_on_three).ignore_errors(),
    "enumerate": lambda: DS.range(9).filter(lambda x: x % 2 == 0).enumerate(5),
    "take, skip, shard, repeat": lambda: DS.range(20).skip(2).shard(3, 1).take(5).repeat(3),
    "endless": lambda: DS.range(5).shuffle(3, seed=2).repeat(),
    "concatenate": lambda: DS.range(4).concatenate(DS.range(7).shuffle(4, seed=1)),
    "shuffle": lambda: DS.range(15).shuffle(4, seed=5).repeat(2),
    "unseeded shuffle": lambda: DS.range(15).filter(lambda x: x != 4).shuffle(4).repeat(2),
    "whole shuffle": lambda: rows().shuffle(50, seed=5),
    "zip": lambda: DS.zip((DS.range(9).map(fail_on_three), {"a": DS.range(2, 20).shuffle(3, seed=1)})),
    "flat_map": lambda: DS.range(9).flat_map(few),
    "interleave": lambda: DS.range(9).interleave(few, cycle_length=3, block_length=2),
    "parallel interleave": lambda: DS.range(9).interleave(few, cycle_length=3, num_parallel_calls=2),
    "flat_map to shuffles": lambda: DS.range(4).flat_map(lambda x: DS.range(x + 3).shuffle(2)),
    "batch and unbatch": lambda: DS.range(11).batch(4).unbatch().batch(3, drop_remainder=True),
    "unbatch": lambda: DS.range(11).map(lambda x: np.arange(x % 4)).unbatch(),
    "rebatch": lambda: DS.range(23).batch(5).rebatch(4),
    "padded_batch": lambda: ragged().padded_batch(3),
    "ragged_batch": lambda: ragged().ragged_batch(3),
    "bucket_by_sequence_length": lambda: ragged().bucket_by_sequence_length(len, [2, 4], [2, 3, 2]),
    "group_by_window": lambda: DS.range(20).group_by_window(lambda x: x % 3, lambda key, ds: ds.batch(2), 4),
    "window": lambda: DS.range(11).window(4, shift=2).flat_map(lambda ds: ds.batch(4)),
    "pack": lambda: ragged().pack(8),
    "sample_from_datasets": lambda: DS.sample_from_datasets([DS.range(6), DS.range(90, 99)], [0.3, 0.7], seed=4),
    "unseeded sample_from_datasets": lambda: DS.sample_from_datasets([DS.range(6), DS.range(90, 99)]),
    "choose_from_datasets": lambda: DS.choose_from_datasets(
        [DS.range(6), DS.range(90, 99)], DS.range(9).map(lambda x: x % 2)
    ),
    "rejection_resample": lambda: DS.range(30).rejection_resample(lambda x: int(x % 5 == 0), [0.5, 0.5], seed=1),
    "cache": lambda: DS.range(7).shuffle(4, seed=1).cache().repeat(2),
    "unseeded cache": lambda: DS.range(7).shuffle(4).cache().map(lambda x: x + 1).repeat(2),
    "prefetch": lambda: DS.range(7).shuffle(4, seed=1).prefetch(2).batch(2),
}


def shown(element: Any) -> str:
    return f"{type(element).__name__} {element}"


def written(program: str) -> dict[str, Any]:
    """Some states of a program, and what came after each."""
    with iter(PROGRAMS[program]()) as iterator:
        states = [through_json(iterator.state_dict())]
        elements = []
        for element in delivered(iterator, LIMIT):
            elements.append(shown(element))
            states.append(through_json(iterator.state_dict()))
    points = sorted({0, 1, 2, len(elements) // 2, len(elements) - 1, len(elements)} & set(range(len(states))))
    return {"elements": elements, "states": {str(point): states[point] for point in points}}


@pytest.mark.parametrize("executor", ["inline", "thread"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_state_that_was_saved_long_ago_still_loads(
    program: str, executor: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    saved = json.loads((SAVED / f"{program.replace(' ', '_')}.json").read_text())
    for point, state in saved["states"].items():
        dataset = PROGRAMS[program]().with_options(hr.Options(executor=executor))
        with iter(dataset) as iterator:
            iterator.load_state_dict(state)
            rest = [shown(element) for element in delivered(iterator, LIMIT - int(point))]
        assert rest == saved["elements"][int(point) :], point


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in PROGRAMS:
            path = SAVED / f"{name.replace(' ', '_')}.json"
            if not path.exists():
                path.write_text(json.dumps(written(name), indent=1) + "\n")
