"""Operations that look at one element at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from headrace.dataset.mixin import DatasetMixin
from headrace.errors import HeadraceError
from headrace.frozen import maker
from headrace.plan.buffering import Prefetch
from headrace.plan.elementwise import Enumerate, Filter, Map, RandomMap
from headrace.plan.randomness import Randomness

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Elementwise"]

# Functions make such datasets of elements by the thousand.
_new_map: Final = maker(Map)
_new_filter: Final = maker(Filter)
_new_enumerate: Final = maker(Enumerate)


class Elementwise(DatasetMixin):
    """Operations that look at one element at a time."""

    __slots__ = ()

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
        *,
        on_error: str | Callable[[HeadraceError], Any] = "raise",
        output_buffer_size: int | None = None,
        executor: str | None = None,
        timeout_s: float | None = None,
    ) -> Dataset:
        """Replaces each element by what a function returns for it.

        Args:
            map_func: called with the element; a tuple is unpacked into arguments. A list that it returns is a
                tuple, as in tf.data. It may return the same array again and again, filled anew: what it may still hold is copied.
            num_parallel_calls: how many calls may run at once in the pipeline's workers, whatever other maps
                do, and counted together if the pipeline reads it twice. Where they hold each other up, at Python's lock, and are
                measured to be no quicker than one after the other, there is one at a time until it is measured again: in a worker, or,
                of less than two microseconds, in the thread that reads. Where such a call does not come back for a quarter of a
                second, all others go on: it may wait for them, but at the end, where there are fewer. ``hr.AUTOTUNE`` takes what is
                measured to pay: none, for what is cheap;
                one for each core that this process may use; and up to 64 where calls wait for a disk or a network; there a call must
                not wait for another one. ``stats().decisions`` tells. None calls it in the thread that reads. In a dataset that a
                function of ``interleave`` or ``flat_map`` opens, there is one call at a time.
            deterministic: False delivers elements in the order in which they are done.
            synchronous: as in tf.data: True says that the function is called in the thread that reads, which is so
                without ``num_parallel_calls`` in any case.
            use_unbounded_threadpool: accepted as in tf.data, and ignored: the pipeline's one pool has as many threads as are needed.
            name: what the operation is called in messages and statistics.
            on_error: what becomes of an element on which the function failed: ``"raise"`` gives its error in its place;
                ``"skip"`` drops it, names it in the log, and counts it in ``stats()`` (``Options(max_failures=…)``
                bounds how many); a function is called with the error and returns an element instead.
            output_buffer_size: how many elements may be ready after the map, as in TensorFlow 1: the same as a
                ``prefetch`` of that size.
            executor: ``"process"`` calls it in processes, each of which has a Python lock of its own: for a function that is Python alone.
                It is sent to them once, with the variables that it uses as they are then. ``"thread"`` keeps it in threads where
                ``Options(executor="process")`` says otherwise.
            timeout_s: how many seconds the function may take on one element, from when it is called. One on which it does not return in
                time has failed, and ``on_error`` holds for it as for any other; the run goes on. A thread in which it hangs is left
                behind, as Python cannot end one, and another takes its place; a process is killed and replaced. The function is called in a
                thread of its own, also where it would have been called in the one that reads. None takes that of
                ``Options(timeout_s=)``, or waits as long as it takes.

        Raises:
            InvalidArgumentError: ``num_parallel_calls`` is neither positive nor ``hr.AUTOTUNE``, or ``on_error``, ``executor`` or
                ``timeout_s`` is something else; or the function cannot be sent to a process.
            ValueError: ``synchronous`` with ``num_parallel_calls``.
            DataError: while iterating, in place of each element on which the function failed.
            DeadlineExceededError: while iterating, in place of each element on which it did not return within ``timeout_s``; its
                ``stack`` says where it was.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensor_slices(([1, 2], [10, 20])).map(lambda x, y: x + y))
            [11, 22]
            >>> list(hr.Dataset.range(4).map(lambda x: 6 // (x - 1), on_error="skip"))
            [-6, 6, 3]
            >>> list(hr.Dataset.range(4).map(lambda x: 6 // (x - 1), on_error=lambda error: 0))
            [-6, 0, 6, 3]
            >>> import threading
            >>> never = threading.Event()
            >>> def fetched(x):
            ...     if x == 2:
            ...         never.wait()
            ...     return x
            >>> list(hr.Dataset.range(4).map(fetched, timeout_s=0.2, on_error="skip"))
            [0, 1, 3]
            >>> never.set()
        """
        if synchronous and num_parallel_calls is not None:
            raise ValueError("map: synchronous=True and num_parallel_calls exclude each other")
        mapped = _new_map(
            input=self._plan,
            function=map_func,
            num_parallel_calls=num_parallel_calls,
            deterministic=deterministic,
            on_error=on_error,
            executor=executor,
            timeout_s=timeout_s,
            name=name,
        )
        if output_buffer_size is None:
            return self._of(mapped)
        return self._of(Prefetch(input=mapped, buffer_size=output_buffer_size))

    def random_map(
        self,
        map_func: Callable[..., Any],
        seed: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
        *,
        executor: str | None = None,
        timeout_s: float | None = None,
    ) -> Dataset:
        """Replaces each element by what a function returns for it and random numbers of its own.

        The numbers depend only on the seed, the epoch, and the element's index. So an augmentation is the same with any
        number of workers, any executor, and after a resume. The next epoch has others. In front of ``distributed_batch`` it is
        also the same on any number of ranks; behind it each rank draws numbers of its own for its batches.

        Args:
            map_func: called with a ``numpy.random.Generator`` and the element, a tuple unpacked.
            seed: makes the numbers reproducible; None draws fresh entropy for this dataset.
            num_parallel_calls: as in ``map``.
            deterministic: as in ``map``.
            name: what the operation is called in messages and statistics.
            executor: as in ``map``.
            timeout_s: as in ``map``.

        Raises:
            InvalidArgumentError: ``num_parallel_calls`` is neither positive nor ``hr.AUTOTUNE``, or ``executor`` or ``timeout_s`` is
                something else.
            DataError: while iterating, in place of each element on which the function failed.
            DeadlineExceededError: while iterating, in place of each element on which it did not return within ``timeout_s``.

        Example:
            >>> import headrace as hr
            >>> def jittered(rng, x):
            ...     return x + rng.integers(100)
            >>> serial = hr.Dataset.range(5).random_map(jittered, seed=1)
            >>> parallel = hr.Dataset.range(5).random_map(jittered, seed=1, num_parallel_calls=4)
            >>> list(serial) == list(parallel)
            True
        """
        return self._of(
            RandomMap(
                input=self._plan,
                function=map_func,
                randomness=Randomness.of(seed, stage="random_map"),
                num_parallel_calls=num_parallel_calls,
                deterministic=deterministic,
                executor=executor,
                timeout_s=timeout_s,
                name=name,
            )
        )

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Keeps the elements for which the predicate is true.

        Args:
            predicate: called with the element, a tuple unpacked, which it sees read-only; returns a bool.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: while iterating, in place of an element for which it returned no bool.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(6).filter(lambda x: x % 2 == 0))
            [0, 2, 4]
        """
        return self._of(_new_filter(input=self._plan, predicate=predicate, name=name))

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Pairs each element with its index, which comes first.

        Args:
            start: the first number, at most 2**62: so each number fits int64.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: start is too large, or too small for int64.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.from_tensor_slices(["a", "b"]).enumerate(start=5))
            [(5, 'a'), (6, 'b')]
        """
        return self._of(_new_enumerate(input=self._plan, start=start, name=name))
