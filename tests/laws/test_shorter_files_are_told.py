"""Law 3 over files that change: where a file ends before the place at which reading is to go on, that is told, and never passed over.

What is told does not depend on how much was read at once (law 2). A file that reaches the place goes on there, however many
of its records were taken away behind it.
"""

from __future__ import annotations

import gzip
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import folder
from tests.unit.io.http_server import WebServer, serving

import headrace as hr
from headrace.errors import DataLossError, HeadraceError, InputChangedError, InvalidArgumentError
from headrace.testing.restoring import same

Write = Callable[[Path, int], object]
Read = Callable[..., hr.Dataset]

_numbers = itertools.count()
_EXECUTORS = ("inline", "thread")


def lines(count: int) -> bytes:
    return b"".join(b"%05d\n" % number for number in range(count))


def rows(count: int) -> bytes:
    return b"".join(b"%d,%d\n" % (number, number * 7) for number in range(count))


def objects(count: int) -> bytes:
    return b"".join(b'{"x": %d}\n' % number for number in range(count))


def bytes_of(content: Callable[[int], bytes]) -> Write:
    return lambda path, count: path.write_bytes(content(count))


def _records(path: Path, count: int) -> None:
    with hr.io.TFRecordWriter(path) as writer:
        for number in range(count):
            writer.write(b"%05d" % number)


def _members(path: Path, count: int) -> None:
    with hr.io.TarWriter(path) as writer:
        for number in range(count):
            writer.write({"__key__": f"{number:04}", "txt": str(number)})


def _table(count: int) -> pa.Table:
    columns = {"x": range(count), "y": [str(number) for number in range(count)]}
    return pa.table(columns, schema=pa.schema([("x", pa.int64()), ("y", pa.string())]))


def _arrow(path: Path, count: int) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, _table(0).schema) as writer:
        writer.write_table(_table(count), max_chunksize=7)


def _stream(path: Path, count: int) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, _table(0).schema) as writer:
        writer.write_table(_table(count), max_chunksize=7)


def _array(path: Path, count: int) -> None:
    with path.open("wb") as file:
        np.save(file, np.arange(count))


FORMATS: dict[str, tuple[Write, Read]] = {
    "text": (bytes_of(lines), lambda path, size: hr.TextLineDataset(path, buffer_size=size)),
    "gzip": (bytes_of(lambda n: gzip.compress(lines(n))), lambda path, size: hr.TextLineDataset(path, "GZIP", size)),
    "csv": (bytes_of(rows), lambda path, size: hr.CsvDataset(path, [np.int64, np.int64], buffer_size=size)),
    "json lines": (bytes_of(objects), lambda path, size: hr.JsonLinesDataset(path, buffer_size=size)),
    "fixed length": (bytes_of(lines), lambda path, size: hr.FixedLengthRecordDataset(path, 6, buffer_size=size)),
    "tfrecord": (_records, lambda path, size: hr.TFRecordDataset(path, buffer_size=size)),
    "tar": (_members, lambda path, _: hr.TarDataset(path)),
    "parquet": (
        lambda path, n: pq.write_table(_table(n), path, row_group_size=7),
        lambda path, _: hr.ParquetDataset(path),
    ),
    "filtered parquet": (
        lambda path, n: pq.write_table(_table(n), path, row_group_size=7),
        lambda path, _: hr.ParquetDataset(path, filters=[("x", ">=", 3)]),
    ),
    "arrow": (_arrow, lambda path, _: hr.ArrowDataset(path)),
    "arrow stream": (_stream, lambda path, _: hr.ArrowDataset(path)),
    "numpy": (_array, lambda path, _: hr.Dataset.from_tensors(path).flat_map(hr.NumpyDataset)),
}


def state_behind(dataset: hr.Dataset, count: int) -> Any:
    with iter(dataset) as iterator:
        for _ in range(count):
            next(iterator)
        return iterator.state_dict()


def rest(dataset: hr.Dataset, state: Any) -> tuple[list[Any], list[HeadraceError]]:
    """What comes from the state on, and the errors among it."""
    elements: list[Any] = []
    errors: list[HeadraceError] = []
    with iter(dataset) as iterator:
        try:
            iterator.load_state_dict(state)
        except HeadraceError as error:
            return [], [error]
        while True:
            try:
                elements.append(next(iterator))
            except StopIteration:
                return elements, errors
            except HeadraceError as error:
                errors.append(error)


