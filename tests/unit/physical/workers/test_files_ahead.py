"""Files that workers decode ahead: the same elements whoever loads a part, few ahead, and nothing left when nobody reads on."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.physical.workers.test_gates import Hands

import headrace as hr
from headrace.blocks.block import Block
from headrace.errors import CancelledError, OutOfRangeError
from headrace.io.columnar import parquet, reader
from headrace.io.columnar.format import ParquetFiles
from headrace.io.columnar.parquet import ParquetGroups
from headrace.io.columnar.reader import ColumnarReader
from headrace.io.columnar.wanted import Selection, in_parts
from headrace.io.reader import RecordPosition
from headrace.observe.meter import Meter
from headrace.physical.budget import Budget
from headrace.physical.stages.files import FilesStage
from headrace.physical.workers import files_ahead
from headrace.physical.workers.files_ahead import FilesAhead
from headrace.physical.workers.gates import Gate
from headrace.plan.files import Files

LIMIT_S = 30.0


@pytest.fixture(autouse=True)
def row_groups_are_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of megabytes are, and worth a task."""
    monkeypatch.setattr(parquet, "_PART_BYTES", 1)
    monkeypatch.setattr(files_ahead, "_WORTH_BYTES", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[ParquetGroups]:
    """All that is opened while the test runs, in order."""
    opened: list[ParquetGroups] = []
    begin, another = ParquetGroups.__init__, ParquetGroups.another

    def begun(groups: ParquetGroups, path: str, selection: Selection) -> None:
        begin(groups, path, selection)
        opened.append(groups)

    def other(groups: ParquetGroups) -> ParquetGroups:
        opened.append(another(groups))
        return opened[-1]

    monkeypatch.setattr(ParquetGroups, "__init__", begun)
    monkeypatch.setattr(ParquetGroups, "another", other)
    return opened


def file_of(folder: Path, rows: range, group: int) -> str:
    path = folder / f"{rows.start} {rows.stop} {group}.parquet"
    if not path.exists():
        pq.write_table(pa.table({"x": pa.array(rows, pa.int64())}), path, row_group_size=group)
    return str(path)


def files_of(folder: Path, lengths: list[int], group: int) -> list[str]:
    ends = [0, *itertools.accumulate(lengths)]
    return [file_of(folder, range(*pair), group) for pair in itertools.pairwise(ends)]


def ahead_of(
    paths: list[str], hands: Hands, *, calls: int = 2, budget: Budget | None = None, row: int = 0
) -> FilesAhead:
    meter = Meter("files")
    ahead = (budget or Budget(1 << 30)).ahead(meter)
    position = RecordPosition(record=row)
    return FilesAhead(node_of(paths), 0, position, gate=Gate(hands, calls), ahead=ahead, meter=meter)


def node_of(paths: list[str]) -> Files:
    return Files(paths=tuple(paths), format=ParquetFiles(selection=Selection()))


def rows_of(ahead: FilesAhead, files: int, hands: Hands, turns: Iterator[bool]) -> list[int]:
    """Reads all, two rows at a time; workers do one task before each read, or none, as ``turns`` says."""
    rows: list[int] = []
    while files:
        if next(turns) and hands.given:
            hands.given.popleft()()
        chunk = ahead.reader().read(2)
        if chunk is not None:
            rows += chunk.columns[0].tolist()
        elif not ahead.finish(is_lost=False):
            files -= 1
    return rows


@given(
    lengths=st.lists(st.integers(0, 7), min_size=1, max_size=6),
    group=st.integers(1, 5),
    calls=st.integers(1, 3),
    row=st.integers(0, 3),
    turns=st.lists(st.booleans(), min_size=1, max_size=20),
)
def test_the_rows_are_the_same_whoever_loads_a_part(
    folder: Path, lengths: list[int], group: int, calls: int, row: int, turns: list[bool]
) -> None:
    hands, row = Hands(), min(row, lengths[0])
    hands.is_free = False  # one part a turn
    ahead = ahead_of(files_of(folder, lengths, group), hands, calls=calls, row=row)
    assert rows_of(ahead, len(lengths), hands, itertools.cycle(turns)) == [*range(row, sum(lengths))]
    ahead.close()
    hands.run_all()


@given(sizes=st.lists(st.integers(0, 9)), nbytes=st.integers(1, 12))
def test_parts_are_whole_groups_that_are_just_large_enough(sizes: list[int], nbytes: int) -> None:
    firsts = in_parts(sizes, nbytes)
    parts = [sizes[start:stop] for start, stop in itertools.pairwise([*firsts, len(sizes)])]
    assert [*itertools.chain(*parts)] == sizes
    assert all(sum(part) >= nbytes > sum(part[:-1]) for part in parts[:-1])
    assert all(nbytes > sum(part[:-1]) for part in parts)


def test_the_first_elements_open_one_file_and_those_after_them_few(folder: Path, opened: list[ParquetGroups]) -> None:
    hands = Hands()
    ahead = ahead_of(files_of(folder, [4] * 9, 4), hands, calls=2)
    assert ahead.reader().read(1) is not None
    assert (len(opened), len(hands.given)) == (1, 0)
    ahead.reader()
    hands.run_all()
    assert len(opened) == 4  # what is read, and one more than may be loaded at once
    ahead.reader()
    hands.run_all()
    assert len(opened) == 4
    ahead.finish(is_lost=False)
    ahead.reader()
    hands.run_all()
    assert len(opened) == 5
    ahead.close()


@pytest.mark.parametrize("batch", [None, 1, 3])
def test_who_wants_a_first_element_opens_one_file(folder: Path, opened: list[ParquetGroups], batch: int | None) -> None:
    rows = hr.ParquetDataset(files_of(folder, [4] * 9, 4))
    dataset = rows if batch is None else rows.batch(batch)
    del opened[:]  # the first file says what the columns are
    iterator = iter(dataset)
    next(iterator)
    assert len(opened) == 1
    iterator.close()


def test_where_there_is_no_memory_for_more_nothing_is_loaded_ahead(folder: Path, opened: list[ParquetGroups]) -> None:
    hands, budget = Hands(), Budget(40)  # a part has 32 bytes
    ahead = ahead_of(files_of(folder, [4] * 5, 4), hands, budget=budget)
    ahead.reader()
    ahead.reader()
    hands.run_all()
    assert (len(opened), budget.ahead_bytes) == (2, 32)
    for _ in range(4):
        assert not ahead.finish(is_lost=False)
        ahead.reader()
        hands.run_all()
        assert budget.ahead_bytes <= 32
    ahead.close()
    assert budget.ahead_bytes == 0


def test_small_files_behind_a_large_one_are_loaded_by_who_reads_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_ahead, "_WORTH_BYTES", 100)
    monkeypatch.setattr(files_ahead, "_LONG_S", 0.0)
    monkeypatch.setattr("time.thread_time", lambda: 0.0)  # it waited for Arrow's threads
    hands = Hands()
    ahead = ahead_of(files_of(folder, [20, 1, 1, 1, 1, 1, 1], 20), hands)
    for _ in range(2):
        ahead.reader()
    assert hands.given  # that those behind it are small, nobody knows yet
    hands.run_all()
    for _ in range(4):
        ahead.finish(is_lost=False)
        ahead.reader()
    assert not hands.given
    ahead.close()


