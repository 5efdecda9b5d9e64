"""What a dataset can be asked for: its elements, how many they are and of what kind, its plan."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

from headrace.dataset.mixin import DatasetMixin
from headrace.elements.ownership import copied
from headrace.elements.structure import normalize
from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.observe.window import WINDOW_S
from headrace.plan.buffering import options_of
from headrace.plan.dealt import dealing_of
from headrace.plan.explain import explain_plan
from headrace.plan.node import INFINITE_CARDINALITY, Node, nodes_of
from headrace.semantics.dataloader_workers import warn_of_whole_copies

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset
    from headrace.iterator import DatasetIterator
    from headrace.iterator.at_hand import AtHand
    from headrace.iterator.numpy_iterator import NumpyIterator
    from headrace.observe.stats import IteratorStats

__all__ = ["Consuming"]


class Consuming(DatasetMixin):
    """What a dataset can be asked for: its elements, how many they are and of what kind, its plan."""

    __slots__ = ()

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Applies a function to the whole dataset, so that your own operations chain like the others.

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
        result = transformation_func(cast("Dataset", self))
        if not isinstance(result, DatasetMixin):
            raise TypeError(f"apply: the function must return a Dataset, but returned {type(result).__name__}")
        return result

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any], name: str | None = None) -> Any:
        """Reduces all elements to one state.

        Args:
            initial_state: a structure, which an empty dataset returns. It is copied.
            reduce_func: called with the state and an element (not unpacked); returns the new state, which may be the same one,
                changed in place.
            name: what the operation is called in messages.

        Raises:
            TypeError: the function returned a state of another structure, shape or dtype.
            HeadraceError: the error of an element that failed.

        Example:
            >>> import headrace as hr
            >>> hr.Dataset.range(5).reduce(0, lambda total, x: total + x)
            10
        """
        from headrace.physical.loops.reducing import reduced

        state = copied(normalize(initial_state))  # the function may change its state in place
        with self._at_hand() or iter(self) as elements:
            return reduced(elements, state, reduce_func, stage=name or "reduce")

    def get_single_element(self, name: str | None = None) -> Any:
        """Returns the element of a dataset that has exactly one.

        Args:
            name: what the operation is called in messages.

        Raises:
            InvalidArgumentError: there is none, or more than one.
            HeadraceError: the error of the element, if it failed.

        Example:
            >>> import headrace as hr
            >>> hr.Dataset.range(4).batch(4).get_single_element()
            array([0, 1, 2, 3])
        """
        stage = name or "get_single_element"
        with self._at_hand() or iter(self) as found:
            elements = iter(found)
            try:
                element = next(elements)
            except StopIteration:
                raise InvalidArgumentError("the dataset is empty", stage=stage) from None
            for _ in elements:
                raise InvalidArgumentError("the dataset has more than one element", stage=stage)
        return element

    def cardinality(self) -> int:
        """Returns how many elements an epoch has; ``hr.INFINITE_CARDINALITY`` or ``hr.UNKNOWN_CARDINALITY`` otherwise.

        Groups, buckets and a parallel ``interleave`` of an endless dataset count as infinite, as in tf.data, even if their function
        only ever returns empty datasets. ``len`` of what is infinite or unknown is a TypeError.

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

    def __getitem__(self, index: SupportsIndex) -> Any:
        """Returns the element at an index, as ``tf.data.experimental.at``, and computes only what that element needs.

        Indices are those of the first epoch: ``ds[i]`` is ``list(ds)[i]`` of a dataset that was not iterated over yet, so a
        shuffle is always in its first order. An element that fails raises its error, and keeps its index.

        It works after ``from_tensors``, ``from_tensor_slices``, ``range``, ``counter``, ``random``, ``source``, ``load``, the files that
        are read by index, and ``map``, ``random_map``, ``enumerate``, ``batch``, ``padded_batch``, ``ragged_batch``, ``take``, ``skip``,
        ``shard``, ``shuffle``, ``repeat``, ``concatenate``, ``zip``, ``cache`` (which it reads and does not fill), ``prefetch``,
        ``with_options`` and ``assert_cardinality``. A dataset with a length is also a map-style dataset for PyTorch's
        ``DataLoader``.

        Args:
            index: from 0; a negative index counts from the end.

        Raises:
            IndexError: there is no such element.
            TypeError: the index is no int, or only a run could tell which element has which index; the operation is named.
            HeadraceError: the error of the element, if it fails.

        Example:
            >>> import headrace as hr
            >>> ds = hr.Dataset.range(10).map(lambda x: x * x).batch(4)
            >>> ds[1], ds[-1], len(ds)
            (array([16, 25, 36, 49]), array([64, 81]), 3)
        """
        wanted = _as_int(index)
        if self._access is None:
            from headrace.backends.access import element_access

            self._access = element_access(self._plan)
        length = self._access.length
        inside = wanted + (length or 0) if wanted < 0 else wanted
        if inside < 0 or (length is not None and inside >= length):
            has = "no end, and so no negative indices" if length is None else f"{length} elements"
            raise IndexError(f"there is no element {wanted}: the dataset has {has}")
        try:
            return self._access.at(inside)[0]
        except HeadraceError as error:
            # A copy, as an iterator's: the frames that made the error hold it.
            failure = error.located(stage=None, origin=None)
        raise failure

    def __bool__(self) -> bool:
        return True  # not len(): a dataset is true even when it is empty or endless

    @property
    def element_spec(self) -> Any:
        """The structure of ``TensorSpec`` of an element; ``hr.DatasetSpec`` where an element is a dataset, as a window is.

        What follows from the operations is exact, with None for sizes that vary. A Python function is not traced: the plan
        runs until it gives its first element, and what each function returned meanwhile is its specification.
        A size in which its results differ is None, and so is one that equals a size of its input that is known to vary: after
        ``batch(32).map(scaled)`` the first size is None, because the last batch may be short. What a function returns only
        later cannot be known: of a map that makes longer and longer rows, the specification is that of the first.

        Raises:
            OutOfRangeError: the dataset is empty, and only an element could tell.
            HeadraceError: the first element failed, and only it could tell.
            TypeError: datasets that are read one after the other differ in structure or dtype.

        Example:
            >>> import headrace as hr
            >>> hr.Dataset.range(10).batch(4).element_spec
            TensorSpec(shape=(None,), dtype=int64)
        """
        from headrace.dataset.looking import looked_spec

        return looked_spec(self._plan)

    def as_numpy_iterator(self) -> NumpyIterator:
        """Returns an iterator whose elements carry every number as a NumPy scalar or array.

        It has a state, as ``iter(dataset)`` has: ``state_dict`` and ``load_state_dict``, or ``save`` and ``restore`` as tf.data
        calls them.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(2).as_numpy_iterator())
            [np.int64(0), np.int64(1)]
        """
        iterator: NumpyIterator = _reading_numbers().numpy_iterator_of(self._plan)
        return iterator

    def explain(self, stats: IteratorStats | None = None, *, analyze: bool = False) -> str:
        """Returns the plan as it was written and, if that differs, as it will run.

        With figures, each line of the plan that ran has what its operation did, as ``stats()`` tells it, the bottleneck is marked, and
        it is said which rule of the optimizer changed what.

        Where processes are asked for, it says which functions are called in some and which in this one.

        Of a plan that is dealt to ranks it says how this rank runs it, and where each of its streams has a plan of its own.

        Args:
            stats: what ``stats()`` of an iterator of this dataset returned: the figures.
            analyze: whether to run an epoch for the figures, or ten seconds of it, with nothing that consumes it.

        Example:
            >>> import headrace as hr
            >>> print(hr.Dataset.range(3).batch(2).explain())
            batch [batch_size=2, drop_remainder=False]
              range [start=0, stop=3, step=1, dtype=int64]
        """
        written = explain_plan(self._plan)
        from headrace.engine import physical_plan
        from headrace.plan.calling import said_where

        options = options_of(self._plan)
        plan = physical_plan(self._plan, options)
        running = explain_plan(plan)
        how = "runs as" if dealing_of(self._plan) is None else _how_dealt(plan)
        if analyze or stats is not None:
            return _analyzed(self._plan, written, how, _figures_of_a_look(self._plan) if stats is None else stats)
        parts = [written] if running == written else [written, f"{how}\n{running}"]
        if where := said_where(plan, options):
            parts.append("\n".join(["functions are called", *(f"  {line}" for line in where)]))
        return "\n\n".join(parts)

    def __iter__(self) -> DatasetIterator:
        plan = self._plan
        warn_of_whole_copies(self, plan)
        iterator: DatasetIterator = _reading().iterator_of(plan)
        return iterator

    def _at_hand(self) -> AtHand | DatasetIterator | None:
        """Returns all elements, where they are few and can be had without a run."""
        if type(self).__iter__ is not Consuming.__iter__:  # a class of the user's gives its own
            return None
        found: AtHand | DatasetIterator | None = _reading().elements_at_hand(self, self._plan)
        return found


