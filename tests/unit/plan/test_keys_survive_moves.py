"""A fingerprint stays when modules and private classes of headrace move or are called something else."""

from __future__ import annotations

import collections
import contextlib
import importlib
import json
import pkgutil
import sqlite3
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.errors import MissingExtraError
from headrace.known_as import known_as, known_name
from headrace.plan.contents import digest, functions
from headrace.plan.node import Node, nodes_of

# Rules make them of what was written; or they say nothing of the elements; or others derive from them.
# Made for a run of a plan that is dealt to ranks, and of no fingerprint.
DEALT = {"DealtNumbers", "DealtStreams", "Filling", "Masked", "RankBatch", "Share", "SharedFiles", "ZipOfPlaces"}
NOT_WRITTEN = DEALT | {
    "MapChain",
    "Opened",
    "_Begun",
    "_DrawingMap",
    "_Given",
    "WindowContents",
    "Known",
    "Cache",
    "Prefetch",
    "WithOptions",
    "NodeOfSeveral",
    "UnaryNode",
    "Mixture",
    "Predicated",
    "Tap",
}

FEATURES = {"a": hr.io.FixedLenFeature((), np.int64), "b": hr.io.VarLenFeature(str)}

Build = Callable[[], hr.Dataset]


def _files(folder: Path) -> dict[str, str]:
    """A small file of each format."""
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    pq.write_table(table, folder / "a.parquet")
    with pa.ipc.new_file(folder / "a.arrow", table.schema) as arrow:
        arrow.write_table(table)
    (folder / "a.csv").write_text("a,b\n1,2\n")
    (folder / "a.txt").write_text("ab\ncd\n")
    (folder / "a.jsonl").write_text(json.dumps({"a": 1}))
    np.save(folder / "a.npy", np.arange(4))
    with hr.io.TFRecordWriter(folder / "a.tfrecord") as records:
        records.write(b"abc")
    with hr.io.TarWriter(folder / "a.tar") as tar:
        tar.write({"__key__": "x", "txt": b"1"})
    connection = sqlite3.connect(folder / "a.db")
    with connection:
        connection.execute("CREATE TABLE t (a int)")
    connection.close()
    hr.Dataset.range(2).save(folder / "saved")
    return {path.name.removeprefix("a."): str(path) for path in folder.iterdir()}


def _of_files(at: dict[str, str]) -> dict[str, Build]:
    named = hr.Dataset.from_tensors(at["txt"])
    spec = hr.TensorSpec((), np.int64)
    return {
        "csv": lambda: hr.CsvDataset(at["csv"], [np.int64, np.zeros(1)], header=True),
        "text": lambda: hr.TextLineDataset(at["txt"]),
        "text by number": lambda: hr.TextLineDataset(at["txt"], random_access=True),
        "text of names": lambda: hr.TextLineDataset(named),
        "text at once": lambda: hr.TextLineDataset(named, num_parallel_reads=2),
        "tfrecord": lambda: hr.TFRecordDataset(at["tfrecord"]),
        "tfrecord by number": lambda: hr.TFRecordDataset(at["tfrecord"], random_access=True),
        "json": lambda: hr.JsonLinesDataset(at["jsonl"]),
        "json with fields": lambda: hr.JsonLinesDataset(at["jsonl"], record_defaults={"a": spec}),
        "fixed length": lambda: hr.FixedLengthRecordDataset(at["txt"], 2),
        "npy": lambda: hr.NumpyDataset(at["npy"]),
        "parquet": lambda: hr.ParquetDataset(at["parquet"], filters=[("a", ">", 0)], record_defaults={"a": 1}),
        "parquet by number": lambda: hr.ParquetDataset(at["parquet"], random_access=True),
        "arrow": lambda: hr.ArrowDataset(at["arrow"]),
        "arrow by number": lambda: hr.ArrowDataset(at["arrow"], random_access=True),
        "tar": lambda: hr.TarDataset(at["tar"], handlers="auto"),
        "tar by number": lambda: hr.TarDataset(at["tar"], random_access=True),
        "sql": lambda: hr.SqlDataset("SELECT a FROM t", at["db"]),
        "load": lambda: hr.Dataset.load(at["saved"]),
        "load with a reader": lambda: hr.Dataset.load(
            at["saved"], reader_func=lambda files: files.flat_map(lambda d: d)
        ),
    }


