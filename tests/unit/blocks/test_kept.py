"""Elements that are kept: in arrays where these give back what they are, shared where they were, and nobody's to change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.laws.elements import Point

import headrace as hr
from headrace.blocks.columns import Columns
from headrace.blocks.kept import Keeper, KeptSource, joined_kept
from headrace.blocks.payload import Payload, Rows, Zipped
from headrace.elements.structure import flatten

# What fits into arrays that give it back, and what does not.
IN_COLUMNS: dict[str, Callable[[int], Any]] = {
    "ints": lambda n: n,
    "floats": float,
    "bools": lambda n: n % 2 == 0,
    "texts": str,
    "NumPy's float32": np.float32,
    "pairs": lambda n: (np.full(3, n), n),
    "dicts of texts": lambda n: {"text": str(n), "id": n},
    "nested": lambda n: ({"b": np.full(2, n), "a": (n, "x")}, Point(n, n)),
}
IN_ROWS: dict[str, Callable[[int], Any]] = {
    "NumPy's int64": np.int64,
    "a number of more than 64 bits": lambda n: 1 << (60 + n),
    "ints or floats": lambda n: n if n % 2 else float(n),
    "complex": complex,
    "several lengths": np.arange,
    "arrays without axes": np.array,
    "big endian": lambda n: np.array([n], ">i4"),
    "keys in either order": lambda n: {"b": n, "a": 1} if n % 3 else {"a": 1, "b": n},
    "keys in either order within": lambda n: (Point(1, {"b": n, "a": 1} if n % 3 else {"a": 1, "b": n}), n),
    "objects": lambda n: object(),
    "large": lambda n: np.zeros(10_000),
    "None": lambda n: None,
}


def _kept_in_blocks(elements: list[Any], size: int) -> Payload:
    keeper = Keeper()
    return joined_kept([keeper.kept(Rows(elements[at : at + size])) for at in range(0, len(elements), size)])


def _in_words(element: Any) -> str:
    """Writes an element with the types of its leaves and the keys of its dicts in their order."""
    return f"{element!r} {[(type(leaf), getattr(leaf, 'dtype', None)) for leaf in flatten(element)[0]]}"


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("make", [*IN_COLUMNS.values(), *IN_ROWS.values()], ids=[*IN_COLUMNS, *IN_ROWS])
def test_an_element_comes_back_as_what_it_was(make: Callable[[int], Any], size: int) -> None:
    elements = [make(number) for number in range(8)]
    source = KeptSource(_kept_in_blocks(elements, size))
    for indices in (range(8), range(1, 8, 2), np.array([5, 1, 1])):
        wanted = [elements[index] for index in indices]
        assert list(map(_in_words, source.rows(indices))) == list(map(_in_words, wanted))


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize(("name", "make"), [*IN_COLUMNS.items(), *IN_ROWS.items()])
def test_what_fits_into_arrays_is_one_payload_of_them(name: str, make: Callable[[int], Any], size: int) -> None:
    whole = _kept_in_blocks([make(number) for number in range(8)], size)
    assert isinstance(whole, Columns if name in IN_COLUMNS else Rows)


def test_blocks_with_the_keys_of_their_dicts_in_other_orders_stay_apart() -> None:
    keeper = Keeper()
    pieces = [keeper.kept(Rows([{"a": 1, "b": 2}] * 2)), keeper.kept(Rows([{"b": 2, "a": 1}] * 2))]
    assert [list(row) for row in KeptSource(joined_kept(pieces)).rows(range(4))] == [["a", "b"]] * 2 + [["b", "a"]] * 2


def test_an_array_that_all_elements_share_stays_one() -> None:
    shared = np.zeros(200)
    shared.flags.writeable = False
    whole = _kept_in_blocks([(shared, number) for number in range(100)], 10)
    assert all(np.shares_memory(row[0], shared) for row in whole.rows())


def test_once_elements_did_not_fit_none_are_copied_into_arrays() -> None:
    keeper = Keeper()
    assert isinstance(keeper.kept(Rows([1, 2])), Columns)
    assert isinstance(keeper.kept(Rows([object()])), Rows)
    assert isinstance(keeper.kept(Rows([1, 2])), Rows)


def test_payloads_side_by_side_are_kept_as_columns_of_the_whole() -> None:
    parts: list[Payload] = [Rows(["a", "b"]), Columns(flatten(0)[1], [np.arange(2)])]
    whole = Keeper().kept(Zipped(flatten((0, 0))[1], parts))
    assert isinstance(whole, Columns)
    assert whole.rows() == [("a", 0), ("b", 1)]


def test_joining_takes_the_pieces_apart() -> None:
    pieces: list[Payload] = [Columns(flatten(0)[1], [np.arange(3)]) for _ in range(4)]
    assert joined_kept(pieces).rows() == [0, 1, 2] * 4
    assert not pieces


@pytest.mark.parametrize("indices", [range(4), np.array([2, 0])], ids=["a run", "chosen"])
@pytest.mark.parametrize("length", [lambda _: 3, lambda number: number], ids=["columns", "rows"])
def test_what_is_read_cannot_be_written_to_and_containers_are_the_reader_s(
    length: Callable[[int], int], indices: Any
) -> None:
    source = KeptSource(_kept_in_blocks([{"x": np.zeros(length(number)), "y": number} for number in range(4)], 2))
    for row in source.rows(indices):
        assert not row["x"].flags.writeable
        row["z"] = 1
    assert all(set(row) == {"x", "y"} for row in source.rows(indices))


def test_a_shuffle_behind_a_full_cache_moves_indices_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    gather = KeptSource.columns

    def columns(source: KeptSource, indices: Any) -> Columns:
        read.append(len(indices))
        return gather(source, indices)

    def rows(source: KeptSource, indices: Any) -> list[Any]:
        raise AssertionError("an element was read by itself")

    ds = hr.Dataset.range(1000).map(lambda x: (np.full(4, x), x)).cache().shuffle(1000, seed=0).batch(10)
    assert len(list(ds)) == 100
    monkeypatch.setattr(KeptSource, "columns", columns)
    monkeypatch.setattr(KeptSource, "rows", rows)
    second = list(ds)
    assert sorted(np.concatenate([y for _, y in second]).tolist()) == list(range(1000))
    assert sum(read) == 1000


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_what_a_consumer_writes_into_batches_and_elements_the_cache_never_sees(executor: str) -> None:
    options = hr.Options(executor=executor)
    cached = hr.Dataset.range(64).map(lambda x: {"x": np.full(4, x), "y": x}).cache()
    batched = cached.batch(8).with_options(options)
    for _ in range(3):
        for number, batch in enumerate(batched):
            assert batch["x"][:, 0].tolist() == list(range(number * 8, number * 8 + 8))
            batch["x"][:] = -1
            batch["y"] = None
        for number, row in enumerate(cached.with_options(options)):
            assert row["x"].tolist() == [number] * 4
            assert not row["x"].flags.writeable
            row["x"] = row["y"] = None


def test_two_iterators_and_one_resumed_in_its_second_epoch_read_one_cache() -> None:
    cached = hr.Dataset.range(100).map(lambda x: (x, str(x))).cache()
    ds = cached.shuffle(100, seed=1, reshuffle_each_iteration=False).repeat(2).batch(7)
    whole = [batch[1].tolist() for batch in ds]
    one, two = iter(ds), iter(ds)
    for _ in range(20):
        next(one)
    state = one.state_dict()
    assert [batch[1].tolist() for batch in two] == whole
    fresh = iter(ds)
    fresh.load_state_dict(state)
    assert [batch[1].tolist() for batch in fresh] == whole[20:] == [batch[1].tolist() for batch in one]
