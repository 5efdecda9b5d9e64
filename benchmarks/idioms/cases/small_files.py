"""Many files of a few lines each, as texts of a corpus are; and rows of a file that is mapped into memory, as tokens are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from idioms.case import SAME, Case, Unit
from idioms.cases import file_data as files
from idioms.cases.nesting import interleaved
from idioms.plain import batches, tuples_stacked

_LINES: Final = 10
_CYCLE: Final = 8
_BATCH: Final = 32
_TOKENS: Final = 64


def _corpus(units: int, folder: Path) -> list[str]:
    """A file for each ten lines."""
    paths = []
    for number in range(units // _LINES):
        path = folder / f"{number}.txt"
        path.write_text("".join(f"some words of text {number}, line {line}\n" for line in range(_LINES)))
        paths.append(str(path))
    return paths


def _labelled(hr: Any, paths: list[str], readers: Any) -> Any:
    """The number of a file beside each of its lines."""
    labels = np.arange(len(paths))
    ds = hr.Dataset if readers is hr else hr.data.Dataset
    return (
        ds.from_tensor_slices((paths, labels))
        .interleave(
            lambda path, label: readers.TextLineDataset(path).map(lambda line: (line, label)), cycle_length=_CYCLE
        )
        .batch(_BATCH)
    )


def _labelled_lines(path: str, label: int) -> Iterator[tuple[str, int]]:
    return ((line, label) for line in files.lines_of(path))


def _labelled_by_hand(paths: list[str]) -> Iterator[Any]:
    opened = [partial(_labelled_lines, path, label) for label, path in enumerate(paths)]
    return tuples_stacked(interleaved(opened, lambda rows: rows(), _CYCLE), _BATCH)


def _tokens(units: int, folder: Path) -> Any:
    """Numbers of tokens, in a file."""
    path = folder / "tokens.bin"
    (np.arange(units + _TOKENS + 1) % 50_000).astype(np.uint16).tofile(path)
    return np.memmap(path, np.uint16, "r")


def _with_the_next(tokens: Any, start: int) -> tuple[Any, Any]:
    """A row of tokens, and those that follow each of them."""
    row = tokens[start : start + _TOKENS].astype(np.int64)
    return row, tokens[start + 1 : start + _TOKENS + 1].astype(np.int64)


CASES: Final[tuple[Case, ...]] = (
    Case(
        name="interleave_small_files",
        written="from_tensor_slices(files of 10 lines).interleave(TextLineDataset, cycle_length=8).batch(32)",
        ours=lambda hr, paths: (
            hr.Dataset.from_tensor_slices(paths).interleave(hr.TextLineDataset, cycle_length=_CYCLE).batch(_BATCH)
        ),
        plain=lambda paths: batches(interleaved(paths, files.lines_of, _CYCLE), _BATCH),
        tfdata=SAME,
        data=_corpus,
        full=20_000,
    ),
    Case(
        name="interleave_small_files_parallel",
        written="from_tensor_slices(files of 10 lines).interleave(TextLineDataset, 8, num_parallel_calls=AUTOTUNE).batch(32)",
        ours=lambda hr, paths: (
            hr.Dataset.from_tensor_slices(paths)
            .interleave(hr.TextLineDataset, cycle_length=_CYCLE, num_parallel_calls=hr.AUTOTUNE)
            .batch(_BATCH)
        ),
        plain=lambda paths: batches(interleaved(paths, files.lines_of, _CYCLE), _BATCH),
        tfdata=SAME,
        data=_corpus,
        full=20_000,
    ),
    Case(
        name="interleave_small_files_labelled",
        written="from_tensor_slices((files, labels)).interleave(TextLineDataset(f).map(line, label), 8).batch(32)",
        ours=lambda hr, paths: _labelled(hr, paths, hr),
        plain=_labelled_by_hand,
        tfdata=lambda tf, paths: _labelled(tf, paths, tf.data),
        data=_corpus,
        full=20_000,
    ),
    Case(
        name="map_memory_mapped",
        written="range(n).map(i -> tokens[i:i + 64] and tokens[i + 1:i + 65] of an np.memmap, as int64).batch(16)",
        ours=lambda hr, tokens: (
            hr.Dataset.range(len(tokens) - _TOKENS - 1).map(partial(_with_the_next, tokens)).batch(16)
        ),
        plain=lambda tokens: tuples_stacked(map(partial(_with_the_next, tokens), range(len(tokens) - _TOKENS - 1)), 16),
        data=_tokens,
        unit=Unit.ELEMENT,
        full=50_000,
    ),
)