def _of_operations() -> dict[str, Build]:
    data, five = hr.Dataset, hr.Dataset.range(5)
    rows = five.map(np.arange)
    return {
        "from_tensor_slices": lambda: data.from_tensor_slices({"a": [1, 2]}),
        "from_tensors": lambda: data.from_tensors((1, {"a": 2})),
        "from_generator": lambda: data.from_generator(lambda: iter([1]), output_signature=hr.TensorSpec((), np.int64)),
        "random": lambda: data.random(1).take(2),
        "distributed_batch": lambda: five.distributed_batch(2),
        "source": lambda: data.source([1, 2]),
        "zip": lambda: data.zip((five, five)),
        "sample": lambda: data.sample_from_datasets([five, five], [0.5, 0.5], seed=1),
        "choose": lambda: data.choose_from_datasets([five, five], data.range(2)),
        "batch": lambda: five.batch(2),
        "padded_batch": lambda: rows.padded_batch(2),
        "ragged_batch": lambda: rows.ragged_batch(2),
        "rebatch": lambda: five.batch(2).rebatch([1, 2]),
        "unbatch": lambda: five.batch(2).unbatch(),
        "bucket": lambda: rows.bucket_by_sequence_length(len, [2], [1, 1]),
        "group_by_window": lambda: five.group_by_window(lambda x: x % 2, lambda _, group: group.batch(2), 2),
        "window": lambda: five.window(2).flat_map(lambda window: window.batch(2)),
        "interleave": lambda: five.interleave(data.range, 2),
        "pack": lambda: rows.pack(8),
        "resample": lambda: five.rejection_resample(lambda x: x % 2, [0.5, 0.5], seed=1),
        "scan": lambda: five.scan(0, lambda state, x: (state, x)),
        "take_while": lambda: five.take_while(lambda _: True),
        "filter": lambda: five.filter(lambda _: True),
        "random_map": lambda: five.random_map(lambda rng, x: x + rng.integers(2), seed=1),
        "unique": five.unique,
        "enumerate": five.enumerate,
        "shard": lambda: five.shard(2, 0),
        "skip": lambda: five.skip(1).take(2).repeat(2).concatenate(five),
        "shuffle": lambda: five.shuffle(3, seed=1),
        "assert_cardinality": lambda: five.assert_cardinality(5),
        "ignore_errors": five.ignore_errors,
        "vectorized": lambda: five.batch(2).map(hr.vectorized(lambda x: x)),
        "image": lambda: five.map(hr.image.resize).random_map(hr.image.random_flip_left_right),
        "decoding": lambda: five.map(hr.io.decode_jpeg).map(hr.audio.decode_wav),
        "parsing": lambda: five.map(parsed),
    }


def parsed(example: bytes) -> Any:
    return hr.io.parse_single_example(example, FEATURES)


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, hr.Dataset]:
    built = {**_of_files(_files(tmp_path_factory.mktemp("files"))), **_of_operations()}
    return {name: build() for name, build in built.items()}


def _node_classes(kind: type = Node) -> Iterator[type]:
    found: list[type] = kind.__subclasses__()
    for each in found:
        module = sys.modules[each.__module__]
        if getattr(module, each.__qualname__, None) is each:  # dataclasses with slots leave another one
            yield each
        yield from _node_classes(each)


def _modules() -> None:
    """Imports every module that can be imported with the extras that are installed."""
    for found in pkgutil.walk_packages(hr.__path__, "headrace."):
        if not found.name.endswith("__main__"):
            with contextlib.suppress(MissingExtraError, ModuleNotFoundError):
                importlib.import_module(found.name)


