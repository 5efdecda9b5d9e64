"""The edges of sample_from_datasets, choose_from_datasets and rejection_resample, as TensorFlow 2.21 has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.physical.stages.mixing import MixStage
from headrace.semantics import mixing as selecting
from headrace.testing import check_every_restore_point

A, B = hr.Dataset.range(3), hr.Dataset.range(10, 13)
sample, choose = hr.Dataset.sample_from_datasets, hr.Dataset.choose_from_datasets

EXECUTORS = ["thread", "inline"]


def numbers(*values: int) -> hr.Dataset:
    return hr.Dataset.from_tensor_slices(np.array(values, dtype=np.int64))


def given(dataset: hr.Dataset, executor: str = "thread") -> list[Any]:
    """Its elements, the kind of the error in place of each that failed."""
    elements: list[Any] = []
    with iter(dataset.with_options(hr.Options(executor=executor))) as iterator:
        while True:
            try:
                elements.append(next(iterator))
            except StopIteration:
                return elements
            except hr.errors.HeadraceError as error:
                elements.append(type(error).__name__)


# ------------------------------------------------------------------------------------ sample


@pytest.mark.parametrize("weights", [[1, 2], np.array([1, 2]), ["a", "b"]])
def test_weights_that_are_no_floats_are_a_type_error(weights: Any) -> None:
    with pytest.raises(TypeError):
        sample([A, B], weights)


@pytest.mark.parametrize("weights", [[0.5], [0.5, 0.5, 0.1], np.array([[0.5, 0.5]]), [0.5, float("inf")]])
def test_as_many_finite_weights_as_datasets_are_needed(weights: Any) -> None:
    with pytest.raises(ValueError):
        sample([A, B], weights)


def test_no_dataset_is_a_value_error() -> None:
    with pytest.raises(ValueError):
        sample([])
    with pytest.raises(ValueError):
        choose([], A)


def test_what_is_no_dataset_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        sample([A, 5])  # type: ignore[list-item]  # that is the point
    with pytest.raises(TypeError):
        sample(A)  # type: ignore[arg-type]  # as above
    with pytest.raises(TypeError):
        choose([A, B], [1, 0])  # type: ignore[arg-type]  # as above


def test_datasets_of_other_dtypes_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="differ"):
        sample([A, hr.Dataset.range(3, output_type=np.int32)])


def test_shapes_relax_to_what_fits_all() -> None:
    two, three = hr.Dataset.from_tensors(np.zeros(2)), hr.Dataset.from_tensors(np.zeros(3))
    assert sample([two, three]).element_spec == hr.TensorSpec((None,), np.float64)


@pytest.mark.parametrize("weights", [[0.0, 0.0], [-1.0, 0.0], [float("nan"), 0.0]])
def test_all_weights_at_zero_give_nothing(weights: list[float]) -> None:
    nothing = sample([A, B], weights)
    assert (list(nothing), len(nothing)) == ([], 0)


@pytest.mark.parametrize("weights", [[-1.0, 1.0], [0.0, 5.0], [float("nan"), 0.1], [0, 2.0]])
def test_a_dataset_without_a_weight_is_left_out(weights: list[float]) -> None:
    only = sample([A, B], weights)
    assert (list(only), len(only)) == ([10, 11, 12], 3)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_every_element_comes_once_and_in_its_dataset_s_order(executor: str) -> None:
    elements = given(sample([A, B, hr.Dataset.range(0)], [0.5, 2.0, 1.0], seed=1), executor)
    assert [x for x in elements if x < 10] == [0, 1, 2]
    assert [x for x in elements if x >= 10] == [10, 11, 12]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_stopping_at_an_empty_dataset_drops_what_the_others_have(executor: str) -> None:
    elements = given(sample([A.repeat(), B], seed=1, stop_on_empty_dataset=True), executor)
    assert [x for x in elements if x >= 10] == [10, 11, 12]
    assert elements == list(sample([A.repeat(), B], seed=1).take(len(elements)))


def test_shares_follow_the_weights() -> None:
    mixture = sample([hr.Dataset.range(1).repeat(), hr.Dataset.range(1, 2).repeat()], [1.0, 3.0], seed=5)
    assert sum(mixture.take(10_000)) / 10_000 == pytest.approx(0.75, abs=0.02)


def test_every_epoch_makes_the_same_draws_unless_rerandomized() -> None:
    endless = [A.repeat(), B.repeat()]
    same = sample(endless, seed=3).take(30)
    assert list(same) == list(same)
    unseeded = sample(endless).take(30)
    assert list(unseeded) == list(unseeded)
    other = sample(endless, seed=3, rerandomize_each_iteration=True).take(30)
    assert list(other) != list(other)
    turns = list(sample(endless, seed=3, rerandomize_each_iteration=True).take(30).repeat(2))
    assert turns[:30] != turns[30:]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_weights_may_differ_from_draw_to_draw(executor: str) -> None:
    weights = hr.Dataset.from_tensor_slices(np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 2.0], [1.0, 0.0]]))
    assert given(sample([A, B], weights), executor) == [0, 10, 11, 1]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_wrong_weights_take_the_place_of_an_element(executor: str) -> None:
    rows = [[1.0, 0.0], [1.0], [1, 0], "text", [0.0, 1.0]]
    weights = hr.Dataset.range(5).map(lambda n: np.array(rows[n]) if n != 3 else "text")
    wrong = "InvalidArgumentError"
    assert given(sample([A, B], weights), executor) == [0, wrong, wrong, wrong, 10]


def test_weights_datasets_that_are_known_not_to_fit_are_refused() -> None:
    with pytest.raises(TypeError):
        sample([A, B], hr.Dataset.from_tensors([1, 2]))
    with pytest.raises(ValueError):
        sample([A, B], hr.Dataset.from_tensors([1.0]))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_repeat_is_said_for_all_or_for_each(executor: str) -> None:
    elements = given(sample([A, B, hr.Dataset.range(20, 22)], seed=1, repeat=[2, False, 0]), executor)
    assert sorted(elements) == [0, 0, 1, 1, 2, 2, 10, 11, 12]
    assert sample([A, B], repeat=True).cardinality() == hr.INFINITE_CARDINALITY
    assert sample([A, B], repeat=[True, False]).cardinality() == hr.INFINITE_CARDINALITY
    stopping = sample([A, B], repeat=[True, False], stop_on_empty_dataset=True)
    assert stopping.cardinality() == hr.UNKNOWN_CARDINALITY
    with pytest.raises(ValueError, match="repeat"):
        sample([A, B], repeat=[True])


def test_a_repeated_dataset_is_shuffled_anew_each_time() -> None:
    shuffled = hr.Dataset.range(20).shuffle(20, seed=1)
    elements = list(sample([shuffled, A], [1.0, 1e-9], repeat=[2, 1]))
    assert elements[:20] != elements[20:40]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_statistics_say_what_was_drawn(executor: str) -> None:
    mixture = sample([hr.Dataset.range(5, name="five"), hr.Dataset.range(3)], seed=1, repeat=[False, 1])
    with iter(mixture.with_options(hr.Options(executor=executor))) as iterator:
        list(iterator)
        (drawn,) = (stage.drawn for stage in iterator.stats().stages if stage.drawn)
    assert [(one.name, one.elements, one.share) for one in drawn] == [("five", 5, 5 / 8), ("range", 3, 3 / 8)]


def test_batches_of_a_mixture_of_one_source_are_gathered() -> None:
    data = hr.Dataset.from_tensor_slices({"x": np.arange(100), "y": np.arange(100) * 0.5})
    batches = list(sample([data, data.skip(50)], seed=1).batch(16))
    assert np.sort(np.concatenate([batch["x"] for batch in batches])).tolist() == sorted([*range(100), *range(50, 100)])
    assert all((batch["y"] == batch["x"] * 0.5).all() for batch in batches)


def test_shapes_that_differ_between_datasets_fail_the_batch_that_has_both() -> None:
    two, three = hr.Dataset.from_tensors(np.zeros(2)), hr.Dataset.from_tensors(np.zeros(3))
    assert given(sample([two, three]).batch(2)) == ["InvalidArgumentError"]


# ------------------------------------------------------------------------------------ choose

CHOSEN: list[tuple[tuple[int, ...], bool, list[Any]]] = [
    ((), True, []),
    ((0,), True, [0]),
    ((0, 1, 1, 0, 0, 0, 1), True, [0, 10, 11, 1, 2]),
    ((0, 1, 1, 0, 0, 0, 1), False, [0, 10, 11, 1, 2, 12]),
    ((0, 1, 0, 0, 0, 0, 1), False, [0, 10, 1, 2, 11]),
    ((0, 2, 0, 0, 1, -1, 1), True, [0, "InvalidArgumentError", 1, 2, 10, "InvalidArgumentError", 11]),
]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("choices", "stops", "expected"), CHOSEN)
def test_choices_are_followed(choices: tuple[int, ...], stops: bool, expected: list[Any], executor: str) -> None:
    dataset = choose([A, B], numbers(*choices), stop_on_empty_dataset=stops)
    assert given(dataset, executor) == expected
    check_every_restore_point(dataset)


@pytest.mark.parametrize("choices", [hr.Dataset.range(2, output_type=np.int32), hr.Dataset.range(2).batch(1)])
def test_choices_that_are_no_int64_scalars_are_a_type_error(choices: hr.Dataset) -> None:
    with pytest.raises(TypeError, match="int64"):
        choose([A, B], choices)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("make", [float, str, bool, np.int32, lambda n: np.array([n])])
def test_a_choice_of_another_type_takes_the_place_of_an_element(make: Callable[[int], Any], executor: str) -> None:
    dataset = choose([A, B], hr.Dataset.range(3).map(lambda n: make(0) if n == 1 else 1))
    assert given(dataset, executor) == [10, "InvalidArgumentError", 11]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_failure_takes_the_place_of_its_choice(executor: str) -> None:
    failing = A.map(lambda x: 1 // x)
    assert given(choose([failing, B], numbers(0, 1, 0, 1)), executor) == ["DataError", 10, 1, 11]
    assert given(choose([A, B], numbers(0, 1).map(lambda x: 1 // x)), executor) == ["DataError", 10]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_choices_of_ended_datasets_without_end_are_an_error(executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("headrace.physical.stages.mixing", "headrace.backends.reference.mixing"):
        monkeypatch.setattr(f"{module}.IDLE_LIMIT", 50)
    assert selecting.IDLE_LIMIT > 50
    dataset = choose([A, B], hr.Dataset.from_tensors(np.int64(0)).repeat(), stop_on_empty_dataset=False)
    with iter(dataset.with_options(hr.Options(executor=executor))) as iterator:
        assert [next(iterator) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(hr.errors.FailedPreconditionError, match="stop_on_empty_dataset"):
            next(iterator)


def test_cardinalities_are_as_far_known_as_they_are_sure() -> None:
    endless = hr.Dataset.range(2).repeat()
    assert choose([A.repeat(), B.repeat()], endless).cardinality() == hr.INFINITE_CARDINALITY
    assert choose([A.repeat(), B], endless).cardinality() == hr.UNKNOWN_CARDINALITY
    assert sample([A, B]).cardinality() == hr.UNKNOWN_CARDINALITY
    assert len(sample([A])) == 3


# ---------------------------------------------------------------------------------- resample


def shares(pairs: list[tuple[int, Any]], classes: int) -> list[float]:
    counts: list[int] = np.bincount([number for number, _ in pairs], minlength=classes).tolist()
    return [count / len(pairs) for count in counts]


@pytest.mark.parametrize("initial", [None, [0.7, 0.3]])
@pytest.mark.parametrize("target", [[0.5, 0.5], [0.05, 0.95]])
def test_classes_come_as_often_as_the_target_says(initial: list[float] | None, target: list[float]) -> None:
    data = hr.Dataset.range(5_000).map(lambda x: int(x % 10 > 6))
    pairs = list(data.rejection_resample(lambda x: x, target, initial, seed=1))
    assert shares(pairs, 2) == pytest.approx(target, abs=0.04)


def test_equal_distributions_keep_every_element_as_it_comes() -> None:
    pairs = list(hr.Dataset.zip(A, B).rejection_resample(lambda x, y: x % 2, [1, 1], [2, 2]))
    assert pairs == [(0, (0, 10)), (1, (1, 11)), (0, (2, 12))]


def test_a_class_that_is_not_wanted_never_comes() -> None:
    pairs = list(hr.Dataset.range(200).rejection_resample(lambda x: x % 2, [0.0, 1.0], seed=1))
    assert {number for number, _ in pairs} == {1}


@pytest.mark.parametrize("executor", EXECUTORS)
def test_resampling_nothing_gives_nothing(executor: str) -> None:
    assert given(hr.Dataset.range(0).rejection_resample(lambda x: x, [0.5, 0.5]), executor) == []


@pytest.mark.parametrize("answer", [2, -1, 0.5, True, "a", np.array([0])])
def test_what_is_no_class_takes_the_place_of_an_element(answer: Any) -> None:
    elements = given(hr.Dataset.range(2).rejection_resample(lambda x: answer, [0.5, 0.5], [0.5, 0.5]))
    assert elements == ["InvalidArgumentError"] * 2


@pytest.mark.parametrize(
    ("target", "initial"),
    [([], []), ([0.0, 0.0], None), ([0.5, 0.5], [1.0, 1.0, 1.0]), ([-1.0, 2.0], None), (0.5, None)],
)
def test_what_is_no_distribution_is_refused(target: Any, initial: Any) -> None:
    with pytest.raises(ValueError):
        A.rejection_resample(lambda x: x, target, initial)


@pytest.mark.parametrize("initial", [None, [0.3, 0.7]])
def test_a_resumed_resampling_goes_on_with_its_estimate(initial: list[float] | None) -> None:
    data = hr.Dataset.range(150).shuffle(20, seed=1).map(lambda x: x % 3 % 2)
    check_every_restore_point(data.rejection_resample(lambda x: x, [0.2, 0.8], initial, seed=3), max_elements=80)


def test_the_state_of_an_estimate_is_plain_numbers() -> None:
    with iter(hr.Dataset.range(100).rejection_resample(lambda x: x % 2, [0.9, 0.1], seed=1)) as iterator:
        for _ in range(60):
            next(iterator)
        position = iterator.state_dict()["position"]
    assert position["counts"] == [10 + 16 * (position["input"]["index"] // 32)] * 2


def test_choices_that_give_nothing_are_looked_through_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    peek = MixStage._peek

    def counted(stage: MixStage, limit: int) -> Any:
        looks.append(limit)
        return peek(stage, limit)

    monkeypatch.setattr(MixStage, "_peek", counted)
    choices = hr.Dataset.from_tensor_slices(np.zeros(100_000, np.int64)).concatenate(hr.Dataset.range(1, 2))
    datasets = [hr.Dataset.range(1), hr.Dataset.range(7, 8)]
    mixed = hr.Dataset.choose_from_datasets(datasets, choices, stop_on_empty_dataset=False)
    assert list(mixed) == [0, 7]
    assert len(looks) < 100


def test_a_choice_may_be_made_by_maps_that_are_left_to_autotune() -> None:
    ds = hr.Dataset.range(8).map(lambda x: x + 1, num_parallel_calls=hr.AUTOTUNE)
    choices = ds.map(lambda x: x % 2, num_parallel_calls=hr.AUTOTUNE).map(lambda x: 1 - x)
    mixed = hr.Dataset.choose_from_datasets([ds, ds.map(lambda x: -x)], choices, stop_on_empty_dataset=False)
    assert list(mixed) == [1, -1, 2, -2, 3, -3, 4, -4]
