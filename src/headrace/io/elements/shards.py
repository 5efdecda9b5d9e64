"""A folder of files of elements: what ``save`` and ``snapshot`` write and ``load`` reads.

    metadata.json            which run is complete, its shards, how many elements each has
    <run>/00000.elements     the shards
    <run>.lock               open in everybody who writes or reads the run (see holds.py)

What always holds.
- ``metadata.json`` is renamed into place when every shard is complete, so a folder names a whole run or none.
- A later run writes into a folder of its own and takes over in one step. Several may be written at once; the last one to
  be complete is the one that the folder names.
- Runs that the folder does not name are removed when a run is complete, but those that somebody writes or reads: who reads
  one has it to the end, and a later run removes it.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import os
import re
import secrets
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from headrace.elements.structure import Element, nbytes_of
from headrace.errors import DataLossError, NotFoundError
from headrace.frozen import frozen
from headrace.io.elements.holds import Hold, held_run, hold_new_run, remove_if_unheld
from headrace.io.elements.writer import SEGMENT_BYTES, ElementWriter, StorableRows
from headrace.io.no_room import told_as_ours
from headrace.io.write_state import WholeOrNothing, WritePhase, WriteState
from headrace.log import LOG

__all__ = ["ShardWriter", "StoredRun", "WaitForFiles", "run_in", "wait_for_run"]

_METADATA: Final = "metadata.json"
_RUN: Final = re.compile(r"run-[0-9]+-[0-9a-f]+", re.ASCII)
_SHARD: Final = re.compile(r"[0-9]{5,}\.elements", re.ASCII)
_VERSION: Final = 1
# A save takes seconds at least. After three seconds somebody should know what is waited for.
_BETWEEN_LOOKS_S: Final = 0.1
_LOOKS_BEFORE_A_WORD: Final = 30


@frozen
class StoredRun:
    """A complete run: its shards in the order of their numbers, which stay while ``hold`` lives."""

    name: str
    shards: tuple[Path, ...]
    compression: str | None
    hold: Hold | None = None


def run_in(folder: Path) -> StoredRun:
    """Returns the complete run in a folder, held.

    Raises:
        NotFoundError: nothing was saved there, or not to its end.
        DataLossError: what says so is broken.
    """
    found = _named_run(folder)
    while True:
        hold = held_run(folder, found.name)
        # Only what the metadata do not name is removed: a run that they name after the hold will stay.
        again = _named_run(folder)
        if again.name == found.name:
            return dataclasses.replace(found, hold=hold)
        found = again
        if hold is not None:
            hold.release()


def _named_run(folder: Path) -> StoredRun:
    """Returns the run that the metadata name."""
    try:
        text = (folder / _METADATA).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"{folder}: no dataset was saved here, or not to its end") from None
    except OSError as error:
        raise DataLossError(f"{folder / _METADATA} cannot be read: {error.strerror}") from error
    try:
        data = json.loads(text)
        if data["version"] != _VERSION:
            raise ValueError(f"it has version {data['version']!r:.50}, and this headrace reads {_VERSION}")
        run, shards, compression = _named(_RUN, data["run"]), data["shards"], data["compression"]
        if not shards or type(shards) is not list or compression not in (None, "GZIP"):
            raise ValueError("it names no shards, or an unknown compression")
        return StoredRun(run, tuple(folder / run / _named(_SHARD, name) for name in shards), compression)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataLossError(f"{folder / _METADATA} is broken: {error!r}") from error


def _named(pattern: re.Pattern[str], name: str) -> str:
    """Returns a name that this module gives files, so that no path leads out of the folder."""
    if not pattern.fullmatch(name):
        raise ValueError(f"{name!r:.100} is no name of a run or a shard")
    return name


class WaitForFiles:
    """Lets some time pass before one looks for a file again; a test's own lets none pass."""

    looks = 0

    def pause(self, folder: Path) -> None:
        """Waits a moment; says once what is waited for."""
        self.looks += 1
        if self.looks == _LOOKS_BEFORE_A_WORD:
            LOG.warning("load: still waiting for a dataset to be saved in %s", folder)
        time.sleep(_BETWEEN_LOOKS_S)


def wait_for_run(folder: Path, waiting: WaitForFiles) -> StoredRun:
    """Returns the complete run in a folder, as soon as there is one.

    Raises:
        DataLossError: what says so is broken.
    """
    while True:
        try:
            return run_in(folder)
        except NotFoundError:
            waiting.pause(folder)


# So many elements are taken in at once, while they hold fewer bytes than these: a small part of a segment.
_MANY: Final = 1024
_SMALL_BYTES: Final = 64 << 10


