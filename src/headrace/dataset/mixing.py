"""Operations that choose which dataset, or which copy of an element, comes next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.dataset.mixin import DatasetMixin, plan_from
from headrace.errors import InvalidArgumentError
from headrace.plan.mixing import ChooseFromDatasets, RejectionResample, SampleFromDatasets, checked_weights
from headrace.plan.node import Node
from headrace.plan.randomness import Randomness
from headrace.plan.sequencing import Repeat, Take

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Mixing"]

# How often a dataset is repeated: True without end, False once, or a number of times.
Repeats = bool | int


class Mixing(DatasetMixin):
    """Operations that choose which dataset, or which copy of an element, comes next."""

    __slots__ = ()

    @classmethod
    def sample_from_datasets(
        cls,
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
        repeat: Repeats | Sequence[Repeats] = False,
        name: str | None = None,
    ) -> Dataset:
        """Mixes datasets: each element comes from one that is drawn at random.

        A draw is made among the datasets that have not ended, in proportion to their weights. What was drawn is in
        the iterator's ``stats()``: in ``stages`` this operation has ``drawn``, the elements and the share of each
        dataset.

        Args:
            datasets: datasets of one structure.
            weights: a float for each dataset, in any unit; those that are not above 0 are never drawn. None draws all
                equally often. A dataset of such weights gives new ones for each draw, and ends the mixture when it ends.
            seed: makes the draws reproducible.
            stop_on_empty_dataset: True ends with the first dataset that is drawn and has nothing more. It keeps the
                proportions to the end; False goes on with the others.
            rerandomize_each_iteration: True draws anew in each epoch; otherwise every epoch makes the same draws.
            repeat: how often each dataset is repeated: True without end, False once, or a number of times; or a sequence
                of these, one for each dataset. A dataset that is shuffled comes in another order each time.
            name: what the operation is called in messages and statistics.

        Raises:
            TypeError: weights are ints, structures differ, or something is no dataset.
            InvalidArgumentError: there is no dataset, or not one weight (or repeat) for each.

        Example:
            >>> import headrace as hr
            >>> many, few = hr.Dataset.range(6, name="many"), hr.Dataset.range(100, 102, name="few")
            >>> mixture = hr.Dataset.sample_from_datasets([many, few], weights=[0.7, 0.3], seed=2, repeat=[False, True])
            >>> with iter(mixture.take(9)) as it:
            ...     print(list(it))
            ...     (drawn,) = [stage.drawn for stage in it.stats().stages if stage.drawn]
            [0, 100, 101, 100, 1, 101, 2, 3, 4]
            >>> [(source.name, source.elements, round(source.share, 2)) for source in drawn]
            [('many', 5, 0.56), ('few', 4, 0.44)]
        """
        stage = SampleFromDatasets.op
        plans = _plans(datasets, repeat, stage=stage)
        varying = plan_from(weights, stage=stage) if isinstance(weights, DatasetMixin) else None
        chances: list[float] = []
        if varying is None:
            chances = [1.0] * len(plans) if weights is None else checked_weights(weights, len(plans), stage=stage)
            if not any(chances):
                return cls._of(Take(input=plans[0], count=0, name=name))
            plans = [plan for plan, chance in zip(plans, chances, strict=True) if chance]
            if len(plans) == 1:
                return cls._of(plans[0])
        return cls._of(
            SampleFromDatasets(
                datasets=tuple(plans),
                weights=tuple(chance for chance in chances if chance),
                weights_dataset=varying,
                randomness=Randomness.of(seed, stage=stage),
                stop_on_empty_dataset=stop_on_empty_dataset,
                rerandomize_each_iteration=False if rerandomize_each_iteration is None else rerandomize_each_iteration,
                name=name,
            )
        )

    @classmethod
    def choose_from_datasets(
        cls,
        datasets: Sequence[Dataset],
        choice_dataset: Dataset,
        stop_on_empty_dataset: bool = True,
        name: str | None = None,
    ) -> Dataset:
        """Takes each element from the dataset whose index another dataset gives.

        Args:
            datasets: datasets of one structure.
            choice_dataset: int64 scalars from 0 to one less than there are datasets; its end ends the mixture.
            stop_on_empty_dataset: True ends with the first dataset that is chosen and has nothing more; False passes
                over such choices.
            name: what the operation is called in messages and statistics.

        Raises:
            TypeError: structures differ, something is no dataset, or choices are known not to be int64 scalars.
            InvalidArgumentError: there is no dataset; or, in place of an element, a choice that names no dataset.
            FailedPreconditionError: while iterating, a million choices in a row named datasets that have ended (where
                tf.data goes on without end).

        Example:
            >>> import headrace as hr
            >>> letters = [hr.Dataset.from_tensors(letter).repeat() for letter in "ab"]
            >>> list(hr.Dataset.choose_from_datasets(letters, hr.Dataset.from_tensor_slices([0, 1, 1, 0])))
            ['a', 'b', 'b', 'a']
        """
        stage = ChooseFromDatasets.op
        return cls._of(
            ChooseFromDatasets(
                datasets=tuple(_plans(datasets, False, stage=stage)),
                choice_dataset=plan_from(choice_dataset, stage=stage),
                stop_on_empty_dataset=stop_on_empty_dataset,
                name=name,
            )
        )

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Makes pairs of class and element in which the classes come as often as a target says.

        Elements of frequent classes are rejected, and an element may come twice: the dataset is read twice at once, as
        it comes and with rejection, and each draw takes from one of the two. It ends when either does.

        Args:
            class_func: called with an element (a tuple is unpacked); returns its class, an int from 0 on.
            target_dist: how often each class should come, in any unit.
            initial_dist: how often each class comes, in any unit. None estimates it from the elements themselves, 32
                at a time; the counts are part of the iterator's state.
            seed: makes the draws reproducible; they differ from epoch to epoch.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: the distributions have different lengths, negative numbers, or nothing but zeros;
                or, in place of an element, ``class_func`` returned no class.

        Example:
            >>> import headrace as hr
            >>> rare = hr.Dataset.range(1000).map(lambda x: int(x % 10 == 0))
            >>> pairs = list(
            ...     rare.rejection_resample(lambda x: x, target_dist=[0.5, 0.5], initial_dist=[0.9, 0.1], seed=1)
            ... )
            >>> 0.4 < sum(label for label, _ in pairs) / len(pairs) < 0.6
            True
        """
        node = RejectionResample(
            input=self._plan,
            class_func=class_func,
            target_dist=target_dist,
            initial_dist=initial_dist,
            randomness=Randomness.of(seed, stage=RejectionResample.op),
            name=name,
        )
        return self._of(node)


def _plans(datasets: Any, repeat: Repeats | Sequence[Repeats], *, stage: str) -> list[Node]:
    """Returns the plans of the datasets, each repeated as asked."""
    if isinstance(datasets, DatasetMixin) or not isinstance(datasets, Sequence):
        raise TypeError(f"{stage}: expected a list of datasets, not {type(datasets).__name__}")
    if not datasets:
        raise InvalidArgumentError("there is no dataset to choose from", stage=stage)
    plans = [plan_from(dataset, stage=stage) for dataset in datasets]
    counts = list(repeat) if isinstance(repeat, Sequence) else [repeat] * len(plans)
    if len(counts) != len(plans):
        message = f"repeat must have one value for each of the {len(plans)} datasets, not {len(counts)}"
        raise InvalidArgumentError(message, stage=stage)
    return [_repeated(plan, count) for plan, count in zip(plans, counts, strict=True)]


def _repeated(plan: Node, count: Repeats) -> Node:
    if isinstance(count, (bool, np.bool_)):
        return Repeat(input=plan, count=None) if count else plan
    return Repeat(input=plan, count=count)
