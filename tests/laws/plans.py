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
    Build,
    Named,
    Resumable,
    Step,
    add_one,
    counting,
    counting_then_failing,
    fail_on,
    few,
    listed,
    rows_of,
    text,
    texts_of,
)
from tests.laws.steps_buffering import buffering
from tests.laws.steps_combining import combining
from tests.laws.steps_dealing import dealing
from tests.laws.steps_elementwise import elementwise, maps
from tests.laws.steps_grouping import grouping
from tests.laws.steps_mixing import mixing
from tests.laws.steps_nesting import nesting
from tests.laws.steps_packing import packing
from tests.laws.steps_sequencing import sequencing
from tests.laws.steps_shuffling import shuffling
from tests.laws.steps_skipping import skipping
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


# One function a family of operations, in a file of its own: ``steps_<family>.py``.
STEPS: list[Callable[[], st.SearchStrategy[Named]]] = [
    elementwise,
    stateful,
    skipping,
    sequencing,
    shuffling,
    combining,
    nesting,
    grouping,
    windowing,
    packing,
    mixing,
    buffering,
    storing,
    dealing,
]


def recipe_of(source: tuple[str, Build], steps: Sequence[Named]) -> Recipe:
    return Recipe(".".join([source[0], *(name for name, _ in steps)]), source[1], tuple(step for _, step in steps))


def recipes(max_steps: int = 5, sizes: st.SearchStrategy[int] | None = None) -> st.SearchStrategy[Recipe]:
    """Plans whose elements come in one order only, of sources of so many elements."""
    steps = st.one_of(*(family() for family in STEPS))
    return st.builds(recipe_of, sources(sizes), st.lists(steps, max_size=max_steps))


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
        nesting(),
        st.just(("seeded shuffle(3)", lambda ds: ds.shuffle(3, seed=1))),
        st.just(("repeat(2)", lambda ds: ds.repeat(2))),
        st.just(("batch(1).unbatch", lambda ds: ds.batch(1).unbatch())),
        st.sampled_from([1, 7, hr.AUTOTUNE]).map(lambda n: (text("prefetch", n), lambda ds: ds.prefetch(n))),
    )
    # The elements must be plain numbers at first: what a function makes of two structures depends on their order.
    counted = st.integers(0, 13).map(lambda n: (f"range({n})", lambda: hr.Dataset.range(n)))
    steps = st.tuples(st.lists(suited, max_size=2), unordered, st.lists(st.one_of(suited, unordered), max_size=2))
    return st.builds(lambda source, parts: recipe_of(source, [*parts[0], parts[1], *parts[2]]), counted, steps)
