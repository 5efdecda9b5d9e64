"""Datasets of small files: each is known to be read to its end with its last record, and they are taken together."""

from __future__ import annotations

import gzip
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import Failing
from tests.laws.running import REFERENCE, Way, assert_same, history, resumed

import headrace as hr
from headrace.io.files import open_at, read_file
from headrace.physical.stages.nesting_turns import TurnsBlock

WAYS = [Way(hr.Options(seed=3), block_sizes=(size,)) for size in (1000, 3, 1)]
LIMIT = 60


def _not_seven(line: str) -> tuple[str, int]:
    if line == "7":
        raise Failing("seven")
    return line, len(line)


INSIDE: dict[str, Callable[[str], hr.Dataset]] = {
    "lines": hr.TextLineDataset,
    "lines, a few bytes at a time": lambda path: hr.TextLineDataset(path, buffer_size=3),
    "two files": lambda path: hr.TextLineDataset([path, path]),
    "map": lambda path: hr.TextLineDataset(path).map(_not_seven),
    "batch": lambda path: hr.TextLineDataset(path).batch(2),
    "filter": lambda path: hr.TextLineDataset(path).filter(lambda line: line != "0"),
    "map, filter and batch": lambda path: (
        hr.TextLineDataset(path).map(_not_seven).filter(lambda line, _: line != "0").batch(2)
    ),
    "enumerate": lambda path: hr.TextLineDataset(path).enumerate(start=3),
    "first two": lambda path: hr.TextLineDataset(path).take(2),
    "first two of a map": lambda path: hr.TextLineDataset(path).map(_not_seven).take(2),
    "all but one": lambda path: hr.TextLineDataset(path).skip(1),
    "twice": lambda path: hr.TextLineDataset(path).repeat(2),
    "two zipped": lambda path: hr.Dataset.zip((hr.TextLineDataset(path), hr.TextLineDataset(path).map(_not_seven))),
    "inside another": lambda path: hr.Dataset.from_tensors(path).flat_map(hr.TextLineDataset).map(_not_seven),
    "whole batches": lambda path: hr.TextLineDataset(path).batch(2, drop_remainder=True),
    "other formats by turns": lambda path: (
        hr.TextLineDataset(path)
        if path[-5] in "02"
        else hr.FixedLengthRecordDataset(path, 1).map(bytes.decode, on_error="skip")
    ),
    "skipped": lambda path: hr.TextLineDataset(path, on_error="skip"),
    "ignored": lambda path: hr.TextLineDataset(path).ignore_errors(),
    "numbers": lambda path: hr.CsvDataset(path, [0]),
    "records": lambda path: hr.FixedLengthRecordDataset(path, 2),
}

# A line that is no text, and no number either, is in some of them; and a last one without its end.
lines = st.lists(st.sampled_from([b"0", b"7", b"33", b"\xff"]), max_size=7)
contents = st.lists(st.tuples(lines, st.booleans()), max_size=6)


def written(contents: list[tuple[list[bytes], bool]], folder: Path) -> list[str]:
    paths = []
    for number, (found, is_ended) in enumerate(contents):
        path = folder / f"{number}.txt"
        path.write_bytes(b"\n".join(found) + (b"\n" if is_ended else b""))
        paths.append(str(path))
    return [*paths, str(folder / "missing")] if len(paths) == 3 else paths


