from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.demo.csv_folder import CsvFolder
from headrace.cli.demo.naive import naive_batches
from headrace.cli.demo.ways import Job
from headrace.errors import DataLossError, InvalidArgumentError

LABELS = "it must be 0 or 1, or a probability between them"


def folder_of(path: Path, *texts: str | bytes, features: int = 2) -> CsvFolder:
    contents = [text if isinstance(text, bytes) else text.encode() for text in texts]
    paths = tuple(path / f"{number}.csv" for number in range(len(texts)))
    for file, content in zip(paths, contents, strict=True):
        file.write_bytes(content)
    rows = sum(content.count(b"\n") for content in contents)
    return CsvFolder(pattern=str(path / "*.csv"), paths=paths, rows=rows, features=features, made_by=None)


def test_batches_run_on_over_files_and_epochs_and_only_the_last_is_smaller(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "1,2,0\n3,4,1\n", "5,6,1\n")
    batches = list(naive_batches(folder, epochs=2, batch_size=4))
    assert [features[:, 0].tolist() for features, _ in batches] == [[1, 3, 5, 1], [3, 5]]
    assert [labels.tolist() for _, labels in batches] == [[[0], [1], [1], [0]], [[1], [1]]]
    assert batches[0][0].dtype == np.float32


@given(rows=st.integers(1, 30), epochs=st.integers(1, 4), batch_size=st.integers(1, 40))
def test_there_are_as_many_batches_as_the_job_says(
    tmp_path_factory: pytest.TempPathFactory, rows: int, epochs: int, batch_size: int
) -> None:
    folder = folder_of(tmp_path_factory.mktemp("rows"), "1,2,0\n" * rows)
    batches = list(naive_batches(folder, epochs=epochs, batch_size=batch_size))
    assert len(batches) == Job(folder=folder, epochs=epochs, batch_size=batch_size).steps
    assert sum(len(labels) for _, labels in batches) == rows * epochs


def test_the_job_of_the_documents_has_174_steps() -> None:
    folder = CsvFolder(pattern="", paths=(), rows=2_000, features=1_024, made_by=None)
    assert Job(folder=folder).steps == 174


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1,2,0\n3,4\n", "0.csv, row 2: there are 2 columns, column 3 is missing; 3 are needed"),
        ("1,2,0\n\n", "0.csv, row 2: there are 0 columns, column 1 is missing; 3 are needed"),
        ("1,2,0,7\n", "0.csv, row 1: there are 4 columns, but 3 are needed"),
        ("1,2,0\n3,four,1\n", "0.csv, row 2, column 2: 'four' is not a number"),
        ("1,,0\n", "0.csv, row 1, column 2: '' is not a number"),
        *(
            (f"1,2,0\n3,4,{label}\n", f"0.csv, row 2, column 3: the label is {label}; {LABELS}")
            for label in ("7", "1.5", "-2", "nan", "inf", "1e9")
        ),
    ],
)
def test_a_row_that_is_wrong_is_named_with_file_row_and_column(tmp_path: Path, text: str, complaint: str) -> None:
    folder = folder_of(tmp_path, text)
    with pytest.raises(InvalidArgumentError) as caught:
        list(naive_batches(folder, epochs=1, batch_size=10))
    assert str(caught.value) == f"{tmp_path}/{complaint}"


def test_rows_before_a_wrong_one_are_delivered(tmp_path: Path) -> None:
    batches = naive_batches(folder_of(tmp_path, "1,2,0\n3,4\n"), epochs=1, batch_size=1)
    assert next(batches)[0].tolist() == [[1, 2]]
    with pytest.raises(InvalidArgumentError):
        next(batches)


def test_what_is_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataLossError, match=r"0\.csv: the file is not UTF-8 text"):
        list(naive_batches(folder_of(tmp_path, b"1,\xff,0\n"), epochs=1, batch_size=10))


def test_a_field_without_an_end_is_no_csv(tmp_path: Path) -> None:
    with pytest.raises(DataLossError, match=r"0\.csv: the file is not CSV"):
        list(naive_batches(folder_of(tmp_path, '1,"' + "2" * 200_000), epochs=1, batch_size=10))
