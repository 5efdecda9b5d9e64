"""dataset[i]: what has it, what is refused, and what else a dataset with numbers is to Python, NumPy and PyTorch."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import DataError, HeadraceError
from headrace.testing.restoring import delivered, same

data = hr.Dataset


def shuffled() -> hr.Dataset:
    return data.range(7).shuffle(4, seed=3)


def twice(dataset: hr.Dataset) -> hr.Dataset:
    return data.zip({"a": dataset, "b": dataset})


def noisy(generator: np.random.Generator, x: int) -> int:
    return x * 1000 + int(generator.integers(1000))


PLANS: dict[str, Callable[[], hr.Dataset]] = {
    "tensors": lambda: data.from_tensors({"x": [1, 2], "y": "text"}),
    "slices": lambda: data.from_tensor_slices((np.eye(3), ["a", "b", "c"])),
    "range": lambda: data.range(10, 0, -3),
    "random": lambda: data.random(seed=1).take(5),
    "source": lambda: data.source(["a", "b"]).skip(1),
    "shuffle": shuffled,
    "map": lambda: shuffled().map(lambda x: (x, x * x), num_parallel_calls=2).map(lambda x, y: x + y),
    "random_map": lambda: shuffled().random_map(noisy, seed=2),
    "enumerate": lambda: shuffled().enumerate(5),
    "batch": lambda: shuffled().batch(3),
    "batch drop_remainder": lambda: shuffled().batch(3, drop_remainder=True),
    "parallel batch": lambda: shuffled().batch(3, num_parallel_calls=2),
    "padded_batch": lambda: shuffled().map(np.arange).padded_batch(3),
    "ragged_batch": lambda: shuffled().map(np.arange).ragged_batch(3),
    "batch of batches": lambda: shuffled().repeat(2).batch(2).batch(2),
    "shard of skip of take": lambda: shuffled().take(6).skip(1).shard(2, 1),
    "take all": lambda: shuffled().take(-1),
    "skip all": lambda: shuffled().skip(-1),
    "repeat": lambda: shuffled().repeat(3).shuffle(5, seed=4),
    "repeat of no turn": lambda: shuffled().repeat(0),
    "endless repeat": lambda: shuffled().repeat().take(30),
    "endless repeat of nothing": lambda: data.range(0).repeat(),
    "concatenate": lambda: shuffled().concatenate(shuffled()),
    "concatenate with itself": lambda: shuffled().apply(lambda ds: ds.concatenate(ds)),
    "zip": lambda: data.zip(shuffled(), data.range(5)),
    "zip with itself": lambda: twice(shuffled()),
    "cache": lambda: shuffled().cache().repeat(2),
    "prefetch and options": lambda: data.range(7).shuffle(7).prefetch(2).with_options(hr.Options(seed=9)),
    "assert_cardinality": lambda: shuffled().assert_cardinality(7),
}


@pytest.mark.parametrize("plan", PLANS)
def test_each_operation_gives_by_number_what_it_gives_in_order(plan: str) -> None:
    dataset = PLANS[plan]()
    expected = list(PLANS[plan]())
    assert same([dataset[number] for number in range(len(expected))], expected)
    assert same([dataset[number] for number in range(-len(expected), 0)], expected)
    with pytest.raises(IndexError, match=f"there is no element {len(expected)}: the dataset has "):
        dataset[len(expected)]


def opened(x: int) -> hr.Dataset:
    return data.range(x)


REFUSED: dict[str, Callable[[], hr.Dataset]] = {
    "filter 'bool'": lambda: data.range(3).filter(bool).batch(2).prefetch(1),
    "flat_map 'opened'": lambda: data.range(3).flat_map(opened),
    "interleave 'opened'": lambda: data.zip(data.range(2), data.range(3).interleave(opened)),
    "from_generator '<lambda>'": lambda: data.from_generator(lambda: iter([1])),
    "unbatch": lambda: data.range(3).batch(2).unbatch(),
    "window": lambda: data.range(3).window(2),
    "unique": lambda: data.range(3).unique(),
    "scan": lambda: data.range(3).scan(0, lambda state, x: (state, x)),
    "take_while 'bool'": lambda: data.range(3).take_while(bool),
    "ignore_errors": lambda: data.range(3).ignore_errors(),
    "map 'abs'": lambda: data.range(3).map(abs, on_error="skip"),
    "sample_from_datasets": lambda: data.sample_from_datasets([data.range(3), data.range(3)], seed=1),
    "TextLineDataset": lambda: hr.TextLineDataset("absent.txt"),
    "assert_cardinality": lambda: data.range(3).assert_cardinality(4),
    "shuffle": lambda: data.range(3).repeat().shuffle(-2, seed=1),
}


@pytest.mark.parametrize("operation", REFUSED)
def test_what_has_no_numbers_is_refused_by_name(operation: str) -> None:
    with pytest.raises(TypeError) as caught:
        REFUSED[operation]()[0]
    assert str(caught.value).startswith(f"dataset[i] is not possible after {operation}")


@pytest.mark.parametrize("index", [slice(1, 3), "a", 1.0, None, True, (0, 1)])
def test_only_an_int_is_a_number(index: Any) -> None:
    with pytest.raises(TypeError, match=r"take\(stop - start\)" if isinstance(index, slice) else "must be an int"):
        data.range(5)[index]
    assert data.range(5)[np.int64(3)] == 3


def test_an_endless_dataset_has_no_negative_numbers_and_no_length() -> None:
    endless = data.range(3).repeat()
    assert endless[10**12] == 1
    with pytest.raises(IndexError, match="no end"):
        endless[-1]
    with pytest.raises(TypeError, match="infinite"):
        len(endless)


def test_nothing_runs_but_what_the_element_needs() -> None:
    called: list[int] = []

    def noted(x: int) -> int:
        called.append(x)
        return x

    dataset = data.range(1_000_000).map(noted).shuffle(1_000_000, seed=1).repeat().batch(4)
    batch = dataset[600_000]
    assert called == batch.tolist()


def failing(x: int) -> int:
    if x == 2:
        raise ValueError("no two")
    return x


def test_an_element_that_fails_raises_what_a_run_raises_and_keeps_its_number() -> None:
    dataset = data.range(5).map(failing)
    with iter(dataset) as iterator:
        assert [next(iterator), next(iterator)] == [0, 1]
        with pytest.raises(DataError) as in_order:
            next(iterator)
    for _ in range(2):
        with pytest.raises(DataError, match="element 2: ValueError: no two") as by_number:
            dataset[2]
        assert str(by_number.value) == str(in_order.value)
        assert isinstance(by_number.value.__cause__, ValueError)
    assert dataset[3] == 3
    with pytest.raises(DataError, match="element 2"):
        dataset.batch(2)[1]


def test_the_first_that_fails_of_a_row_is_its_failure() -> None:
    one, other = data.range(5).map(failing, name="one"), data.range(5).map(failing, name="other")
    for first, second in ((one, other), (data.range(9), other)):
        row = data.zip(first, second)
        with pytest.raises(DataError, match=f"'{'one' if first is one else 'other'}'.*element 2"):
            row[2]
        assert row[-1] == (4, 4)


def test_a_failure_that_a_function_replaces_is_replaced_here_too() -> None:
    dataset = data.range(5).map(failing, on_error=lambda error: -1)
    assert [dataset[number] for number in range(5)] == [0, 1, -1, 3, 4]


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_whole_cache_is_read_and_none_is_filled(tmp_path: Path, *, on_disk: bool) -> None:
    made: list[int] = []

    def noted(x: int) -> tuple[int, int]:
        made.append(x)
        return x, x * x

    plain = data.range(9).shuffle(5, seed=1).map(noted)
    dataset = plain.cache(str(tmp_path / "kept"), key="numbers") if on_disk else plain.cache()
    first = dataset[0]
    assert len(made) == 1
    expected = list(dataset)
    assert expected[0] == first
    del made[:]
    assert [dataset[number] for number in range(9)] == expected == list(dataset)
    assert not made


def test_a_window_has_numbers_inside() -> None:
    first, *_ = data.range(5).map(str).window(3)
    assert [first[0], first[2], first[-1]] == ["0", "2", "2"]


def test_files_by_number_have_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    assert hr.TextLineDataset(path, random_access=True).map(str.upper)[-1] == "THREE"
    np.save(tmp_path / "a.npy", np.arange(6).reshape(3, 2))
    assert hr.NumpyDataset(tmp_path / "a.npy")[1].tolist() == [2, 3]
    data.range(5).filter(lambda x: x != 2).save(str(tmp_path / "saved"))
    assert data.load(str(tmp_path / "saved"))[2] == 3


# ------------------------------------------------------------ a dataset among others


def test_numpy_takes_a_dataset_for_one_object() -> None:
    dataset = data.range(3)
    assert np.array(dataset).shape == ()
    assert np.array([dataset, dataset]).shape == (2,)
    (element,) = data.from_tensors(dataset)
    assert element is dataset
    with pytest.raises(ValueError, match="is a scalar"):
        data.from_tensor_slices({"x": dataset})


def test_python_reads_a_dataset_in_order() -> None:
    dataset = shuffled()
    list(dataset)
    assert sorted(dataset) == list(range(7))
    assert list(reversed(data.range(3))) == [2, 1, 0]
    assert 3 in dataset
    first, *others = dataset
    assert {first, *others} == set(range(7))
    assert data.range(0)  # a dataset is true, empty or not
    assert list(itertools.islice(data.range(3).repeat(), 4)) == [0, 1, 2, 0]


def test_a_copy_has_the_same_numbers() -> None:
    dataset = data.range(7).shuffle(7)
    expected = [dataset[number] for number in range(7)]
    for other in (copy.copy(dataset), copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))):
        assert [other[number] for number in range(7)] == expected
        assert sorted(other) == list(range(7))


def test_a_dataset_is_a_source_by_number_itself() -> None:
    inner = shuffled().map(failing)
    outer = data.source(inner, num_parallel_calls=2).shard(2, 0)
    expected = [shuffled()[number] for number in range(0, 7, 2)]
    with iter(outer) as iterator:
        elements = list(delivered(iterator, 10))
    failures = [element for element in elements if isinstance(element, HeadraceError)]
    assert [2 if isinstance(element, HeadraceError) else element for element in elements] == expected
    assert len(failures) == 1
    assert "map 'failing'" in str(failures[0])


def test_pytorchs_loader_takes_it_for_a_map_style_dataset() -> None:
    loading = pytest.importorskip("torch.utils.data")
    dataset = data.from_tensor_slices((np.arange(10), np.arange(20).reshape(10, 2))).map(add)
    batches = list(loading.DataLoader(dataset, batch_size=4))
    assert [numbers.tolist() for numbers, _ in batches] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    assert batches[-1][1].tolist() == [[16, 17], [18, 19]]
    mixed = loading.DataLoader(dataset, batch_size=None, shuffle=True)
    assert sorted(int(number) for number, _ in mixed) == list(range(1, 11))


def add(x: int, y: np.ndarray) -> tuple[int, np.ndarray]:
    return x + 1, y.copy()
