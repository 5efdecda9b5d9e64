"""A cache on disk: a folder with one file of elements a key, which any process may find and use.

What always holds.
- A file under its name is a whole epoch. Killed at any point, a process leaves a file beside it that the next writer
  removes, and a lock that the operating system lets go of.
- One process fills a key; a process that comes meanwhile reads its pipeline and writes nothing.
- A file that another pipeline wrote is refused, and so is a broken one: never are other elements given.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
from pathlib import Path
from typing import Any, Final

from headrace.blocks.columns import Columns
from headrace.blocks.kept import is_same_form, joined_columns
from headrace.blocks.origin import Origin, numbered, words_of
from headrace.blocks.payload import Payload
from headrace.caching.bounds import add_storable, rows_within, too_large
from headrace.caching.proof import Proof, is_disproved
from headrace.caching.store import CachedEpoch, CannotKeep, Filled
from headrace.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from headrace.io.elements.columns import kind_of_array
from headrace.io.elements.file import ElementFile
from headrace.io.elements.structure import structure_to_json
from headrace.io.elements.writer import SEGMENT_BYTES, ElementWriter, StorableRows
from headrace.io.no_room import told_as_ours
from headrace.io.write_state import WritePhase, WriteState
from headrace.log import LOG

__all__ = ["SUFFIX", "DiskCache", "entries_of", "is_being_filled", "key_of"]


SUFFIX: Final = ".elements"
_PLAIN_NAME: Final = re.compile(r"[\w.=-]{1,80}")


class DiskCache:
    """The elements of one pipeline, under one key, in a folder.

    Args:
        folder: where the files are; made when it is filled.
        key: what the file is called; whatever is no plain file name is hashed.
        plan: a digest of the pipeline, kept in the file: another pipeline's elements are refused.
        max_bytes: how many bytes the elements may hold, and how large their file may become; None is without a bound.
        proof: whether the key still stands for the pipeline when an epoch is whole; None where nobody made it of one.
        stage: what the user called for.
    """

    def __init__(
        self,
        folder: Path,
        key: str,
        plan: str,
        *,
        max_bytes: int | None = None,
        proof: Proof | None = None,
        stage: str = "cache",
    ) -> None:
        self.stage = stage
        self.folder = folder
        self._proof = proof
        self.key = key
        self.max_bytes = max_bytes
        self._plan = plan
        name = key if _PLAIN_NAME.fullmatch(key) else hashlib.sha256(key.encode()).hexdigest()[:32]
        self.path = folder / f"{name}{SUFFIX}"
        self.identity = str(self.path)
        self._of_runs: dict[str, DiskCache] = {}
        self._opened: tuple[tuple[int, int], CachedEpoch] | None = None

    @property
    def cached(self) -> CachedEpoch | None:
        """The epoch in the file; None where there is no file.

        Raises:
            InvalidArgumentError: the file is another pipeline's.
            FailedPreconditionError: a class of its elements is in a module that the program has not imported.
            DataLossError: the file is broken.
        """
        try:
            with told_as_ours(self.path, stage=self.stage):
                found = self.path.stat()
        except FailedPreconditionError as error:
            if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):  # told where it is filled
                return None
            raise
        identity = (found.st_mtime_ns, found.st_ino)
        if self._opened is None or self._opened[0] != identity:
            try:
                self._opened = (identity, self._read())
            except NotFoundError:  # it was removed just now
                return None
        return self._opened[1]

    def _read(self) -> CachedEpoch:
        try:
            file = ElementFile(self.path)
            meta = file.meta["cache"]
            kept = CachedEpoch(Filled.of(meta), file=file, content=str(meta["content"]))
            is_mine = meta["plan"] == self._plan
        except FailedPreconditionError as error:
            raise FailedPreconditionError(error.reason, stage=self.stage) from None
        except (DataLossError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            reason = error.reason if isinstance(error, DataLossError) else f"{self.path}: this is no cache"
            raise DataLossError(
                f"{reason}; remove it with: headrace cache clear {self.folder}", stage=self.stage
            ) from None
        if not is_mine:
            raise InvalidArgumentError(
                f"{self.path} holds the elements of another pipeline. Give each pipeline a folder of its own, or "
                f"key=hr.fingerprint; remove this one with: headrace cache clear {self.folder}",
                stage=self.stage,
            )
        return kept

    def begin_write(self, filled: Filled, content: str | None) -> _FileWriter | None:
        """Writes the file, unless it is there or is being written.

        Raises:
            FailedPreconditionError: nothing can be written there.
            ResourceExhaustedError: there is no room.
        """
        with told_as_ours(self.path, stage=self.stage):
            try:
                return self._begin_write(filled, content)
            except (FailedPreconditionError, ResourceExhaustedError) as error:
                raise error.located(stage=self.stage, origin=None) from error.__cause__

    def _begin_write(self, filled: Filled, content: str | None) -> _FileWriter | None:
        if self.path.exists():
            return None
        lock = self._lock()
        if lock is None:
            return None
        with contextlib.ExitStack() as held:
            held.callback(lock.release)
            if self.path.exists():  # it was completed between the look and the lock
                return None
            for left in self.folder.glob(f"{self.path.name}.*.part"):
                left.unlink(missing_ok=True)
            writer = ElementWriter(self.path, max_bytes=self.max_bytes)
            held.pop_all()
        meta = {"key": self.key, "plan": self._plan, **filled.state(), "content": content or secrets.token_hex(8)}
        return _FileWriter(self, writer, lock, meta, self._proof)

    def keyed(self, run: str) -> DiskCache:
        """Returns the cache of runs with options that decide what the elements are, whatever the key is: nobody sees these in it."""
        if run not in self._of_runs:
            key = f"{self.key}-{run}"
            self._of_runs[run] = of_run = DiskCache(
                self.folder, key, self._plan, max_bytes=self.max_bytes, proof=self._proof, stage=self.stage
            )
            of_run.identity = self.identity
        return self._of_runs[run]

    def _lock(self) -> Any:
        """Returns the lock of this key, or None where somebody else holds it."""
        from filelock import FileLock, Timeout

        self.folder.mkdir(parents=True, exist_ok=True)
        # Whichever thread drives the stage takes it, and whichever closes the iterator gives it back.
        lock = FileLock(self.path.with_suffix(".lock"), thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return None
        return lock


class _FileWriter:
    """A file of elements on its way."""

    one_by_one = False

    def __init__(
        self, cache: DiskCache, writer: ElementWriter, lock: Any, meta: dict[str, Any], proof: Proof | None
    ) -> None:
        self._cache = cache
        self._writer = writer
        self._proof = proof
        self._lock = lock
        self._meta = meta
        self._rows = StorableRows()
        self._columns: list[Columns] = []  # either of these waits, never both
        self._columns_bytes = 0
        self._kinds: list[str] = []  # what the columns are stored as
        self._count = self._nbytes = 0
        self._state = WriteState()

    @property
    def content(self) -> str:
        content: str = self._meta["content"]
        return content

    def add(self, elements: Payload, origin: Origin) -> None:
        assert self._state.is_open  # nothing is added after the end
        limit, fitting = self._cache.max_bytes, len(elements)
        if limit is not None:
            fitting, nbytes = rows_within(elements, limit - self._nbytes)
            self._nbytes += nbytes
        self._keep(elements if fitting == len(elements) else elements.subset(range(fitting)), origin)
        self._count += fitting
        if limit is not None and fitting < len(elements):
            error = too_large(limit, self._count)
            raise CannotKeep(error.located(stage=None, origin=origin.describe(fitting)), fitting)

    def _keep(self, elements: Payload, origin: Origin) -> None:
        kinds = _kinds_of(elements)
        if isinstance(elements, Columns) and kinds is not None:
            self._keep_columns(elements, kinds)
        else:
            self._write_columns()
            add_storable(elements, origin, self._rows.extend, self._rows.append)
            if self._rows.nbytes >= SEGMENT_BYTES:
                self._write_rows()
        if (run := numbered(origin)) is not None:
            self._writer.add_numbered_origins(*run)
        else:
            self._writer.add_origins(words_of(origin, len(elements)))

    def _keep_columns(self, elements: Columns, kinds: list[str]) -> None:
        self._write_rows()
        if self._columns and (kinds != self._kinds or not is_same_form(self._columns[0], elements)):
            self._write_columns()
        self._kinds = kinds
        self._columns.append(elements)
        self._columns_bytes += elements.nbytes
        if self._columns_bytes >= SEGMENT_BYTES:
            self._write_columns()

    def _write_columns(self) -> None:
        if self._columns:
            whole = joined_columns(self._columns)
            self._columns, self._columns_bytes = [], 0
            self._writer.add_columns(whole.treedef, whole.arrays)

    def _write_rows(self) -> None:
        if self._rows.count:
            self._writer.add_rows(self._rows)
            self._rows = StorableRows()

    def complete(self) -> None:
        if is_disproved(self._proof, stage=self._cache.stage):
            self.abandon()
            return
        self._write_rows()
        self._write_columns()
        if self._writer.is_full:
            LOG.warning(
                "%s: the elements have less than max_bytes=%d, but with what describes them their file would have more, so "
                "nothing is kept; give a larger max_bytes",
                self._cache.stage,
                self._cache.max_bytes,
            )
            self.abandon()
            return
        self._writer.complete({"cache": self._meta})
        self._lock.release()
        self._state.end(WritePhase.COMPLETE)

    def abandon(self) -> None:
        if self._state.is_open:
            self._writer.abandon()
            self._lock.release()
            self._state.end(WritePhase.ABANDONED)


def _kinds_of(elements: Payload) -> list[str] | None:
    """Returns what each column is stored as; None where elements are no columns, or row by row it is found which cannot be stored."""
    if not isinstance(elements, Columns) or not elements.arrays:
        return None
    try:
        structure_to_json(elements.treedef)
        return list(map(kind_of_array, elements.arrays))
    except InvalidArgumentError:
        return None


def entries_of(folder: Path) -> list[tuple[Path, ElementFile | DataLossError]]:
    """Returns the files of caches in a folder, in the order of their names: opened, or what is wrong with them.

    Example:
        >>> import pathlib, tempfile
        >>> from headrace.caching.disk import entries_of
        >>> entries_of(pathlib.Path(tempfile.mkdtemp()))
        []
    """
    found: list[tuple[Path, ElementFile | DataLossError]] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if path.is_dir():
            continue
        try:
            found.append((path, ElementFile(path, to_look_at=True)))
        except DataLossError as error:
            found.append((path, error))
        except NotFoundError as error:
            if path.is_symlink():  # to nothing; other files were removed just now
                found.append((path, DataLossError(error.reason)))
    return found


def key_of(file: ElementFile) -> str | None:
    """Returns the key of the cache in a file, if it says one."""
    about = file.meta.get("cache")
    key = about.get("key") if isinstance(about, dict) else None
    return key if isinstance(key, str) else None


def is_being_filled(lock: Path) -> bool:
    """Returns whether somebody holds the lock of a cache."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(lock, blocking=False):
            return False
    except Timeout:
        return True
