"""headrace inspect: what a person sees of good files, bad files, and files of no known kind."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import headrace as hr
from headrace.cli import main
from headrace.cli.inspect.csv_columns import csv_columns


def _example(path: Path) -> None:
    with hr.io.TFRecordWriter(path) as writer:
        writer.write(hr.io.serialize_example({"image": [b"abc"], "label": [1]}))


def _tar(path: Path) -> None:
    with hr.io.TarWriter(path) as writer:
        writer.write({"__key__": "1", "txt": b"text", "cls": 3})


def _sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE people(id integer, name text)")
        connection.execute("INSERT INTO people VALUES (1, 'Ann')")
        connection.commit()


def _npz(path: Path) -> None:
    with io.BytesIO() as file:
        np.savez(file, x=np.zeros((1, 3)), y=np.ones(1, np.int8))
        path.write_bytes(file.getvalue())


TABLE = pa.table({"id": [7], "name": ["Ann"]})
# For each name: how the file is made, and what must be seen; all of them hold one element.
GOOD: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "a.txt": (lambda path: path.write_text("one\n"), ["text", "element  str", "'one'"]),
    "a.csv": (lambda path: path.write_text("id,name\n7,Ann\n"), ["csv", "id    int64", "name  str", "(7, 'Ann')"]),
    "a.csv.gz": (lambda path: path.write_bytes(gzip.compress(b"id;x\n7;1.5\n")), ["csv, GZIP", "x   float64", "';'"]),
    "a.jsonl": (lambda path: path.write_text('{"id": 7}\n'), ["json lines", "{id: 7}"]),
    "no suffix, json": (lambda path: path.write_text('{"id": 7}\n'), ["json lines"]),
    "no suffix, text": (lambda path: path.write_text("Grüße\n"), ["text", "'Grüße'"]),
    "a.tfrecord": (_example, ["tf.train.Example", "image: bytes, 1 value", "label: int64, 1 value"]),
    "a.parquet": (lambda path: pyarrow.parquet.write_table(TABLE, path), ["row groups: 1", "id    int64"]),
    "parquet": (lambda path: pyarrow.parquet.write_table(TABLE, path), ["parquet"]),
    "a.arrow": (lambda path: pyarrow.feather.write_feather(TABLE, path), ["arrow", "name  str"]),
    "a.npy": (lambda path: np.save(path, np.zeros((1, 28, 28), np.uint8)), ["uint8 [28, 28]"]),
    "a.npz": (_npz, ["x  float64 [3]", "y  int8"]),
    "a.tar": (_tar, ["tar", "__key__", "txt"]),
    "no suffix, tar": (_tar, ["tar"]),
    "a.db": (_sqlite, ["people: 1 rows of id integer, name text", "('people', {id: 1, name: 'Ann'})"]),
    "a.wav": (
        lambda path: path.write_bytes(hr.audio.encode_wav(np.zeros((160, 2), np.float32), 8000)),
        ["sound", "float32 [160, 2]", "8000"],
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_schema_count_and_first_elements_are_shown(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, wanted = GOOD[name]
    make(tmp_path / name)
    assert main(["inspect", str(tmp_path / name)]) == 0
    out = capsys.readouterr().out
    for words in [*wanted, "count     1", "problems  none"]:
        assert words in out
    assert main(["inspect", "--json", str(tmp_path / name)]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    facts = json.loads(line)
    assert (facts["count"], facts["failures"], facts["whole"]) == (1, 0, True)
    assert len(facts["first"]) == 1


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt", "a.tfrecord", "a.parquet", "a.arrow", "a.npy", "a.tar"])
def test_a_file_cut_short_is_told_or_read(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    GOOD[name][0](path)
    content = path.read_bytes()
    for length in {0, 1, len(content) // 2, len(content) - 1}:
        path.write_bytes(content[:length])
        assert main(["inspect", str(path)]) in (0, 1)
        out = capsys.readouterr()
        assert "problems" in out.out
        assert not out.err


def test_every_bad_record_is_counted_and_the_first_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,x\n" + "1,2.5\n" * 20 + "2\n" * 7 + "3,three\n")
    assert main(["inspect", str(path), "--problems", "2", "-n", "1"]) == 1
    out = capsys.readouterr().out
    assert f"{path}:22" in out
    assert f"{path}:23" in out
    assert "and 6 more" in out
    assert "count     20" in out


def test_one_bad_file_does_not_keep_the_others_from_being_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = tmp_path / "a.txt"
    good.write_text("one\n")
    (tmp_path / "b.bin").write_bytes(b"\x00\x01\x02")
    assert main(["inspect", str(tmp_path / "absent.csv"), str(tmp_path / "b.bin"), str(tmp_path), str(good)]) == 1
    out = capsys.readouterr().out
    assert "no such file" in out
    assert "neither its name nor its first bytes say what it is" in out
    assert "not a file" in out
    assert "'one'" in out


def test_the_format_may_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.dat"
    path.write_text("1\t2\n3\t4\n")
    assert main(["inspect", str(path), "--format", "csv"]) == 0
    assert "(1, 2)" in capsys.readouterr().out
    assert main(["inspect", str(path), "--format", "nonsense"]) == 1
    assert "there are text, csv" in capsys.readouterr().out


def test_a_quick_look_reads_only_what_it_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\n\xff\n")
    assert main(["inspect", "--quick", "-n", "2", str(path)]) == 0
    out = capsys.readouterr().out
    assert "not counted" in out
    assert "problems" not in out


@pytest.mark.parametrize(
    ("head", "delimiter", "names", "defaults"),
    [
        (b"\n", ",", None, [""]),
        (b"1,2\n", ",", None, [0, 0]),
        (b"a,b\n", ",", None, ["", ""]),
        (b"a,b\n1,x\n2,y\n", ",", ("a", "b"), [0, ""]),
        (b"a,b\nc,d\n", ",", None, ["", ""]),
        (b"x\ty\n1\t1e3\n,\t\n", "\t", ("x", "y"), ["", 0.0]),
        (b'"a;b";c\n"1;2";3\n', ";", ("a;b", "c"), ["", 0]),
    ],
)
def test_columns_are_what_most_rows_say(head: bytes, delimiter: str, names: object, defaults: list[object]) -> None:
    found = csv_columns(head + b"1,cut", cut=True)
    assert (found.delimiter, found.names) == (delimiter, names)
    assert list(found.defaults) == defaults
    assert [type(default).__name__ for default in found.defaults] == [
        {str: "str", int: "int64", float: "float64"}[type(default)] for default in defaults
    ]
