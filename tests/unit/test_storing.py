"""save, load and snapshot: what comes back, from how many files, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import SHAPES, folder

import headrace as hr
from headrace.errors import DataLossError, InvalidArgumentError, NotFoundError
from headrace.structure import normalize
from headrace.testing.restoring import check_every_restore_point, same

EXECUTORS = ["inline", "thread"]
_FOLDERS = iter(range(1 << 30))


def fresh() -> Path:
    return folder() / f"saved {next(_FOLDERS)}"


@given(
    st.sampled_from(sorted(set(SHAPES) - {"an object", "list"})),
    st.integers(0, 9),
    st.sampled_from([None, "GZIP"]),
    st.sampled_from(EXECUTORS),
)
def test_what_is_loaded_is_what_was_saved(shape: str, count: int, compression: str | None, executor: str) -> None:
    place = fresh()
    dataset = hr.Dataset.range(count).map(SHAPES[shape])
    dataset.save(place, compression)
    loaded = hr.Dataset.load(place).with_options(hr.Options(executor=executor))
    assert same(list(loaded), [normalize(element) for element in dataset])
    assert loaded.cardinality() == count


@given(st.integers(0, 9), st.integers(1, 4))
def test_elements_go_to_the_file_that_shard_func_says(count: int, files: int) -> None:
    place = fresh()
    hr.Dataset.range(count).save(place, shard_func=lambda x: np.int64(x % files))
    assert sorted(hr.Dataset.load(place)) == list(range(count))
    in_turn = hr.Dataset.load(place, reader_func=lambda all_: all_.interleave(lambda one: one, cycle_length=files))
    assert list(in_turn) == list(range(count))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_loaded_dataset_resumes_at_every_element(executor: str) -> None:
    place = fresh()
    hr.Dataset.range(8).map(lambda x: (x, str(x))).save(place, shard_func=lambda element: element[0] % 3)
    options = hr.Options(executor=executor)
    check_every_restore_point(hr.Dataset.load(place).shuffle(4, seed=1).batch(3).with_options(options))


def test_saving_again_takes_over_in_one_step() -> None:
    place = fresh()
    hr.Dataset.range(3).save(place)
    old = hr.Dataset.load(place)
    with pytest.raises(hr.errors.HeadraceError):
        hr.Dataset.range(3).map(lambda x: 1 // (x - 2)).save(place)
    assert list(hr.Dataset.load(place)) == [0, 1, 2]
    hr.Dataset.range(5).save(place)
    assert list(hr.Dataset.load(place)) == [0, 1, 2, 3, 4]
    assert list(old) == [0, 1, 2]
    assert len(list(place.iterdir())) == 2


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (hr.TensorSpec((), np.float32), r"they is TensorSpec\(shape=\(\), dtype=int64\)"),
        ((hr.TensorSpec((), np.int64),), "the elements in"),
    ],
)
def test_another_spec_is_refused(spec: Any, words: str) -> None:
    place = fresh()
    hr.Dataset.range(3).save(place)
    assert list(hr.Dataset.load(place, element_spec=hr.TensorSpec((), np.int64))) == [0, 1, 2]
    with pytest.raises(InvalidArgumentError, match=words):
        hr.Dataset.load(place, element_spec=spec)


def test_the_spec_of_saved_elements_is_known_without_reading_them() -> None:
    place = fresh()
    hr.Dataset.range(3).map(lambda x: (np.zeros((x, 2), np.float32), str(x))).save(place)
    assert hr.Dataset.load(place).element_spec == (hr.TensorSpec((None, 2), np.float32), hr.TensorSpec((), str))


def test_what_is_not_there_or_broken_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no dataset was saved here"):
        hr.Dataset.load(tmp_path)
    with pytest.raises(InvalidArgumentError, match="compression must be"):
        hr.Dataset.range(1).save(tmp_path, "LZ77")
    with pytest.raises(InvalidArgumentError, match="shard_func must return a number from 0 on"):
        hr.Dataset.range(1).save(tmp_path, shard_func=lambda x: -1)
    assert list(tmp_path.iterdir()) == []
    hr.Dataset.range(1).save(tmp_path)
    with pytest.raises(InvalidArgumentError, match="saved with compression=None"):
        hr.Dataset.load(tmp_path, compression="GZIP")
    (tmp_path / "metadata.json").write_text("{")
    with pytest.raises(DataLossError, match="metadata"):
        hr.Dataset.load(tmp_path)


# ------------------------------------------------------------------------------ snapshot


@pytest.mark.parametrize("compression", ["AUTO", "GZIP"])
def test_a_snapshot_is_written_once_and_found_by_the_same_pipeline(tmp_path: Path, compression: str) -> None:
    log = tmp_path / "calls.txt"

    def slow(x: int) -> int:
        with log.open("a") as file:
            file.write(f"{x} ")
        return x * x

    def input_fn(count: int) -> hr.Dataset:
        return hr.Dataset.range(count).map(slow).snapshot(tmp_path / "snapshots", compression)

    assert [list(input_fn(3)) for _ in range(3)] == [[0, 1, 4]] * 3
    assert log.read_text() == "0 1 2 "
    assert list(input_fn(4)) == [0, 1, 4, 9]
    assert log.read_text() == "0 1 2 0 1 2 3 "


def test_an_unfinished_snapshot_is_not_used(tmp_path: Path) -> None:
    def input_fn() -> hr.Dataset:
        return hr.Dataset.range(4).snapshot(tmp_path, shard_func=lambda x: x % 2)

    with iter(input_fn()) as iterator:
        next(iterator)
    assert not list(tmp_path.rglob("metadata.json"))
    assert list(input_fn()) == [0, 1, 2, 3]
    assert list(input_fn()) == [0, 2, 1, 3]


def test_a_snapshot_is_read_as_reader_func_says(tmp_path: Path) -> None:
    def input_fn() -> hr.Dataset:
        return hr.Dataset.range(4).snapshot(
            tmp_path,
            reader_func=lambda files: files.interleave(lambda one: one, cycle_length=2),
            shard_func=lambda x: x % 2,
        )

    assert [list(input_fn()) for _ in range(2)] == [[0, 1, 2, 3]] * 2
    check_every_restore_point(input_fn())