@pytest.mark.parametrize("name", sorted(FORMATS))
@given(st.integers(5, 30), st.data())
def test_a_file_with_fewer_records_than_were_delivered_is_told(name: str, count: int, data: st.DataObject) -> None:
    write, read = FORMATS[name]
    path = folder() / f"shorter {next(_numbers)}"
    write(path, count)
    size = data.draw(st.sampled_from([1, 40, 1 << 20]))
    before, after = (data.draw(st.sampled_from(_EXECUTORS)) for _ in range(2))
    dataset = read(str(path), size)
    whole = list(dataset)
    delivered = data.draw(st.integers(1, len(whole)))
    state = state_behind(dataset.with_options(hr.Options(executor=before)), delivered)
    hidden = count - len(whole)  # by filters, at the beginning
    left = data.draw(st.integers(0, len(whole) + hidden))
    write(path, left)
    elements, errors = rest(read(str(path), size).with_options(hr.Options(executor=after)), state)
    if left - hidden >= delivered:
        assert (same(elements, whole[delivered : left - hidden]), errors) == (True, [])
    else:
        assert not elements
        (error,) = errors
        assert isinstance(error, DataLossError)
        assert (str(path) if name != "numpy" else "NumpyDataset") in str(error)


@pytest.mark.parametrize("name", ["text", "csv", "json lines", "fixed length", "tfrecord", "tar"])
@given(st.data())
def test_a_file_cut_anywhere_gives_what_was_there_or_an_error(name: str, data: st.DataObject) -> None:
    write, read = FORMATS[name]
    path = folder() / f"cut {next(_numbers)}"
    write(path, 9)
    content = path.read_bytes()
    size = data.draw(st.sampled_from([1, 40, 1 << 20]))
    dataset = read(str(path), size).with_options(hr.Options(executor=data.draw(st.sampled_from(_EXECUTORS))))
    whole = list(dataset)
    delivered = data.draw(st.integers(1, len(whole)))
    state = state_behind(dataset, delivered)
    cut = data.draw(st.integers(0, len(content) - 1))
    path.write_bytes(content[:cut])
    elements, errors = rest(dataset, state)
    alone = delivered_by(dataset)
    if errors:
        assert all(str(path) in str(error) for error in errors)
    else:
        # The file reaches the place: nothing that was delivered is cut, and what follows is what is there.
        assert same(alone[:delivered], whole[:delivered])
        assert same(elements, alone[delivered:])


def delivered_by(dataset: hr.Dataset) -> list[Any]:
    found: list[Any] = []
    with iter(dataset) as iterator:
        while True:
            try:
                found.append(next(iterator))
            except StopIteration:
                return found
            except HeadraceError:
                pass


@pytest.mark.parametrize("after", _EXECUTORS)
@pytest.mark.parametrize("before", _EXECUTORS)
@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"numpy", "filtered parquet"}))
def test_the_next_file_follows_the_error_and_never_in_its_place(name: str, before: str, after: str) -> None:
    write, read = FORMATS[name]
    path, other = (folder() / f"one of two {next(_numbers)}" for _ in range(2))
    write(path, 20)
    write(other, 2)
    state = state_behind(read([str(path), str(other)], None).with_options(hr.Options(executor=before)), 11)
    write(path, 10)
    dataset = read([str(path), str(other)], None).with_options(hr.Options(executor=after))
    elements, errors = rest(dataset, state)
    assert [type(error) for error in errors] == [DataLossError]
    assert str(path) in str(errors[0])
    assert same(elements, list(read(str(other), None)))


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    with ExitStack() as stack:
        yield stack.enter_context(serving())


@pytest.mark.parametrize("says_sizes", [True, False])
@pytest.mark.parametrize("knows_ranges", [True, False])
@pytest.mark.parametrize("executor", _EXECUTORS)
@pytest.mark.parametrize("left", [0, 7, 10, 11, 20])
def test_a_shorter_file_of_a_web_server_is_told(
    web: WebServer, left: int, executor: str, knows_ranges: bool, says_sizes: bool
) -> None:
    pytest.importorskip("aiohttp")
    web.knows_ranges, web.says_sizes = knows_ranges, says_sizes
    name = f"{next(_numbers)}.txt"
    address = web.put(name, lines(20))
    dataset = hr.TextLineDataset(address, buffer_size=40).with_options(hr.Options(executor=executor))
    state = state_behind(dataset, 11)
    web.put(name, lines(left))
    elements, errors = rest(dataset, state)
    if left >= 11:
        assert (elements, errors) == ([f"{number:05}" for number in range(11, left)], [])
    else:
        assert (elements, [type(error) for error in errors]) == ([], [DataLossError])
        assert address in str(errors[0])


@pytest.mark.parametrize("executor", _EXECUTORS)
def test_a_saved_dataset_with_fewer_elements_than_were_delivered_is_told(executor: str) -> None:
    place = folder() / f"saved shorter {next(_numbers)}"
    options = hr.Options(executor=executor)
    hr.Dataset.range(9).save(place)
    state = state_behind(hr.Dataset.load(place).with_options(options), 5)
    hr.Dataset.range(4).save(place)
    elements, errors = rest(hr.Dataset.load(place).with_options(options), state)
    # By its content, which the state names.
    assert (elements, [type(error) for error in errors]) == ([], [InvalidArgumentError])


