"""Dataset.source: whatever gives elements by number."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import DataError, InvalidArgumentError
from headrace.testing.restoring import check_every_restore_point, same


class Rows:
    """A map-style dataset, as PyTorch's users write them, that counts what is asked of it."""

    def __init__(self, length: int, broken: int = -1) -> None:
        self.length = length
        self.broken = broken
        self.asked: list[int] = []

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[list[int], str]:
        self.asked.append(index)
        if index == self.broken:
            raise ValueError("broken")
        return [index, index], str(index)


@pytest.mark.parametrize("executor", ["inline", "thread"])
@pytest.mark.parametrize("length", [0, 1, 7])
def test_it_gives_each_element_with_lists_as_arrays(executor: str, length: int) -> None:
    dataset = hr.Dataset.source(Rows(length)).with_options(hr.Options(executor=executor))
    assert same(list(dataset), [(np.array([i, i]), str(i)) for i in range(length)])
    assert len(dataset) == length
    check_every_restore_point(dataset.shuffle(3, seed=1).batch(2))


def test_a_shuffle_behind_it_moves_numbers_and_only_what_is_taken_is_fetched() -> None:
    rows = Rows(1000)
    taken = list(hr.Dataset.source(rows, num_parallel_calls=2).shuffle(1000, seed=1).take(3).prefetch(0))
    assert len(taken) == 3
    assert len(rows.asked) < 200


def test_a_failure_names_the_users_method_and_the_number() -> None:
    with iter(hr.Dataset.source(Rows(3, broken=1))) as iterator:
        next(iterator)
        with pytest.raises(DataError, match=r"Rows.__getitem__' \(test_sources.py:\d+\).*element 1.*broken"):
            next(iterator)
        assert next(iterator)[1] == "2"


def test_lists_and_arrays_are_sources_as_well() -> None:
    assert list(hr.Dataset.source(["a", "b"])) == ["a", "b"]
    assert same(list(hr.Dataset.source(np.eye(2))), list(np.eye(2)))


@pytest.mark.parametrize("source", [3, iter([1]), {1, 2}])
def test_what_gives_nothing_by_number_is_refused(source: Any) -> None:
    with pytest.raises(TypeError, match=r"source: an object of type .* has no __"):
        hr.Dataset.source(source)


def test_torchs_tensors_are_arrays_on_their_memory() -> None:
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.arange(6).reshape(3, 2), torch.ones(3))
    first, _ = next(iter(hr.Dataset.source(data)))
    assert isinstance(first, np.ndarray)
    batches = list(hr.Dataset.source(data).batch(2))
    assert [numbers.tolist() for numbers, _ in batches] == [[[0, 1], [2, 3]], [[4, 5]]]


class Many(Rows):
    """The same, asked for several at once."""

    def __getitems__(self, indices: list[int]) -> list[tuple[list[int], str]]:
        assert all(type(index) is int for index in indices)
        return [self[index] for index in indices]


class Short(Rows):
    """One that gives less than it was asked for."""

    def __getitems__(self, indices: list[int]) -> list[tuple[list[int], str]]:
        return [self[index] for index in indices[1:]]


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("length", [0, 1, 7, 500])
def test_many_are_fetched_at_once_where_the_source_can(length: int, calls: int | None) -> None:
    dataset = hr.Dataset.source(Many(length), num_parallel_calls=calls)
    assert same(list(dataset), [(np.array([i, i]), str(i)) for i in range(length)])
    if length < 10:
        check_every_restore_point(dataset.shuffle(3, seed=1).batch(2))


def test_only_the_element_fails_that_cannot_be_given_among_many() -> None:
    with iter(hr.Dataset.source(Many(5, broken=2))) as iterator:
        assert [next(iterator)[1] for _ in range(2)] == ["0", "1"]
        with pytest.raises(DataError, match=r"__getitems__' \(test_sources.py:\d+\).*element 2.*broken"):
            next(iterator)
        assert [text for _, text in iterator] == ["3", "4"]


