from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.io.tfrecord.tfrecord_files import file_of, use_slow_crc32c

import headrace as hr
from headrace.errors import DataLossError, HeadraceError, InvalidArgumentError, NotFoundError
from headrace.io.indexing import formats as indexed_formats
from headrace.testing import check_every_restore_point

THREE = [b"one", b"", b"three"]


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_slow_crc32c(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    indexed_formats._crc32c.cache_clear()


def written(tmp_path: Path, payloads: list[bytes], name: str = "a.tfrecord") -> str:
    path = tmp_path / name
    path.write_bytes(file_of(payloads))
    return str(path)


def told(dataset: hr.Dataset) -> list[Any]:
    """The elements, and the classes of errors in their places."""
    seen: list[Any] = []
    with iter(dataset) as iterator:
        while True:
            try:
                seen.append(next(iterator))
            except StopIteration:
                return seen
            except HeadraceError as error:
                seen.append(type(error))


@pytest.mark.parametrize("random_access", [False, True])
@pytest.mark.parametrize("payloads", [[], [b""], THREE], ids=len)
def test_records_come_file_after_file(tmp_path: Path, payloads: list[bytes], random_access: bool) -> None:
    paths = [written(tmp_path, payloads), written(tmp_path, [b"last"], "b.tfrecord")]
    assert list(hr.TFRecordDataset(paths, random_access=random_access)) == [*payloads, b"last"]
    assert list(hr.TFRecordDataset(Path(paths[0]), random_access=random_access)) == payloads


def test_the_spec_and_the_plan_say_what_it_is(tmp_path: Path) -> None:
    dataset = hr.TFRecordDataset(written(tmp_path, THREE), name="train")
    assert dataset.element_spec == hr.TensorSpec((), bytes)
    assert "TFRecordDataset 'train'" in dataset.explain()
    assert dataset.cardinality() == hr.UNKNOWN_CARDINALITY


def test_a_batch_is_an_array_of_bytes(tmp_path: Path) -> None:
    (batch,) = hr.TFRecordDataset(written(tmp_path, THREE)).batch(5)
    assert (batch.dtype, batch.tolist()) == (object, THREE)


def test_compressed_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(gzip.compress(file_of(THREE)))
    assert list(hr.TFRecordDataset(path, "GZIP")) == THREE
    assert list(hr.TFRecordDataset(path, "INFER")) == THREE
    with pytest.raises(DataLossError, match="is compression_type right"):
        list(hr.TFRecordDataset(path))


def test_files_are_read_side_by_side(tmp_path: Path) -> None:
    paths = [written(tmp_path, [b"%d%d" % (file, n) for n in range(3)], str(file)) for file in range(2)]
    assert list(hr.TFRecordDataset(paths, num_parallel_reads=2)) == [b"00", b"10", b"01", b"11", b"02", b"12"]
    of_names = hr.Dataset.from_tensor_slices(paths)
    assert list(hr.TFRecordDataset(of_names)) == [b"00", b"01", b"02", b"10", b"11", b"12"]


@pytest.mark.parametrize("random_access", [False, True])
def test_errors_come_in_their_places_and_can_be_skipped(tmp_path: Path, random_access: bool) -> None:
    content = bytearray(file_of([b"one", b"two", b"three"]))
    content[19 + 12] ^= 1
    bad = tmp_path / "bad"
    bad.write_bytes(bytes(content[:-1]))
    paths = [str(bad), str(tmp_path / "none"), written(tmp_path, [b"last"])]
    dataset = hr.TFRecordDataset(paths, random_access=random_access)
    assert told(dataset) == [b"one", DataLossError, DataLossError, NotFoundError, b"last"]
    assert list(hr.TFRecordDataset(paths, random_access=random_access, on_error="skip")) == [b"one", b"last"]
    with pytest.raises(
        DataLossError, match=r"^TFRecordDataset.*, .*bad:2: the record is corrupt: its checksum is wrong$"
    ):
        list(dataset)


@pytest.mark.parametrize("arguments", [{}, {"random_access": True}, {"num_parallel_reads": 2}], ids=str)
def test_reading_resumes_behind_every_record(tmp_path: Path, arguments: dict[str, Any]) -> None:
    paths = [written(tmp_path, [b"%d" % number for number in range(4)], name) for name in "abc"]
    check_every_restore_point(hr.TFRecordDataset(paths, **arguments))
    check_every_restore_point(hr.TFRecordDataset(paths, **arguments).shuffle(5, seed=1).batch(2))


def test_records_by_number_are_shuffled_without_a_buffer_of_them(tmp_path: Path) -> None:
    payloads = [b"%d" % number for number in range(50)]
    dataset = hr.TFRecordDataset([written(tmp_path, payloads)], random_access=True)
    assert dataset.cardinality() == 50
    shuffled = list(dataset.shuffle(50, seed=1))
    assert sorted(shuffled) == sorted(payloads)
    assert shuffled != payloads
    assert list(dataset.skip(40).shard(2, 1)) == payloads[41::2]


def test_only_what_is_asked_for_is_read(tmp_path: Path) -> None:
    content = bytearray(file_of([b"%d" % number for number in range(10)]))
    content[5 * 17 + 12] ^= 1  # whoever reads the sixth record meets an error
    path = tmp_path / "a"
    path.write_bytes(bytes(content))
    dataset = hr.TFRecordDataset(path, random_access=True)
    assert list(dataset.take(5)) == [b"0", b"1", b"2", b"3", b"4"]
    assert told(dataset)[4:7] == [b"4", DataLossError, b"6"]


def test_a_record_that_is_left_out_keeps_its_number(tmp_path: Path) -> None:
    content = bytearray(file_of([b"%d" % number for number in range(10)]))
    content[2 * 17 + 12] ^= 1  # the third record
    path = tmp_path / "a"
    path.write_bytes(bytes(content))
    records = hr.TFRecordDataset(path, random_access=True, on_error="skip")
    for executor in ("inline", "thread"):
        dataset = records.with_options(hr.Options(executor=executor))
        assert list(dataset.take(5)) == [b"0", b"1", b"3", b"4"]
        assert list(dataset.shard(2, 0)) == [b"0", b"4", b"6", b"8"]
        assert list(dataset.skip(2)) == [b"3", b"4", b"5", b"6", b"7", b"8", b"9"]
        # Here a repeat is between, and what is left out is counted in each of its turns: it is not among the elements.
        assert list(dataset.repeat(2).take(11)) == [b"0", b"1", *(b"%d" % n for n in range(3, 10)), b"0", b"1"]


def test_lines_by_number_are_the_same_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("eins\r\nzwei\n\nfünf".encode())
    dataset = hr.TextLineDataset(path, random_access=True)
    assert list(dataset) == list(hr.TextLineDataset(path)) == ["eins", "zwei", "", "fünf"]
    (batch,) = dataset.batch(4)
    assert batch.dtype == object


def test_records_by_number_need_names_and_files_as_they_are(tmp_path: Path) -> None:
    path = written(tmp_path, THREE)
    with pytest.raises(InvalidArgumentError, match="random_access=True needs the names themselves"):
        hr.TFRecordDataset(hr.Dataset.from_tensors(path), random_access=True)
    with pytest.raises(InvalidArgumentError, match="cannot be read by their number"):
        hr.TFRecordDataset(path, "GZIP", random_access=True)


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, THREE)
    Path(path).chmod(0)
    with pytest.raises(HeadraceError, match="no permission to read"):
        list(hr.TFRecordDataset(path))


def test_a_file_that_changes_while_it_is_read_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, [b"x" * 100] * 50)
    iterator = iter(hr.TFRecordDataset(path, buffer_size=1000))
    next(iterator)
    os.truncate(path, 2000)
    with iterator, pytest.raises(DataLossError):
        list(iterator)


def test_parsed_batches_stay_in_order_in_threads(tmp_path: Path) -> None:
    pytest.importorskip("google.protobuf")
    features = {"x": hr.io.FixedLenFeature((), np.int64), "t": hr.io.VarLenFeature(str)}
    path = tmp_path / "examples"
    with hr.io.TFRecordWriter(path) as writer:
        for number in range(100):
            writer.write(hr.io.serialize_example({"x": number, "t": [str(number)] * (number % 3)}))
    threads = set()

    def parse(records: np.ndarray) -> Any:
        threads.add(threading.get_ident())
        return hr.io.parse_example(records, features)

    dataset = hr.TFRecordDataset(path).batch(7).map(parse, num_parallel_calls=2)
    batches = list(dataset)
    assert np.concatenate([batch["x"] for batch in batches]).tolist() == list(range(100))
    assert batches[0]["t"].to_list()[:4] == [[], ["1"], ["2", "2"], []]
    assert threading.get_ident() not in threads