@pytest.mark.parametrize("waits", [False, True])
def test_small_files_are_loaded_by_who_reads_them_unless_they_are_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    monkeypatch.setattr(files_ahead, "_WORTH_BYTES", 1 << 20)
    monkeypatch.setattr(files_ahead, "_LONG_S", 0.0 if waits else 1e9)
    monkeypatch.setattr("time.thread_time", lambda: 0.0)  # no processor
    hands = Hands()
    ahead = ahead_of(files_of(folder, [4] * 5, 4), hands)
    for _ in range(2):
        ahead.reader()
    assert bool(hands.given) is waits
    ahead.close()


def test_what_was_loaded_is_closed_with_it(folder: Path, opened: list[ParquetGroups]) -> None:
    hands = Hands()
    hands.is_free = False  # one part a turn
    ahead = ahead_of(files_of(folder, [9] * 3, 2), hands)
    ahead.reader()
    ahead.reader()
    hands.given.popleft()()
    ahead.close()
    hands.run_all()  # what had not begun opens nothing any more
    assert len(opened) == 2
    assert all(groups._source.closed for groups in opened)


def test_the_rest_of_a_file_that_is_lost_is_passed_over(folder: Path, opened: list[ParquetGroups]) -> None:
    hands = Hands()
    ahead = ahead_of([file_of(folder, range(9), 2), file_of(folder, range(9, 12), 4)], hands)
    ahead.reader()
    ahead.reader()
    hands.run_all()
    assert not ahead.finish(is_lost=True)
    chunk = ahead.reader().read(9)
    assert chunk is not None
    assert chunk.columns[0].tolist() == [9, 10, 11]
    assert all(groups._source.closed for groups in opened[:-1])
    ahead.close()


