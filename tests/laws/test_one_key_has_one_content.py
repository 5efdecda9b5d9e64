"""Under one key, or none, a run finds what it would have made itself: ``Options(seed=)`` and the place of a cache change nothing about that."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.running import REFERENCE, Way, assert_same, elements_of, ways

import headrace as hr

Step = Callable[[hr.Dataset], hr.Dataset]

DRAWING: dict[str, Step] = {
    "shuffle": lambda ds: ds.shuffle(7),
    "shuffle of its own seed": lambda ds: ds.shuffle(7, seed=3),
    "random_map": lambda ds: ds.random_map(lambda rng, x: x + int(rng.integers(1000))),
    "map": lambda ds: ds.map(lambda x: x + 1),
    "in a function": lambda ds: ds.flat_map(lambda x: hr.Dataset.range(2).shuffle(2).map(lambda y: (x, y)[1])),
    "sample": lambda ds: hr.Dataset.sample_from_datasets([ds, ds]),
}
KEYS: dict[str, Any] = {"text": "k", "none": None, "fingerprint": hr.fingerprint, "function": lambda _: "f"}


def inside(kept: Step) -> Step:
    return lambda ds: hr.Dataset.range(2).flat_map(lambda _: kept(ds))


def in_a_group(kept: Step) -> Step:
    def of_group(_: int, group: hr.Dataset) -> hr.Dataset:
        return kept(group)

    return lambda ds: ds.group_by_window(lambda _: 0, of_group, window_size=5)


PLACES: dict[str, Callable[[Step], Step]] = {
    "outside": lambda kept: kept,
    "in flat_map": inside,
    "in two": lambda kept: inside(inside(kept)),
    "in a group": in_a_group,
}


@dataclasses.dataclass(frozen=True)
class Program:
    """A cache on disk behind operations that draw, somewhere in a plan."""

    drawing: tuple[str, ...]
    place: str

    def build(self, keep: Step) -> hr.Dataset:
        def kept(ds: hr.Dataset) -> hr.Dataset:
            for name in self.drawing:
                ds = DRAWING[name](ds)
            return keep(ds)

        return PLACES[self.place](kept)(hr.Dataset.range(5))


def programs() -> st.SearchStrategy[Program]:
    drawing = st.lists(st.sampled_from(sorted(DRAWING)), min_size=1, max_size=2).map(tuple)
    return st.builds(Program, drawing, st.sampled_from(sorted(PLACES)))


def with_seed(way: Way, seed: int) -> Way:
    return dataclasses.replace(way, options=way.options.merged(hr.Options(seed=seed)))


@given(programs(), st.sampled_from(sorted(KEYS)), ways(), st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_each_seed_finds_its_own_elements_again(program: Program, key: str, way: Way, seeds: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate([*seeds, *seeds]):
            one = with_seed(REFERENCE if number % 2 else way, seed)
            # In memory and in its own plan, so that nothing was there before.
            wanted = elements_of(program.build(lambda ds: ds.cache()), with_seed(REFERENCE, seed))
            kept = program.build(lambda ds: ds.cache(Path(folder), key=KEYS[key]))
            assert_same(wanted, elements_of(kept, one))
