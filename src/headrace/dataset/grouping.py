"""Operations that put elements together, or take them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headrace.arguments import check_flag
from headrace.dataset.mixin import DatasetMixin
from headrace.frozen import maker
from headrace.plan.grouping import Batch, CyclingBatch, PaddedBatch, RaggedBatch, Unbatch
from headrace.plan.padding import Padding

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Grouping"]

# Functions make such datasets of elements by the thousand.
_new_batch: Final = maker(Batch)
_new_padded_batch: Final = maker(PaddedBatch)


class Grouping(DatasetMixin):
    """Operations that put elements together, or take them apart."""

    __slots__ = ()

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Combines consecutive elements into batches, stacked along a new first axis into arrays of their own.

        A batch of dicts has its keys in the order of its first element.

        Args:
            batch_size: how many elements a batch has.
            drop_remainder: whether a last batch with fewer elements is dropped.
            num_parallel_calls: how many batches may be made at once in the pipeline's workers, unless that is measured to be no quicker;
                ``hr.AUTOTUNE`` takes what is measured to pay. It pays where copying is the work: large elements, or a shuffle over arrays.
            deterministic: accepted as in tf.data, and ignored: batches always come in order.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: a number is below 1; or, while iterating, elements that differ in structure, shape
                or dtype. An element that failed takes its batch with it.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(5).batch(2))
            [array([0, 1]), array([2, 3]), array([4])]
        """
        return self._of(
            _new_batch(
                input=self._plan,
                batch_size=batch_size,
                drop_remainder=drop_remainder,
                num_parallel_calls=num_parallel_calls,
                deterministic=deterministic,
                name=name,
            )
        )

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Combines consecutive elements into batches, each component padded at its end to one shape.

        Args:
            batch_size: how many elements a batch has.
            padded_shapes: a structure like the elements' with a shape for each component: a list of sizes, in which None or
                -1 is the longest of the batch; an int n is ``[n]``. None takes the longest of every axis.
            padding_values: one value for all components, or a structure of values; 0 and empty texts by default, and where
                None stands for a component, or for a whole part of the structure. Values are of the component's kind; they
                need not have its very dtype, as in tf.data. ``"?"`` pads texts of ``str`` and of ``bytes`` alike.
            drop_remainder: whether a last batch with fewer elements is dropped.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: the size is below 1; a shape or structure that does not fit, at once where that is known;
                while iterating, elements that differ in structure, dtype or number of axes.
            TypeError: a padding value of another kind than its component; a size that is no int; a component is a dataset, as
                windows are.
            DataLossError: while iterating, an element is longer than its shape.

        Example:
            >>> import headrace as hr
            >>> rows = hr.Dataset.from_generator(lambda: iter([[1], [2, 2], [3, 3, 3]]))
            >>> for batch in rows.padded_batch(2):
            ...     print(batch.tolist())
            [[1, 0], [2, 2]]
            [[3, 3, 3]]
        """
        return self._of(
            _new_padded_batch(
                input=self._plan,
                batch_size=batch_size,
                padding=Padding(shapes=padded_shapes, values=padding_values),
                drop_remainder=drop_remainder,
                name=name,
            )
        )

    def ragged_batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        row_splits_dtype: Any = np.int64,
        name: str | None = None,
    ) -> Dataset:
        """Combines consecutive elements whose first axes differ in length into batches of ``hr.RaggedTensor``; nothing is padded.

        Components without axes are stacked, as in ``batch``. Axes after the first must agree (tf.data also makes those
        ragged whose size it does not know).

        Args:
            batch_size: how many elements a batch has.
            drop_remainder: whether a last batch with fewer elements is dropped.
            row_splits_dtype: int64 or int32.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: the size is below 1, or another dtype; while iterating, elements that differ in structure,
                dtype, or more than their first axis.

        Example:
            >>> import numpy as np
            >>> import headrace as hr
            >>> (batch,) = hr.Dataset.range(3).map(np.arange).ragged_batch(3)
            >>> batch.to_list(), batch.row_splits.tolist()
            ([[], [0], [0, 1]], [0, 0, 1, 3])
        """
        return self._of(
            RaggedBatch(
                input=self._plan,
                batch_size=batch_size,
                drop_remainder=drop_remainder,
                row_splits_dtype=row_splits_dtype,
                name=name,
            )
        )

    def rebatch(
        self, batch_size: int | Sequence[int], drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Makes batches of another size: the same as ``unbatch`` and ``batch``.

        Args:
            batch_size: how many elements a batch has; several sizes take turns, and a 0 among them gives an empty batch.
            drop_remainder: whether a last batch with fewer elements is dropped.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: a size is negative, or no size is above 0 (tf.data never ends then); an element is a
                scalar, at once where that is known, else while iterating.

        Example:
            >>> import headrace as hr
            >>> batches = hr.Dataset.range(8).batch(4)
            >>> [batch.tolist() for batch in batches.rebatch(3)]
            [[0, 1, 2], [3, 4, 5], [6, 7]]
            >>> [batch.tolist() for batch in batches.rebatch([2, 1])]
            [[0, 1], [2], [3, 4], [5], [6, 7]]
        """
        drop_remainder = check_flag(drop_remainder, field="drop_remainder", stage="rebatch")
        rows = Unbatch(input=self._plan, name=name or "rebatch")
        if isinstance(batch_size, (list, tuple, np.ndarray)):
            sizes = tuple(batch_size)
            return self._of(CyclingBatch(input=rows, batch_sizes=sizes, drop_remainder=drop_remainder, name=name))
        return self._of(
            Batch(
                input=rows,
                batch_size=batch_size,  # type: ignore[arg-type]  # a sequence was taken above
                drop_remainder=drop_remainder,
                name=name or "rebatch",
            )
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """Splits each element into its slices along the first axis.

        Args:
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: a component is a scalar, or the first axes differ in length; at once where that is
                known, else while iterating.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensors([[1, 2], [3, 4]]).unbatch())
            [array([1, 2]), array([3, 4])]
        """
        return self._of(Unbatch(input=self._plan, name=name))
