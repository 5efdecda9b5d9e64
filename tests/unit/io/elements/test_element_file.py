"""Files of elements: what is read is what was written, in any order, and damage is found and named."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases.structures import Pair
from tests.laws.elements import SHAPES, STORABLE, folder

from headrace.elements.ragged import RaggedTensor
from headrace.elements.rows_and_columns import columns_of
from headrace.elements.structure import flatten, normalize
from headrace.errors import DataLossError, InvalidArgumentError, NotFoundError, ResourceExhaustedError
from headrace.io.elements.file import ElementFile
from headrace.io.elements.structure import structure_from_json, structure_to_json
from headrace.io.elements.writer import ElementWriter
from headrace.testing.restoring import same

_numbers = itertools.count()


def path() -> Path:
    return folder() / f"{next(_numbers)}.elements"


def written(elements: list[Any], **options: Any) -> Path:
    place = path()
    with ElementWriter(place, **options) as writer:
        writer.add(elements)
    return place


elements_of = st.tuples(st.sampled_from(STORABLE), st.lists(st.integers(0, 30), max_size=12)).map(
    lambda drawn: [normalize(SHAPES[drawn[0]](number)) for number in drawn[1]]
)


@given(st.lists(elements_of, max_size=3), st.sampled_from([None, "GZIP"]), st.data())
def test_what_is_read_is_what_was_written_in_any_order(
    pieces: list[list[Any]], compression: str | None, data: st.DataObject
) -> None:
    place = path()
    with ElementWriter(place, compression=compression) as writer:
        for piece in pieces:
            writer.add(piece)
    elements = [element for piece in pieces for element in piece]
    file = ElementFile(place)
    assert len(file) == len(elements)
    assert same(file.rows(range(len(elements))), elements)
    order = data.draw(st.lists(st.integers(0, len(elements) - 1), max_size=20) if elements else st.just([]))
    assert same(file.rows(np.array(order, dtype=np.int64)), [elements[number] for number in order])


@given(st.integers(1, 20), st.integers(0, 3), st.data())
def test_columns_are_arrays_whatever_segments_they_lie_in(count: int, width: int, data: st.DataObject) -> None:
    place = path()
    rows = [(np.full(width, number, np.float32), str(number)) for number in range(count)]
    cut = data.draw(st.integers(0, count))
    with ElementWriter(place) as writer:
        for part in (rows[:cut], rows[cut:]):
            if part:
                writer.add_columns(*columns_of(part))
    order = data.draw(st.lists(st.integers(0, count - 1), min_size=1))
    treedef, columns, _ = ElementFile(place).arrays(np.array(order))
    wanted_treedef, wanted = columns_of([rows[number] for number in order])
    assert treedef == wanted_treedef
    assert same(columns, wanted)


def test_a_column_of_numbers_is_used_where_it_lies() -> None:
    _, (column,), _ = ElementFile(written([np.arange(4), np.arange(4)])).arrays(range(2))
    assert not column.flags.owndata
    assert not column.flags.writeable


@dataclasses.dataclass
class Labelled:
    label: str
    value: Any


@attrs.frozen(kw_only=True)
class Kept:
    _label: str
    value: Any = attrs.field(alias="given")


@pytest.mark.parametrize(
    "element",
    [
        Pair(1, (2, None)),
        Labelled("a", np.arange(3)),
        {"z": 1, "a": {"b": ()}},
        Kept(label="a", given=({"x": Kept(label="b", given=1)}, np.arange(2))),
    ],
)
def test_classes_and_dicts_come_back_as_they_were(element: Any) -> None:
    (found,) = ElementFile(written([element])).rows(range(1))
    assert same(found, normalize(element))
    assert type(found) is type(element)
    if isinstance(element, dict):
        assert list(found) == list(element)


@pytest.mark.parametrize(
    ("element", "words"),
    [
        ((1, {1, 2}), r"element 1, component \[1\]: an object of type set cannot be stored"),
        (np.zeros(1, dtype=[("a", int)]), "element 1: an array of .* cannot be stored"),
        ({(1, 2): 3}, "a dict with the key"),
        (1 << 63, "element 1: the int 9223372036854775808 cannot be stored"),
    ],
)
def test_what_has_no_bytes_is_refused_by_name_and_nothing_is_left(element: Any, words: str) -> None:
    place = path()
    with pytest.raises(InvalidArgumentError, match=words), ElementWriter(place) as writer:
        writer.add([1, element])
    assert not list(place.parent.glob(f"{place.name}*"))


def test_rows_of_different_lengths_are_stored_by_their_public_name_and_read_by_the_place_they_had_before() -> None:
    treedef = flatten(normalize({"a": RaggedTensor(np.arange(3), np.array([0, 2, 3]))}))[1]
    written = structure_to_json(treedef)
    assert "'headrace:RaggedTensor'" in str(written)
    before = json.loads(json.dumps(written).replace("headrace:RaggedTensor", "headrace.ragged:RaggedTensor"))
    assert structure_from_json(written) == structure_from_json(before) == treedef


def test_a_class_that_cannot_be_imported_again_is_refused() -> None:
    @dataclasses.dataclass
    class Local:
        x: int

    with pytest.raises(InvalidArgumentError, match="define it at the top of a module"):
        written([Local(1)])


def test_a_file_that_would_exceed_its_bound_is_refused_and_not_left() -> None:
    place = path()
    with pytest.raises(ResourceExhaustedError, match="max_bytes=1,000"), ElementWriter(place, max_bytes=1000) as writer:
        writer.add([np.zeros(50)])
        writer.add([np.zeros(100)])
    assert not list(place.parent.glob(f"{place.name}*"))


def _cut(data: bytes) -> bytes:
    return data[:-1]


def _emptied(data: bytes) -> bytes:
    return b""


def _flipped_element(data: bytes) -> bytes:
    return data[:64] + bytes([data[64] ^ 1]) + data[65:]


def _flipped_table(data: bytes) -> bytes:
    return data[:-40] + bytes([data[-40] ^ 1]) + data[-39:]


@pytest.mark.parametrize("damage", [_cut, _emptied, _flipped_element, _flipped_table, lambda data: b"x" * 100])
def test_damage_is_found_and_names_the_file(damage: Callable[[bytes], bytes]) -> None:
    place = written([np.arange(10)])
    place.write_bytes(damage(place.read_bytes()))
    with pytest.raises(DataLossError, match=place.name):
        ElementFile(place).verify()


@given(st.data())
def test_damage_anywhere_gives_the_elements_or_an_error(data: st.DataObject) -> None:
    elements = [(number, str(number), np.arange(number)) for number in range(5)]
    place = written(elements)
    content = bytearray(place.read_bytes())
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=3)):
        content[at] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(content)))
    place.write_bytes(bytes(content[:end]))
    try:
        found = ElementFile(place).rows(range(5))
    except DataLossError:
        return
    assert same(found, elements)


def test_a_file_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="absent"):
        ElementFile(folder() / "absent.elements")


def test_a_file_that_is_cut_while_it_is_read_is_told_and_does_not_end_the_process() -> None:
    place = written([np.arange(100_000) + number for number in range(8)])
    file = ElementFile(place)
    assert file.rows(range(1))[0][0] == 0
    with place.open("r+b") as cut:
        cut.truncate(200)
    for read in (
        lambda: file.rows(range(7, 8)),
        lambda: file.arrays(np.array([3])),
        file.verify,
    ):
        with pytest.raises(DataLossError, match=r"it had \d+ bytes when it was opened, and has 200"):
            read()


@given(elements_of)
def test_another_process_opens_the_file_by_itself(elements: list[Any]) -> None:
    file = ElementFile(written(elements))
    again = pickle.loads(pickle.dumps(file))
    assert same(again.rows(range(len(elements))), elements)
    assert (again.digest, len(again)) == (file.digest, len(file))


def test_what_is_sent_to_another_process_is_no_copy_of_the_file() -> None:
    file = ElementFile(written([np.arange(100_000) + number for number in range(8)]))
    assert len(pickle.dumps(file)) < 10_000


def test_a_file_that_was_written_again_meanwhile_is_not_the_one_that_was_sent() -> None:
    place = written([1, 2, 3])
    sent = pickle.dumps(ElementFile(place))
    written([4, 5, 6]).replace(place)
    with pytest.raises(DataLossError, match="not the file any more that it was"):
        pickle.loads(sent)