@functools.cache  # to name it in each call takes as long as to make a few elements
def _reading() -> Any:
    """Returns what reads datasets, which a program that only makes them does not need."""
    from headrace.iterator import at_hand

    return at_hand


@functools.cache
def _reading_numbers() -> Any:
    """Returns what reads datasets with NumPy's numbers."""
    from headrace.iterator import numpy_iterator

    return numpy_iterator


def _figures_of_a_look(plan: Node) -> IteratorStats:
    """Returns what an epoch tells, or ten seconds of one."""
    from headrace.iterator import DatasetIterator

    end_s = time.monotonic() + WINDOW_S
    with DatasetIterator(plan, counts=False) as iterator:
        for _ in iterator.blocks():
            if time.monotonic() > end_s:
                break
        return iterator.stats()


def _analyzed(plan: Node, written: str, how: str, stats: IteratorStats) -> str:
    """Returns what stands in an explanation with figures."""
    from headrace.engine import physical_plan, unoptimised_plan
    from headrace.profiling.explaining import explained_rules, explained_run  # what few programs need

    options = options_of(plan)
    is_optimized = options.optimize is not False and options.executor != "inline"
    rules = explained_rules(unoptimised_plan(plan, options)) if is_optimized else []
    ran = explained_run(physical_plan(plan, options), options, stats)
    return "\n\n".join([written, *(["\n".join(["rules", *rules])] if rules else []), f"{how}\n{ran}"])


def _how_dealt(plan: Node) -> str:
    """Returns what stands above the plan of a rank."""
    from headrace.plan.dealing import DealtStreams  # what few plans need

    has_streams = any(isinstance(node, DealtStreams) for node in nodes_of(plan))
    return "runs on this rank as" + f", once per stream what is below '{DealtStreams.op}'" * has_streams


def _as_int(index: object) -> int:
    """Returns an index as an int.

    Raises:
        TypeError: it is no int.
    """
    if isinstance(index, slice):
        raise TypeError("a dataset has no slices: write ds.skip(start).take(stop - start), or ds.shard(step, 0)")
    if isinstance(index, bool) or not hasattr(index, "__index__"):
        raise TypeError(f"the index of an element must be an int, not {index!r}")
    return int(index.__index__())
