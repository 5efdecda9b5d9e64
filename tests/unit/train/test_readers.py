from __future__ import annotations

import gc
import gzip
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.io.tfrecord.tfrecord_files import file_of, use_slow_crc32c
from tests.unit.queues.background import Background, waiting

from headrace.errors import (
    DataLossError,
    HeadraceError,
    InvalidArgumentError,
    MissingExtraError,
    NotFoundError,
    OutOfRangeError,
)
from headrace.queues import FIFOQueue
from headrace.train import (
    FixedLengthRecordReader,
    ReaderBase,
    TextLineReader,
    TFRecordReader,
    WholeFileReader,
)
from headrace.train.last_record import forget_last_record, last_record

FILES: dict[str, bytes] = {
    "a.txt": b"1\n2\r\n\n4",
    "b.txt": b"h\nx\ny\n",
    "empty.txt": b"",
    "bad.txt": b"one\n\xff\xfe\nthree\n",
    "f.bin": b"HHaabbccF",
    "cut.bin": b"HHaabbcF",
    "short.bin": b"H",
    "f.gz": gzip.compress(b"HHaabbccF"),
    "h.z": zlib.compress(b"HHaaXbbXccF"),
    "t.rec": file_of([b"one", b"", b"three"]),
    "t.gz": gzip.compress(file_of([b"one", b"", b"three"])),
    "cut.rec": file_of([b"one", b"two"])[:-1],
}
FRAMED: dict[str, Any] = {"record_bytes": 2, "header_bytes": 2, "footer_bytes": 1}
READERS: dict[str, Callable[[], ReaderBase]] = {
    "lines": TextLineReader,
    "lines without headers": lambda: TextLineReader(skip_header_lines=1),
    "lines of short files": lambda: TextLineReader(skip_header_lines=9),
    "files": WholeFileReader,
    "fixed": lambda: FixedLengthRecordReader(**FRAMED),
    "fixed with gaps": lambda: FixedLengthRecordReader(**FRAMED, hop_bytes=3),
    "fixed gzip": lambda: FixedLengthRecordReader(**FRAMED, encoding="GZIP"),
    "fixed zlib with gaps": lambda: FixedLengthRecordReader(**FRAMED, hop_bytes=3, encoding="ZLIB"),
    "frames": TFRecordReader,
    "frames gzip": lambda: TFRecordReader(options="GZIP"),
}


@pytest.fixture(autouse=True)
def _slow_crc32c(monkeypatch: pytest.MonkeyPatch) -> None:
    use_slow_crc32c(monkeypatch)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def queue_of(folder: Path, *names: str) -> FIFOQueue:
    queue = FIFOQueue(100)
    for name in names:
        queue.enqueue(str(folder / name))
    queue.close()
    return queue


def told(folder: Path, reader: ReaderBase, queue: FIFOQueue) -> list[Any]:
    """For each record key, value and the counts behind it; for each error its class and the counts."""
    steps: list[Any] = []
    while True:
        try:
            key, value = reader.read(queue)
        except OutOfRangeError:
            return [*steps, reader.num_work_units_completed()]
        except HeadraceError as error:
            steps.append((type(error), reader.num_records_produced(), reader.num_work_units_completed()))
        else:
            steps.append((Path(key).name, value, reader.num_records_produced(), reader.num_work_units_completed()))
        assert len(steps) < 100, "there is no end to it"


