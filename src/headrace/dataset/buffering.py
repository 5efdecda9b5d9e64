"""Operations that hold elements, and settings: the elements stay the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from headrace.arguments import AUTOTUNE, check_int
from headrace.caching.memory import MemoryCache
from headrace.dataset.fingerprinting import key_of_dataset
from headrace.dataset.mixin import DatasetMixin
from headrace.errors import InvalidArgumentError
from headrace.plan.buffering import Cache, Prefetch, WithOptions, options_of
from headrace.plan.options import Options

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Buffering"]


class Buffering(DatasetMixin):
    """Operations that hold elements, and settings: the elements stay the same."""

    __slots__ = ()

    def cache(
        self,
        filename: str | os.PathLike[str] = "",
        name: str | None = None,
        *,
        key: str | Callable[[Dataset], str] | None = None,
        max_bytes: int | None = None,
    ) -> Dataset:
        """Keeps the elements of the first whole epoch, in memory or on disk, and gives them again in every later one.

        An epoch is kept when it was read to its end, or up to its known number of elements. One that was left earlier keeps
        nothing, and the log says so. Nor does one in which an element failed (tf.data keeps its other elements, which
        hides the failure from the next epoch). An element that cannot be kept has an error in its place; the others
        come all the same, and nothing of that epoch is kept.

        On disk, arrays are mapped into memory and read by index. One process fills a cache while others read through;
        what a killed process wrote is never used. ``key=hr.fingerprint`` finds the cache again when the same
        pipeline is built anew, and fills another when anything changed in its operations, functions or files. A key that is a
        function is called again when the epoch is whole: if something changed after the dataset was built, nothing is kept,
        and a warning says what. Each ``Options(seed=)`` has a cache of its own, whatever the key, if the elements depend on
        the seed. Without a key the folder belongs to one pipeline, and any other that uses it is an error.

        Args:
            filename: the folder of a cache on disk; empty keeps elements in memory.
            name: what the operation is called in messages and statistics.
            key: names the cache within the folder: a text that you choose, or a function of the dataset such as
                ``hr.fingerprint``.
            max_bytes: how many bytes the elements may hold; None sets no bound. If only their file on disk would be larger,
                nothing is kept, and a warning says so.

        Raises:
            InvalidArgumentError: a key without a folder; a folder that holds another pipeline's elements; while
                iterating, in place of an element on its way to the disk that is neither numbers nor texts.
            ResourceExhaustedError: while iterating, in place of the first element for which ``max_bytes`` has no room, or
                where the disk is full.
            DataLossError: a file of the cache is broken.

        Example:
            >>> import headrace as hr
            >>> calls = []
            >>> ds = hr.Dataset.range(3).map(lambda x: calls.append(x) or x).cache()
            >>> list(ds), list(ds), calls
            ([0, 1, 2], [0, 1, 2], [0, 1, 2])

            On disk, found again when the same pipeline is built:

            >>> import tempfile
            >>> folder = tempfile.mkdtemp()
            >>> def input_fn():
            ...     return hr.Dataset.range(3).map(lambda x: x * x).cache(folder, key=hr.fingerprint)
            >>> list(input_fn()), list(input_fn())
            ([0, 1, 4], [0, 1, 4])
        """
        if max_bytes is not None and check_int(max_bytes, field="max_bytes", stage="cache") < 1:
            raise InvalidArgumentError(f"max_bytes must be at least 1, not {max_bytes}", stage="cache")
        if key is not None and not callable(key) and not isinstance(key, str):
            raise TypeError(f"cache: key must be a text, or a function of the dataset, not {type(key).__name__}")
        if not os.fspath(filename):
            if key is not None:
                raise InvalidArgumentError("a key names a cache on disk: give its folder as well", stage="cache")
            return self._of(Cache(input=self._plan, store=MemoryCache(max_bytes), name=name))
        from pathlib import Path

        from headrace.caching.disk import DiskCache
        from headrace.plan.fingerprint import fingerprint_of

        words, proof = key_of_dataset(cast("Dataset", self), key) if callable(key) else (key, None)
        plan = "" if key is not None else fingerprint_of(self._plan).digest
        store = DiskCache(Path(filename), "cache" if words is None else words, plan, max_bytes=max_bytes, proof=proof)
        return self._of(Cache(input=self._plan, store=store, name=name))

    def prefetch(self, buffer_size: int | None, name: str | None = None) -> Dataset:
        """Makes the same elements ready in a thread of their own, before they are asked for.

        Elements that take a millisecond or more are read ahead one by one: at most ``buffer_size`` are ready, and one more
        is in the making. Cheaper ones move in blocks of about a millisecond of work and at most four megabytes, with and
        without ``prefetch``, even with ``prefetch(0)``: one block may be ready and one in the making, however small
        ``buffer_size`` is. So a function is called further ahead than tf.data would call it.

        Where a thread would gain nothing, because elements cost less than to hand them over, or because their consumer
        comes back at once, they are made in the consumer's thread when they are asked for. That is measured as the run goes, and
        the thread comes and goes with it: a training step that begins to take time has one again.

        One directly after another is one with room for both, and one that is repeated reads on from epoch to epoch.

        Args:
            buffer_size: how many elements may be ready; 0 changes nothing, ``hr.AUTOTUNE`` and None leave it to headrace:
                about eight milliseconds of work, and more once that was there and was not enough, as where files begin or end.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: the size is negative and not ``hr.AUTOTUNE``.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(3).prefetch(1))
            [0, 1, 2]
        """
        size = AUTOTUNE if buffer_size is None else buffer_size
        return self._of(Prefetch(input=self._plan, buffer_size=size, name=name))

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Sets how a run works, as in ``hr.Options``; the elements stay the same. Of options set twice, the later ones win.

        Args:
            options: an ``hr.Options``.
            name: what the operation is called in messages and statistics.

        Raises:
            TypeError: it is something else.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(3).with_options(hr.Options(executor="inline")))
            [0, 1, 2]
        """
        if not isinstance(options, Options):
            raise TypeError(f"with_options takes an hr.Options, not {type(options).__name__}")
        return self._of(WithOptions(input=self._plan, options=options, name=name))

    def options(self) -> Options:
        """Returns all options that were set on this dataset and on what it reads.

        Example:
            >>> import headrace as hr
            >>> hr.Dataset.range(3).with_options(hr.Options(seed=7)).options().seed
            7
        """
        return options_of(self._plan)
