from __future__ import annotations

import io
import pickle
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.elements.rows_and_columns import rows_of
from headrace.elements.structure import LEAF
from headrace.errors import (
    DataLossError,
    FailedPreconditionError,
    HeadraceError,
    InvalidArgumentError,
    NotFoundError,
)
from headrace.io.npy.array import array_of_bytes, arrays_of_file
from headrace.io.npy.rows import NumpyRows
from headrace.testing.restoring import same


def saved(path: Path, array: Any = None, **arrays: Any) -> str:
    if arrays:
        np.savez(path, **arrays)
    else:
        np.save(path, array, allow_pickle=True)
    return str(path)


def is_mapped(array: Any) -> bool:
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return isinstance(array, np.memmap)


ARRAYS: dict[str, Any] = {
    "numbers": np.arange(12, dtype=np.float32).reshape(6, 2),
    "fortran": np.asfortranarray(np.arange(12).reshape(6, 2)),
    "other bytes": np.arange(6, dtype=">i4"),
    "no rows": np.zeros((0, 3), np.uint8),
    "nothing in rows": np.zeros((3, 0)),
    "texts": np.array(["a", "", "éé"]),
    "bytes": np.array([b"a", b"bc"]),
    "times": np.array(["2020-02-29", "NaT"], "M8[D]"),
    "complex": np.array([1j, 2]),
    "bools": np.array([True, False]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_is_read_as_it_was_saved(tmp_path: Path, name: str) -> None:
    array = ARRAYS[name]
    rows = NumpyRows([saved(tmp_path / "a.npy", array)])
    assert len(rows) == len(array)
    expected = array.astype(object if array.dtype.kind in "US" else array.dtype.newbyteorder("="))
    found = rows.columns(np.arange(len(array))) if len(array) else expected
    assert found.dtype == expected.dtype
    assert same(found, expected)
    assert all(map(same, [rows[number] for number in range(len(array))], rows_of(LEAF, [expected])))


def test_what_lies_in_a_file_as_it_is_is_mapped(tmp_path: Path) -> None:
    assert is_mapped(arrays_of_file(saved(tmp_path / "a.npy", np.arange(5))))
    archive = arrays_of_file(saved(tmp_path / "a.npz", x=np.arange(5), y=np.ones((5, 2))))
    assert isinstance(archive, dict)
    assert {name: is_mapped(array) for name, array in archive.items()} == {"x": True, "y": True}
    np.savez_compressed(tmp_path / "b.npz", x=np.arange(5))
    packed = arrays_of_file(str(tmp_path / "b.npz"))
    assert isinstance(packed, dict)
    assert not is_mapped(packed["x"])
    assert packed["x"].tolist() == [0, 1, 2, 3, 4]


def test_nobody_can_change_a_file_through_its_rows(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.npy", np.arange(5))
    run = NumpyRows([path]).columns(np.arange(2))
    with pytest.raises(ValueError, match="read-only"):
        run[0] = 7


def test_archives_are_dicts_of_their_arrays(tmp_path: Path) -> None:
    paths = [saved(tmp_path / f"{n}.npz", x=np.arange(n), label=np.array(["a", "b", "c"][:n])) for n in (3, 1)]
    rows = NumpyRows(paths)
    assert rows.__getitems__([3, 1]) == [{"x": 0, "label": "a"}, {"x": 1, "label": "b"}]
    assert rows.columns(np.array([3, 1, 0]))["x"].tolist() == [0, 1, 0]


def test_structured_arrays_are_dicts_of_their_fields(tmp_path: Path) -> None:
    array = np.array([(1, "a", (2.0,)), (3, "b", (4.0,))], [("n", "i8"), ("é", "U3"), ("in", [("x", "f8")])])
    rows = NumpyRows([saved(tmp_path / "a.npy", array)])
    assert rows[1] == {"n": 3, "é": "b", "in": {"x": 4.0}}


def test_names_of_fields_in_any_script_are_read(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"format 3\.0"):
        path = saved(tmp_path / "a.npy", np.array([(1,)], [("数", "i8")]))
    assert NumpyRows([path])[0] == {"数": 1}


@given(lengths=st.lists(st.integers(0, 5), max_size=4), data=st.data())
def test_several_files_are_one(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("several")
    starts = np.cumsum([0, *lengths]).tolist()
    paths = [
        saved(folder / f"{number}.npy", np.arange(start, start + length))
        for number, (start, length) in enumerate(zip(starts, lengths, strict=False))
    ]
    rows = NumpyRows(paths)
    assert len(rows) == starts[-1]
    any_numbers = st.lists(st.integers(0, max(0, starts[-1] - 1)), max_size=9)
    runs = st.builds(lambda first, last: list(range(first, last)), *[st.integers(0, starts[-1])] * 2)
    numbers = data.draw(any_numbers | runs) if starts[-1] else []
    if numbers:
        assert rows.columns(np.array(numbers)).tolist() == numbers
        assert rows.__getitems__(numbers) == numbers
    with pytest.raises((InvalidArgumentError, AssertionError)):
        rows[starts[-1]]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            np.zeros((2, 3), np.float32),
            r"rows of float32 and shape \[3\], and in .*a\.npy they are of float32 and shape \[2\]",
        ),
        (np.zeros((2, 2)), "rows of float64 and shape"),
        (np.zeros(2, [("x", "f4")]), "has the arrays"),
    ],
)
def test_files_that_differ_are_both_named(tmp_path: Path, other: Any, message: str) -> None:
    first = saved(tmp_path / "a.npy", np.zeros((2, 2), np.float32))
    with pytest.raises(InvalidArgumentError, match=message):
        NumpyRows([first, saved(tmp_path / "b.npy", other)])


def test_the_arrays_of_an_archive_have_one_length(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"array \['y'\] has 2 rows, and \['x'\] has 3"):
        NumpyRows([saved(tmp_path / "a.npz", x=np.zeros(3), y=np.zeros(2))])


@pytest.mark.parametrize("array", [np.array([{}], object), np.array([(1, None)], [("x", "i4"), ("y", "O")])])
def test_a_pickle_is_never_loaded(tmp_path: Path, array: Any) -> None:
    for path in (saved(tmp_path / "a.npy", array), saved(tmp_path / "a.npz", x=array)):
        with pytest.raises(InvalidArgumentError, match="only a pickle could bring back"):
            NumpyRows([path])


def test_an_array_without_an_axis_and_an_archive_without_arrays_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="has no axis"):
        NumpyRows([saved(tmp_path / "a.npy", np.array(3.0))])
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "nothing")
    with pytest.raises(InvalidArgumentError, match="no arrays in it"):
        NumpyRows([str(tmp_path / "a.npz")])


