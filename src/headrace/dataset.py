"""The fluent facade: a dataset is an immutable, lazy description that holds one plan node and nothing else.

Names, arguments, defaults and edges are ``tf.data``'s, without TensorFlow: functions are any Python, elements are
structures of NumPy arrays, Python and NumPy scalars, strings and objects.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from headrace.engine import options_of, physical_plan
from headrace.errors import InvalidArgumentError, OutOfRangeError
from headrace.io.csv_components import CsvComponents
from headrace.io.files import match_files, path_of
from headrace.iterator import DatasetIterator
from headrace.physical.mapping import packed
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.plan.combining import FlatMap, Interleave, Zip
from headrace.plan.elementwise import Enumerate, Filter, Map
from headrace.plan.explain import explain_plan
from headrace.plan.formats import CsvFiles, TextFiles
from headrace.plan.grouping import Batch, Unbatch
from headrace.plan.node import INFINITE_CARDINALITY, Node
from headrace.plan.options import Options
from headrace.plan.randomness import Randomness
from headrace.plan.sequencing import Concatenate, Repeat, Shard, Shuffle, Skip, Take
from headrace.plan.sources import Files, FromGenerator, FromTensors, FromTensorSlices, RandomSource, Range, RecordFormat
from headrace.structure import Element, flatten, normalize, paths_of, spec_of, unflatten

__all__ = ["CsvDataset", "Dataset", "TextLineDataset"]

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Dataset:
    """A description of elements and of what is done to them; nothing runs until it is iterated.

    Every operation returns a new dataset. Each ``iter`` is a new epoch: a shuffle reshuffles.

    Example:
        >>> import headrace as hr
        >>> ds = hr.Dataset.range(6).map(lambda x: x * 10).batch(4)
        >>> for batch in ds:
        ...     print(batch)
        [ 0 10 20 30]
        [40 50]
    """

    __slots__ = ("_plan",)

    def __init__(self, plan: Node) -> None:
        if not isinstance(plan, Node):
            raise TypeError(
                "a Dataset is made by one of its sources, such as Dataset.range or Dataset.from_tensor_slices"
            )
        self._plan = plan

    def __headrace_plan__(self) -> Node:
        """The plan, for functions that return a dataset."""
        return self._plan

    # ---------------------------------------------------------------- sources

    @staticmethod
    def from_tensors(tensors: Element, name: str | None = None) -> Dataset:
        """One element: the structure itself.

        Args:
            tensors: a structure; lists in it become arrays.
            name: how messages and statistics call the operation.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensors(([1, 2], "a")))
            [(array([1, 2]), 'a')]
        """
        return Dataset(FromTensors(element=tensors, name=name))

    @staticmethod
    def from_tensor_slices(tensors: Element, name: str | None = None) -> Dataset:
        """One element for each index of the arrays' first axis.

        It is read by index: shuffling moves numbers, and batching gathers whole batches at once. Elements that are
        arrays are read-only views; batches are arrays of their own.

        Args:
            tensors: a structure of arrays (or lists) with first axes of one length.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: there is no component, one is a scalar, or lengths differ; the component is named.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"])))
            [(1, 'a'), (2, 'b'), (3, 'c')]
        """
        return Dataset(FromTensorSlices.of(tensors, name=name))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_signature: Any = None,
        args: tuple[Any, ...] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """What a generator yields; it is called anew in every epoch.

        Its state is a number: a resumed run calls the generator again and drops as many elements, with one warning
        in the log. If the iterator that ``generator`` returns has ``state_dict`` and ``load_state_dict`` of its
        own, they are used instead.

        Args:
            generator: a function that returns an iterable.
            output_signature: a structure of ``TensorSpec`` that every element must fit; Python numbers take its
                dtypes. None accepts any elements.
            args: what the generator is called with.
            name: how messages and statistics call the operation.

        Raises:
            TypeError: ``generator`` is not callable.
            InvalidArgumentError: while iterating, an element that does not fit the signature.

        Example:
            >>> import headrace as hr
            >>> def count(stop):
            ...     yield from range(stop)
            >>> list(hr.Dataset.from_generator(count, args=(3,)))
            [0, 1, 2]
        """
        signature = None if output_signature is None else normalize(output_signature)
        return Dataset(FromGenerator(generator=generator, signature=signature, args=tuple(args or ()), name=name))

    @staticmethod
    def range(*args: int, output_type: Any = np.int64, name: str | None = None) -> Dataset:
        """Numbers as in Python's ``range``: ``range(stop)``, ``range(start, stop)`` or ``range(start, stop, step)``.

        Args:
            *args: one to three ints.
            output_type: the dtype of the numbers.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: not one to three arguments, or a step of 0.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(2, 10, 3))
            [2, 5, 8]
        """
        if not 1 <= len(args) <= 3:
            raise InvalidArgumentError(f"range takes one to three numbers, not {len(args)}")
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        return Dataset(Range(start=start, stop=stop, step=step, dtype=np.dtype(output_type), name=name))

    @staticmethod
    def counter(start: int = 0, step: int = 1, dtype: Any = np.int64, name: str | None = None) -> Dataset:
        """Numbers without end.

        Args:
            start: the first number.
            step: what each is larger by than the one before.
            dtype: the dtype of the numbers.
            name: how messages and statistics call the operation.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.counter(5, 2).take(3))
            [5, 7, 9]
        """
        if step == 0:
            return Dataset.from_tensors(np.asarray(start, dtype), name=name).repeat()
        return Dataset(Range(start=start, stop=None, step=step, dtype=np.dtype(dtype), name=name))

    @staticmethod
    def random(
        seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Uniform random int64 numbers without end, the same in every epoch unless re-randomized.

        Args:
            seed: makes the numbers reproducible; None draws fresh entropy for this dataset.
            rerandomize_each_iteration: True gives other numbers in each epoch.
            name: how messages and statistics call the operation.

        Example:
            >>> import headrace as hr
            >>> ds = hr.Dataset.random(seed=1).take(4)
            >>> list(ds) == list(ds)
            True
        """
        return Dataset(
            RandomSource(
                randomness=Randomness.of(seed, stage="random"),
                rerandomize_each_iteration=bool(rerandomize_each_iteration),
                name=name,
            )
        )

    @staticmethod
    def list_files(
        file_pattern: Paths, shuffle: bool | None = None, seed: int | None = None, name: str | None = None
    ) -> Dataset:
        """The paths that match a pattern.

        Args:
            file_pattern: a glob pattern, or several.
            shuffle: False lists in sorted order; the default shuffles anew in each epoch.
            seed: makes the shuffles reproducible.
            name: how messages and statistics call the operation.

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
        files = match_files(file_pattern)
        listed = Dataset.from_tensor_slices(np.array(files, dtype=object), name=name or "list_files")
        return listed if shuffle is False else listed.shuffle(len(files), seed=seed)

    # ------------------------------------------------------------- element-wise

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Each element replaced by what a function makes of it.

        Args:
            map_func: called with the element; a tuple is unpacked into arguments. A list that it returns is a
                tuple, as in tf.data.
            num_parallel_calls: how many calls may run at once in the pipeline's workers; ``hr.AUTOTUNE`` takes one
                a core. None calls it in the thread that reads.
            deterministic: False lets elements come in the order in which they are done.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: ``num_parallel_calls`` is neither positive nor ``hr.AUTOTUNE``.
            DataError: while iterating, in place of each element on which the function failed.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensor_slices(([1, 2], [10, 20])).map(lambda x, y: x + y))
            [11, 22]
        """
        return Dataset(
            Map(
                input=self._plan,
                function=map_func,
                num_parallel_calls=num_parallel_calls,
                deterministic=deterministic,
                name=name,
            )
        )

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which the predicate is true.

        Args:
            predicate: called with the element, a tuple unpacked; returns a bool.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: while iterating, in place of an element for which it returned no bool.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(6).filter(lambda x: x % 2 == 0))
            [0, 2, 4]
        """
        return Dataset(Filter(input=self._plan, predicate=predicate, name=name))

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Each element with its number before it.

        Args:
            start: the first number.
            name: how messages and statistics call the operation.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensor_slices(["a", "b"]).enumerate(start=5))
            [(5, 'a'), (6, 'b')]
        """
        return Dataset(Enumerate(input=self._plan, start=start, name=name))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of the dataset that a function makes of each element, one dataset after the other.

        Args:
            map_func: called with the element, a tuple unpacked; returns a ``Dataset``.
            name: how messages and statistics call the operation.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(3).flat_map(lambda x: hr.Dataset.from_tensors(x).repeat(x)))
            [1, 2, 2]
        """
        return Dataset(FlatMap(input=self._plan, function=map_func, name=name))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int | None = None,
        block_length: int = 1,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of datasets that a function makes of elements, several of them open at once.

        The order does not depend on ``num_parallel_calls``.

        Args:
            map_func: called with the element, a tuple unpacked; returns a ``Dataset``.
            cycle_length: how many datasets are open at once; 4 by default, on every machine.
            block_length: how many elements each gives in its turn.
            num_parallel_calls: how many of them may be read at once, ahead of their turns.
            deterministic: False takes from whichever has something ready.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: a length is below 1, or ``num_parallel_calls`` exceeds ``cycle_length``.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(3).interleave(lambda x: hr.Dataset.from_tensors(x).repeat(2), cycle_length=2))
            [0, 1, 0, 1, 2, 2]
        """
        return Dataset(
            Interleave(
                input=self._plan,
                function=map_func,
                cycle_length=cycle_length,
                block_length=block_length,
                num_parallel_calls=num_parallel_calls,
                deterministic=deterministic,
                name=name,
            )
        )

    # ----------------------------------------------------------------- grouping

    def batch(self, batch_size: int, drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """Runs of consecutive elements, stacked along a new first axis into arrays of their own.

        Args:
            batch_size: how many elements a batch has.
            drop_remainder: whether a last batch with fewer is left out.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: the size is below 1; or, while iterating, elements that differ in structure, shape
                or dtype. An element that failed takes its batch with it.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(5).batch(2))
            [array([0, 1]), array([2, 3]), array([4])]
        """
        return Dataset(Batch(input=self._plan, batch_size=batch_size, drop_remainder=bool(drop_remainder), name=name))

    def unbatch(self, name: str | None = None) -> Dataset:
        """The slices of each element along its first axis.

        Args:
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: a component is a scalar, or the first axes differ in length; at once where that is
                known, else while iterating.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensors([[1, 2], [3, 4]]).unbatch())
            [array([1, 2]), array([3, 4])]
        """
        return Dataset(Unbatch(input=self._plan, name=name))

    # --------------------------------------------------------------- sequencing

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
        return Dataset(
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
        return Dataset(Repeat(input=self._plan, count=count, name=name))

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
        return Dataset(Take(input=self._plan, count=count, name=name))

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
        return Dataset(Skip(input=self._plan, count=count, name=name))

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Dataset:
        """Every ``num_shards``-th element, from the ``index``-th on.

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
        return Dataset(Shard(input=self._plan, num_shards=num_shards, index=index, name=name))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """This dataset, and then another.

        Args:
            dataset: elements of the same structure and dtypes.
            name: how messages and statistics call the operation.

        Raises:
            TypeError: it is no dataset, or structure or dtypes are known to differ.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(2).concatenate(hr.Dataset.range(5, 7)))
            [0, 1, 5, 6]
        """
        return Dataset(Concatenate(first=self._plan, second=_plan(dataset, "concatenate"), name=name))

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """One element of each dataset, together; the shortest ends it.

        Args:
            *args: datasets, or one structure (tuple, dict, …) of datasets.
            datasets: the structure by name, instead of ``args``.
            name: how messages and statistics call the operation.

        Raises:
            TypeError: no dataset, a list, something that is no dataset, or both forms at once.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.zip(hr.Dataset.range(3), hr.Dataset.range(10, 12)))
            [(0, 10), (1, 11)]
            >>> list(hr.Dataset.zip({"a": hr.Dataset.range(1)}))
            [{'a': 0}]
        """
        if bool(args) == (datasets is not None):
            raise TypeError("zip: pass datasets either one by one or as datasets=, and at least one")
        if datasets is None:
            datasets = args[0] if len(args) == 1 else args
        leaves, treedef = flatten(normalize(datasets))
        if any(isinstance(leaf, np.ndarray) for leaf in leaves):  # which is what normalize makes of a list
            raise TypeError("zip: a list is no structure of datasets; pass a tuple")
        plans = tuple(_plan(leaf, "zip") for leaf in leaves)
        if treedef.is_leaf():
            return Dataset(plans[0])
        return Dataset(Zip(treedef=treedef, datasets=plans, name=name))

    # ---------------------------------------------------------------- buffering

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """The elements of the first whole epoch, kept in memory and given again in every later one.

        It is kept when an epoch was read to its end, or as far as its known number of elements; an epoch that was
        left before keeps nothing and says so in the log. An epoch in which an element failed is not whole (tf.data
        keeps its other elements, which hides the failure from the next epoch).

        Args:
            filename: must be empty; a cache on disk is not built yet.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: a file name is given.

        Example:
            >>> import headrace as hr
            >>> calls = []
            >>> ds = hr.Dataset.range(3).map(lambda x: calls.append(x) or x).cache()
            >>> list(ds), list(ds), calls
            ([0, 1, 2], [0, 1, 2], [0, 1, 2])
        """
        if filename:
            raise InvalidArgumentError("a cache in a file is not built yet: leave filename empty", stage="cache")
        return Dataset(Cache(input=self._plan, name=name))

    def prefetch(self, buffer_size: int, name: str | None = None) -> Dataset:
        """The same elements, made ready by a thread of their own before they are asked for.

        Args:
            buffer_size: how many elements may lie ready; 0 changes nothing, ``hr.AUTOTUNE`` leaves it to headrace.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: the size is negative and not ``hr.AUTOTUNE``.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(3).prefetch(1))
            [0, 1, 2]
        """
        return Dataset(Prefetch(input=self._plan, buffer_size=buffer_size, name=name))

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same elements, run as the options say; where options meet, the later ones win.

        Args:
            options: an ``hr.Options``.
            name: how messages and statistics call the operation.

        Raises:
            TypeError: it is something else.
        """
        if not isinstance(options, Options):
            raise TypeError(f"with_options takes an hr.Options, not {type(options).__name__}")
        return Dataset(WithOptions(input=self._plan, options=options, name=name))

    def options(self) -> Options:
        """All options that were set on this dataset and on what it reads."""
        return options_of(self._plan)

    # ---------------------------------------------------------------- consuming

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """What a function makes of the whole dataset, so that one's own operations chain like others.

        Args:
            transformation_func: called with this dataset; returns another.

        Raises:
            TypeError: it returned something else.

        Example:
            >>> import headrace as hr
            >>> def evens(ds):
            ...     return ds.filter(lambda x: x % 2 == 0)
            >>> list(hr.Dataset.range(5).apply(evens))
            [0, 2, 4]
        """
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(f"apply: the function must return a Dataset, but returned {type(result).__name__}")
        return result

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any], name: str | None = None) -> Any:
        """All elements drawn together into one state.

        Args:
            initial_state: a structure; what an empty dataset gives.
            reduce_func: called with the state and an element (not unpacked); returns the new state.
            name: how messages call the operation.

        Raises:
            TypeError: the function returned a state of another structure, shape or dtype.
            HeadraceError: the error of an element that failed.

        Example:
            >>> import headrace as hr
            >>> hr.Dataset.range(5).reduce(0, lambda total, x: total + x)
            10
        """
        state = normalize(initial_state)
        spec = spec_of(state)
        with iter(self) as iterator:
            for element in iterator:
                state = packed(reduce_func(state, element))
                _check_state(spec, state, name or "reduce")
        return state

    def cardinality(self) -> int:
        """How many elements an epoch has; ``hr.INFINITE_CARDINALITY`` or ``hr.UNKNOWN_CARDINALITY`` otherwise.

        Example:
            >>> import headrace as hr
            >>> hr.Dataset.range(10).batch(4).cardinality()
            3
        """
        return self._plan.cardinality()

    def __len__(self) -> int:
        count = self.cardinality()
        if count < 0:
            known = "infinite" if count == INFINITE_CARDINALITY else "unknown"
            raise TypeError(f"the number of elements is {known}")
        return count

    def __bool__(self) -> bool:
        return True  # not len(): a dataset is true even when it is empty or endless

    @property
    def element_spec(self) -> Any:
        """The structure of ``TensorSpec`` of an element.

        Where it follows from the operations it is exact, with None for sizes that vary. Behind a Python function
        only a run can tell: the first element is made to look at it, and the sizes are that element's.

        Raises:
            OutOfRangeError: the dataset is empty, and only an element could tell.

        Example:
            >>> import headrace as hr
            >>> hr.Dataset.range(10).batch(4).element_spec
            TensorSpec(shape=(None,), dtype=int64)
        """
        known = self._plan.spec()
        if known is not None:
            return known
        inline = WithOptions(input=self._plan, options=Options(executor="inline"))
        with DatasetIterator(inline, counts=False) as iterator:
            for element in iterator:
                return spec_of(element)
        raise OutOfRangeError("the dataset is empty, so its element_spec is not known")

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements with every number as a NumPy scalar or array.

        Example:
            >>> import headrace as hr
            >>> [type(x).__name__ for x in hr.Dataset.range(1).as_numpy_iterator()]
            ['int64']
        """
        with iter(self) as iterator:
            for element in iterator:
                leaves, treedef = flatten(element)
                yield unflatten(treedef, [_as_numpy(leaf) for leaf in leaves])

    def explain(self) -> str:
        """The plan as it was written and, where that differs, as it will run.

        Example:
            >>> import headrace as hr
            >>> print(hr.Dataset.range(3).batch(2).explain())
            batch [batch_size=2, drop_remainder=False]
              range [start=0, stop=3, step=1, dtype=int64]
        """
        written = explain_plan(self._plan)
        running = explain_plan(physical_plan(self._plan, self.options()))
        return written if running == written else f"{written}\n\nruns as\n{running}"

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(self._plan)

    def __repr__(self) -> str:
        spec = self._plan.spec()
        return f"<Dataset {self._plan.label}{'' if spec is None else f' of {spec}'}>"


def _plan(dataset: object, stage: str) -> Node:
    if not isinstance(dataset, Dataset):
        raise TypeError(f"{stage}: expected a Dataset, not {type(dataset).__name__}")
    return dataset._plan  # noqa: SLF001 - this file's own class


def _check_state(wanted: Any, state: Any, stage: str) -> None:
    (specs, treedef), (leaves, other) = flatten(wanted), flatten(spec_of(state))
    if treedef != other:
        raise TypeError(f"{stage}: the function changed the structure of the state")
    for path, spec, leaf in zip(paths_of(treedef), specs, leaves, strict=True):
        if spec.dtype != leaf.dtype:
            place = f" component {path}" if path else ""
            raise TypeError(f"{stage}: the function changed the state's{place} dtype from {spec} to {leaf}")


def _as_numpy(leaf: Any) -> Any:
    return np.asarray(leaf)[()] if isinstance(leaf, (bool, int, float, complex)) else leaf


def _of_files(filenames: Any, make: RecordFormat, num_parallel_reads: int | None, name: str | None) -> Dataset:
    """The records of files that are named, or that a dataset names."""
    if isinstance(filenames, Dataset):

        def open_one(path: str) -> Dataset:
            return Dataset(Files(paths=(path,), format=make, name=name))

        if num_parallel_reads is None:
            return filenames.flat_map(open_one, name=name)
        return filenames.interleave(open_one, num_parallel_calls=num_parallel_reads, name=name)
    listed = [filenames] if isinstance(filenames, (str, os.PathLike)) else list(filenames)
    paths = tuple(path_of(path) for path in listed)
    if num_parallel_reads is None:
        return Dataset(Files(paths=paths, format=make, name=name))
    return _of_files(Dataset.from_tensor_slices(np.array(paths, dtype=object)), make, num_parallel_reads, name)


class TextLineDataset(Dataset):
    r"""The lines of text files, as ``str`` without their line ends, file after file.

    Args:
        filenames: a path, several, or a dataset of paths.
        compression_type: ``None``, ``"GZIP"`` or ``"ZLIB"``.
        buffer_size: how many bytes are read at once; two megabytes by default.
        num_parallel_reads: how many files are read at once, their lines interleaved; None reads one after the other.
        name: how messages and statistics call the operation.

    Raises:
        InvalidArgumentError: an unknown compression; or, while iterating, a line that is not UTF-8.
        NotFoundError: while iterating, a file that is not there.
        DataLossError: while iterating, a compressed file that is truncated or corrupt.

    Example:
        >>> import headrace as hr
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "lines.txt"
        >>> _ = path.write_text("one\ntwo\n")
        >>> list(hr.TextLineDataset(path))
        ['one', 'two']
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        text = TextFiles(compression_type=compression_type, buffer_size=buffer_size)
        super().__init__(_of_files(filenames, text, num_parallel_reads, name).__headrace_plan__())