# What tf.compat.v1's readers deliver, with num_records_produced and num_work_units_completed behind each record, and
# the latter at the end.
BY_TENSORFLOW: list[tuple[str, list[str], list[Any]]] = [
    (
        "lines",
        ["a.txt", "empty.txt", "b.txt"],
        [
            ("a.txt:1", "1", 1, 0),
            ("a.txt:2", "2", 2, 0),
            ("a.txt:3", "", 3, 0),
            ("a.txt:4", "4", 4, 0),
            ("b.txt:1", "h", 5, 2),
            ("b.txt:2", "x", 6, 2),
            ("b.txt:3", "y", 7, 2),
            3,
        ],
    ),
    (
        "lines without headers",
        ["a.txt", "empty.txt", "b.txt"],
        [
            ("a.txt:2", "2", 1, 0),
            ("a.txt:3", "", 2, 0),
            ("a.txt:4", "4", 3, 0),
            ("b.txt:2", "x", 4, 2),
            ("b.txt:3", "y", 5, 2),
            3,
        ],
    ),
    ("lines of short files", ["a.txt", "b.txt"], [2]),
    (
        "lines",
        ["a.txt", "none", "b.txt"],
        [
            ("a.txt:1", "1", 1, 0),
            ("a.txt:2", "2", 2, 0),
            ("a.txt:3", "", 3, 0),
            ("a.txt:4", "4", 4, 0),
            (NotFoundError, 4, 1),
            ("b.txt:1", "h", 5, 1),
            ("b.txt:2", "x", 6, 1),
            ("b.txt:3", "y", 7, 1),
            2,
        ],
    ),
    (
        "files",
        ["a.txt", "empty.txt", "b.txt"],
        [("a.txt", b"1\n2\r\n\n4", 1, 1), ("empty.txt", b"", 2, 2), ("b.txt", b"h\nx\ny\n", 3, 3), 3],
    ),
    (
        "fixed",
        ["f.bin", "f.bin"],
        [
            ("f.bin:0", b"aa", 1, 0),
            ("f.bin:1", b"bb", 2, 0),
            ("f.bin:2", b"cc", 3, 0),
            ("f.bin:0", b"aa", 4, 1),
            ("f.bin:1", b"bb", 5, 1),
            ("f.bin:2", b"cc", 6, 1),
            2,
        ],
    ),
    ("fixed with gaps", ["f.bin"], [("f.bin:0", b"aa", 1, 0), ("f.bin:1", b"bc", 2, 0), 1]),
    ("fixed gzip", ["f.gz"], [("f.gz:0", b"aa", 1, 0), ("f.gz:1", b"bb", 2, 0), ("f.gz:2", b"cc", 3, 0), 1]),
    (
        "fixed zlib with gaps",
        ["h.z"],
        [("h.z:0", b"aa", 1, 0), ("h.z:1", b"bb", 2, 0), ("h.z:2", b"cc", 3, 0), 1],
    ),
    (
        "frames",
        ["t.rec", "t.rec"],
        [
            ("t.rec:0", b"one", 1, 0),
            ("t.rec:19", b"", 2, 0),
            ("t.rec:35", b"three", 3, 0),
            ("t.rec:0", b"one", 4, 1),
            ("t.rec:19", b"", 5, 1),
            ("t.rec:35", b"three", 6, 1),
            2,
        ],
    ),
    ("frames gzip", ["t.gz"], [("t.gz:0", b"one", 1, 0), ("t.gz:19", b"", 2, 0), ("t.gz:35", b"three", 3, 0), 1]),
]
# Where TensorFlow loses data in silence, or stays at one error for ever.
BETTER_THAN_TENSORFLOW: list[tuple[str, list[str], list[Any]]] = [
    ("files", ["none", "a.txt"], [(NotFoundError, 0, 0), ("a.txt", b"1\n2\r\n\n4", 1, 1), 1]),
    (
        "lines",
        ["bad.txt"],
        [("bad.txt:1", "one", 1, 0), (InvalidArgumentError, 1, 0), ("bad.txt:3", "three", 2, 0), 1],
    ),
    (
        "fixed",
        ["cut.bin", "short.bin", "f.bin"],
        [
            ("cut.bin:0", b"aa", 1, 0),
            ("cut.bin:1", b"bb", 2, 0),
            (DataLossError, 2, 0),
            (DataLossError, 2, 1),
            ("f.bin:0", b"aa", 3, 2),
            ("f.bin:1", b"bb", 4, 2),
            ("f.bin:2", b"cc", 5, 2),
            3,
        ],
    ),
    (
        "frames",
        ["cut.rec", "t.rec"],
        [
            ("cut.rec:0", b"one", 1, 0),
            (DataLossError, 1, 0),
            ("t.rec:0", b"one", 2, 0),
            ("t.rec:19", b"", 3, 0),
            ("t.rec:35", b"three", 4, 0),
            1,
        ],
    ),
]


@pytest.mark.parametrize(("kind", "names", "expected"), BY_TENSORFLOW + BETTER_THAN_TENSORFLOW)
def test_records_keys_and_counts(folder: Path, kind: str, names: list[str], expected: list[Any]) -> None:
    assert told(folder, READERS[kind](), queue_of(folder, *names)) == expected


