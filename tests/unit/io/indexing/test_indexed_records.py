"""Reading by number gives what reading in order gives."""

from __future__ import annotations

import gc
import gzip
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.io.http_server import serving
from tests.unit.io.reading import everything_of
from tests.unit.io.tfrecord.tfrecord_files import file_of, frame_of, use_slow_crc32c

import headrace as hr
import headrace.io.indexing.records as module
from headrace.errors import DataLossError, HeadraceError, InvalidArgumentError, NotFoundError, ResourceExhaustedError
from headrace.io.indexing import formats, scans
from headrace.io.indexing.formats import INDEXED_FORMATS
from headrace.io.indexing.records import IndexedRecords
from headrace.io.text.reader import LineReader
from headrace.io.tfrecord.reader import FrameReader

ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT, TFRECORD = INDEXED_FORMATS["text"], INDEXED_FORMATS["tfrecord"]


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_slow_crc32c(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    formats._crc32c.cache_clear()


def written(tmp_path: Path, content: bytes, name: str = "data.bin") -> str:
    path = tmp_path / name
    path.write_bytes(content)
    return str(path)


def told_in_order(reader: Any) -> list[Any]:
    return [step[1:] if isinstance(step[1], type) else step[2][0][1] for step in everything_of(reader)]


def told(records: IndexedRecords, index: int) -> Any:
    try:
        return records[index]
    except HeadraceError as error:
        return type(error), str(error)


def told_by_number(records: IndexedRecords) -> list[Any]:
    return [told(records, index) for index in range(len(records))]


texts = st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\r", b"bc\n", b"\xff", "ü".encode(), b"\0"]), max_size=12)


@ONE_FOLDER
@given(pieces=texts, portion=st.sampled_from([1, 2, 3, 7, 1000]))
def test_lines_by_number_are_the_lines_in_order(tmp_path: Path, pieces: list[bytes], portion: int) -> None:
    path = written(tmp_path, b"".join(pieces))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scans, "_PORTION_BYTES", portion)
        Path(f"{path}.index").unlink(missing_ok=True)
        records = IndexedRecords([path], TEXT)
    assert told_by_number(records) == told_in_order(LineReader(path))


