"""The random numbers of a random_map: each element's own, whatever others drew and whoever keeps their generator."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.elements.function_results import COUNTS
from headrace.semantics.elementwise import _Drawing
from headrace.semantics.random_streams import Key

KEY = Key(7, (1, 2))


def of_its_own(index: int) -> np.random.Generator:
    """A generator that nobody had before."""
    return np.random.Generator(np.random.Philox(key=KEY.generator().random_raw(2), counter=[0, 0, index, 0]))


def drawn(rng: np.random.Generator, x: int) -> list[Any]:
    # An odd number of halves of a word, so that a half is left over for the next, and a part of a buffer.
    return [int(rng.integers(10, dtype=np.int32)), float(rng.normal()), float(rng.random(dtype=np.float32)), x]


def test_an_element_has_the_numbers_of_its_index_whatever_others_drew() -> None:
    drawing = _Drawing(drawn, KEY)
    for index in (0, 5, 5, 1, 1 << 40, 0):
        assert drawing(index, index) == drawn(of_its_own(index), index)


def of_a_closure(rng: np.random.Generator) -> Any:
    def draw() -> float:
        return rng.random()

    return draw


def of_its_bits(rng: np.random.Generator) -> Any:
    bits = rng.bit_generator
    return lambda: np.random.Generator(bits).random()


@pytest.mark.parametrize("part", [of_a_closure, of_its_bits, lambda rng: rng.random], ids=["rng", "bits", "method"])
def test_a_generator_that_a_function_keeps_stays_its_own(part: Any) -> None:
    kept = []

    def keep(rng: np.random.Generator, x: int) -> int:
        kept.append(part(rng))
        return x

    drawing = _Drawing(keep, KEY)
    for index in range(4):
        drawing(index, index)
    assert [draw() for draw in kept] == [of_its_own(index).random() for index in range(4)]


def test_a_generator_that_a_function_returns_stays_its_own() -> None:
    generators = list(hr.Dataset.range(5).random_map(lambda rng, x: rng, seed=1))
    expected = list(hr.Dataset.range(5).random_map(lambda rng, x: rng.random(), seed=1))
    assert [rng.random() for rng in generators] == expected


@pytest.mark.skipif(not COUNTS, reason="without Python's lock each call has a generator of its own")
def test_one_generator_serves_calls_that_follow_each_other() -> None:
    seen = set()

    def look(rng: np.random.Generator, x: int) -> int:
        seen.add(id(rng))
        return x

    drawing = _Drawing(look, KEY)
    for index in range(10):
        drawing(index, index)
    assert len(seen) == 1


def test_calls_at_the_same_time_have_generators_of_their_own() -> None:
    together = threading.Barrier(2, timeout=60)

    def meet(rng: np.random.Generator, x: int) -> tuple[int, float]:
        together.wait()
        return id(rng), rng.random()

    drawing, found = _Drawing(meet, KEY), {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: drawing(i, i)})) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found[0][0] != found[1][0]
    assert [found[i][1] for i in range(2)] == [of_its_own(i).random() for i in range(2)]


def test_a_call_that_fails_changes_nothing_for_the_next() -> None:
    def failing(rng: np.random.Generator, x: int) -> float:
        value = rng.random()
        if x == 1:
            raise ValueError(x)
        return value

    drawing = _Drawing(failing, KEY)
    assert drawing(0, 0) == of_its_own(0).random()
    with pytest.raises(ValueError, match="1"):
        drawing(1, 1)
    assert drawing(2, 2) == of_its_own(2).random()
