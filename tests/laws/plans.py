"""Random plans of every operation, for the tests of the laws.

A plan is drawn as a recipe: a source, and steps from dataset to dataset. Every function here takes elements of any
structure, so that every operation fits behind every other. A recipe builds its dataset anew each time it is asked,
as another process would.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.laws import sources_columnar, sources_records, sources_sql, sources_tar, sources_text, sources_tfrecord
from tests.laws.elements import (
    ROWS,
    SHAPES,
    Build,
    Named,
    Resumable,
    Step,
    add_one,
    counting,
    counting_then_failing,
    fail_on,
    few,
    few_or_fail,
    flat_map_to_one_cache,
    halves,
    keep,
    keep_or_fail,
    listed,
    rows_of,
    shaped,
    shuffled_few,
    stop_on,
    text,
    texts_of,
    zipped_with_failures,
)
from tests.laws.steps_grouping import groupings
from tests.laws.steps_mixing import mixing
from tests.laws.steps_stateful import stateful
from tests.laws.steps_storing import saved, storing
from tests.laws.steps_windowing import windowing

import headrace as hr


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How to build a dataset; its text is what hypothesis shows when a law fails."""

    text: str
    source: Build
    steps: tuple[Step, ...]

    def __repr__(self) -> str:
        return self.text

    def build(self) -> hr.Dataset:
        dataset = self.source()
        for step in self.steps:
            # What a step refuses (a scalar to unbatch, two structures to concatenate) the plan goes without.
            with contextlib.suppress(ValueError, TypeError):
                dataset = step(dataset)
        return dataset


# ------------------------------------------------------------------------ sources


def _slices(n: int) -> dict[str, Any]:
    return {"b": np.arange(n, dtype=np.float32), "a": [str(i) for i in range(n)]} if n else {"b": np.zeros(0)}


def _texts(n: int, kind: type) -> np.ndarray:
    """Texts of a fixed length, NumPy's own."""
    return np.array(["ab"[: i % 3] for i in range(n)], kind)


# Sources of files: a module of its own for each family of formats.
FORMATS = [
    sources_columnar.SOURCES,
    sources_records.SOURCES,
    sources_sql.SOURCES,
    sources_tar.SOURCES,
    sources_text.SOURCES,
    sources_tfrecord.SOURCES,
]


def sources(sizes: st.SearchStrategy[int] | None = None) -> st.SearchStrategy[tuple[str, Build]]:
    lengths = st.integers(0, 13) if sizes is None else sizes
    data = hr.Dataset

    def of(text: str, build: Callable[[int], hr.Dataset]) -> st.SearchStrategy[tuple[str, Build]]:
        return lengths.map(lambda n: (f"{text}({n})", lambda: build(n)))

    return st.one_of(
        of("range", data.range),
        of("int32 range", lambda n: data.range(3, 3 - 2 * n, -2, output_type=np.int32)),
        of("slices", lambda n: data.from_tensor_slices((np.arange(n), np.arange(2 * n).reshape(n, 2)))),
        of("dict slices", lambda n: data.from_tensor_slices(_slices(n))),
        of("text slices", lambda n: data.from_tensor_slices((_texts(n, np.str_), _texts(n, np.bytes_).reshape(n, 1)))),
        of("slices of nothing", lambda n: data.from_tensor_slices((np.zeros((n, 0, 2)), np.zeros((n, 3, 0), str)))),
        of("texts", lambda n: data.from_tensors(_texts(n, np.str_)).repeat(2)),
        of("tensors", lambda n: data.from_tensors({"x": np.arange(n), "y": "text"})),
        of("numpy scalar", lambda n: data.from_tensors(np.int64(n)).repeat(n)),
        of("generator", lambda n: data.from_generator(counting(n))),
        of("failing generator", lambda n: data.from_generator(counting_then_failing(n))),
        of("signed generator", lambda n: data.from_generator(counting(n), hr.TensorSpec((), np.float32))),
        of("signed rows", lambda n: data.from_generator(rows_of(n), output_signature=ROWS)),
        of("signed texts", lambda n: data.from_generator(texts_of(n), {"a": str, "b": bytes}, {"a": (), "b": [None]})),
        of("resumable generator", lambda n: data.from_generator(Resumable, args=(n,))),
        of("random.take", lambda n: data.random(seed=3).map(lambda x: x % 100).take(n)),
        of("unseeded random.take", lambda n: data.random().take(n)),
        of("counter.take", lambda n: data.counter(3, 2).take(n)),
        of("saved", saved),
        of("list_files", lambda n: listed(1 + n % 4, shuffle=False, seed=None)),
        of("shuffled list_files", lambda n: listed(1 + n % 4, shuffle=None, seed=n)),
        *(of(text, build) for family in FORMATS for text, build in family.items()),
    )


