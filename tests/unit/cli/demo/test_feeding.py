"""The ways without a Dataset: every row as often as there are epochs, the smaller batch last, failures named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from headrace.cli.demo.csv_folder import CsvFolder
from headrace.cli.demo.feeding import BatchMaker, fed_batches, queued_batches
from headrace.errors import InvalidArgumentError

Batch = tuple[NDArray[np.float32], NDArray[np.float32]]


def folder_of(path: Path, *, files: int, rows: int) -> CsvFolder:
    for file in range(files):
        lines = (f"{file}.5,{row},1\n" for row in range(rows))
        (path / f"part-{file}.csv").write_text("".join(lines))
    paths = tuple(sorted(path.glob("*.csv")))
    return CsvFolder(pattern=str(path / "*.csv"), paths=paths, rows=files * rows, features=2, made_by=None)


def fed(maker: BatchMaker) -> list[Batch]:
    return list(fed_batches(maker))


def queued(maker: BatchMaker) -> list[Batch]:
    with queued_batches(maker) as batches:
        return list(batches)


@pytest.fixture(params=[fed, queued])
def take_all(request: pytest.FixtureRequest) -> Callable[[BatchMaker], list[Batch]]:
    way: Callable[[BatchMaker], list[Batch]] = request.param
    return way


@pytest.mark.parametrize(("rows", "epochs", "sizes"), [(7, 2, [5, 5, 5, 5, 5, 3]), (5, 1, [5, 5]), (1, 1, [2])])
def test_every_row_comes_once_an_epoch_and_the_smaller_batch_last(
    tmp_path: Path, take_all: Callable[[BatchMaker], list[Batch]], rows: int, epochs: int, sizes: list[int]
) -> None:
    folder = folder_of(tmp_path, files=2, rows=rows)
    batches = take_all(BatchMaker(folder, epochs=epochs, batch_size=5))
    assert [len(labels) for _, labels in batches] == sizes
    seen = Counter(tuple(row) for features, _ in batches for row in features.tolist())
    assert seen == {(file + 0.5, float(row)): epochs for file in range(2) for row in range(rows)}


def test_features_and_labels_have_two_axes(tmp_path: Path) -> None:
    features, labels = next(fed_batches(BatchMaker(folder_of(tmp_path, files=1, rows=4), epochs=1, batch_size=3)))
    assert features.shape == (3, 2)
    assert labels.shape == (3, 1)


@pytest.mark.parametrize("row", [2, 6])  # in a whole batch, and in the smaller one at the end
def test_a_word_is_named_with_its_file_row_and_column(
    tmp_path: Path, take_all: Callable[[BatchMaker], list[Batch]], row: int
) -> None:
    folder = folder_of(tmp_path, files=1, rows=7)
    lines = folder.paths[0].read_text().splitlines()
    lines[row] = "0.5,word,1"
    folder.paths[0].write_text("\n".join(lines))
    with pytest.raises(InvalidArgumentError, match=rf"part-0\.csv, row {row + 1}: column 1: 'word'"):
        take_all(BatchMaker(folder, epochs=1, batch_size=5))


def test_leaving_early_ends_the_runners(tmp_path: Path) -> None:
    def first(batches: Iterator[Batch]) -> Batch:
        return next(batches)

    with queued_batches(BatchMaker(folder_of(tmp_path, files=2, rows=50), epochs=3, batch_size=2)) as batches:
        assert len(first(batches)[1]) == 2
    # The fixture of tests/conftest.py finds threads that are left.
