"""The operation that puts elements in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.dataset.mixin import DatasetMixin
from headrace.plan.randomness import Randomness
from headrace.plan.shuffling import Shuffle

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Shuffling"]


class Shuffling(DatasetMixin):
    """The operation that puts elements in random order."""

    __slots__ = ()

    def shuffle(
        self,
        buffer_size: int,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """Shuffles the elements: each is drawn at random from a buffer, which the next element of the input fills up again.

        Over a source that is read by index the buffer holds only indices.

        Args:
            buffer_size: how many elements the buffer holds; if it holds all of the dataset, every order is equally
                likely. -2 holds the whole dataset.
            seed: makes the orders reproducible: a new program gets the same sequence of epochs.
            reshuffle_each_iteration: False gives every epoch the same order, also without a seed; None is True, as in tf.data.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: the size is neither positive nor -2.

        Example:
            >>> import headrace as hr
            >>> ds = hr.Dataset.range(5).shuffle(5, seed=1)
            >>> first, second = list(ds), list(ds)
            >>> sorted(first) == sorted(second) == [0, 1, 2, 3, 4]
            True
        """
        return self._of(
            Shuffle(
                input=self._plan,
                buffer_size=buffer_size,
                randomness=Randomness.of(seed, stage="shuffle"),
                reshuffle_each_iteration=True if reshuffle_each_iteration is None else reshuffle_each_iteration,
                name=name,
            )
        )