class Hold:
    """Where workers stop that load a part of one of these files."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.has_come = threading.Event()
        self.goes_on = threading.Event()

    def pass_by(self, path: str) -> None:
        if path in self.paths and threading.current_thread().name.startswith("headrace-worker"):
            self.has_come.set()
            assert self.goes_on.wait(LIMIT_S)


@pytest.fixture
def hold(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hold]:
    hold, load = Hold(), ColumnarReader.load

    def loaded(one: ColumnarReader, *, alone: bool) -> int:
        hold.pass_by(one.path)
        return load(one, alone=alone)

    monkeypatch.setattr(ColumnarReader, "load", loaded)
    yield hold
    hold.goes_on.set()


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_wait_for_workers_ends_when_the_run_is_closed(
    folder: Path, opened: list[ParquetGroups], hold: Hold, on_error: str
) -> None:
    paths = files_of(folder, [3] * 9, 3)
    hold.paths |= {*paths}
    iterator = iter(hr.ParquetDataset(paths, on_error=on_error).prefetch(1))
    got: list[Any] = []
    reading = threading.Thread(target=lambda: got.extend(iterator))
    reading.start()
    assert hold.has_come.wait(LIMIT_S)
    closing = threading.Thread(target=iterator.close)
    closing.start()
    reading.join(LIMIT_S)
    assert not reading.is_alive()  # while the worker still loads
    hold.goes_on.set()
    closing.join(LIMIT_S)
    assert not closing.is_alive()
    assert all(groups._source.closed for groups in opened)


def test_a_part_that_a_worker_loads_when_nobody_reads_on_is_closed_by_it(
    folder: Path, opened: list[ParquetGroups], hold: Hold
) -> None:
    paths = files_of(folder, [2] * 4, 2)
    hold.paths |= {*paths[2:]}
    iterator = iter(hr.ParquetDataset(paths).take(4).repeat(2))
    rows = [int(next(iterator)["x"]) for _ in range(6)]  # the stage of the first turn was closed
    assert hold.has_come.wait(LIMIT_S)
    hold.goes_on.set()
    rows += [int(row["x"]) for row in iterator]
    assert rows == [0, 1, 2, 3] * 2
    iterator.close()
    assert len(opened) > 4
    assert all(groups._source.closed for groups in opened)


def test_a_stop_ends_the_wait_of_whoever_reads(folder: Path) -> None:
    hands = Hands()
    ahead = ahead_of(files_of(folder, [2] * 4, 2), hands)
    ahead.reader()
    ahead.reader()
    ahead._parts[1].take()  # as a worker that is never done
    ahead.finish(is_lost=False)
    ahead.stop()
    with pytest.raises((CancelledError, OutOfRangeError)):
        ahead.reader()
    ahead.close()


def test_a_stop_is_no_failure_of_a_file(folder: Path) -> None:
    node, budget, meter = node_of(files_of(folder, [4] * 3, 4)), Budget(1 << 30), Meter("files")
    ahead = functools.partial(FilesAhead, node, gate=Gate(Hands(), 2), ahead=budget.ahead(meter), meter=meter)
    stage = FilesStage(node, meter, None, budget.gathering("files", ""), ahead)
    assert isinstance(stage.pull(1), Block)
    stage.stop()
    with pytest.raises((CancelledError, OutOfRangeError)):  # or who skips failures would never come to an end
        stage.pull(1)
    stage.close()


def test_large_groups_are_loaded_a_few_megabytes_ahead(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 16)  # two rows
    monkeypatch.setattr(reader, "_AHEAD_BYTES", 40)
    one = ParquetFiles(selection=Selection()).open_ahead(file_of(folder, range(20), 20), RecordPosition())
    assert one.load(alone=True) == 48
    assert [chunk.columns[0].tolist() for chunk in iter(lambda: one.read(9), None)] == [
        [start, start + 1] for start in range(0, 20, 2)
    ]


def test_what_is_at_hand_is_all_that_was_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 16)
    one = ParquetFiles(selection=Selection()).open_ahead(file_of(folder, range(20), 20), RecordPosition())
    one.load(alone=True)
    chunk = one.read(1)
    assert chunk is not None
    assert chunk.at_hand == 19
