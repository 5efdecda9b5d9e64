"""A folder of files of elements: what ``save`` and ``snapshot`` write and ``load`` reads.

    metadata.json            which run is complete, its shards, how many elements each has
    <run>/00000.elements     the shards

What always holds: ``metadata.json`` is renamed into place when every shard is complete, so a folder names a whole run or
none. A later run writes into a folder of its own and takes over in one step; the shards of the run before are removed then.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from headrace.errors import DataLossError, NotFoundError
from headrace.io.elements.no_room import told_as_ours
from headrace.io.elements.writer import SEGMENT_BYTES, ElementWriter
from headrace.structure import Element, nbytes_of

__all__ = ["ShardWriter", "StoredRun", "WaitForFiles", "run_in", "wait_for_run"]

_METADATA: Final = "metadata.json"
_RUN: Final = re.compile(r"run-[0-9]+-[0-9a-f]+", re.ASCII)
_SHARD: Final = re.compile(r"[0-9]{5,}\.elements", re.ASCII)
_VERSION: Final = 1
_log = logging.getLogger("headrace")
# A save takes seconds at least. After three seconds somebody should know what is waited for.
_BETWEEN_LOOKS_S: Final = 0.1
_LOOKS_BEFORE_A_WORD: Final = 30


@dataclasses.dataclass(frozen=True, slots=True)
class StoredRun:
    """A complete run: its shards in the order of their numbers."""

    shards: tuple[Path, ...]
    compression: str | None


def run_in(folder: Path) -> StoredRun:
    """The complete run in a folder.

    Raises:
        NotFoundError: nothing was saved there, or not to its end.
        DataLossError: what says so is broken.
    """
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
        return StoredRun(tuple(folder / run / _named(_SHARD, name) for name in shards), compression)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataLossError(f"{folder / _METADATA} is broken: {error!r}") from error


def _named(pattern: re.Pattern[str], name: str) -> str:
    """A name that this module gives files, so that no path leads out of the folder."""
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
            _log.warning("load: still waiting for a dataset to be saved in %s", folder)
        time.sleep(_BETWEEN_LOOKS_S)


def wait_for_run(folder: Path, waiting: WaitForFiles) -> StoredRun:
    """The complete run in a folder, as soon as there is one.

    Raises:
        DataLossError: what says so is broken.
    """
    while True:
        try:
            return run_in(folder)
        except NotFoundError:
            waiting.pause(folder)


class ShardWriter:
    """Writes a run; it counts when it is complete, and leaves nothing otherwise.

    Args:
        folder: where; made if it is not there.
        compression: None or "GZIP".
    """

    def __init__(self, folder: Path, compression: str | None = None) -> None:
        self._folder = folder
        self._compression = compression
        self._run = f"run-{os.getpid()}-{secrets.token_hex(4)}"
        self._writers: dict[int, ElementWriter] = {}
        self._waiting: dict[int, list[Element]] = {}
        self._waiting_bytes = 0
        with told_as_ours(folder):
            (folder / self._run).mkdir(parents=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.abandon()
            return
        try:
            self.complete()
        except BaseException:
            self.abandon()
            raise

    def add(self, elements: Sequence[Element], shard: int = 0) -> None:
        """Takes in the next elements, which go to that shard."""
        waiting = self._waiting.setdefault(shard, [])
        for element in elements:
            waiting.append(element)
            self._waiting_bytes += nbytes_of(element)
            if self._waiting_bytes >= SEGMENT_BYTES:
                self._write_waiting()
                waiting = self._waiting.setdefault(shard, [])

    def _write_waiting(self) -> None:
        for shard, elements in self._waiting.items():
            self._writer(shard).add(elements)
        self._waiting, self._waiting_bytes = {}, 0

    def _writer(self, shard: int) -> ElementWriter:
        if shard not in self._writers:
            path = self._folder / self._run / f"{shard:05}.elements"
            self._writers[shard] = ElementWriter(path, compression=self._compression)
        return self._writers[shard]

    def complete(self) -> None:
        """Gives the shards their names, and says in one step that they are there."""
        with told_as_ours(self._folder):
            self._complete()

    def _complete(self) -> None:
        self._write_waiting()
        if not self._writers:
            self._writer(0)
        for writer in self._writers.values():
            writer.complete()
        shards = [writer.path.name for _, writer in sorted(self._writers.items())]
        data = {"version": _VERSION, "run": self._run, "shards": shards, "compression": self._compression}
        beside = self._folder / f"{self._run}.json.part"
        try:
            beside.write_text(json.dumps(data))
            beside.replace(self._folder / _METADATA)
        finally:
            beside.unlink(missing_ok=True)
        for other in self._folder.glob("run-*-*"):
            if other.is_dir() and other.name != self._run:
                shutil.rmtree(other, ignore_errors=True)

    def abandon(self) -> None:
        """Leaves nothing behind."""
        for writer in self._writers.values():
            writer.abandon()
        shutil.rmtree(self._folder / self._run, ignore_errors=True)