@ONE_FOLDER
@given(
    payloads=st.lists(st.binary(max_size=9), max_size=6),
    at=st.integers(0, 150),
    flipped=st.integers(0, 255),
    cut=st.integers(0, 150),
    portion=st.sampled_from([1, 2, 13, 40, 1000]),
)
def test_records_by_number_are_the_records_in_order_also_in_a_damaged_file(
    tmp_path: Path, payloads: list[bytes], at: int, flipped: int, cut: int, portion: int
) -> None:
    content = bytearray(file_of(payloads))
    if at < len(content):
        content[at] ^= flipped
    path = written(tmp_path, bytes(content[: max(cut, len(content) // 2)]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scans, "_PORTION_BYTES", portion)
        patch.setattr(scans, "_HEADS_BYTES", 5)
        Path(f"{path}.index").unlink(missing_ok=True)
        records = IndexedRecords([path], TFRECORD)
    assert told_by_number(records) == told_in_order(FrameReader(path))


@given(
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=3),
    data=st.data(),
    gap=st.sampled_from([0, 5, 4096]),
)
@ONE_FOLDER
def test_any_records_are_read_at_once_in_any_order(
    tmp_path: Path, lengths: list[int], data: st.DataObject, gap: int
) -> None:
    lines = [[f"{file}:{'x' * number}{number}" for number in range(length)] for file, length in enumerate(lengths)]
    paths = [
        written(tmp_path, "".join(f"{line}\n" for line in some).encode(), f"{file}-{len(some)}.txt")
        for file, some in enumerate(lines)
    ]
    records = IndexedRecords(paths, TEXT)
    flat = [line for some in lines for line in some]
    assert len(records) == len(flat)
    wanted = data.draw(st.lists(st.integers(0, len(flat) - 1), max_size=12) if flat else st.just([]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_GAP_BYTES", gap)
        assert records.__getitems__(wanted) == [flat[number] for number in wanted]
        assert records.columns(np.array(wanted, np.int64)).tolist() == [flat[number] for number in wanted]


def test_numbers_that_are_none_of_a_record_are_refused(tmp_path: Path) -> None:
    records = IndexedRecords([written(tmp_path, b"one\ntwo\n")], TEXT)
    assert records[-1] == "two"
    for index in (2, -3):
        with pytest.raises(IndexError, match="there are 2 records"):
            records[index]


def test_a_missing_file_is_one_record_which_is_its_error(tmp_path: Path) -> None:
    records = IndexedRecords([str(tmp_path / "none"), written(tmp_path, b"one\n")], TEXT, stage="TextLineDataset")
    assert records[1] == "one"
    with pytest.raises(NotFoundError, match=r"^TextLineDataset, .*none: no such file"):
        records[0]


@pytest.mark.parametrize("compression_type", ["GZIP", "INFER"])
def test_compressed_files_are_refused(tmp_path: Path, compression_type: str) -> None:
    path = written(tmp_path, gzip.compress(b"one\n"), "a.txt.gz")
    with pytest.raises(InvalidArgumentError, match=r"a.txt.gz: records of a file that is compressed \(GZIP\)"):
        IndexedRecords([path], TEXT, compression_type=compression_type)
    with pytest.raises(InvalidArgumentError, match="cannot be read by their number"):
        hr.io.build_index(path, "text")


def test_a_record_beyond_the_limit_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_RECORD_BYTES", 4)
    records = IndexedRecords([written(tmp_path, b"one\nlonger\n")], TEXT)
    assert records[0] == "one"
    with pytest.raises(ResourceExhaustedError, match=r"data.bin:2: the record has 6 bytes, and the limit is 4"):
        records[1]


def test_a_hostile_length_is_not_believed(tmp_path: Path) -> None:
    path = written(tmp_path, file_of([b"one"]) + frame_of(b"small", claimed_length=2**62))
    assert told_by_number(IndexedRecords([path], TFRECORD))[0] == b"one"
    with pytest.raises(DataLossError, match=r"data.bin:2: the file ends 21 bytes into a record"):
        hr.io.build_index(path, "tfrecord")


def test_a_file_that_changed_is_told_and_not_read(tmp_path: Path) -> None:
    path = written(tmp_path, b"one\ntwo\n")
    records = IndexedRecords([path], TEXT)
    assert records[0] == "one"
    Path(path).write_bytes(b"three\nfour\n")
    for _ in range(2):
        with pytest.raises(DataLossError, match="changed since its records were counted; build the dataset anew"):
            records[1]


def test_a_file_that_shrinks_between_two_looks_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, b"one\ntwo\n")
    reader = module._Local(path)
    with pytest.raises(DataLossError, match="changed since"):
        reader.read([4], [12])


def test_where_the_system_reads_at_no_offset_threads_take_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PREAD", None)
    lines = [f"line {number}" for number in range(400)]
    records = IndexedRecords([written(tmp_path, "\n".join(lines).encode())], TEXT)
    with ThreadPoolExecutor(4) as threads:
        read = list(threads.map(lambda number: records.__getitems__([number, 399 - number]), range(400)))
    assert read == [[line, last] for line, last in zip(lines, reversed(lines), strict=True)]
    with pytest.raises(DataLossError, match="changed since"):
        module._Local(written(tmp_path, b"one\ntwo\n")).read([4], [12])


def test_a_file_that_is_replaced_is_read_as_it_was(tmp_path: Path) -> None:
    path = written(tmp_path, b"one\ntwo\n")
    records = IndexedRecords([path], TEXT)
    assert records[0] == "one"
    Path(written(tmp_path, b"another\n", "new")).replace(path)
    assert records[1] == "two"


def test_files_beyond_the_limit_are_closed_and_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_OPEN_FILES", 2)
    paths = [written(tmp_path, f"{number}\n".encode(), f"{number}.txt") for number in range(5)]
    records = IndexedRecords(paths, TEXT)
    before = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    for order in (range(5), [4, 0, 2, 2, 1]):
        assert records.__getitems__(list(order)) == [str(number) for number in order]
        assert [records[number] for number in order] == [str(number) for number in order]
    if before:
        assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2
    assert len(records._open._readers) == 2


def test_a_copy_in_another_process_reads_the_same_or_says_that_it_cannot(tmp_path: Path) -> None:
    path = written(tmp_path, b"one\ntwo\n")
    records = IndexedRecords([path, str(tmp_path / "none")], TEXT)
    pickled = pickle.dumps(records)
    copy = pickle.loads(pickled)
    assert (copy[1], len(copy)) == ("two", 3)
    assert copy.__headrace_fingerprint__() == records.__headrace_fingerprint__()
    Path(path).write_bytes(b"another\n")
    with pytest.raises(DataLossError, match="changed since its records were counted"):
        pickle.loads(pickled)


def test_files_that_are_not_local_are_read_by_number() -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.pipe_file("/indexed/data.txt", b"one\ntwo\nthree\n")
    system.pipe_file("/indexed/data.tfrecord", file_of([b"x" * 50, b"y"]))
    lines = IndexedRecords(["memory://indexed/data.txt"], TEXT)
    assert lines.__getitems__([2, 0]) == ["three", "one"]
    assert list(IndexedRecords(["memory://indexed/data.tfrecord"], TFRECORD)) == [b"x" * 50, b"y"]  # type: ignore[call-overload]  # by numbers, until an IndexError
    system.rm("/indexed", recursive=True)


def test_files_on_a_web_server_are_read_by_number() -> None:
    pytest.importorskip("aiohttp")
    with serving() as server:
        lines = server.put("a.txt", b"one\ntwo\nthree\n")
        frames = server.put("a.tfrecord", file_of([b"x" * 50, b"y"]))
        assert IndexedRecords([lines], TEXT).__getitems__([2, 0]) == ["three", "one"]
        assert IndexedRecords([frames], TFRECORD)[1] == b"y"
        gone = IndexedRecords([f"{server.address}/none"], TEXT)
        with pytest.raises(NotFoundError, match="no such file"):
            gone[0]


def test_a_remote_file_cut_short_is_an_error_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.setattr(scans, "_PORTION_BYTES", 20)
    system = fsspec.filesystem("memory")
    system.pipe_file("/indexed/cut.tfrecord", file_of([b"one", b"x" * 500])[:-7])
    with pytest.raises(DataLossError, match=r"cut.tfrecord:2: the file ends 509 bytes into a record"):
        hr.io.build_index("memory://indexed/cut.tfrecord", "tfrecord")
    system.rm("/indexed", recursive=True)


def test_an_index_is_built_for_each_file(tmp_path: Path) -> None:
    paths = [written(tmp_path, b"x\n" * count, f"{count}.txt") for count in (0, 1, 5)]
    assert hr.io.build_index(paths, format="text") == [0, 1, 5]
    assert hr.io.build_index(Path(paths[2]), format="text") == [5]
    with pytest.raises(InvalidArgumentError, match="format is one of 'tar', 'text', 'tfrecord'"):
        hr.io.build_index(paths, format="csv")
    with pytest.raises(NotFoundError, match="no such file"):
        hr.io.build_index(tmp_path / "none", format="text")


class Held:
    """What a function has in hand."""


def test_records_of_an_absent_file_keep_nothing_of_the_program_that_opened_them() -> None:
    def opened() -> tuple[IndexedRecords, weakref.ref[Held]]:
        held = Held()
        return IndexedRecords(["absent.txt"], TEXT), weakref.ref(held)

    gc.disable()
    try:
        records, held = opened()
        assert held() is None
    finally:
        gc.enable()
    with pytest.raises(NotFoundError, match=r"absent\.txt"):
        records[0]