class ShardWriter(WholeOrNothing):
    """Writes a run; it counts when it is complete, and leaves nothing otherwise.

    Args:
        folder: where; made if it is not there.
        compression: None or "GZIP".

    Raises:
        ResourceExhaustedError: from any method, when the disk is full.
        FailedPreconditionError: nothing can be written there.
    """

    def __init__(self, folder: Path, compression: str | None = None) -> None:
        self._folder = folder
        self._compression = compression
        self._run = f"run-{os.getpid()}-{secrets.token_hex(4)}"
        self._writers: dict[int, ElementWriter] = {}
        self._waiting: dict[int, StorableRows] = {}
        self._waiting_bytes = self._count = 0
        self._state = WriteState()
        with told_as_ours(self._folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._hold = hold_new_run(folder, self._run)
            try:
                (folder / self._run).mkdir()
            except BaseException:
                self.abandon()
                raise

    def add(self, elements: Sequence[Element], shard: int = 0) -> None:
        """Takes in the next elements, which go to that shard."""
        if not self.extend(elements, shard):
            for element in elements:
                self.add_one(element, shard, number=self._count)

    def add_all(self, elements: Iterable[Element]) -> None:
        """Takes in all elements, many at once where they are small. An error of theirs comes after what is said of those before it."""
        remaining, at_once = iter(elements), 1
        while True:
            chunk: list[Element] = []
            try:
                chunk.extend(itertools.islice(remaining, at_once))  # what came before an error stays in it
            except Exception:
                self.add(chunk)
                raise
            if not chunk:
                return
            self.add(chunk)
            at_once = min(2 * at_once, _MANY) if nbytes_of(chunk[-1]) * at_once < _SMALL_BYTES else 1

    def extend(self, elements: Sequence[Element], shard: int = 0) -> bool:
        """Takes in the next elements at once if they are alike, and returns whether they are; takes in none if not."""
        assert self._state.is_open, self._run  # nothing is added after the end
        rows = self._waiting.setdefault(shard, StorableRows())
        before = rows.nbytes
        if not rows.extend(elements):
            return False
        self._took(len(elements), rows.nbytes - before)
        return True

    def add_one(self, element: Element, shard: int = 0, *, number: int | None = None) -> None:
        """Takes in the next element; an error calls it by the number, if there is one."""
        assert self._state.is_open, self._run  # nothing is added after the end
        rows = self._waiting.setdefault(shard, StorableRows())
        before = rows.nbytes
        rows.append(element, number)
        self._took(1, rows.nbytes - before)

    def _took(self, count: int, nbytes: int) -> None:
        self._count += count
        self._waiting_bytes += nbytes
        if self._waiting_bytes >= SEGMENT_BYTES:
            self._write_waiting()

    def _write_waiting(self) -> None:
        with told_as_ours(self._folder):
            for shard, rows in self._waiting.items():
                self._writer(shard).add_rows(rows)
        self._waiting, self._waiting_bytes = {}, 0

    def _writer(self, shard: int) -> ElementWriter:
        if shard not in self._writers:
            path = self._folder / self._run / f"{shard:05}.elements"
            self._writers[shard] = ElementWriter(path, compression=self._compression)
        return self._writers[shard]

    def complete(self) -> None:
        """Gives the shards their names, and says in one step that they are there; does nothing after an end."""
        if not self._state.is_open:
            return
        self._write_waiting()
        with told_as_ours(self._folder):
            if not self._writers:
                self._writer(0)
            for writer in self._writers.values():
                writer.complete()
            replaced = _name_in(self._folder)
            self._write_metadata()
        self._hold.release()
        self._state.end(WritePhase.COMPLETE)
        runs = {path.name.partition(".")[0] for path in self._folder.glob("run-*")}
        for run in filter(_RUN.fullmatch, runs):
            if run != _name_in(self._folder):
                remove_if_unheld(
                    self._folder, run, functools.partial(self._is_named, run), was_replaced=run == replaced
                )

    def _write_metadata(self) -> None:
        shards = [writer.path.name for _, writer in sorted(self._writers.items())]
        data = {"version": _VERSION, "run": self._run, "shards": shards, "compression": self._compression}
        beside = self._folder / f"{self._run}.json.part"
        with beside.open("x") as file:
            file.write(json.dumps(data))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._folder / _METADATA)

    def _is_named(self, run: str) -> bool:
        return _name_in(self._folder) == run

    def abandon(self) -> None:
        """Leaves nothing behind, unless the folder names the run already."""
        if not self._state.is_open:
            return
        for writer in self._writers.values():
            writer.abandon()
        self._hold.release()
        # Also whatever stopped ``complete`` in the middle: what the folder names is complete, and stays.
        remove_if_unheld(self._folder, self._run, functools.partial(self._is_named, self._run), was_replaced=True)
        self._state.end(WritePhase.ABANDONED)


def _name_in(folder: Path) -> str | None:
    """Returns the run that the metadata name; None where they name none."""
    try:
        return _named_run(folder).name
    except (NotFoundError, DataLossError):
        return None
