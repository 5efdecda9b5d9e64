"""Few files of many row groups, which are dealt to streams by these."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.laws.sources_columnar import arrow_file, parquet_file

import headrace as hr
from headrace.errors import DataLossError, HeadraceError, InvalidArgumentError
from headrace.io.columnar.parquet import ParquetGroups
from headrace.plan.dealing_places import PlacesOfStream
from headrace.testing import check_every_restore_point

EXECUTORS = ("thread", "inline")
# Files of so many rows have row groups, or record batches, of four.
FORMATS: dict[str, Callable[[int], hr.Dataset]] = {
    "parquet": lambda rows: hr.ParquetDataset(parquet_file(rows), ["x"]),
    "arrow": lambda rows: hr.ArrowDataset(arrow_file(rows), ["x"]),
}
both = pytest.mark.parametrize("name", sorted(FORMATS))


def numbers_of(rows: hr.Dataset) -> hr.Dataset:
    return rows.map(lambda row: int(row["x"]))


def rows_of(stream: int, streams: int, *, groups: int) -> list[int]:
    """The numbers that a stream has of so many groups of four."""
    places = PlacesOfStream(streams, stream)
    return [4 * group + row for group in places.among(0, places.count(groups)) for row in range(4)]


def as_rank(dataset: hr.Dataset, rank: int, ranks: int, executor: str = "thread") -> hr.Dataset:
    return dataset.with_options(hr.Options(rank=rank, world_size=ranks, seed=1, executor=executor))


@both
@pytest.mark.parametrize("executor", EXECUTORS)
def test_streams_take_turns_at_row_groups(name: str, executor: str) -> None:
    dealt = numbers_of(FORMATS[name](24)).distributed_batch(3, num_streams=3, steps=8)
    given = [batch.tolist() for batch in as_rank(dealt, 0, 1, executor)]
    assert [list(stream) for stream in zip(*given, strict=True)] == [
        rows_of(stream, 3, groups=6) for stream in range(3)
    ]


@both
def test_row_groups_of_several_files_are_dealt_one_after_the_other(name: str) -> None:
    rows: dict[str, Callable[[], hr.Dataset]] = {
        "parquet": lambda: hr.ParquetDataset([parquet_file(8), parquet_file(5)], ["x"]),
        "arrow": lambda: hr.ArrowDataset([arrow_file(8), arrow_file(5)], ["x"]),
    }
    dealt = numbers_of(rows[name]()).distributed_batch(4, num_streams=4, end="uneven")
    streams = [[number for batch in as_rank(dealt, rank, 4) for number in batch.tolist()] for rank in range(4)]
    assert streams == [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3], [4]]


@both
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_dealt_file_goes_on_from_every_row(name: str, executor: str) -> None:
    rows = numbers_of(FORMATS[name](29)).filter(lambda x: x % 5 > 0)
    check_every_restore_point(as_rank(rows.distributed_batch(4, num_streams=4, steps=4), 0, 1, executor))


@both
def test_any_number_of_ranks_goes_on_in_a_file(name: str) -> None:
    dealt = numbers_of(FORMATS[name](48)).shuffle(12).distributed_batch(12, num_streams=6, steps=4)
    whole = [sorted(batch.tolist()) for batch in as_rank(dealt, 0, 1)]
    states = []
    for rank in range(3):
        with iter(as_rank(dealt, rank, 3)) as iterator:
            first = next(iterator)
            assert set(first.tolist()) <= set(whole[0])
            states.append(iterator.state_dict())
    merged = hr.merge_states(states)
    after: list[list[int]] = [[], [], []]
    for rank in range(2):
        with iter(as_rank(dealt, rank, 2)) as iterator:
            iterator.load_state_dict(merged)
            for step, batch in enumerate(iterator):
                after[step] += batch.tolist()
    assert [sorted(numbers) for numbers in after] == whole[1:]


def test_filters_and_columns_hold_for_row_groups() -> None:
    rows = hr.ParquetDataset(parquet_file(32), ["x"], filters=[("x", ">=", 6)])
    dealt = numbers_of(rows).distributed_batch(4, num_streams=4, end="uneven")
    assert sorted(number for batch in dealt for number in batch.tolist()) == [*range(6, 32)]


def test_no_stream_reads_the_row_groups_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    batches_of = ParquetGroups._batches_of

    def counted(groups: ParquetGroups, number: int, row: int, **how: Any) -> Any:
        read.append(number)
        return batches_of(groups, number, row, **how)

    monkeypatch.setattr(ParquetGroups, "_batches_of", counted)
    dealt = FORMATS["parquet"](48).distributed_batch(12, num_streams=12, steps=4)
    assert len(list(as_rank(dealt, 1, 3))) == 4
    assert sorted(read) == [1, 4, 7, 10]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_broken_row_group_is_one_failure_of_its_stream(executor: str) -> None:
    rows = hr.ParquetDataset(parquet_file(32, broken=True))
    dealt = numbers_of(rows).distributed_batch(4, num_streams=4, end="uneven")
    streams: list[list[Any]] = []
    for rank in range(4):
        given: list[Any] = []
        with iter(as_rank(dealt, rank, 4, executor)) as iterator:
            while True:
                try:
                    given.append(int(next(iterator)[0]))
                except StopIteration:
                    break
                except HeadraceError as error:
                    given.append(type(error))
        streams.append(given)
    assert streams[1] == [DataLossError, *rows_of(1, 4, groups=8)[4:]]
    assert [streams[stream] for stream in (0, 2, 3)] == [rows_of(stream, 4, groups=8) for stream in (0, 2, 3)]


@both
def test_fewer_row_groups_than_streams_are_an_error_with_both_numbers(name: str) -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"6 row groups cannot be dealt to 8 streams.*at most 6.*; or write smaller ones"
    ):
        FORMATS[name](24).distributed_batch(8)


def test_a_stream_of_record_batches_is_one_piece() -> None:
    path = arrow_file(24, stream=True)
    with pytest.raises(InvalidArgumentError, match=r"1 file cannot be dealt to 2 streams"):
        hr.ArrowDataset(path).distributed_batch(2)
    dealt = numbers_of(hr.ArrowDataset([path, arrow_file(8)], ["x"])).distributed_batch(3, num_streams=3, end="uneven")
    streams = [[number for batch in as_rank(dealt, rank, 3) for number in batch.tolist()] for rank in range(3)]
    assert streams == [[*range(24)], [0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_file_whose_row_groups_cannot_be_counted_is_not_dealt() -> None:
    with pytest.raises(InvalidArgumentError, match=r"2 files cannot .*counted: .*absent\.parquet"):
        hr.ParquetDataset([parquet_file(24), "absent.parquet"]).distributed_batch(4)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_file_that_is_another_when_it_is_read_is_told(tmp_path: Path, executor: str) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": range(24)}), path, row_group_size=4)
    dealt = hr.ParquetDataset(str(path)).distributed_batch(3, num_streams=3, steps=4)
    assert len(dealt) == 4  # it was looked at
    pq.write_table(pa.table({"x": range(24)}), path, row_group_size=5)
    with pytest.raises(DataLossError, match=r"rows 0 to 4 in row group 0 when it was dealt: the file has changed"):
        list(as_rank(dealt, 0, 1, executor))


READ_IN_PARALLEL: dict[str, Callable[..., hr.Dataset]] = {
    "parquet": lambda *rows: hr.ParquetDataset([parquet_file(count) for count in rows], ["x"], num_parallel_reads=2),
    "arrow": lambda *rows: hr.ArrowDataset([arrow_file(count) for count in rows], ["x"], num_parallel_reads=2),
    "named by a dataset": lambda *rows: hr.ParquetDataset(
        hr.Dataset.from_tensor_slices([parquet_file(count) for count in rows]), ["x"]
    ),
}
in_parallel = pytest.mark.parametrize("name", sorted(READ_IN_PARALLEL))


@in_parallel
@pytest.mark.parametrize("executor", EXECUTORS)
def test_row_groups_are_dealt_of_files_that_are_read_at_once(name: str, executor: str) -> None:
    dealt = numbers_of(READ_IN_PARALLEL[name](24, 9)).distributed_batch(3, num_streams=3, end="uneven")
    streams = [
        [number for batch in as_rank(dealt, rank, 3, executor) for number in batch.tolist()] for rank in range(3)
    ]
    assert sorted(number for stream in streams for number in stream) == sorted([*range(24), *range(9)])
    for stream, given in enumerate(streams):
        groups = PlacesOfStream(3, stream).among(0, 3).tolist()
        assert {4 * group if group < 6 else 4 * (group - 6) for group in groups} <= set(given)
    whole = [batch.tolist() for batch in as_rank(dealt, 0, 1)]
    assert [[*rows] for rows in zip(*(stream[:8] for stream in streams), strict=True)] == whole[:8]


@in_parallel
@pytest.mark.parametrize("executor", EXECUTORS)
def test_files_that_are_read_at_once_go_on_from_every_row(name: str, executor: str) -> None:
    rows = numbers_of(READ_IN_PARALLEL[name](29)).filter(lambda x: x % 5 > 0)
    check_every_restore_point(as_rank(rows.distributed_batch(4, num_streams=4, steps=4), 0, 1, executor))


def test_few_files_without_pieces_that_are_read_at_once_say_the_way_out() -> None:
    with pytest.raises(
        InvalidArgumentError,
        match=r"TextLineDataset: 1 file cannot be dealt to 2 streams.*or read the records by number",
    ):
        hr.TextLineDataset("absent.txt", num_parallel_reads=2).distributed_batch(2)