def test_an_error_says_in_which_file_and_line_it_is(folder: Path) -> None:
    reader, queue = TextLineReader(), queue_of(folder, "bad.txt")
    reader.read(queue)
    with pytest.raises(InvalidArgumentError) as caught:
        reader.read(queue)
    assert caught.value.origin == f"{folder / 'bad.txt'}:2"


def test_a_header_need_not_be_text(folder: Path) -> None:
    (folder / "latin.csv").write_bytes(b"pr\xe9nom\none\n")
    queue = queue_of(folder, "latin.csv")
    assert TextLineReader(skip_header_lines=1).read(queue)[1] == "one"


def runs(reader: ReaderBase, queue: FIFOQueue, size: int) -> list[Any]:
    steps: list[Any] = []
    while True:
        try:
            keys, values = reader.read_up_to(queue, size)
        except OutOfRangeError:
            return steps
        except HeadraceError as error:
            steps.append(type(error))
        else:
            assert keys.shape == values.shape
            assert all(Path(key).name for key in keys)
            steps.append(values.tolist())


def test_read_up_to_stops_at_the_end_of_a_file_as_tensorflow_does(folder: Path) -> None:
    reader = TextLineReader()
    assert runs(reader, queue_of(folder, "a.txt", "empty.txt", "b.txt"), 3) == [["1", "2", ""], ["4"], ["h", "x", "y"]]
    assert (reader.num_records_produced(), reader.num_work_units_completed()) == (7, 3)
    assert runs(WholeFileReader(), queue_of(folder, "a.txt", "empty.txt"), 2) == [[b"1\n2\r\n\n4"], [b""]]


def test_read_up_to_delivers_the_good_records_before_a_bad_one_first(folder: Path) -> None:
    assert runs(TextLineReader(), queue_of(folder, "bad.txt"), 9) == [["one"], InvalidArgumentError, ["three"]]
    assert runs(TFRecordReader(), queue_of(folder, "cut.rec"), 9) == [[b"one"], DataLossError]
    with pytest.raises(InvalidArgumentError, match="num_records is at least 1, not 0"):
        TextLineReader().read_up_to(queue_of(folder), 0)


def test_read_up_to_fills_its_run_across_the_runs_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"{number}\n" for number in range(1000)))
    sizes = [len(run) for run in runs(TextLineReader(), queue_of(tmp_path, "long.txt"), 300)]
    assert sizes == [300, 300, 300, 100]


# The generator calls a test many times with one folder, which only its first call fills.
ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@ONE_FOLDER
@given(
    kind=st.sampled_from(["lines", "lines without headers", "fixed", "frames", "files"]),
    names=st.lists(st.sampled_from([name for name in FILES if not name.endswith(("gz", "z"))]), max_size=4),
    by=st.lists(st.integers(0, 4), max_size=12),
)
def test_a_state_goes_on_where_it_was_taken_at_every_step(
    folder: Path, kind: str, names: list[str], by: list[int]
) -> None:
    def step(reader: ReaderBase, queue: FIFOQueue, size: int) -> Any:
        try:
            return reader.read(queue) if not size else [array.tolist() for array in reader.read_up_to(queue, size)]
        except HeadraceError as error:
            return type(error), str(error)

    def counts(reader: ReaderBase) -> tuple[int, int]:
        return reader.num_records_produced(), reader.num_work_units_completed()

    reader, queue = READERS[kind](), queue_of(folder, *names)
    for size in by:
        restored = READERS[kind]()
        restored.restore_state(reader.serialize_state())
        rest = FIFOQueue(100)
        left = [queue.dequeue() for _ in range(queue.size())]
        queue = FIFOQueue(100)
        for name in left:
            rest.enqueue(name)
            queue.enqueue(name)
        rest.close()
        queue.close()
        assert step(restored, rest, size) == step(reader, queue, size)
        assert counts(restored) == counts(reader)


def test_a_state_is_plain_text_that_says_whose_it_is(folder: Path) -> None:
    reader = TextLineReader()
    reader.read(queue_of(folder, "a.txt"))
    state = reader.serialize_state()
    assert '"file": "' in state
    with pytest.raises(InvalidArgumentError, match="this is the state of a TextLineReader"):
        WholeFileReader().restore_state(state)
    assert reader.supports_serialize


