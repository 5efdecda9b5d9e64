"""The files of work *csv*, their rows by number, and the parser that peers without one are given.

What is here belongs to no library: `csv` hands it to each candidate that has nothing of its own for the purpose.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

FILES: Final = 20
ROWS: Final = 100  # in a file
FEATURES: Final = 1024
COLUMNS: Final = FEATURES + 1
ALL_ROWS: Final = FILES * ROWS
SEED: Final = 0

Table: TypeAlias = npt.NDArray[np.float32]
Pair: TypeAlias = tuple[Table, Table]  # features and labels


# --- the data ------------------------------------------------------------------------------------------------------


def table() -> Table:
    """All rows: standard normal features, and whether their sum is positive."""
    features = np.random.default_rng(SEED).standard_normal((ALL_ROWS, FEATURES), dtype=np.float32)
    label = features.sum(axis=1, keepdims=True) > 0
    return np.concatenate([features, label.astype(np.float32)], axis=1)


@dataclass(frozen=True, slots=True)
class CsvFiles:
    """The files, and the numbers that are in them."""

    pattern: str
    paths: list[str]
    values: Table


def _paths(folder: Path) -> list[Path]:
    return [folder / f"rows-{number:02d}.csv" for number in range(FILES)]


def make(folder: Path) -> None:
    """Write the files, unless they are there."""
    paths = _paths(folder)
    if all(path.exists() for path in paths):
        return
    for path, rows in zip(paths, np.split(table(), FILES), strict=True):
        part = path.with_suffix(".part")  # a file that was cut short by Ctrl-C must not be taken for a whole one
        part.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
        part.replace(path)


def load(folder: Path, examples: int) -> CsvFiles:
    """The files; an epoch always has all their rows."""
    return CsvFiles(str(folder / "rows-*.csv"), [str(path) for path in _paths(folder)], table())


class Lines:
    """The rows of all files by number, as bytes: what a library that reads by index needs.

    The files are mapped, not read, so an epoch reads them anew. A copy in another process maps them for itself.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._rows = [row for path in paths for row in self._index(path)]

    @staticmethod
    def _index(path: str) -> list[tuple[mmap.mmap, int, int]]:
        with Path(path).open("rb") as file:
            text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")).tolist()
        starts = [0] + [end + 1 for end in ends[:-1]]
        return [(text, start, end) for start, end in zip(starts, ends, strict=True)]

    def __reduce__(self) -> tuple[type[Lines], tuple[Sequence[str]]]:
        return Lines, (self._paths,)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> bytes:
        text, start, end = self._rows[index]
        return text[start:end]


# --- the kernel ----------------------------------------------------------------------------------------------------


def parse(lines: Sequence[bytes | str]) -> Table:
    """Lines as one table: pyarrow's split and cast, outside Python's lock."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fields = pc.split_pattern(pa.array(lines, pa.string()), ",").flatten()
    values: Table = fields.cast(pa.float32()).to_numpy()
    return values.reshape(len(lines), -1)


def parse_pairs(lines: Sequence[bytes]) -> Pair:
    """Lines as a batch."""
    values = parse(lines)
    return values[:, :-1], values[:, -1:]


def parse_pair(line: bytes) -> Pair:
    """One line as one example."""
    values = parse([line])[0]
    return values[:-1], values[-1:]


def stack(pairs: Sequence[Pair]) -> Pair:
    """Examples as a batch."""
    return np.stack([features for features, _ in pairs]), np.stack([label for _, label in pairs])