def test_a_source_that_gives_less_than_it_was_asked_for_is_told_so() -> None:
    with pytest.raises(InvalidArgumentError, match="asked for 1 elements, and gave 0"):
        next(iter(hr.Dataset.source(Short(3))))


TENSORS: dict[str, Callable[[Any], Any]] = {
    "bfloat16": lambda torch: torch.arange(6.0).to(torch.bfloat16).reshape(3, 2),
    "float8": lambda torch: torch.arange(6.0).to(torch.float8_e5m2).reshape(3, 2),
    "with a gradient": lambda torch: torch.arange(6.0, requires_grad=True).reshape(3, 2),
    "a parameter": lambda torch: torch.nn.Parameter(torch.arange(6.0).reshape(3, 2)),
    "conjugated": lambda torch: torch.arange(6.0).to(torch.complex64).reshape(3, 2).conj(),
    "negated": lambda torch: torch.arange(6.0).to(torch.complex64).reshape(3, 2).conj().imag,
    "transposed": lambda torch: torch.arange(6.0).to(torch.bfloat16).reshape(2, 3).T,
}
WAYS: dict[str, Callable[[Any], hr.Dataset]] = {
    "source": lambda tensor: hr.Dataset.source(list(tensor)),
    "from_tensor_slices": hr.Dataset.from_tensor_slices,
    "map": lambda tensor: hr.Dataset.range(3).map(lambda i: tensor[i]),
    "a parallel map": lambda tensor: hr.Dataset.range(3).map(lambda i: tensor[i], num_parallel_calls=2),
    "from_generator": lambda tensor: hr.Dataset.from_generator(lambda: iter(tensor)),
    "unbatch": lambda tensor: hr.Dataset.range(1).map(lambda _: tensor).unbatch(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", TENSORS)
@pytest.mark.parametrize("executor", ["inline", "thread"])
def test_tensors_of_any_dtype_and_with_a_gradient_are_batches_again_for_torch(
    executor: str, kind: str, way: str
) -> None:
    torch = pytest.importorskip("torch")
    tensor = TENSORS[kind](torch)
    options = hr.Options(executor=executor)
    for batched in (WAYS[way](tensor).batch(3), WAYS[way](tensor).padded_batch(3)):
        [batch] = batched.with_options(options).to_torch()
        assert batch.dtype == tensor.dtype
        assert not batch.requires_grad
        assert torch.equal(batch.to(torch.complex64), tensor.detach().to(torch.complex64))


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_slices_of_the_arrays_of_other_libraries_have_a_spec(library: str) -> None:
    np_of = pytest.importorskip(library)
    dataset = hr.Dataset.from_tensor_slices({"x": np_of.ones((3, 2)), "y": [1, 2, 3], "z": np.array(["a", "b", "c"])})
    spec = dataset.element_spec
    assert (spec["x"].shape, spec["x"].dtype, spec["y"].shape) == ((2,), np.float32, ())
    assert "x" in repr(dataset)
    [batch] = dataset.padded_batch(3)
    assert batch["x"].shape == (3, 2)


def test_a_sparse_tensor_is_refused_with_the_way_out() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(DataError, match="to_dense"):
        list(hr.Dataset.source([torch.eye(2).to_sparse()]))


def test_torchs_subsets_are_fetched_many_at_once() -> None:
    torch = pytest.importorskip("torch")
    data = torch.utils.data.Subset(torch.utils.data.TensorDataset(torch.arange(8)), [1, 3, 5])
    assert [int(number) for (number,) in hr.Dataset.source(data)] == [1, 3, 5]


MASKED = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (MASKED, r"from_tensor_slices: .*loses its mask in slices:"),
        ((np.zeros(2), {"x": MASKED}), r"from_tensor_slices: .*slices of component \[1\]\['x'\]"),
        ([*MASKED], "loses its mask in a list"),
    ],
)
def test_a_mask_is_not_lost_in_slices_without_a_word(tensors: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        hr.Dataset.from_tensor_slices(tensors)
    with pytest.raises(InvalidArgumentError, match="loses its mask in a list"):
        hr.Dataset.from_tensors({"rows": [*MASKED]})


def test_slices_of_a_masked_array_without_a_mask_are_those_of_its_data() -> None:
    assert same(list(hr.Dataset.from_tensor_slices(MASKED.filled(0).view(np.ma.MaskedArray))), list(MASKED.filled(0)))


class KeepingMany:
    """Gives many elements at once that it keeps, two of which have an array in common."""

    def __init__(self) -> None:
        shared = np.zeros(2)
        self.kept: list[dict[str, Any]] = [{"x": np.full(2, n), "n": n} for n in range(4)]
        self.kept += [{"x": shared, "n": 4}, {"x": shared, "n": 5}]

    def __len__(self) -> int:
        return len(self.kept)

    def __getitem__(self, index: int) -> Any:
        return self.kept[index]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self.kept[index] for index in indices]