class CsvDataset(Dataset):
    r"""The rows of CSV files, as tuples of columns.

    Args:
        filenames: a path, several, or a dataset of paths.
        record_defaults: one entry a column: a default value for empty fields, which also gives the type (a Python
            float is float32, an int is int32, as in TensorFlow), or a type for a field that must be there. An array
            of n defaults reads the next n columns as one array: ``[np.zeros(1024, np.float32), 0.0]`` makes pairs of
            1,024 features and a label out of rows of 1,025 numbers.
        compression_type: ``None``, ``"GZIP"`` or ``"ZLIB"``.
        buffer_size: how many bytes are read at once; two megabytes by default.
        header: whether the first line of each file is left out.
        field_delim: the character between fields.
        use_quote_delim: whether double quotes enclose fields.
        na_value: a text that means that the field is empty.
        select_cols: the numbers of the columns to be read, increasing; all by default.
        exclude_cols: the numbers of the columns not to be read, increasing.
        name: how messages and statistics call the operation.

    Raises:
        InvalidArgumentError: arguments that do not fit; or, while iterating, in place of each row that has a missing
            or wrong field: file, line and column are named.
        NotFoundError: while iterating, a file that is not there.
        DataLossError: while iterating, a compressed file that is truncated or corrupt.

    Example:
        >>> import headrace as hr
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
        >>> _ = path.write_text("1,a\n2,\n")
        >>> [(int(number), text) for number, text in hr.CsvDataset(path, [int, "none"])]
        [(1, 'a'), (2, 'none')]
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        record_defaults: Any,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
        name: str | None = None,
    ) -> None:
        csv = CsvComponents.of(
            record_defaults,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=select_cols,
            exclude_cols=exclude_cols,
        )
        files = CsvFiles(csv=csv, header=header, compression_type=compression_type, buffer_size=buffer_size)
        super().__init__(_of_files(filenames, files, None, name).__headrace_plan__())
