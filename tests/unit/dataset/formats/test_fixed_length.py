from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.io.compressing import COMPRESS, SUFFIXES

import headrace as hr
from headrace.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError
from headrace.testing import check_every_restore_point

LAYOUT = {"record_bytes": 2, "header_bytes": 2, "footer_bytes": 1}


def told(dataset: hr.Dataset) -> list[Any]:
    """The elements, and the class of each error in its place."""
    iterator = iter(dataset)
    elements: list[Any] = []
    while len(elements) < 100:
        try:
            elements.append(next(iterator))
        except StopIteration:
            return elements
        except hr.errors.HeadraceError as error:
            elements.append(type(error))
    raise AssertionError("it does not end")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # As tf.data.FixedLengthRecordDataset delivers them; of a cut record tf.data, too, tells behind the good ones, when the
        # file is compressed. When it is not, it tells at once, and as an InvalidArgumentError.
        (b"HHaabbccF", [b"aa", b"bb", b"cc"]),
        (b"HHaaF", [b"aa"]),
        (b"HHF", []),
        (b"HHaabbcF", [b"aa", b"bb", DataLossError]),
        (b"H", [DataLossError]),
        (b"", [DataLossError]),
    ],
)
@pytest.mark.parametrize("kind", [None, "GZIP", "XZ"])
def test_records_are_cut_as_tensorflow_cuts_them(
    tmp_path: Path, content: bytes, expected: list[Any], kind: str | None
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(content if kind is None else COMPRESS[kind](content))
    dataset = hr.FixedLengthRecordDataset(path, **LAYOUT, compression_type=kind)  # type: ignore[arg-type]  # ints by name
    assert told(dataset) == expected
    check_every_restore_point(dataset)


def test_an_empty_file_without_header_has_no_records(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.touch()
    assert list(hr.FixedLengthRecordDataset(path, 2)) == []


def test_files_follow_each_other_and_what_cannot_be_read_is_skipped_where_one_asks_for_it(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.bin", "b.bin", "c.bin")]
    paths[0].write_bytes(b"001")
    paths[2].write_bytes(b"22")
    dataset = hr.FixedLengthRecordDataset(paths, 2)
    assert told(dataset) == [b"00", DataLossError, NotFoundError, b"22"]
    assert list(hr.FixedLengthRecordDataset(paths, 2, on_error="skip")) == [b"00", b"22"]


def test_batches_are_arrays_of_bytes_and_the_spec_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"00\0\x0022")
    dataset = hr.FixedLengthRecordDataset(path, 2)
    assert dataset.element_spec == hr.TensorSpec((), bytes)
    assert [batch.tolist() for batch in dataset.batch(2)] == [[b"00", b"\0\0"], [b"22"]]


def test_files_are_read_side_by_side_and_by_their_suffix(tmp_path: Path) -> None:
    paths = [tmp_path / f"a.bin{suffix}" for suffix in SUFFIXES.values()]
    for path, kind in zip(paths, SUFFIXES, strict=True):
        path.write_bytes(COMPRESS[kind](kind.encode().ljust(4)))
    dataset = hr.FixedLengthRecordDataset(paths, 4, compression_type="infer", num_parallel_reads=2)
    assert sorted(dataset) == sorted(kind.encode().ljust(4) for kind in SUFFIXES)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"00")
    path.chmod(0)
    with pytest.raises(FailedPreconditionError, match="no permission to read"):
        list(hr.FixedLengthRecordDataset(path, 2))


def test_a_file_that_becomes_shorter_while_it_is_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"001122")
    iterator = iter(hr.FixedLengthRecordDataset(path, 2, buffer_size=2))
    assert next(iterator) == b"00"
    with path.open("r+b") as file:
        file.truncate(2)
    with pytest.raises(DataLossError, match="it became shorter while it was read"):
        list(iterator)


@pytest.mark.parametrize(
    "argument",
    [{"record_bytes": 0}, {"header_bytes": -1}, {"footer_bytes": -1}, {"compression_type": "RAR"}, {"buffer_size": -1}],
)
def test_arguments_that_do_not_fit_are_refused_at_once(argument: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        hr.FixedLengthRecordDataset(**{"filenames": "a.bin", "record_bytes": 2, **argument})
