"""Law 8: what headrace was given it does not change, what it hands out it does not change later, and what a function changes in
place nobody else sees.

Each plan is run twice. In the tidy run every function and every producer makes all anew and writes to nothing that it was
given. In the other, producers fill one buffer again and again, and everybody scribbles over all that he gets, where it lets
him: functions when they have taken what they need from it, the consumer when he has noted it. Both must give the same.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.cases.structures import Pair, Sample
from tests.laws.running import REFERENCE, Way, running, through_json, ways

import headrace as hr
from headrace.testing.restoring import delivered

SCRIBBLE = 77


# ------------------------------------------------------------------------------------------------ scribbling


def scribble(value: Any) -> None:
    """Writes over all of a value that can be written to."""
    for part in _parts(value):
        scribble(part)
    if isinstance(value, np.ndarray) and value.flags.writeable and value.size:
        value[...] = np.zeros((), value.dtype) if value.dtype.names else _mark(value.dtype)
    elif isinstance(value, np.void) and value.flags.writeable:
        for name in value.dtype.names or ():
            value[name] = _mark(value.dtype[name])
    elif isinstance(value, dict):
        value["scribbled"] = SCRIBBLE
    elif isinstance(value, list):
        value.append(SCRIBBLE)
    elif isinstance(value, bytearray):
        value.clear()
    elif isinstance(value, Sample):
        value.x = SCRIBBLE


def _parts(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype.kind == "O" else []
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (tuple, list)):
        return list(value)
    return [value.x, value.y] if isinstance(value, Sample) else []


def _mark(dtype: np.dtype[Any]) -> Any:
    return None if dtype.kind == "O" else "x" if dtype.kind in "US" else np.array(SCRIBBLE).astype(dtype)


# ------------------------------------------------------------------------------------------------ elements


def _objects(n: int) -> np.ndarray:
    array = np.empty(3, object)
    array[0], array[1], array[2] = np.full(2, n), {"list": [n], "array": np.full(1, n)}, f"text {n}"
    return array


RECORD = np.dtype([("a", "i4"), ("b", "f8")])

# What producers make, of a number: anew, or where ``into`` is what they made before, in the same memory.
KINDS: dict[str, Callable[[int], Any]] = {
    "array": lambda n: np.full(3, n),
    "totals": lambda n: np.full(2, n),
    "number": lambda n: n,
    "matrix": lambda n: np.full((2, 3), n, np.float32),
    "tuple": lambda n: (np.full(3, n), n, np.full(1, -n)),
    "dict": lambda n: {"a": np.full(3, n), "b": n, "c": {"d": np.full((2, 1), n)}},
    "named tuple": lambda n: Pair(np.full(2, n), (n, np.full(1, n))),
    "dataclass": lambda n: Sample(np.full(2, n), {"deep": np.full(1, n)}),
    "record": lambda n: np.array([(n, n / 2)], RECORD)[0],
    "records": lambda n: np.array([(n, n / 2)] * 2, RECORD),
    "objects": _objects,
    "list": lambda n: [n, n + 1],
    "counter": lambda n: collections.Counter({"n": n}),
    "byte array": lambda n: {"bytes": bytearray([n % 250])},
}


def number_in(value: Any) -> int:
    """The number of which a value was made."""
    if isinstance(value, np.ndarray):
        return number_in(value.ravel()[0]) if value.size else 0
    if isinstance(value, np.void):
        return number_in(value[value.dtype.names[0]])  # type: ignore[index]  # ours have names
    if isinstance(value, bytearray):
        return value[0]
    if isinstance(value, collections.Counter):
        return value["n"]
    if isinstance(value, dict):
        return number_in(value["a"] if "a" in value else next(iter(value.values()), 0))
    if isinstance(value, (tuple, list)):
        return number_in(value[0]) if value else 0
    if isinstance(value, Sample):
        return number_in(value.x)
    return int(value) if isinstance(value, (int, float, np.number)) else 0


def refill(old: Any, new: Any) -> Any:
    """What was made before, filled with what is new, as far as its memory can be used again."""
    if isinstance(old, np.ndarray) and old.dtype != object:
        old[...] = new
        return old
    if isinstance(old, np.ndarray):
        for place, content in enumerate(new):
            old[place] = refill(old[place], content)
        return old
    if isinstance(old, np.void):
        for name in old.dtype.names or ():
            old[name] = new[name]
        return old
    if isinstance(old, (list, bytearray)):
        old[:] = new
        return old
    if isinstance(old, dict):
        parts = {key: refill(old[key], part) for key, part in new.items()}
        old.clear()
        old.update(parts)
        return old
    if isinstance(old, Sample):
        old.x, old.y = refill(old.x, new.x), refill(old.y, new.y)
        return old
    if isinstance(old, Pair):
        return Pair(*map(refill, old, new))
    return tuple(map(refill, old, new)) if isinstance(old, tuple) else new


class Maker:
    """Makes elements of a kind; an untidy one has one buffer, which it gives again and again, and scribbles over in between."""

    def __init__(self, kind: str, *, tidy: bool) -> None:
        self.make = KINDS[kind]
        self.tidy = tidy
        self.own = threading.local()  # a plan may read twice at once; who shares a buffer between threads has no luck

    def __call__(self, number: int) -> Any:
        new = self.make(number)
        if self.tidy:
            return new
        buffer = getattr(self.own, "buffer", None)
        self.own.buffer = new if buffer is None else refill(buffer, new)
        return self.own.buffer


# ------------------------------------------------------------------------------------------------ plans


@dataclasses.dataclass(frozen=True)
class Plan:
    """A dataset in two versions: of tidy people, and of others."""

    text: str
    build: Callable[[bool], hr.Dataset]

    def __repr__(self) -> str:
        return self.text


class Resumable:
    """A generator with a state of its own: the very dict that it goes on with."""

    def __init__(self, kind: str, length: int, *, tidy: bool) -> None:
        self.maker, self.length, self.tidy = Maker(kind, tidy=tidy), length, tidy
        self.state = {"at": 0, "list": [0]}

    def __iter__(self) -> Resumable:
        return self

    def __next__(self) -> Any:
        if self.state["at"] == self.length:
            raise StopIteration
        self.state["at"] += 1  # type: ignore[operator]  # a number
        self.state["list"][0] += 1  # type: ignore[index]  # the list
        return self.maker(self.state["at"])  # type: ignore[arg-type]  # a number

    def state_dict(self) -> dict[str, Any]:
        return copy.deepcopy(self.state) if self.tidy else self.state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        assert state["at"] == state["list"][0]
        self.state = copy.deepcopy(state) if self.tidy else state


class ByNumber:
    """A source by number."""

    def __init__(self, kind: str, length: int, *, tidy: bool) -> None:
        self.maker, self.length = Maker(kind, tidy=tidy), length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return self.maker(index)


Build = Callable[[bool], hr.Dataset]


def _generated(kind: str, length: int) -> Build:
    def build(tidy: bool) -> hr.Dataset:
        def generate() -> Iterator[Any]:
            maker = Maker(kind, tidy=tidy)
            for number in range(length):
                yield maker(number)

        return hr.Dataset.from_generator(generate)

    return build


def _slices(kind: str, length: int) -> Build:
    def build(tidy: bool) -> hr.Dataset:
        parts = [KINDS[kind](number) for number in range(length)]
        column = np.empty(length, object)
        for place, part in enumerate(parts):
            column[place] = part
        records = np.array([(number, 0.5) for number in range(length)], RECORD)
        return hr.Dataset.from_tensor_slices((np.arange(3 * length).reshape(length, 3), column, records))

    return build


def plan_sources() -> st.SearchStrategy[tuple[str, Build]]:
    kinds, lengths = st.sampled_from(sorted(KINDS)), st.integers(0, 9)
    makers: list[tuple[str, Callable[[str, int], Build]]] = [
        ("generator", _generated),
        (
            "resumable generator",
            lambda k, n: lambda tidy: hr.Dataset.from_generator(lambda: Resumable(k, n, tidy=tidy)),
        ),
        ("range.map", lambda k, n: lambda tidy: hr.Dataset.range(n).map(Maker(k, tidy=tidy))),
        ("source", lambda k, n: lambda tidy: hr.Dataset.source(ByNumber(k, n, tidy=tidy))),
        ("tensors.repeat", lambda k, n: lambda _: hr.Dataset.from_tensors(KINDS[k](n)).repeat(3)),
        ("slices", lambda k, n: _slices(k, max(1, n))),
    ]
    return st.builds(lambda m, k, n: (f"{m[0]}({k}, {n})", m[1](k, n)), st.sampled_from(makers), kinds, lengths)


def pieces(*element: Any) -> Any:
    return element[0] if len(element) == 1 else element


def untidy(function: Callable[[Any], Any], *, tidy: bool) -> Callable[..., Any]:
    """The function of one element, which scribbles over that before it returns, unless it is tidy."""

    def called(*element: Any) -> Any:
        result = function(pieces(*element))
        if not tidy:
            scribble(pieces(*element))
        return result

    return called


def _made(kind: str) -> Callable[[bool], Callable[..., Any]]:
    """A map to another kind, which has a buffer."""

    def of(tidy: bool) -> Callable[..., Any]:
        maker = Maker(kind, tidy=tidy)
        return untidy(lambda element: maker(number_in(element)), tidy=tidy)

    return of


def _scanned(tidy: bool) -> Callable[[Any, Any], Any]:
    maker = Maker("totals", tidy=tidy)

    def scan(state: Any, element: Any) -> Any:
        count, held = state["count"], state["held"]
        number = number_in(element)
        total, output = maker(int(held[0]) + number), held + count
        if not tidy:
            scribble(state)
            scribble(element)
        return {"count": count + 1, "held": total}, (output, total, {"n": number})

    return scan


def _twice(tidy: bool) -> Callable[[Any, Any], Any]:
    def reduce(key: int, group: hr.Dataset) -> hr.Dataset:
        return group.map(untidy(number_in, tidy=tidy)).concatenate(group.map(untidy(number_in, tidy=tidy)))

    return reduce


Step = tuple[str, Callable[[hr.Dataset, bool], hr.Dataset]]


def _windows(ds: hr.Dataset, tidy: bool) -> hr.Dataset:
    def of(*window: Any) -> hr.Dataset:
        first = pieces(*window)
        while not isinstance(first, hr.Dataset):
            first = next(
                iter(
                    first.values()
                    if isinstance(first, dict)
                    else vars(first).values()
                    if isinstance(first, Sample)
                    else first
                )
            )
        return first.map(untidy(number_in, tidy=tidy)).concatenate(first)

    return ds.window(2, shift=1, drop_remainder=True).flat_map(of)


STEPS: list[Step] = [
    ("filter", lambda ds, t: ds.filter(untidy(lambda e: number_in(e) % 3 != 1, tidy=t))),
    ("take_while", lambda ds, t: ds.take_while(untidy(lambda e: number_in(e) != 6, tidy=t))),
    ("scan", lambda ds, t: ds.scan({"count": 0, "held": np.zeros(2, np.int64)}, _scanned(t))),
    ("cache.repeat", lambda ds, _: ds.cache().repeat(2)),
    ("cache", lambda ds, _: ds.cache()),
    ("windows", _windows),
    (
        "group_by_window",
        lambda ds, t: ds.group_by_window(untidy(lambda e: number_in(e) % 2, tidy=t), _twice(t), window_size=2),
    ),
    (
        "groups as they are",
        lambda ds, t: ds.group_by_window(untidy(lambda e: number_in(e) % 2, tidy=t), lambda _, g: g.concatenate(g), 2),
    ),
    ("repeat", lambda ds, _: ds.repeat(2)),
    ("shuffle", lambda ds, _: ds.shuffle(3, seed=1, reshuffle_each_iteration=False)),
    ("zip(self)", lambda ds, _: hr.Dataset.zip(ds, ds)),
    ("batch.unbatch", lambda ds, _: ds.batch(2).unbatch()),
    ("batch", lambda ds, _: ds.batch(2)),
    ("enumerate", lambda ds, _: ds.enumerate()),
    ("prefetch", lambda ds, _: ds.prefetch(2)),
    ("same", lambda ds, _: ds.map(pieces)),
    ("flat_map", lambda ds, _: ds.flat_map(lambda *e: hr.Dataset.from_tensors(pieces(*e)).repeat(2))),
    (
        "map replacing",
        lambda ds, t: ds.map(_failing_on_every_third, on_error=_placeholder(t)).map(untidy(number_in, tidy=t)),
    ),
    (
        "vectorized",
        lambda ds, t: ds.map(lambda *e: np.full(2, number_in(pieces(*e)))).map(_vectorized(t)),
    ),
]


def _failing_on_every_third(*element: Any) -> Any:
    if number_in(pieces(*element)) % 3 == 2:
        raise ValueError("every third")
    return pieces(*element)


def _placeholder(tidy: bool) -> Callable[[Any], Any]:
    maker = Maker("dict", tidy=tidy)
    return lambda _: maker(5)


def _vectorized(tidy: bool) -> Any:
    def doubled(columns: np.ndarray) -> np.ndarray:
        result = columns * 2
        if not tidy:
            scribble(columns)
        if (result == 10).any():
            raise ValueError("a five")
        return result

    return hr.vectorized(doubled)


def steps() -> st.SearchStrategy[Step]:
    maps = st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from([None, 1])).map(
        lambda a: (f"map to({a[0]}, {a[1]})", lambda ds, tidy: ds.map(_made(a[0])(tidy), a[1]))
    )
    return st.one_of(maps, st.sampled_from(STEPS), st.sampled_from(STEPS))


def plans() -> st.SearchStrategy[Plan]:
    def of(source: tuple[str, Build], chain: list[Step]) -> Plan:
        if source[0].startswith("slices"):  # what a batch of arrays out of an object array is, is another matter
            chain = [step for step in chain if not step[0].startswith("batch")]

        def build(tidy: bool) -> hr.Dataset:
            dataset = source[1](tidy)
            for _, step in chain:
                dataset = step(dataset, tidy)
            return dataset

        return Plan(".".join([source[0], *(name for name, _ in chain)]), build)

    return st.builds(of, plan_sources(), st.lists(steps(), max_size=4))


# ------------------------------------------------------------------------------------------------ the laws


def noted(iterator: hr.DatasetIterator, limit: int, *, tidy: bool) -> list[Any]:
    """What comes, as it was when it came; then the consumer scribbles over it."""
    elements = []
    for element in delivered(iterator, limit):
        elements.append(comparable(element))
        if not tidy:
            scribble(element)
    return elements


def comparable(value: Any) -> Any:
    """A value as it is now, in what is equal if it is; flags are seen, too."""
    if isinstance(value, np.ndarray):
        return ("array", str(value.dtype), value.shape, value.flags.writeable, comparable(value.tolist()))
    if isinstance(value, np.void):
        return ("record", value.flags.writeable, value.tolist())
    if isinstance(value, dict):
        return (type(value).__name__, [(key, comparable(part)) for key, part in value.items()])
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, [comparable(part) for part in value])
    if isinstance(value, Sample):
        return ("Sample", comparable(value.x), comparable(value.y))
    if isinstance(value, hr.errors.HeadraceError):
        return (type(value).__name__, str(value).partition(" (")[0].partition(",")[0])
    return (type(value).__name__, repr(value))


LIMIT = 25


@given(plans(), st.one_of(st.just(REFERENCE), ways()), st.integers(0, 6))
def test_what_somebody_changes_in_place_nobody_else_sees(plan: Plan, way: Way, stop: int) -> None:
    tidy, other = plan.build(True), plan.build(False)
    with running(tidy, REFERENCE) as iterator:
        expected = noted(iterator, LIMIT, tidy=True)
    for _ in range(2):
        with running(other, way) as iterator:
            assert noted(iterator, LIMIT, tidy=False) == expected
    with running(other, way) as iterator:
        assert noted(iterator, stop, tidy=False) == expected[:stop]
        state = iterator.state_dict()
        before = through_json(state)
        scribble_later = noted(iterator, 3, tidy=False)
        assert scribble_later == expected[stop : stop + 3]
    assert state == before
    for _ in range(2):
        with running(other, way) as iterator:
            iterator.load_state_dict(state)
            assert noted(iterator, LIMIT - stop, tidy=False) == expected[stop:]
        assert state == before


@given(plans(), st.one_of(st.just(REFERENCE), ways()))
def test_what_was_handed_out_stays_what_it_was(plan: Plan, way: Way) -> None:
    dataset = plan.build(False)
    with running(plan.build(True), REFERENCE) as iterator:
        expected = noted(iterator, LIMIT, tidy=True)
    with running(dataset, way) as iterator:
        elements = list(delivered(iterator, LIMIT))
    assert [comparable(element) for element in elements] == expected
