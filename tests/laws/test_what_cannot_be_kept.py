"""An element that a cache cannot keep has its error in its own place, and all others are what they are without the cache.

So says a model that looks at the elements alone; every way of running agrees with it, and goes on from each of its places.
"""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.running import LIMIT, REFERENCE, Way, assert_same, elements_of, history, resumed, ways

import headrace as hr
from headrace.errors import DataError, HeadraceError, InvalidArgumentError, ResourceExhaustedError
from headrace.testing.restoring import same

OBJECTS = [frozenset({number}) for number in range(20)]
# How many bytes of ``max_bytes`` each takes, and whether a file can have it.
KINDS: dict[str, tuple[Callable[[int], Any], int, bool]] = {
    "number": (lambda n: n, 8, True),
    "text": (lambda n: "x" * n, -1, True),
    "bytes": (lambda n: b"x" * (3 * n), -3, True),
    "array": (lambda n: np.full(n, n, np.int16), -2, True),
    "long array": (lambda n: np.full(20_000, n), 160_000, True),
    "pair": (lambda n: (n, "y" * n), -1, True),
    "object": (lambda n: OBJECTS[n], 8, False),
    "set in a dict": (lambda n: {"a": n, "b": OBJECTS[n]}, 16, False),
    "large int": (lambda n: 1 << (64 + n), 8, False),
    "records": (lambda n: np.zeros(1, [("x", np.int32)]), 4, False),
}
FAILS = "fails"


@dataclasses.dataclass(frozen=True)
class Program:
    """A cache above or below other things.

    Attributes:
        kinds: of the elements.
        max_bytes: of the cache.
        on_disk: whether it is a folder.
        knows: whether the number of elements is known, so that it is full before the end is asked for.
        parallel: whether workers make the elements.
        turns: how often it is read.
        snapshot: whether it is written by ``snapshot`` instead.
    """

    kinds: tuple[str, ...]
    max_bytes: int | None
    on_disk: bool
    knows: bool
    parallel: bool
    turns: int
    snapshot: str | None

    def build(self, folder: Path) -> hr.Dataset:
        def element(number: int) -> Any:
            if self.kinds[number] == FAILS:
                raise KeyError(number)
            return KINDS[self.kinds[number]][0](number)

        made = hr.Dataset.range(len(self.kinds))
        made = made if self.knows else made.filter(lambda _: True)
        made = made.map(element, num_parallel_calls=2 if self.parallel else None)
        if self.snapshot is not None:
            return made.snapshot(str(folder), compression=self.snapshot or None).repeat(self.turns)
        place = folder if self.on_disk else ""
        return made.cache(place, key="k" if self.on_disk else None, max_bytes=self.max_bytes).repeat(self.turns)

    def expected(self) -> list[Any]:
        """What it gives, as the model says; of an error its type."""
        epoch: list[Any] = []
        nbytes, is_over = 0, False
        for number, kind in enumerate(self.kinds):
            if kind == FAILS:
                epoch.append(DataError)
                continue
            make, each, is_storable = KINDS[kind]
            size = each if each > 0 else (8 if kind == "pair" else 0) - each * number
            nbytes += size
            refused: type[HeadraceError] | None = None
            if self.max_bytes is not None and nbytes > self.max_bytes:
                refused = ResourceExhaustedError
            elif (self.on_disk or self.snapshot is not None) and not is_storable:
                refused = InvalidArgumentError
            epoch.append(make(number) if refused is None or is_over else refused)
            is_over |= refused is not None
        return epoch * self.turns


def programs() -> st.SearchStrategy[Program]:
    some = st.lists(st.sampled_from([*KINDS, FAILS]), max_size=9)
    alike = st.builds(lambda kind, count: [kind] * count, st.sampled_from(sorted(KINDS)), st.integers(1, 12))
    odd = st.builds(
        lambda many, at, one: [*many[:at], one, *many[at:]], alike, st.integers(0, 9), st.sampled_from([*KINDS])
    )
    mixed = st.one_of(some, alike, odd).map(tuple)
    bytes_ = st.one_of(st.none(), st.integers(1, 200), st.sampled_from([160_000, 500_000]))
    kept = st.builds(Program, mixed, bytes_, st.booleans(), st.booleans(), st.booleans(), st.integers(1, 2), st.none())
    written = st.builds(
        Program,
        mixed,
        st.none(),
        st.just(True),
        st.booleans(),
        st.booleans(),
        st.just(1),
        st.sampled_from(["", "GZIP"]),
    )
    return st.one_of(kept, kept, written)


@contextlib.contextmanager
def folders() -> Iterator[Callable[[], Path]]:
    """Gives a new folder at each call."""
    with tempfile.TemporaryDirectory() as place:
        yield lambda: Path(tempfile.mkdtemp(dir=place))


def assert_as_expected(program: Program, came: list[Any]) -> None:
    wanted = program.expected()
    told = [type(one) if isinstance(one, HeadraceError) else one for one in came]
    assert len(told) == len(wanted), (told, wanted)
    for number, (mine, theirs) in enumerate(zip(wanted, told, strict=True)):
        assert mine is theirs if isinstance(mine, type) else same(mine, theirs), (number, mine, theirs)


@given(programs(), ways())
def test_the_error_is_in_its_place_and_the_rest_follows(program: Program, way: Way) -> None:
    with folders() as fresh:
        for one in (REFERENCE, way):
            assert_as_expected(program, elements_of(program.build(fresh()), one, limit=LIMIT))


@given(programs(), ways())
def test_every_way_tells_the_same(program: Program, way: Way) -> None:
    with folders() as fresh:
        assert_same(elements_of(program.build(fresh())), elements_of(program.build(fresh()), way, limit=LIMIT))


@given(programs(), ways(), ways())
def test_it_is_resumed_at_every_place(program: Program, first: Way, second: Way) -> None:
    with folders() as fresh:
        for one, other in ((first, second), (first, REFERENCE), (REFERENCE, second)):
            expected, states = history(program.build(fresh()), one, limit=14)
            for count, state in enumerate(states):
                assert_same(expected[count:], resumed(program.build(fresh()), state, other, limit=14 - count))


@given(programs(), ways())
def test_what_is_kept_all_the_same_is_the_epoch_itself(program: Program, way: Way) -> None:
    with folders() as fresh:
        folder = fresh()
        first = elements_of(program.build(folder), way, limit=LIMIT)
        assert_same(first, elements_of(program.build(folder), way, limit=LIMIT))


@given(programs(), ways())
def test_a_numbering_behind_the_cache_is_that_without_it(program: Program, way: Way) -> None:
    with folders() as fresh:
        program = dataclasses.replace(program, turns=1)
        came = elements_of(program.build(fresh()).enumerate(), way, limit=LIMIT)
        plain = [
            (number, KINDS[kind][0](number)) if kind != FAILS else None for number, kind in enumerate(program.kinds)
        ]
        assert len(came) == len(plain)
        for mine, theirs in zip(came, plain, strict=True):
            assert isinstance(mine, HeadraceError) or same(mine, theirs)