@pytest.mark.parametrize("executor", ["inline", "thread"])
def test_what_a_source_of_many_keeps_nobody_changes(executor: Any) -> None:
    source = KeepingMany()
    dataset = hr.Dataset.source(source).with_options(hr.Options(executor=executor))
    given = list(dataset)
    for row in given:
        row["x"][...] = row["n"] + 10
    assert [row["x"].tolist() for row in given] == [[n + 10] * 2 for n in range(6)]
    assert [row["x"].tolist() for row in source.kept] == [[0, 0], [1, 1], [2, 2], [3, 3], [0, 0], [0, 0]]
    assert [row["n"] for row in dataset] == list(range(6))


@pytest.mark.parametrize("executor", ["inline", "thread"])
def test_what_a_caller_puts_into_an_array_of_objects_is_seen_in_the_next_epoch(executor: Any) -> None:
    texts = np.array(["a", "b"], object)
    dataset = hr.Dataset.from_tensor_slices((texts, ["c", "d"])).with_options(hr.Options(executor=executor))
    assert list(dataset) == [("a", "c"), ("b", "d")]
    texts[1] = (1, "e")
    assert list(dataset) == [("a", "c"), ((1, "e"), "d")]
    texts[:] = [1, 2]
    assert next(iter(dataset.batch(2)))[0].tolist() == [1, 2]


@dataclasses.dataclass
class Texts:
    mine: Any
    listed: Any


def test_what_a_caller_gave_stays_writable() -> None:
    mine, numbers = np.array(["a", "b"], object), np.arange(2)
    for given in (
        mine,
        (mine, ["c", "d"]),
        {"listed": ["c", "d"], "mine": mine, "n": numbers},
        Texts(mine, ["c", "d"]),
    ):
        list(hr.Dataset.from_tensor_slices(given))
        assert mine.flags.writeable
        assert numbers.flags.writeable


def test_the_texts_of_a_list_are_looked_at_in_the_first_epoch_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[np.ndarray] = []

    def look(array: np.ndarray) -> bool:
        looked_at.append(array)
        return True

    monkeypatch.setattr("headrace.semantics.sources._has_numbers_or_texts", look)
    for given in (["a", "b"], (["a", "b"], [1, 2]), {"text": np.array(["a", "b"])}):
        dataset = hr.Dataset.from_tensor_slices(given)
        looked_at.clear()
        assert len([list(dataset) for _ in range(3)]) == 3
        assert len(looked_at) == len(dataset.__headrace_plan__().columns)  # type: ignore[attr-defined]  # a node of slices


def test_what_is_no_source_says_what_would_be() -> None:
    with pytest.raises(TypeError, match="must be a function that is called for each epoch, not list"):
        hr.Dataset.from_generator([1, 2])  # type: ignore[arg-type]  # as users write
    with pytest.raises(InvalidArgumentError, match="what it is given is a scalar, which has no slices"):
        hr.Dataset.from_tensor_slices("photos")
    files: list[str] = []
    with pytest.raises(InvalidArgumentError, match="not 0; there is nothing to shuffle, the dataset is empty"):
        hr.Dataset.from_tensor_slices(files).shuffle(len(files))