def _taken_in(datasets: dict[str, hr.Dataset], monkeypatch: pytest.MonkeyPatch) -> tuple[set[Any], set[Any]]:
    """The classes and the functions of headrace's that enter fingerprints."""
    kinds: set[Any] = set()
    called: set[Any] = set()
    kind, body = digest.ValueDigest.kind, functions._add_body

    def note_kind(self: Any, each: type) -> None:
        kinds.add(each)
        kind(self, each)

    def note_body(function: Any, *arguments: Any, **named: Any) -> None:
        called.add(function)
        body(function, *arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(digest.ValueDigest, "kind", note_kind)
        patched.setattr(functions, "_add_body", note_body)
        for dataset in datasets.values():
            hr.fingerprint(dataset)
    ours = "headrace"
    return (
        {each for each in kinds if each.__module__.partition(".")[0] == ours},
        {each for each in called if str(each.__globals__.get("__name__")).partition(".")[0] == ours},
    )


def test_every_operation_is_among_the_datasets_here(datasets: dict[str, hr.Dataset]) -> None:
    met = {type(node).__name__ for dataset in datasets.values() for node in nodes_of(dataset.__headrace_plan__())}
    _modules()
    assert {each.__name__ for each in _node_classes()} - met == NOT_WRITTEN


def test_no_two_operations_have_one_name() -> None:
    _modules()
    names = collections.Counter(
        known_name(each)
        for each in _node_classes()
        if each.__name__ not in DEALT | {"NodeOfSeveral", "UnaryNode", "Mixture", "Predicated"}
    )
    assert None not in names
    assert [name for name, count in names.items() if count > 1] == []


def test_all_of_headrace_that_enters_a_fingerprint_has_a_name_of_its_own(
    datasets: dict[str, hr.Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds, called = _taken_in(datasets, monkeypatch)
    assert len(kinds) > 20
    by_code = {function.__code__: function for function in called}  # those within others are made anew each time
    things = [*kinds, *by_code.values()]
    assert [thing for thing in things if known_name(thing) is None] == []
    assert len({known_name(thing) for thing in things}) == len(things)


@contextlib.contextmanager
def _moved(kind: type, module: types.ModuleType, name: str) -> Iterator[None]:
    """A class in another module, under another name unless it is public."""
    if not str(known_name(kind)).startswith("headrace: "):
        name = kind.__name__
    before = kind.__name__, kind.__qualname__, kind.__module__
    kind.__name__, kind.__qualname__, kind.__module__ = name, name, module.__name__
    setattr(module, name, kind)
    try:
        yield
    finally:
        kind.__name__, kind.__qualname__, kind.__module__ = before


def test_a_fingerprint_depends_on_no_module_and_no_private_class_name(
    datasets: dict[str, hr.Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: hr.fingerprint(dataset) for name, dataset in datasets.items()}
    kinds, called = _taken_in(datasets, monkeypatch)
    _modules()
    elsewhere = types.ModuleType("headrace.elsewhere")
    monkeypatch.setitem(sys.modules, elsewhere.__name__, elsewhere)
    with contextlib.ExitStack() as undone:
        for number, kind in enumerate({*kinds, *_node_classes()}):
            undone.enter_context(_moved(kind, elsewhere, f"Moved{number}"))
        for function in called:
            code = function.__code__
            undone.callback(setattr, function, "__code__", code)
            function.__code__ = code.replace(co_names=(*code.co_names, "headrace.elsewhere"))
        assert {name: hr.fingerprint(dataset) for name, dataset in datasets.items()} == before


def test_a_private_class_without_a_name_counts_by_its_place() -> None:
    assert known_name(digest.Line) is None
    assert known_name(known_as("of a test")(type("Any", (), {}))) == "headrace: of a test"
