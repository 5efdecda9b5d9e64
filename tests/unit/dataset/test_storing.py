"""save, load and snapshot: what comes back, from how many files, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import SHAPES, STORABLE, folder

import headrace as hr
from headrace.elements.structure import normalize
from headrace.errors import DataError, DataLossError, InvalidArgumentError, NotFoundError
from headrace.io.elements import shards
from headrace.io.elements.shards import WaitForFiles
from headrace.testing.restoring import check_every_restore_point, delivered, same

EXECUTORS = ["inline", "thread"]
_FOLDERS = iter(range(1 << 30))


def fresh() -> Path:
    return folder() / f"saved {next(_FOLDERS)}"


@given(
    st.sampled_from(STORABLE),
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
    hr.Dataset.range(8).map(lambda x: (x, str(x))).save(place, shard_func=lambda x, _: x % 3)
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
def test_a_snapshot_is_written_once_and_found_by_the_same_pipeline(
    tmp_path: Path, compression: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def slow(x: int) -> int:
        print(x, end=" ")  # noqa: T201 - a file that it names would be a part of the fingerprint
        return x * x

    def input_fn(count: int) -> hr.Dataset:
        return hr.Dataset.range(count).map(slow).snapshot(tmp_path / "snapshots", compression)

    assert [list(input_fn(3)) for _ in range(3)] == [[0, 1, 4]] * 3
    assert capsys.readouterr().out == "0 1 2 "
    assert list(input_fn(4)) == [0, 1, 4, 9]
    assert capsys.readouterr().out == "0 1 2 3 "


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


# ------------------------------------------------------------------------------ functions


def pairs(count: int = 6) -> hr.Dataset:
    return hr.Dataset.from_tensor_slices((np.arange(count), np.arange(count) * 10))


def by_first(a: int, b: int) -> int:
    assert b == 10 * a
    return a % 2


def fail_on_three(a: int, _: int) -> int:
    if a == 3:
        raise KeyError("three")
    return a % 2


def test_shard_func_gets_a_tuple_as_its_arguments(tmp_path: Path) -> None:
    pairs().save(tmp_path / "saved", shard_func=by_first)
    assert [a for a, _ in hr.Dataset.load(tmp_path / "saved")] == [0, 2, 4, 1, 3, 5]
    for expected in ([0, 1, 2, 3, 4, 5], [0, 2, 4, 1, 3, 5]):
        assert [a for a, _ in pairs().snapshot(tmp_path / "snapshot", shard_func=by_first)] == expected
    dicts = hr.Dataset.range(2).map(lambda n: {"n": n})
    dicts.save(tmp_path / "dicts", shard_func=lambda element: 1 - element["n"])
    assert [element["n"] for element in hr.Dataset.load(tmp_path / "dicts")] == [1, 0]


def test_what_shard_func_raises_names_it_and_the_element_and_nothing_is_saved(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"save 'fail_on_three' \(test_storing.py:\d+\), element 3: KeyError") as caught:
        pairs().save(tmp_path, shard_func=fail_on_three)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(InvalidArgumentError, match=r"element 0: shard_func must return a number from 0 on, .* 'x'"):
        pairs().save(tmp_path, shard_func=lambda *_: "x")
    with pytest.raises(DataError, match=r"element 0: TypeError: .* takes 1 positional argument but 2 were given"):
        pairs().save(tmp_path, shard_func=lambda element: element)
    with pytest.raises(InvalidArgumentError, match="save: shard_func: the function must be callable, not int"):
        pairs().save(tmp_path, shard_func=3)  # type: ignore[arg-type]  # tested
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_a_failing_shard_func_takes_its_elements_place_in_a_snapshot(tmp_path: Path, executor: str) -> None:
    dataset = pairs().snapshot(tmp_path, shard_func=fail_on_three).with_options(hr.Options(executor=executor))
    came: list[Any] = list(delivered(iter(dataset), 10))
    assert [element[0] for element in came[:3] + came[4:]] == [0, 1, 2, 4, 5]
    assert isinstance(came[3], DataError)
    assert "snapshot 'fail_on_three'" in str(came[3])
    assert "element 3: KeyError" in str(came[3])
    assert not list(tmp_path.rglob("metadata.json"))
    check_every_restore_point(dataset, executors=("thread", "inline"))


@pytest.mark.parametrize("take", ["load", "snapshot"])
def test_a_reader_func_that_is_none_is_said_when_the_dataset_is_built(tmp_path: Path, take: str) -> None:
    pairs().save(tmp_path)

    def build(reader_func: Any) -> hr.Dataset:
        if take == "load":
            return hr.Dataset.load(tmp_path, reader_func=reader_func)
        return pairs().snapshot(tmp_path, reader_func=reader_func)

    with pytest.raises(
        TypeError, match=rf"{take} '<lambda>' \(test_storing.py:\d+\): reader_func is called with one argument"
    ):
        build(lambda one, other: one)
    with pytest.raises(InvalidArgumentError, match="must be callable"):
        build(3)
    if take == "load":
        with pytest.raises(TypeError, match=r"load '<lambda>' .* must return a Dataset, but returned int"):
            build(lambda files: 3)


def test_load_waits_until_something_is_saved(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Saving(WaitForFiles):
        def pause(self, folder: Path) -> None:
            with mock.patch("time.sleep"):
                super().pause(folder)
            if self.looks == 100:
                pairs().save(folder)

    with mock.patch.object(shards, "WaitForFiles", Saving):
        assert len(hr.Dataset.load(tmp_path / "later", wait=True)) == 6
    assert [record.getMessage() for record in caplog.records] == [
        f"load: still waiting for a dataset to be saved in {tmp_path / 'later'}"
    ]


def test_checkpoints_of_a_save_are_refused_with_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"leave checkpoint_args out.*shard\(n, i\).save"):
        pairs().save(tmp_path, checkpoint_args={"directory": "c"})


@pytest.mark.parametrize("act", [hr.Dataset.range(3).save, hr.Dataset.range(3).snapshot, hr.Dataset.load])
def test_a_path_that_names_nothing_is_refused_and_nothing_is_written(
    act: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgumentError, match=f"{act.__name__}: path is empty"):
        act("")
    assert not [*tmp_path.iterdir()]
