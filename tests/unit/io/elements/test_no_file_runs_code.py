"""Whatever a file or a state says, reading it imports nothing and calls nothing: each reader is given hostile names."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import io
import json
import pickle
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.io.elements.hostile import (
    HOSTILE,
    LeavesTraces,
    Plain,
    Trap,
    Watched,
    elements_file,
    nothing_runs,
    ran,
    table,
)

import headrace as hr
from headrace.cli import main
from headrace.elements.structure import flatten
from headrace.errors import DataLossError, FailedPreconditionError, HeadraceError, InvalidArgumentError
from headrace.io.elements.file import ElementFile
from headrace.io.elements.json import element_from_json
from headrace.io.elements.structure import structure_from_json
from headrace.iterator.saved_state import checksum
from headrace.train.checkpoint_values import read_values

REFUSED = (DataLossError, FailedPreconditionError)
every_case = pytest.mark.parametrize("case", sorted(HOSTILE))


@pytest.fixture(autouse=True)
def _nothing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    with nothing_runs(monkeypatch, tmp_path / "importable"):
        yield


@every_case
def test_a_structure_of_hostile_names_is_refused(case: str) -> None:
    with pytest.raises(REFUSED):
        structure_from_json(HOSTILE[case])


def metadata(folder: Path) -> None:
    run = {"version": 1, "run": "run-1-ab", "shards": ["00000.elements"], "compression": None}
    (folder / "metadata.json").write_text(json.dumps(run))


@every_case
def test_load_refuses_it(case: str, tmp_path: Path) -> None:
    elements_file(tmp_path / "run-1-ab" / "00000.elements", table(HOSTILE[case]))
    metadata(tmp_path)
    with pytest.raises(REFUSED):
        hr.Dataset.load(tmp_path)
    read = hr.Dataset.load(tmp_path, reader_func=lambda files: files.flat_map(lambda file: file))
    with pytest.raises(HeadraceError):
        list(read)


@every_case
@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_a_cache_refuses_it(case: str, executor: str, tmp_path: Path) -> None:
    ds = hr.Dataset.range(1).cache(tmp_path, key="k").with_options(hr.Options(executor=executor))
    list(ds)
    (path,) = tmp_path.glob("*.elements")
    meta = ElementFile(path).meta
    path.unlink()
    elements_file(path, table(HOSTILE[case], meta=meta))
    with pytest.raises(REFUSED, match="cache"):
        list(hr.Dataset.range(1).cache(tmp_path, key="k").with_options(hr.Options(executor=executor)))


@every_case
def test_a_snapshot_refuses_it(case: str, tmp_path: Path) -> None:
    def input_fn() -> hr.Dataset:
        return hr.Dataset.range(1).snapshot(tmp_path, compression="GZIP")

    list(input_fn())
    (shard,) = tmp_path.glob("*/run-*/*.elements")
    elements_file(shard, table(HOSTILE[case]))
    with pytest.raises(REFUSED):
        list(input_fn())


@every_case
def test_the_command_line_looks_at_it_checks_it_and_removes_it(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = elements_file(tmp_path / "x.elements", table(HOSTILE[case]))
    assert main(["cache", "ls", str(tmp_path)]) == 0
    assert main(["cache", "verify", str(tmp_path)]) in (0, 1)
    assert main(["cache", "clear", str(tmp_path)]) == 0
    assert "x.elements" in capsys.readouterr().out
    assert not path.exists()


def signed(state: dict[str, Any]) -> dict[str, Any]:
    """The state as somebody would forge it: its checksum has no key."""
    return {**state, "checksum": checksum({key: state[key] for key in state if key != "checksum"})}


def scanning() -> hr.Dataset:
    return hr.Dataset.range(9).scan(Plain(0), lambda state, x: (Plain(state.x + x), state))


def _replace(state: Any, key: str, value: Any) -> int:
    """Puts a structure wherever a state has one."""
    found = 0
    for name, part in state.items() if isinstance(state, dict) else enumerate(state) if isinstance(state, list) else ():
        if name == key:
            state[name] = value
            found += 1
        else:
            found += _replace(part, key, value)
    return found


@every_case
@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_a_state_of_scan_refuses_it(case: str, executor: str) -> None:
    ds = scanning().with_options(hr.Options(executor=executor))
    with iter(ds) as iterator:
        next(iterator)
        state = copy.deepcopy(iterator.state_dict())
    assert _replace(state, "structure", HOSTILE[case])
    with iter(ds) as iterator, pytest.raises(HeadraceError):
        iterator.load_state_dict(signed(state))
        next(iterator)


@every_case
def test_an_element_in_a_state_refuses_it(case: str) -> None:
    leaves = [1] * json.dumps(HOSTILE[case]).count('"*"')
    with pytest.raises(REFUSED):
        element_from_json({"structure": HOSTILE[case], "leaves": leaves})
    with pytest.raises(DataLossError):
        element_from_json({"structure": HOSTILE[case], "leaves": leaves}, like=flatten((1, 2))[1])


@pytest.mark.parametrize(
    "leaf",
    [
        {"array": "AAAA", "dtype": "O", "shape": [1], "scalar": False},
        {"array": "", "dtype": ["x"], "shape": [1], "scalar": False},
        {"array": "", "dtype": "<i8", "shape": [1 << 62, 0], "scalar": False},
        {"array": "AAAA", "dtype": "<i8", "shape": [1 << 62], "scalar": False},
        {"texts": [["a"]], "shape": [1]},
        {"texts": [["a"]], "shape": [-5]},
        {"float": "no number"},
        {"bytes": "\ud800"},
        {"class": "os:system"},
        ["a"],
        1.5,
    ],
)
def test_a_leaf_that_is_none_is_refused(leaf: Any) -> None:
    with pytest.raises(DataLossError):
        element_from_json({"structure": "*", "leaves": [leaf]})


@dataclasses.dataclass
class Pickled:
    """What a pickle would call."""

    def __reduce__(self) -> Any:
        return Trap, ()


def checkpoint(folder: Path, shape: bytes, *arrays: np.ndarray) -> None:
    """One whose checksums are right: whoever damages a file on purpose can compute them."""
    (folder / "state.json").write_bytes(shape)
    np.savez(folder / "state.npz", *arrays)
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("state.json", "state.npz")}
    (folder / "manifest.json").write_text(json.dumps({"files": sums}))


def test_a_checkpoint_with_a_pickle_in_it_is_refused(tmp_path: Path) -> None:
    checkpoint(tmp_path, b'{"leaf": {"array": 0, "of": "numpy"}}', np.array([Pickled()], object))
    with pytest.raises(DataLossError, match="cannot be read"):
        read_values(tmp_path)


@pytest.mark.parametrize(
    "shape",
    [
        "[" * 5000,
        "{}x",
        "{}",
        '{"dict": 3}',
        '{"leaf": {"array": 7, "of": "numpy"}}',
        '{"leaf": {"array": 0, "of": "scalar", "dtype": "__name__"}}',
        '{"leaf": {"array": 0, "of": "os"}}',
        '{"dict": [], "class": "Path"}',
        '{"dict": [], "class": "defaultdict", "factory": "eval"}',
        "\xff",
    ],
)
def test_a_checkpoint_whose_shape_is_none_is_refused(shape: str, tmp_path: Path) -> None:
    checkpoint(tmp_path, shape.encode("latin-1"), np.zeros(1))
    with pytest.raises(REFUSED):
        read_values(tmp_path)


@every_case
def test_a_checkpoint_with_named_tuples_of_hostile_names_is_refused(case: str, tmp_path: Path) -> None:
    checkpoint(tmp_path, json.dumps({"named": HOSTILE[case], "parts": [0]}).encode(), np.zeros(1))
    with pytest.raises(REFUSED):
        read_values(tmp_path)


def npy(path: Path) -> hr.Dataset:
    np.save(path / "a.npy", np.array([Pickled()], object), allow_pickle=True)
    return hr.NumpyDataset(str(path / "a.npy"))


def npz(path: Path) -> hr.Dataset:
    np.savez(path / "a.npz", x=np.array([Pickled()], object))
    return hr.NumpyDataset(str(path / "a.npz"))


def tar(path: Path) -> hr.Dataset:
    with io.BytesIO() as buffer, tarfile.open(path / "a.tar", "w") as archive:
        np.save(buffer, np.array([Pickled()], object), allow_pickle=True)
        for name, content in (("0.npy", buffer.getvalue()), ("0.pkl", pickle.dumps(Pickled()))):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return hr.TarDataset(str(path / "a.tar"), handlers="auto")


def arrow(path: Path) -> hr.Dataset:
    import pyarrow as pa

    metadata = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Pickled()),
    }
    schema = pa.schema([pa.field("x", pa.int64(), metadata=metadata)])
    with pa.ipc.new_file(str(path / "a.arrow"), schema) as writer:
        writer.write_table(pa.table({"x": [1]}, schema=schema))
    return hr.ArrowDataset(str(path / "a.arrow"))


def parquet(path: Path) -> hr.Dataset:
    import pyarrow.parquet as pq

    arrow(path)
    import pyarrow as pa

    pq.write_table(pa.ipc.open_file(str(path / "a.arrow")).read_all(), str(path / "a.parquet"))
    return hr.ParquetDataset(str(path / "a.parquet"))


@pytest.mark.parametrize("build", [npy, npz, tar, arrow, parquet])
def test_a_pickle_in_a_file_of_another_format_is_never_loaded(build: Callable[[Path], Any], tmp_path: Path) -> None:
    try:
        elements = list(build(tmp_path))
    except HeadraceError:
        return
    assert not any(isinstance(leaf, Trap) for element in elements for leaf in flatten(element)[0])


@pytest.mark.parametrize(
    "run",
    [
        {"run": "../other", "shards": ["00000.elements"]},
        {"run": "/etc", "shards": ["passwd"]},
        {"run": "run-1-ab", "shards": ["../../00000.elements"]},
        {"run": "run-1-ab", "shards": ["/00000.elements"]},
        {"run": "run-1-ab", "shards": []},
        {"run": "run-1-ab", "shards": {"00000.elements": 1}},
        {"run": "run-1-ab", "shards": [["00000.elements"]]},
        {"run": "run-1-ab", "shards": "00000.elements"},
        {"run": ["run-1-ab"], "shards": ["00000.elements"]},
        {"run": "run-1-ab", "shards": ["00000.elements"], "compression": "XZ"},
        {"run": "run-1-ab", "shards": ["00000.elements"], "version": 2},
    ],
)
def test_what_names_the_files_of_a_save_names_none_outside_of_it(run: dict[str, Any], tmp_path: Path) -> None:
    good = table({"tuple": []})
    for place in ("other", "saved", "saved/run-1-ab"):
        elements_file(tmp_path / place / "00000.elements", good)
    contents = {"version": 1, "compression": None, **run}
    (tmp_path / "saved" / "metadata.json").write_text(json.dumps(contents))
    with pytest.raises(DataLossError, match=r"metadata.json is broken"):
        hr.Dataset.load(tmp_path / "saved")


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"[" * 100_000, b"[]", b"null", b'"x"', b"{}"])
def test_a_save_whose_names_are_no_names_is_broken(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_bytes(text)
    with pytest.raises(DataLossError, match=r"metadata.json is broken"):
        hr.Dataset.load(tmp_path)


def test_elements_of_a_module_that_is_not_imported_say_what_to_import(tmp_path: Path) -> None:
    structure = {"class": "module_with_a_trap:Point", "fields": ["x"], "parts": ["*"]}
    elements_file(tmp_path / "run-1-ab" / "00000.elements", table(structure))
    metadata(tmp_path)
    with pytest.raises(FailedPreconditionError, match=r"import 'module_with_a_trap' before reading") as caught:
        hr.Dataset.load(tmp_path)
    assert "00000.elements" in str(caught.value)


@pytest.mark.parametrize("kind", [LeavesTraces, Watched])
def test_what_would_run_when_it_is_looked_at_is_refused_when_it_is_written(kind: type, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"it has a __\w+__ of its own"):
        hr.Dataset.range(1).map(kind).save(str(tmp_path / "s"))
    ran.clear()