# --------------------------------------------------------------------- operations

SMALL = st.integers(1, 5)
PARALLEL = st.sampled_from([None, 1, 2, hr.AUTOTUNE])


def maps() -> st.SearchStrategy[Named]:
    """Everything that calls a function on each element, and keeps their order."""
    return st.one_of(
        PARALLEL.map(lambda p: (text("map add_one", p), lambda ds: ds.map(add_one, num_parallel_calls=p))),
        PARALLEL.map(lambda p: (text("map halves", p), lambda ds: ds.map(halves, num_parallel_calls=p))),
        st.tuples(st.sampled_from(sorted(SHAPES)), PARALLEL).map(
            lambda a: (text("map to", *a), lambda ds: ds.map(shaped(a[0]), num_parallel_calls=a[1]))
        ),
        st.tuples(SMALL, SMALL, PARALLEL).map(
            lambda a: (
                text("map fail_on", *a),
                lambda ds: ds.map(fail_on(a[0] % (a[1] + 2), a[1] + 2), num_parallel_calls=a[2]),
            )
        ),
        PARALLEL.map(lambda p: (text("map stop_on", p), lambda ds: ds.map(stop_on(4), num_parallel_calls=p))),
        st.integers(2, 4).map(lambda m: (text("filter", m), lambda ds: ds.filter(keep(m)))),
        st.integers(3, 6).map(lambda m: (text("filter or fail", m), lambda ds: ds.filter(keep_or_fail(m)))),
    )


def choices() -> st.SearchStrategy[Named]:
    """Everything that chooses elements, or puts them in another order."""
    sizes = st.sampled_from([1, 2, 3, 5, 50, -2])
    return st.one_of(
        st.tuples(sizes, st.integers(0, 5), st.booleans()).map(
            lambda a: (
                text("shuffle", *a),
                lambda ds: ds.shuffle(a[0], seed=a[1], reshuffle_each_iteration=a[2]),
            )
        ),
        SMALL.map(lambda b: (text("unseeded shuffle", b), lambda ds: ds.shuffle(b))),
        st.integers(0, 3).map(lambda n: (text("repeat", n), lambda ds: ds.repeat(n))),
        st.just(("repeat().take(9)", lambda ds: ds.repeat().take(9))),
        st.integers(-1, 9).map(lambda n: (text("take", n), lambda ds: ds.take(n))),
        st.integers(-1, 5).map(lambda n: (text("skip", n), lambda ds: ds.skip(n))),
        st.tuples(SMALL, SMALL).map(
            lambda a: (text("shard", max(a), min(a) - 1), lambda ds: ds.shard(max(a), min(a) - 1))
        ),
        st.just(("concatenate(self)", lambda ds: ds.concatenate(ds))),
        st.just(("concatenate(range)", lambda ds: ds.concatenate(hr.Dataset.range(4)))),
    )


def structures() -> st.SearchStrategy[Named]:
    """Everything that puts elements together, or takes them apart."""
    return st.one_of(
        st.tuples(SMALL, st.booleans()).map(
            lambda a: (text("batch", *a), lambda ds: ds.batch(a[0], drop_remainder=a[1]))
        ),
        SMALL.map(lambda n: (text("batch.unbatch", n), lambda ds: ds.batch(n).unbatch())),
        st.just(("unbatch", lambda ds: ds.unbatch())),
        st.just(("zip(self, range)", lambda ds: hr.Dataset.zip(ds, hr.Dataset.range(7)))),
        st.just(("zip(dict)", lambda ds: hr.Dataset.zip({"x": ds, "y": ds.skip(1)}))),
        st.just(("zip(nested)", lambda ds: hr.Dataset.zip(((ds, hr.Dataset.range(9)), None, ds.take(6))))),
        st.tuples(SMALL, st.integers(0, 5), st.sampled_from(["first", "second", "nested"])).map(
            lambda a: (text("zip with a failing branch", *a), lambda ds: zipped_with_failures(ds, *a))
        ),
        st.integers(0, 3).map(lambda s: (text("enumerate", s), lambda ds: ds.enumerate(s))),
    )


