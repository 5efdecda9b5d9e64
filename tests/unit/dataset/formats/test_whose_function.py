"""What fails in a file that is read by number is told of the format: no file of headrace's stands there as if it were a user's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.errors import DataLossError

FORMATS: dict[str, tuple[Callable[[Path, int], object], Callable[[Path], hr.Dataset]]] = {
    "ParquetDataset": (
        lambda path, count: pq.write_table(pa.table({"x": range(count)}), path),
        lambda path: hr.ParquetDataset(str(path), random_access=True),
    ),
    "TextLineDataset": (
        lambda path, count: path.write_text("a\n" * count),
        lambda path: hr.TextLineDataset(str(path), random_access=True),
    ),
    "NumpyDataset": (
        lambda path, count: np.save(path, np.arange(count)),
        lambda path: hr.NumpyDataset(str(path)),
    ),
}


@pytest.mark.parametrize("executor", ["inline", "thread"])
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_stage_of_a_file_by_number_is_its_format(tmp_path: Path, name: str, executor: str) -> None:
    write, read = FORMATS[name]
    path = tmp_path / "a.npy"
    write(path, 9)
    dataset = read(path).with_options(hr.Options(executor=executor))
    write(path, 2)
    with pytest.raises(DataLossError) as caught:
        list(dataset)
    assert caught.value.stage == f"source '{name}'"
