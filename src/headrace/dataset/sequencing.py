"""Operations that choose elements, or put them in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.dataset.part import Part
from headrace.plan.randomness import Randomness
from headrace.plan.sequencing import Repeat, Shard, Shuffle, Skip, Take

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Sequencing"]


class Sequencing(Part):
    """Operations that choose elements, or put them in another order."""

    __slots__ = ()

    def shuffle(
        self,
        buffer_size: int,
        seed: int | None = None,
        reshuffle_each_iteration: bool = True,
        name: str | None = None,
    ) -> Dataset:
        """Elements in random order, drawn from a buffer that is filled up in order.

        Over a source that is read by index the buffer holds numbers alone.

        Args:
            buffer_size: how many elements the buffer holds; as many as the dataset has make every order equally
                likely. -2 holds the whole dataset.
            seed: makes the orders reproducible: a new program gets the same sequence of epochs.
            reshuffle_each_iteration: False gives every epoch the same order, also without a seed.
            name: how messages and statistics call the operation.

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
                reshuffle_each_iteration=reshuffle_each_iteration is not False,
                name=name,
            )
        )

    def repeat(self, count: int | None = None, name: str | None = None) -> Dataset:
        """The dataset several times over; each turn is an epoch of its own for what is random in it.

        Args:
            count: how often; None or a negative number never ends, 0 is empty.
            name: how messages and statistics call the operation.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(2).repeat(2))
            [0, 1, 0, 1]
        """
        return self._of(Repeat(input=self._plan, count=count, name=name))

    def take(self, count: int, name: str | None = None) -> Dataset:
        """The first elements.

        Args:
            count: how many; a negative number takes all.
            name: how messages and statistics call the operation.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(10).take(2))
            [0, 1]
        """
        return self._of(Take(input=self._plan, count=count, name=name))

    def skip(self, count: int, name: str | None = None) -> Dataset:
        """All but the first elements.

        Args:
            count: how many are left out; a negative number leaves none.
            name: how messages and statistics call the operation.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(5).skip(3))
            [3, 4]
        """
        return self._of(Skip(input=self._plan, count=count, name=name))

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Dataset:
        """Every ``num_shards``-th element, from the ``index``-th on.

        The shards are parts of one order, so that order must be the same in all processes: shard before a shuffle, or give the
        shuffle a seed. A shuffle (or ``list_files``, or a mixture) without one before a shard is named in the log, once.

        Args:
            num_shards: how many shards there are.
            index: which one this is, from 0.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: the index is not in [0, num_shards).

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(7).shard(3, 1))
            [1, 4]
        """
        return self._of(Shard(input=self._plan, num_shards=num_shards, index=index, name=name))