def nestings() -> st.SearchStrategy[Named]:
    """Everything whose function makes a dataset of each element."""
    openers = st.one_of(
        SMALL.map(lambda n: (f"few {n}", few(n))),
        SMALL.map(lambda n: (f"shuffled few {n}", shuffled_few(n))),
        st.integers(3, 5).map(lambda n: (f"few or fail {n}", few_or_fail(n))),
    )
    return st.one_of(
        openers.map(lambda opener: (text("flat_map", opener[0]), lambda ds: ds.flat_map(opener[1]))),
        st.tuples(openers, SMALL, SMALL, st.sampled_from([None, 1, hr.AUTOTUNE])).map(
            lambda a: (
                text("interleave", a[0][0], *a[1:]),
                lambda ds: ds.interleave(a[0][1], cycle_length=a[1], block_length=a[2], num_parallel_calls=a[3]),
            )
        ),
    )


def buffers() -> st.SearchStrategy[Named]:
    """Everything that holds elements, or settings."""
    return st.one_of(
        st.just(("cache", lambda ds: ds.cache())),
        st.just(("cache.repeat(2)", lambda ds: ds.cache().repeat(2))),
        st.just(("flat_map to one cache", flat_map_to_one_cache)),
        st.sampled_from([0, 1, 2, 7, hr.AUTOTUNE]).map(lambda n: (text("prefetch", n), lambda ds: ds.prefetch(n))),
        st.just(("with_options", lambda ds: ds.with_options(hr.Options(deterministic=True)))),
        st.just(("apply", lambda ds: ds.apply(lambda whole: whole.enumerate()))),
    )


# One function a family of operations; a family with a file of its own (``steps_<family>.py``) is added here.
STEPS: list[Callable[[], st.SearchStrategy[Named]]] = [
    maps,
    choices,
    structures,
    nestings,
    buffers,
    storing,
    mixing,
    windowing,
    stateful,
    groupings,
]


def recipe_of(source: tuple[str, Build], steps: Sequence[Named]) -> Recipe:
    return Recipe(".".join([source[0], *(name for name, _ in steps)]), source[1], tuple(step for _, step in steps))


def recipes(max_steps: int = 5) -> st.SearchStrategy[Recipe]:
    """Plans whose elements come in one order only."""
    steps = st.one_of(*(family() for family in STEPS))
    return st.builds(recipe_of, sources(), st.lists(steps, max_size=max_steps))


def unordered_recipes() -> st.SearchStrategy[Recipe]:
    """Plans with parallel work that may come in any order, and behind it only what any order suits."""
    unordered = st.one_of(
        st.just(("unordered map", lambda ds: ds.map(add_one, num_parallel_calls=3, deterministic=False))),
        st.just(("unordered fail_on", lambda ds: ds.map(fail_on(1, 4), num_parallel_calls=2, deterministic=False))),
        st.sampled_from([2, hr.AUTOTUNE]).map(
            lambda calls: (
                text("unordered interleave", calls),
                lambda ds: ds.interleave(few(5), cycle_length=3, num_parallel_calls=calls, deterministic=False),
            )
        ),
    )
    suited = st.one_of(
        maps(),
        nestings(),
        st.just(("seeded shuffle(3)", lambda ds: ds.shuffle(3, seed=1))),
        st.just(("repeat(2)", lambda ds: ds.repeat(2))),
        st.just(("batch(1).unbatch", lambda ds: ds.batch(1).unbatch())),
        st.sampled_from([1, 7, hr.AUTOTUNE]).map(lambda n: (text("prefetch", n), lambda ds: ds.prefetch(n))),
    )
    # The elements must be plain numbers at first: what a function makes of two structures depends on their order.
    counted = st.integers(0, 13).map(lambda n: (f"range({n})", lambda: hr.Dataset.range(n)))
    steps = st.tuples(st.lists(suited, max_size=2), unordered, st.lists(st.one_of(suited, unordered), max_size=2))
    return st.builds(lambda source, parts: recipe_of(source, [*parts[0], parts[1], *parts[2]]), counted, steps)
