"""Operations that make datasets of runs and of groups of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headrace.arguments import check_flag
from headrace.dataset.mixin import DatasetMixin
from headrace.known_as import known_as
from headrace.plan.bucketing import Buckets, boundary_shapes
from headrace.plan.windowing import GroupByWindow, Window, WindowContents

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Windowing"]


class Windowing(DatasetMixin):
    """Operations that make datasets of runs and of groups of elements."""

    __slots__ = ()

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Combines consecutive elements into windows: structures as the elements', with a dataset in place of each component.

        A window's dataset holds its elements; it can be iterated, and used in ``map`` and ``flat_map``. A state keeps
        the position of its first element, from where it is read again. A failed element fails every window that would
        hold it.

        Args:
            size: how many elements a window has.
            shift: how many elements lie between the first ones of two neighbouring windows; ``size`` by default.
            stride: how many elements lie between two neighbours in a window.
            drop_remainder: whether windows at the end with fewer elements are dropped.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: a number is below 1; or, while iterating, a window whose elements differ in structure.

        Example:
            >>> import headrace as hr
            >>> [list(window) for window in hr.Dataset.range(7).window(3, shift=2)]
            [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6]]
            >>> list(hr.Dataset.range(5).window(3, 1, drop_remainder=True).flat_map(lambda w: w.batch(3)))
            [array([0, 1, 2]), array([1, 2, 3]), array([2, 3, 4])]
        """
        return self._of(
            Window(
                input=self._plan,
                size=size,
                shift=shift,
                stride=stride,
                drop_remainder=drop_remainder,
                dataset_of=self._of,
                name=name,
            )
        )

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[[int, Dataset], Dataset],
        window_size: int | None = None,
        window_size_func: Callable[[int], int] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Groups elements by key, reduces each full group to a dataset, and gives the elements of these datasets.

        When a group is full, the elements of its dataset follow before anything more is read. At the end come the groups
        that are left, in the order of their keys. A state keeps where the elements that are held came from, and they are
        read again from the oldest on: so a key that hardly ever occurs makes a state slow to load.

        Args:
            key_func: called with the element, a tuple unpacked; returns an int64.
            reduce_func: called with the key and a dataset of the group's elements; returns a ``Dataset``.
            window_size: how many elements a full group has.
            window_size_func: called with a key when a group begins; returns how many elements a full one has.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: both sizes are given, or neither; while iterating, a key that is no int64, or a size
                below 1, in place of the element. A failing ``reduce_func`` loses its group and is not called
                again (in tf.data it fails for ever).

        Example:
            >>> import headrace as hr
            >>> ds = hr.Dataset.range(7)
            >>> list(ds.group_by_window(lambda x: x % 2, lambda key, group: group.batch(3), window_size=3))
            [array([0, 2, 4]), array([1, 3, 5]), array([6])]
        """
        return self._of(
            GroupByWindow(
                input=self._plan,
                key_func=key_func,
                reduce_func=reduce_func,
                window_size=window_size,
                window_size_func=window_size_func,
                dataset_of=self._of,
                name=name,
            )
        )

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Combines elements of similar lengths into batches: they are put into buckets by length, and each bucket is batched.

        Bucket i has the lengths from boundary i - 1 to before boundary i. It is ``group_by_window`` over ``padded_batch``.

        Args:
            element_length_func: called with the element, a tuple unpacked; returns its length, an integer.
            bucket_boundaries: rising lengths.
            bucket_batch_sizes: how many elements a batch of each bucket has; one more than boundaries.
            padded_shapes: as for ``padded_batch``.
            padding_values: as for ``padded_batch``.
            pad_to_bucket_boundary: pads axes that are open to the bucket's boundary - 1, instead of to the batch's longest.
                If it is not known which axes are open, the first of each component is.
            no_padding: batches without padding: the elements of a bucket must be equally long.
            drop_remainder: whether batches with fewer elements are dropped.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: the numbers of boundaries and batch sizes do not fit, or boundaries do not rise; while
                iterating, a length that is no integer, or, with ``pad_to_bucket_boundary``, not below the last boundary:
                in place of that element (in tf.data, for ever, when its batch is full).

        Example:
            >>> import headrace as hr
            >>> ds = hr.Dataset.from_generator(lambda: iter([[1], [1, 1, 1, 1], [2, 2], [3, 3, 3]]))
            >>> for batch in ds.bucket_by_sequence_length(len, [3], [2, 2]):
            ...     print(batch.tolist())
            [[1, 0], [2, 2]]
            [[1, 1, 1, 1], [3, 3, 3, 0]]
        """
        stage = "bucket_by_sequence_length"
        no_padding = check_flag(no_padding, field="no_padding", stage=stage)
        drop_remainder = check_flag(drop_remainder, field="drop_remainder", stage=stage)
        to_boundary = check_flag(pad_to_bucket_boundary, field="pad_to_bucket_boundary", stage=stage) and not no_padding
        buckets = Buckets.of(element_length_func, bucket_boundaries, bucket_batch_sizes, bounded=to_boundary)
        spec = self._plan.spec()

        @known_as("batches a bucket")
        def batched(bucket: int, group: Dataset) -> Dataset:
            size = buckets.size_of(bucket)
            if no_padding:
                return group.batch(size, drop_remainder=drop_remainder)
            shapes = padded_shapes
            if to_boundary:
                held = group.__headrace_plan__()
                assert isinstance(held, WindowContents)  # as group_by_window gives it
                shapes = boundary_shapes(
                    padded_shapes, buckets.padded_length(bucket), spec, lambda: held.elements.rows()[0]
                )
            return group.padded_batch(size, shapes, padding_values, drop_remainder=drop_remainder)

        return self.group_by_window(
            buckets, batched, window_size_func=buckets.size_of, name=name or "bucket_by_sequence_length"
        )
