"""Operations that choose which elements come: some of them, all of them again, or others after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.dataset.mixin import DatasetMixin, plan_from
from headrace.frozen import maker
from headrace.plan.sequencing import Concatenate, Repeat, Shard, Skip, Take

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Sequencing"]

# Functions make such datasets of elements by the thousand.
_new_repeat: Final = maker(Repeat)
_new_take: Final = maker(Take)
_new_skip: Final = maker(Skip)


class Sequencing(DatasetMixin):
    """Operations that choose which elements come: some of them, all of them again, or others after them."""

    __slots__ = ()

    def repeat(self, count: int | None = None, name: str | None = None) -> Dataset:
        """Repeats the dataset; each turn is an epoch of its own for what is random in it.

        Args:
            count: how often; None or a negative number repeats without end, 0 is empty.
            name: what the operation is called in messages and statistics.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(2).repeat(2))
            [0, 1, 0, 1]
        """
        return self._of(_new_repeat(input=self._plan, count=count, name=name))

    def take(self, count: int, name: str | None = None) -> Dataset:
        """Takes the first elements.

        Args:
            count: how many; a negative number takes all.
            name: what the operation is called in messages and statistics.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(10).take(2))
            [0, 1]
        """
        return self._of(_new_take(input=self._plan, count=count, name=name))

    def skip(self, count: int, name: str | None = None) -> Dataset:
        """Skips the first elements.

        Args:
            count: how many are skipped; a negative number skips all.
            name: what the operation is called in messages and statistics.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(5).skip(3))
            [3, 4]
        """
        return self._of(_new_skip(input=self._plan, count=count, name=name))

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Dataset:
        """Takes every ``num_shards``-th element, starting with the ``index``-th.

        Shards are parts of one order, which must be the same in all processes: shard before a shuffle, or give the
        shuffle a seed. A shuffle (or ``list_files``, or a mixture) without one before a shard is named in the log, once.

        Args:
            num_shards: how many shards there are.
            index: which one this is, from 0.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: the index is not in [0, num_shards).

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(7).shard(3, 1))
            [1, 4]
        """
        return self._of(Shard(input=self._plan, num_shards=num_shards, index=index, name=name))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Appends another dataset to this one.

        Args:
            dataset: elements of the same structure and dtypes.
            name: what the operation is called in messages and statistics.

        Raises:
            TypeError: it is no dataset, or structure or dtypes are known to differ.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(2).concatenate(hr.Dataset.range(5, 7)))
            [0, 1, 5, 6]
        """
        return self._of(Concatenate.of(self._plan, plan_from(dataset, stage="concatenate"), name=name))
