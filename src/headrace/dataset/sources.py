"""The sources that are functions of ``Dataset``: memory, generators, numbers, names of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headrace.arguments import check_flag
from headrace.dataset.mixin import DatasetMixin
from headrace.elements.structure import Element
from headrace.errors import InvalidArgumentError
from headrace.frozen import maker
from headrace.io.files import FilePaths, match_files
from headrace.plan.by_number import Source
from headrace.plan.randomness import Randomness
from headrace.plan.signature import is_signature, signature_of
from headrace.plan.sources import FromGenerator, FromTensors, FromTensorSlices, RandomSource, Range

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Sources"]

# Functions make such datasets of elements by the thousand.
_new_element: Final = maker(FromTensors)
_new_range: Final = maker(Range)
_INT64: Final = np.dtype(np.int64)


class Sources(DatasetMixin):
    """The sources that are functions of ``Dataset``: memory, generators, numbers, names of files."""

    __slots__ = ()

    @classmethod
    def from_tensors(cls, tensors: Element, name: str | None = None) -> Dataset:
        """Makes a dataset of one element: the structure itself.

        Its arrays are read-only views of the caller's: nothing is copied, so writing to an array afterwards changes the
        element. (tf.data copies when the dataset is built.)

        Args:
            tensors: a structure; lists in it become arrays.
            name: what the operation is called in messages and statistics.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensors(([1, 2], "a")))
            [(array([1, 2]), 'a')]
        """
        return cls._of(_new_element(element=tensors, name=name))

    @classmethod
    def from_tensor_slices(cls, tensors: Element, name: str | None = None) -> Dataset:
        """Makes a dataset with one element for each index of the arrays' first axis.

        It is read by index: shuffling moves indices, and batching gathers whole batches at once. Elements that are
        arrays are read-only views of the caller's arrays: nothing is copied, so writing to an array afterwards changes the
        elements. (tf.data copies when the dataset is built.) Batches are arrays of their own.

        Args:
            tensors: a structure of arrays (or lists) with first axes of one length.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: there is no component, one is a scalar or has something masked, or lengths differ; the component is
                named.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"])))
            [(1, 'a'), (2, 'b'), (3, 'c')]
        """
        return cls._of(FromTensorSlices.of(tensors, name=name))

    @classmethod
    def from_generator(
        cls,
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Makes a dataset of what a generator yields; it is called anew in every epoch.

        Its state is a count: a resumed run calls the generator again and drops that many elements, with one warning
        in the log. If the iterator that ``generator`` returns has ``state_dict`` and ``load_state_dict`` of its
        own, they are used instead; what ``state_dict`` returns must be what JSON can hold.

        A generator may yield the same array again and again, filled anew: what it may still hold is copied.

        With a signature, a list or a tuple stands for an array where the signature has one, and values take its dtypes:
        ints may be any number, floats any float, text ``str`` or ``bytes`` (in UTF-8). A value may lose precision, but
        what would be cut is an error: an int that does not fit, a float for an int, a number that is neither 0 nor 1 for a
        bool. (tf.data cuts in silence: there ``2**40`` is 0 in an int32.)

        Args:
            generator: a function that returns an iterable.
            output_types: tf.data's older spelling of a signature: a structure of dtypes. A structure of ``TensorSpec`` is
                taken here as well, as ``output_signature``, and ``args`` and ``name`` may follow it.
            output_shapes: a shape for each of these dtypes, in the same structure: None for any, ``(None, 3)``.
            args: a tuple of what the generator is called with.
            output_signature: a structure of ``TensorSpec`` that every element must fit. None accepts any elements.
            name: what the operation is called in messages and statistics.

        Raises:
            TypeError: ``generator`` is not callable; a signature holds something else than ``TensorSpec``, or is given
                together with types or shapes; types hold something else than dtypes.
            InvalidArgumentError: the shapes do not fit the types; or while iterating, an element that does not fit the
                signature.

        Example:
            >>> import headrace as hr
            >>> def count(stop):
            ...     yield from range(stop)
            >>> list(hr.Dataset.from_generator(count, args=(3,)))
            [0, 1, 2]
            >>> def rows():
            ...     yield {"sizes": (9,), "name": "a"}
            ...     yield {"sizes": (7, 6), "name": b"b"}
            >>> signature = {"sizes": hr.TensorSpec((None,), "int32"), "name": hr.TensorSpec((), str)}
            >>> for row in hr.Dataset.from_generator(rows, output_signature=signature):
            ...     print(row)
            {'sizes': array([9], dtype=int32), 'name': 'a'}
            {'sizes': array([7, 6], dtype=int32), 'name': 'b'}
        """
        if output_signature is None and is_signature(output_types):
            # headrace's own order: signature, args, name.
            if isinstance(args, str):
                args, name = None, args
            output_signature, output_types = output_types, None
            if output_shapes is not None and args is None:
                args, output_shapes = output_shapes, None
        signature = signature_of(output_types, output_shapes, output_signature)
        if args is not None and (isinstance(args, (str, bytes)) or not isinstance(args, Iterable)):
            raise TypeError(f"from_generator: args is a tuple of what the generator is called with, not {args!r}")
        given = () if args is None else tuple(args)
        return cls._of(FromGenerator(generator=generator, signature=signature, args=given, name=name))

    @classmethod
    def source(
        cls,
        source: Any,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Makes a dataset of what any object gives by index: torch's map-style datasets, Grain's sources, Hugging Face's datasets, a list.

        ``shuffle``, ``take``, ``skip`` and ``shard`` after it move indices, also after ``repeat``, ``prefetch`` and
        ``with_options``, and the last three after a ``zip``, ``concatenate`` or ``enumerate`` of such sources as well: only what
        comes out is fetched. An element that cannot be fetched keeps its index: ``take(5)`` gives
        the elements 0 to 4, with an error in place of one that fails.

        Lists in what it gives are arrays, as in other sources, and tensors of PyTorch's are NumPy arrays on the same memory.

        Args:
            source: has ``__len__`` and ``__getitem__``, which takes 0 to the length - 1. Where it has ``__getitems__``, which
                takes a list of indices and returns a list of elements, many are fetched at once. With parallel calls
                it is called from several threads at once.
            num_parallel_calls: how many elements may be fetched at once in the pipeline's workers.
            deterministic: False delivers elements in the order in which they were fetched.
            name: what the operation is called in messages and statistics.

        Raises:
            TypeError: it has no ``__len__`` or no ``__getitem__``.
            DataError: while iterating, in place of each element that it failed to give.

        Example:
            >>> import headrace as hr
            >>> class Squares:
            ...     def __len__(self):
            ...         return 4
            ...
            ...     def __getitem__(self, index):
            ...         return {"number": index, "square": [index * index]}
            >>> for batch in hr.Dataset.source(Squares()).batch(4):
            ...     print(batch)
            {'number': array([0, 1, 2, 3]), 'square': array([[0],
                   [1],
                   [4],
                   [9]])}
        """
        plan = Source.of(source, num_parallel_calls=num_parallel_calls, deterministic=deterministic, name=name)
        return cls._of(plan)

    @classmethod
    def range(cls, *args: int, output_type: Any = np.int64, name: str | None = None) -> Dataset:
        """Makes a dataset of numbers as in Python's ``range``: ``range(stop)``, ``range(start, stop)`` or ``range(start, stop, step)``.

        Args:
            *args: one to three ints.
            output_type: the dtype of the numbers.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: not one to three arguments, a step of 0, or a number that is no int64.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(2, 10, 3))
            [2, 5, 8]
        """
        if not 1 <= len(args) <= 3:
            raise InvalidArgumentError(f"range takes one to three numbers, not {len(args)}")
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        return cls._of(
            _new_range(
                start=start,
                stop=stop,
                step=step,
                dtype=_INT64 if output_type is np.int64 else np.dtype(output_type),
                name=name,
            )
        )

    @classmethod
    def counter(cls, start: int = 0, step: int = 1, dtype: Any = np.int64, name: str | None = None) -> Dataset:
        """Makes a dataset of numbers without end.

        Args:
            start: the first number.
            step: the difference between a number and the one before.
            dtype: the dtype of the numbers.
            name: what the operation is called in messages and statistics.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.counter(5, 2).take(3))
            [5, 7, 9]
        """
        if step == 0:
            return cls.from_tensors(np.asarray(start, dtype), name=name).repeat()
        return cls._of(Range(start=start, stop=None, step=step, dtype=np.dtype(dtype), name=name))

    @classmethod
    def random(
        cls, seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Makes a dataset of uniform random int64 numbers without end, the same in every epoch unless re-randomized.

        Args:
            seed: makes the numbers reproducible; None draws fresh entropy for this dataset.
            rerandomize_each_iteration: True gives other numbers in each epoch.
            name: what the operation is called in messages and statistics.

        Example:
            >>> import headrace as hr
            >>> ds = hr.Dataset.random(seed=1).take(4)
            >>> list(ds) == list(ds)
            True
        """
        return cls._of(
            RandomSource(
                randomness=Randomness.of(seed, stage="random"),
                rerandomize_each_iteration=False if rerandomize_each_iteration is None else rerandomize_each_iteration,
                name=name,
            )
        )

    @classmethod
    def list_files(
        cls, file_pattern: FilePaths, shuffle: bool | None = None, seed: int | None = None, name: str | None = None
    ) -> Dataset:
        """Makes a dataset of the paths that match a pattern.

        Args:
            file_pattern: a glob pattern, or several.
            shuffle: False lists in sorted order; the default shuffles anew in each epoch, and in each process: where processes
                share the files by ``shard``, give a seed, or False.
            seed: makes the shuffles reproducible.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: nothing matches; the pattern is named.

        Example:
            >>> import headrace as hr
            >>> import pathlib, tempfile
            >>> folder = pathlib.Path(tempfile.mkdtemp())
            >>> for letter in "ab":
            ...     _ = (folder / f"{letter}.txt").write_text("")
            >>> [pathlib.Path(path).name for path in hr.Dataset.list_files(folder / "*.txt", shuffle=False)]
            ['a.txt', 'b.txt']
        """
        is_shuffled = shuffle is None or check_flag(shuffle, field="shuffle", stage="list_files")
        files = match_files(file_pattern)
        listed = cls.from_tensor_slices(np.array(files, dtype=object), name=name or "list_files")
        return listed.shuffle(len(files), seed=seed, name=name or "list_files") if is_shuffled else listed
