"""A run of elements on its way into a folder, for datasets that are built later."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headrace.blocks.origin import Origin
from headrace.blocks.payload import Payload
from headrace.caching.bounds import add_storable
from headrace.caching.proof import Proof, is_disproved
from headrace.caching.store import Filled, RefusedElement
from headrace.elements.structure import Element
from headrace.errors import HeadraceError
from headrace.io.elements.shards import ShardWriter
from headrace.io.no_room import told_as_ours
from headrace.io.write_state import WritePhase, WriteState

__all__ = ["SnapshotRun"]


class SnapshotRun:
    """A store that is only written: who reads it is built from the folder.

    One process at a time writes; the first complete run stays. ``shard_func`` gives the number of an element's file, or
    raises one of headrace's errors, which takes the element's place.
    """

    cached = None
    stage = "snapshot"

    def __init__(
        self, folder: Path, shard_func: Callable[[Any], int] | None, compression: str | None, proof: Proof | None = None
    ) -> None:
        self._proof = proof
        self._folder = folder
        self.identity = str(folder)
        self._shard_func = shard_func
        self._compression = compression

    def begin_write(self, filled: Filled, content: str | None) -> _SnapshotWriter | None:
        """Writes a run, unless one is there or is being written."""
        from filelock import FileLock, Timeout

        metadata = self._folder / "metadata.json"
        with told_as_ours(self._folder, stage="snapshot"), contextlib.ExitStack() as held:
            if metadata.exists():
                return None
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._folder / "writing.lock", thread_local=False)
            try:
                lock.acquire(blocking=False)
            except Timeout:
                return None
            held.callback(lock.release)
            if metadata.exists():  # it was completed between the look and the lock
                return None
            writer = ShardWriter(self._folder, self._compression)
            held.pop_all()
        return _SnapshotWriter(writer, self._shard_func, lock, self._proof)


class _SnapshotWriter:
    content = None

    def __init__(
        self, writer: ShardWriter, shard_func: Callable[[Any], int] | None, lock: Any, proof: Proof | None
    ) -> None:
        self._proof = proof
        self._writer = writer
        self._shard_func = shard_func
        self._lock = lock
        self._state = WriteState()

    @property
    def one_by_one(self) -> bool:
        return self._shard_func is not None

    def add(self, elements: Payload, origin: Origin) -> None:
        assert self._state.is_open  # nothing is added after the end

        def extend(rows: Sequence[Element]) -> bool:
            return self._shard_func is None and self._writer.extend(rows)

        def add(element: Element) -> None:
            self._writer.add_one(element, self._shard_of(element, origin))

        add_storable(elements, origin, extend, add)

    def _shard_of(self, element: Element, origin: Origin) -> int:
        if self._shard_func is None:
            return 0
        try:
            return self._shard_func(element)
        except HeadraceError as error:
            raise RefusedElement(error.located(stage=None, origin=origin.describe(0))) from None  # one by one

    def complete(self) -> None:
        if is_disproved(self._proof, stage="snapshot"):
            self.abandon()
            return
        self._writer.complete()
        self._lock.release()
        self._state.end(WritePhase.COMPLETE)

    def abandon(self) -> None:
        if self._state.is_open:
            self._writer.abandon()
            self._lock.release()
            self._state.end(WritePhase.ABANDONED)