@pytest.mark.parametrize("left", [0, 5, 20, 100, -1])
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_a_truncated_file_is_data_loss(tmp_path: Path, left: int, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    saved(path, x=np.arange(5)) if suffix == "npz" else saved(path, np.arange(5))
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(DataLossError, match=rf"a\.{suffix}"):
        NumpyRows([str(path)])


def test_a_header_that_claims_more_than_the_file_has_takes_no_memory(tmp_path: Path) -> None:
    claim = io.BytesIO()
    np.lib.format.write_array_header_1_0(claim, {"descr": "<f8", "fortran_order": False, "shape": (1 << 50,)})
    (tmp_path / "a.npy").write_bytes(claim.getvalue())
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", claim.getvalue())
    for name in ("a.npy", "a.npz"):
        with pytest.raises(DataLossError, match="truncated"):
            NumpyRows([str(tmp_path / name)])


def headed(header: bytes, content: bytes = b"", version: int = 1, length: int | None = None) -> bytes:
    width = 2 if version == 1 else 4
    length = len(header) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + length.to_bytes(width, "little") + header + content


def header_of(shape: str, dtype: str = "<f8") -> bytes:
    return f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}\n".encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (headed(header_of("(3,)"), version=2, length=2**32 - 1), "4294967295 bytes, and 10000 is the most"),
        (headed(b"[" * 9_000), "header is damaged"),
        (headed(b"-" * 9_000 + b"1"), "header is damaged: MemoryError"),
        (headed(b"1if 2else 3"), "header is damaged"),
        (headed(b"{'shape': (3,)}"), "does not say"),
        (headed(header_of("(3,)")[:-2] + b"\0" * 20), "header is damaged"),
        (headed(header_of("(3,)", "<q9")), "header is damaged"),
        (headed(header_of("(-1, -3)"), bytes(24)), "no shape that an array could have"),
        (headed(header_of("(True,)"), bytes(8)), "no shape that an array could have"),
        (headed(header_of("(0, 4611686018427387904, 8)")), "too big"),
        (headed(header_of("(1000000000000,)")), "truncated"),
        (headed(header_of("(3,)")[:20], length=90), "ends within its header"),
    ],
)
def test_a_damaged_header_is_data_loss_that_takes_no_memory(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", content)
    for name in ("a.npy", "a.npz"):
        tracemalloc.start()
        with pytest.raises(DataLossError, match=message):
            NumpyRows([str(tmp_path / name)])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 << 20


@pytest.mark.parametrize(
    "array", [np.array(3.0), np.arange(6).reshape(3, 2), np.zeros((2, 3), order="F"), np.zeros((0, 2))]
)
def test_an_array_in_bytes_is_read_as_it_was_saved_and_can_be_changed(array: Any) -> None:
    sink = io.BytesIO()
    np.save(sink, array)
    read = array_of_bytes(sink.getvalue(), "here")
    assert same(read, array)
    assert read.flags.writeable
    assert read.flags.f_contiguous == array.flags.f_contiguous


@pytest.mark.parametrize(("shape", "message"), [("(1000000000,)", "truncated"), ("(-1,)", "no shape")])
def test_an_array_in_bytes_takes_no_more_memory_than_they_do(shape: str, message: str) -> None:
    tracemalloc.start()
    with pytest.raises(DataLossError, match=f"here.*{message}"):
        array_of_bytes(headed(header_of(shape), bytes(8)), "here")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


def test_a_header_of_python_2_is_read_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(headed(header_of("(2L, 3L)", "|u1"), bytes(range(6))))
    assert NumpyRows([str(tmp_path / "a.npy")])[1].tolist() == [3, 4, 5]


def test_texts_without_a_character_are_as_many_as_the_header_says_and_take_no_memory(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(headed(header_of("(1000000000,)", "<U0")))
    rows = NumpyRows([str(tmp_path / "a.npy")])
    assert len(rows) == 1_000_000_000
    assert rows[999_999_999] == ""


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_text_of_numbers_that_are_no_characters_fails_alone(tmp_path: Path, order: str) -> None:
    texts = np.array(["ab", "c", "d"], f"{order}U2")
    texts.view(f"{order}u4")[2] = 0x110000
    rows = NumpyRows([saved(tmp_path / "a.npy", texts)])
    assert rows.__getitems__([0, 2]) == ["ab", "d"]
    with pytest.raises(DataLossError, match=r"a\.npy:1: .*no characters"):
        rows.__getitems__([0, 1])


def zipped(folder: Path, content: bytes, **claims: int) -> str:
    """An archive of one compressed member, whose entry in the directory at the end claims something else."""
    path = folder / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", content)
        for name, value in claims.items():
            setattr(archive.getinfo("x.npy"), name, value)
    return str(path)


ARRAY = headed(header_of("(3,)", "|u1"), b"abc")


@pytest.mark.parametrize("claims", [{"compress_size": 2**31 - 1}, {"CRC": 7}, {"file_size": 40}])
def test_a_member_that_is_not_what_the_archive_says_is_data_loss(tmp_path: Path, claims: dict[str, int]) -> None:
    tracemalloc.start()
    with pytest.raises(DataLossError, match=r"a\.npz"):
        NumpyRows([zipped(tmp_path, ARRAY, **claims)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


def test_a_size_that_an_archive_claims_is_not_asked_for(tmp_path: Path) -> None:
    path = zipped(tmp_path, ARRAY, file_size=2**31 - 1)
    tracemalloc.start()
    assert NumpyRows([path])[2] == {"x": ord("c")}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


def test_of_a_member_that_goes_on_behind_its_array_no_more_is_decompressed(tmp_path: Path) -> None:
    path = zipped(tmp_path, ARRAY + bytes(64 << 20))
    tracemalloc.start()
    with pytest.raises(DataLossError, match="more follows than the 3 bytes of its array"):
        NumpyRows([path])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


def test_a_compression_that_is_not_numpys_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("x.npy", ARRAY)
    with pytest.raises(InvalidArgumentError, match="savez_compressed"):
        NumpyRows([str(tmp_path / "a.npz")])


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such file"):
        NumpyRows([str(tmp_path / "absent.npy")])
    with pytest.raises(FailedPreconditionError, match="not a file"):
        NumpyRows([str(tmp_path)])


def test_a_file_that_was_changed_is_told(tmp_path: Path) -> None:
    rows = NumpyRows([saved(tmp_path / "a.npy", np.arange(5))])
    with (tmp_path / "a.npy").open("r+b") as file:
        file.truncate(60)
    with pytest.raises(DataLossError, match="changed since the dataset was made"):
        rows[4]


def test_files_elsewhere_are_read_whole() -> None:
    sink = io.BytesIO()
    np.save(sink, np.arange(5))
    with fsspec.open("memory://numpy/a.npy", "wb") as file:
        file.write(sink.getvalue())
    assert NumpyRows(["memory://numpy/a.npy"])[3] == 3


def test_another_process_maps_the_file_anew(tmp_path: Path) -> None:
    rows = NumpyRows([saved(tmp_path / "a.npy", np.arange(100_000))])
    pickled = pickle.dumps(rows)
    assert len(pickled) < 1_000
    assert pickle.loads(pickled)[99_999] == 99_999


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    folder = tmp_path_factory.mktemp("fuzzed")
    saved(folder / "a.npy", np.arange(5))
    saved(folder / "a.npz", x=np.arange(5), y=np.array(["a"] * 5))
    np.savez_compressed(folder / "b.npz", x=np.arange(500))
    return folder, {path.name: path.read_bytes() for path in folder.iterdir()}


@given(
    st.sampled_from(["a.npy", "a.npz", "b.npz"]),
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=4),
    st.none() | st.integers(0, 99),
)
def test_whatever_is_in_a_file_it_is_read_or_refused(
    whole: tuple[Path, dict[str, bytes]], name: str, changes: list[tuple[int, int]], cut: int | None
) -> None:
    folder, contents = whole
    changed = bytearray(contents[name])
    for place, value in changes:
        changed[place % len(changed)] = value
    path = folder / f"changed-{name}"
    path.unlink(missing_ok=True)  # the present one may be mapped
    path.write_bytes(changed if cut is None else changed[: len(changed) * cut // 100])
    try:
        rows = NumpyRows([str(path)])
        if len(rows):
            rows.__getitems__([0, len(rows) - 1])
    except HeadraceError:
        pass