# What reads elements again that it had read already. How many of them it needs for the elements that were delivered.
REREADING: dict[str, tuple[Callable[[hr.Dataset], hr.Dataset], Callable[[int], int]]] = {
    "shuffle": (lambda ds: ds.shuffle(4, seed=1), lambda delivered: min(delivered + 4, 30)),
    "shuffle of all": (lambda ds: ds.shuffle(99, seed=1), lambda _: 30),
    "unbatch": (lambda ds: ds.batch(7).unbatch(), lambda delivered: delivered),
    "unbatch of parts": (lambda ds: ds.map(lambda x: {"x": x}).batch(7).unbatch(), lambda delivered: delivered),
    "generator": (lambda ds: hr.Dataset.from_generator(lambda: iter(list(ds))), lambda delivered: delivered),
    "cache": (lambda ds: ds.cache(), lambda delivered: delivered),
    "unique": (lambda ds: ds.unique(), lambda delivered: delivered),
}


@pytest.mark.parametrize("name", sorted(REREADING))
@given(delivered=st.integers(1, 29), left=st.integers(0, 40), data=st.data())
def test_what_is_to_be_read_again_and_is_not_there_is_told(
    name: str, delivered: int, left: int, data: st.DataObject
) -> None:
    make, needed = REREADING[name]
    path = folder() / f"read again {next(_numbers)}"
    before, after = (hr.Options(executor=data.draw(st.sampled_from(_EXECUTORS))) for _ in range(2))
    path.write_bytes(lines(30))
    source = make(hr.TextLineDataset(path))
    first = list(itertools.islice(source.with_options(hr.Options(executor="inline")), delivered))
    state = state_behind(source.with_options(before), delivered)
    path.write_bytes(lines(left))
    # Another dataset: what this one's cache may keep is no longer in the file.
    elements, errors = rest(make(hr.TextLineDataset(path)).with_options(after), state)
    case = f"{delivered} of 30 delivered, {left} left"
    if left < needed(delivered):
        assert not elements, case
        assert errors, case
        assert all(isinstance(error, DataLossError) for error in errors), case
    elif not errors:
        assert len(first) + len(elements) == left, case
    else:  # more than the order was drawn for
        assert name.startswith("shuffle"), case
        assert left > 30, case


@pytest.mark.parametrize("after", _EXECUTORS)
def test_elements_delivered_out_of_order_that_are_not_there_any_more_are_told(after: str) -> None:
    path = folder() / f"out of order {next(_numbers)}"
    path.write_bytes(lines(30))
    first_may_end = threading.Event()

    def slow(x: int) -> int:
        if x == 0:
            assert first_may_end.wait(30)
        return x

    lines_of = hr.TextLineDataset(path).map(int)
    dataset = lines_of.map(slow, num_parallel_calls=4, deterministic=False)
    with iter(dataset) as iterator:
        delivered = [next(iterator) for _ in range(5)]
        state = iterator.state_dict()
        first_may_end.set()
    assert 0 not in delivered
    path.write_bytes(lines(3))
    elements, errors = rest(dataset.with_options(hr.Options(executor=after)), state)
    assert 0 in elements
    assert [type(error) for error in errors] == [InputChangedError]


@pytest.mark.parametrize("after", _EXECUTORS)
def test_an_element_that_fails_when_it_is_taken_apart_again_takes_no_slice_from_the_next(after: str) -> None:
    fails = False

    def batch(x: int) -> np.ndarray:
        if fails and x == 0:
            raise ValueError("not this time")
        return np.arange(3) + 10 * x

    dataset = hr.Dataset.range(3).map(batch).unbatch().with_options(hr.Options(executor=after))
    state = state_behind(dataset, 2)
    fails = True
    elements, errors = rest(dataset, state)
    assert (elements, len(errors)) == ([10, 11, 12, 20, 21, 22], 1)


# Inline alone: threads read ahead, and who uses what was read before the cut is ended by the system.
@pytest.mark.skipif(sys.platform == "win32", reason="a file that is mapped cannot be cut here")
@pytest.mark.parametrize("way", ["cache", "snapshot"])
def test_a_cache_that_is_cut_while_it_is_read_gives_what_was_kept_or_an_error(way: str) -> None:
    place = folder() / f"cut while read {next(_numbers)}"
    wide = hr.Dataset.range(200).map(lambda x: np.full(5000, int(x)))
    kept = wide.cache(place, key="k") if way == "cache" else wide.snapshot(place)
    assert len(list(kept)) == 200
    (path,) = place.glob("*.elements")
    with iter(kept.with_options(hr.Options(executor="inline"))) as iterator:
        assert not next(iterator).any()
        os.truncate(path, 1_000_000)
        told = False
        for number in range(1, 200):
            try:
                element = next(iterator)
            except DataLossError as error:
                assert "was cut while it was read" in str(error)  # noqa: PT017 - any of the calls may be the first
                told = True
                break
            assert (element == number).all()
        assert told