@given(
    contents,
    st.sampled_from(sorted(INSIDE)),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([None, 2]),
    st.sampled_from(WAYS),
)
def test_elements_failures_and_states_are_those_of_the_reference(
    contents: list[tuple[list[bytes], bool]], inside: str, cycle: int, block: int, calls: int | None, way: Way
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = written(contents, Path(folder))

        def build() -> hr.Dataset:
            return hr.Dataset.from_tensor_slices(paths or [""]).interleave(
                INSIDE[inside], cycle_length=cycle, block_length=block, num_parallel_calls=calls if cycle > 1 else None
            )

        expected, _ = history(build(), REFERENCE, limit=LIMIT)
        found, states = history(build(), way, limit=LIMIT)
        assert_same(expected, found)
        for count, state in list(enumerate(states))[::4]:
            assert_same(expected[count:], resumed(build(), state, REFERENCE if count % 2 else way, limit=LIMIT - count))


@pytest.mark.parametrize("inside", sorted(INSIDE))
def test_every_state_between_elements_of_good_files_is_gone_on_from(inside: str, tmp_path: Path) -> None:
    paths = written([([b"0", b"3", b"5"], True)] * 4, tmp_path)[:3]
    ds = hr.Dataset.from_tensor_slices(paths).interleave(INSIDE[inside], cycle_length=2)
    expected, states = history(ds, WAYS[0], limit=LIMIT)
    assert len(states) > 3
    for count, state in enumerate(states):
        assert_same(expected[count:], resumed(ds, state, REFERENCE, limit=LIMIT))
        assert_same(expected[count:], resumed(ds, state, WAYS[0], limit=LIMIT))


@pytest.mark.parametrize("inside", ["lines", "numbers", "records"])
@pytest.mark.parametrize("cycle", [1, 8])
def test_many_are_taken_in_one_block(inside: str, cycle: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = written([([b"0", b"1", b"2"], True)] * 200, tmp_path)
    taken: list[int] = []
    block = TurnsBlock.block

    def counted(self: TurnsBlock, count: int) -> Any:
        taken.append(count)
        return block(self, count)

    monkeypatch.setattr(TurnsBlock, "block", counted)
    ds = hr.Dataset.from_tensor_slices(paths).interleave(INSIDE[inside], cycle_length=cycle)
    elements = history(ds, Way(hr.Options(), block_sizes=(1000,)), limit=1000)[0]
    assert sum(taken) == len(elements)


def _json(path: Path) -> None:
    path.write_text('{"a": 1, "b": [1, 2]}\n{"a": 2, "b": []}\n')


def _csv(path: Path) -> None:
    path.write_text('a,b\n1,"one, or so"\n2,two\n')


def _examples(path: Path) -> None:
    with hr.io.TFRecordWriter(path) as writer:
        for record in (b"one", b"", b"three"):
            writer.write(record)


def _text(path: Path) -> None:
    path.write_bytes(b"one\r\n\nthree")


def _compressed(path: Path) -> None:
    path.write_bytes(gzip.compress(b"one\ntwo\n"))


def _itself(*record: Any) -> Any:
    return record if len(record) > 1 else record[0]


# How a file of each format is written, and read; each opens it once, however it is read.
FORMATS: dict[str, tuple[Callable[[Path], None], Callable[[str], hr.Dataset]]] = {
    "text": (_text, hr.TextLineDataset),
    "compressed": (_compressed, lambda path: hr.TextLineDataset(path, "GZIP")),
    "nothing": (Path.touch, hr.TextLineDataset),
    "json": (_json, hr.JsonLinesDataset),
    "csv": (_csv, lambda path: hr.CsvDataset(path, [0, ""], header=True)),
    "tfrecord": (_examples, hr.TFRecordDataset),
    "long": (lambda path: _ints(path, 40_000), hr.TextLineDataset),
}


def _ints(path: Path, count: int) -> None:
    path.write_text("".join(f"{number}\n" for number in range(count)))


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("is_called", [False, True])
def test_a_file_is_read_once_and_gives_what_it_gives_alone(
    name: str, is_called: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, read = FORMATS[name]
    paths = [str(tmp_path / str(number)) for number in range(20)]
    for path in paths:
        write(Path(path))
    alone = [str(record) for record in read(paths[0])]
    opened: list[str] = []

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: str, *args: Any) -> Any:
            opened.append(path)
            return function(path, *args)

        return call

    monkeypatch.setattr("headrace.io.compression.open_at", counted(open_at))
    monkeypatch.setattr("headrace.io.stream_reader.read_file", counted(read_file))
    found = hr.Dataset.from_tensor_slices(paths).flat_map(
        lambda path: read(path).map(_itself) if is_called else read(path)
    )
    assert [str(record) for record in found] == alone * len(paths)
    # Where functions are called, there may be room for fewer records than a short file has, and it is read anew.
    most = 2 if is_called and name != "long" else 1
    assert {opened.count(path) for path in paths} <= set(range(1, most + 1))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writing = threading.Thread(target=lambda: path.write_bytes(b"one\ntwo\n\xff\n"))
    writing.start()
    ds = hr.Dataset.from_tensor_slices([str(path)]).flat_map(hr.TextLineDataset).ignore_errors()
    assert list(ds) == ["one", "two"]
    writing.join()