@pytest.mark.parametrize("state", ["", "[]", "{}", '{"reader": "TextLineReader"}', "\x00"])
def test_what_is_no_state_is_refused(state: str) -> None:
    with pytest.raises(InvalidArgumentError, match="not what serialize_state returns"):
        TextLineReader().restore_state(state)


def test_a_file_that_shrank_is_told_when_a_state_is_restored(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1\n2\n3\n")
    reader = TextLineReader()
    reader.read_up_to(queue_of(tmp_path, "a.txt"), 2)
    state = reader.serialize_state()
    path.write_text("1\n")
    with pytest.raises(DataLossError, match="the file has changed"):
        TextLineReader().restore_state(state)


def test_reset_begins_with_the_next_file_and_no_counts(folder: Path) -> None:
    reader, queue = TextLineReader(), queue_of(folder, "a.txt", "b.txt")
    reader.read(queue)
    reader.reset()
    assert (reader.num_records_produced(), reader.num_work_units_completed()) == (0, 0)
    assert reader.read(queue)[1] == "h"


def test_many_threads_get_every_record_once(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.txt").write_text("".join(f"{number}:{line}\n" for line in range(200)))
    reader, queue = TextLineReader(), queue_of(tmp_path, *(f"{number}.txt" for number in range(5)))

    def read_all() -> list[str]:
        lines = []
        while True:
            try:
                lines.append(reader.read(queue)[1])
            except OutOfRangeError:
                return lines

    threads = [Background(read_all) for _ in range(4)]
    seen = Counter(line for thread in threads for line in thread.result())
    assert len(seen) == 1000
    assert set(seen.values()) == {1}


def test_closing_the_queue_wakes_all_who_wait_for_a_file() -> None:
    reader, queue = TextLineReader(), FIFOQueue(2)
    threads = [Background(lambda: reader.read(queue)) for _ in range(3)]
    waiting(queue, consumers=1)  # the others wait behind it
    assert reader.num_records_produced() == 0  # does not wait
    queue.close()
    assert {type(thread.error()) for thread in threads} == {OutOfRangeError}


def test_a_file_name_may_be_pulled_from_a_callable(folder: Path) -> None:
    assert TextLineReader().read(lambda: folder / "a.txt")[1] == "1"
    with pytest.raises(InvalidArgumentError, match="a file is named by"):
        TextLineReader().read(lambda: 7)


def test_a_thread_knows_which_records_it_has_read_last(folder: Path) -> None:
    reader, queue = TextLineReader(), queue_of(folder, "a.txt")
    reader.read(queue)
    assert last_record() == f"{folder / 'a.txt'}:1"
    reader.read_up_to(queue, 2)
    assert last_record() == f"{folder / 'a.txt'}:2 to {folder / 'a.txt'}:3"
    assert Background(last_record).result() is None
    forget_last_record()
    assert last_record() is None


def test_a_reader_that_is_dropped_closes_its_file(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_bytes(b"line\n" * 500_000)  # beyond what is read at once
    reader = TextLineReader()
    reader.read(queue_of(tmp_path, "long.txt"))
    assert "long.txt" in names_of_open_files()
    del reader
    gc.collect()  # a file that nobody closed would warn here, and a warning is an error
    assert "long.txt" not in names_of_open_files()


def names_of_open_files() -> set[str]:
    return {Path(file.path).name for file in psutil.Process().open_files()}


@pytest.mark.parametrize(
    ("kind", "argument"),
    [
        (TextLineReader, {"skip_header_lines": -1}),
        (FixedLengthRecordReader, {"record_bytes": 0}),
        (FixedLengthRecordReader, {"record_bytes": 2, "hop_bytes": -1}),
        (FixedLengthRecordReader, {"record_bytes": 2, "header_bytes": -1}),
        (FixedLengthRecordReader, {"record_bytes": 2, "footer_bytes": -1}),
        (FixedLengthRecordReader, {"record_bytes": 2, "encoding": "RAR"}),
        (TFRecordReader, {"options": "RAR"}),
    ],
)
def test_arguments_that_do_not_fit_are_refused_at_once(
    kind: Callable[..., ReaderBase], argument: dict[str, Any]
) -> None:
    with pytest.raises(InvalidArgumentError):
        kind(**argument)


def test_a_missing_library_is_told_where_the_reader_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headrace\[tfrecord\]'"):
        TFRecordReader()
