"""Operations that write elements to a folder, and read them from there."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.arguments import check_flag
from headrace.dataset.fingerprinting import key_of_plan
from headrace.dataset.mixin import DatasetMixin
from headrace.dataset.storing_functions import placed, reading, sharding
from headrace.elements.structure import flatten, normalize, paths_of
from headrace.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, ResourceExhaustedError
from headrace.known_as import known_as
from headrace.plan.buffering import Cache
from headrace.plan.sources import FromTensorSlices
from headrace.plan.storing import Stored

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.dataset.dataset import Dataset
    from headrace.io.elements.shards import StoredRun

__all__ = ["Storing"]

_COMPRESSIONS = {None: None, "": None, "NONE": None, "GZIP": "GZIP"}


class Storing(DatasetMixin):
    """Operations that write elements to a folder, and read them from there."""

    __slots__ = ()

    def save(
        self,
        path: str | os.PathLike[str],
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
    ) -> None:
        """Writes every element to a folder, from which ``Dataset.load`` reads them.

        The folder names the new elements when all of them are written; a dataset that loads it meanwhile gets the old ones, and has
        them to the end. Of several that save to it at once, the last one to finish is the one that is loaded.

        Args:
            path: the folder; made if it is not there.
            compression: None, or ``"GZIP"`` for smaller files that cannot be mapped into memory.
            shard_func: called with each element, a tuple as its arguments; returns the index of the file it goes to, from 0 on.
                None writes one.
            checkpoint_args: not taken. A save is whole or not there, so it has no checkpoints to go on from.

        Raises:
            InvalidArgumentError: an element has something that is neither numbers nor texts, which is named; or
                ``shard_func`` returned no index; or an unknown compression; or ``checkpoint_args``.
            DataError: ``shard_func`` failed on an element, which is named.
            FailedPreconditionError: nothing can be written there.
            ResourceExhaustedError: there is no room left.
            HeadraceError: the error of an element that failed. Nothing is saved then, as after the others.

        Example:
            >>> import tempfile
            >>> import headrace as hr
            >>> folder = tempfile.mkdtemp()
            >>> hr.Dataset.range(3).map(lambda x: (x, str(x))).save(folder)
            >>> list(hr.Dataset.load(folder))
            [(0, '0'), (1, '1'), (2, '2')]
        """
        from headrace.io.elements.shards import ShardWriter

        if checkpoint_args is not None:
            message = (
                "a save is whole or not there, and begins anew after it was interrupted: leave checkpoint_args out. To keep "
                "what is done, save parts: dataset.shard(n, i).save(f'{path}/{i}') for each i whose folder is not there yet"
            )
            raise InvalidArgumentError(message, stage="save")
        shard_of = None if shard_func is None else sharding(shard_func, stage="save")
        written = _compression(compression, stage="save")
        folder = _folder(path, stage="save")
        try:
            with ShardWriter(folder, written) as writer, iter(self._of(self._plan)) as iterator:
                if shard_of is None:
                    writer.add_all(itertools.chain.from_iterable(iterator.blocks()))
                else:
                    for number, element in enumerate(iterator):
                        writer.add([element], placed(shard_of, element, f"element {number}"))
        except (FailedPreconditionError, ResourceExhaustedError) as error:
            raise error.located(stage="save", origin=None) from error.__cause__

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[[Dataset], Dataset] | None = None,
        wait: bool = False,
    ) -> Dataset:
        """Makes a dataset of the elements that ``save`` wrote, read by index: shuffling moves indices, and arrays are not copied.

        Args:
            path: the folder.
            element_spec: what the elements are expected to be; None takes what was saved.
            compression: not needed, as the folder knows it; one that differs is an error.
            reader_func: called with a dataset of the files' datasets, in the order of their indices; returns a dataset
                of elements. None reads one file after the other.
            wait: whether to wait until something is saved there, however long that takes; one warning in the log says so.

        Raises:
            NotFoundError: nothing was saved there.
            TypeError: ``reader_func`` does not take one argument, or returned no dataset.
            InvalidArgumentError: the elements are not as ``element_spec`` or ``compression`` say.
            DataLossError: a file is broken.

        Example:
            >>> import tempfile
            >>> import headrace as hr
            >>> folder = tempfile.mkdtemp()
            >>> hr.Dataset.range(6).save(folder, shard_func=lambda x: x % 2)
            >>> list(hr.Dataset.load(folder))
            [0, 2, 4, 1, 3, 5]
            >>> mixed = hr.Dataset.load(folder, reader_func=lambda files: files.interleave(lambda x: x, cycle_length=2))
            >>> list(mixed)
            [0, 1, 2, 3, 4, 5]
        """
        from headrace.io.elements.shards import WaitForFiles, run_in, wait_for_run

        folder = _folder(path, stage="load")
        check_flag(wait, field="wait", stage="load")
        reader = None if reader_func is None else reading(reader_func, stage="load")
        run = wait_for_run(folder, WaitForFiles()) if wait else run_in(folder)
        if compression is not None and _compression(compression, stage="load") != run.compression:
            raise InvalidArgumentError(f"{folder} was saved with compression={run.compression}", stage="load")
        loaded = cls._of_run(run, reader)
        if element_spec is not None:
            _check_spec(element_spec, loaded.element_spec, folder)
        return loaded

    @classmethod
    def _of_run(cls, run: StoredRun, reader_func: Callable[[Dataset], Dataset] | None) -> Dataset:
        from pathlib import Path

        from headrace.io.elements.file import ElementFile

        if reader_func is not None:
            paths = np.array([str(shard) for shard in run.shards], dtype=object)
            files, hold = cls._of(FromTensorSlices.of(paths)), run.hold

            @known_as("opens a shard")
            def open_shard(path: str) -> Dataset:
                return cls._of(Stored(file=ElementFile(Path(path), hold=hold)))

            return reader_func(files.map(open_shard))
        first, *others = [cls._of(Stored(file=ElementFile(shard, hold=run.hold))) for shard in run.shards]
        for other in others:
            first = first.concatenate(other)
        return first

    def snapshot(
        self,
        path: str | os.PathLike[str],
        compression: str | None = "AUTO",
        reader_func: Callable[[Dataset], Dataset] | None = None,
        shard_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Writes the elements to a folder in the first whole epoch, and reads them from there whenever the pipeline is built again.

        It belongs to this very pipeline: a change in it, in its functions or in its files makes a new one (see
        ``hr.fingerprint``). A run that was not finished is not used. Without the two functions it is
        ``cache(path, key=hr.fingerprint)``, and later epochs of this dataset read it as well; with one of them, it is
        read by the datasets that are built later, because reading may put elements in another order.

        Args:
            path: the folder, which may hold snapshots of many pipelines.
            compression: ``"AUTO"`` and None write what can be mapped into memory; ``"GZIP"`` writes smaller files.
            reader_func: as in ``Dataset.load``.
            shard_func: as in ``Dataset.save``.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: something in the pipeline has no fingerprint; or an unknown compression.
            TypeError: ``reader_func`` does not take one argument, or returned no dataset.
            DataError: while iterating, in place of an element on which ``shard_func`` failed; nothing is kept of that epoch.

        Example:
            >>> import tempfile
            >>> import headrace as hr
            >>> folder = tempfile.mkdtemp()
            >>> def slow(x):
            ...     print("called with", x)
            ...     return x * x
            >>> def input_fn():
            ...     return hr.Dataset.range(2).map(slow).snapshot(folder)
            >>> list(input_fn())
            called with 0
            called with 1
            [0, 1]
            >>> list(input_fn())
            [0, 1]
        """
        from headrace.caching.disk import DiskCache
        from headrace.caching.snapshot import SnapshotRun
        from headrace.io.elements.shards import run_in

        shard_of = None if shard_func is None else sharding(shard_func, stage="snapshot")
        reader = None if reader_func is None else reading(reader_func, stage="snapshot")
        written = _compression(None if compression == "AUTO" else compression, stage="snapshot")
        besides = {} if shard_func is None else {"shard_func": shard_func}
        folder = _folder(path, stage="snapshot")
        key, proof = key_of_plan(self._plan, **besides)
        if reader_func is None and shard_func is None and written is None:
            return self._of(
                Cache(input=self._plan, store=DiskCache(folder, key, "", proof=proof, stage="snapshot"), name=name)
            )
        folder /= key
        try:
            return self._of_run(run_in(folder), reader)
        except NotFoundError:
            store = SnapshotRun(folder, shard_of, written, proof)
            return self._of(Cache(input=self._plan, store=store, name=name))


def _folder(path: str | os.PathLike[str], *, stage: str) -> Path:
    from pathlib import Path

    if not os.fspath(path):  # most often a variable that was never set; files of ours would lie among the program's
        raise InvalidArgumentError("path is empty: name a folder ('.' for the current one)", stage=stage)
    return Path(path)


def _compression(name: str | None, *, stage: str) -> str | None:
    if name not in _COMPRESSIONS:
        raise InvalidArgumentError(f"compression must be None or 'GZIP', not {name!r}", stage=stage)
    return _COMPRESSIONS[name]


def _check_spec(wanted: Any, found: Any, folder: Path) -> None:
    (mine, treedef), (theirs, other) = flatten(normalize(wanted)), flatten(found)
    if treedef != other:
        raise InvalidArgumentError(f"the elements in {folder} are {found}, and not {wanted}", stage="load")
    for path, one, two in zip(paths_of(treedef), mine, theirs, strict=True):
        if not one.is_compatible_with(two):
            component = f"component {path}" if path else "they"
            raise InvalidArgumentError(
                f"the elements in {folder} are not as element_spec says: {component} is {two}, and not {one}",
                stage="load",
            )
