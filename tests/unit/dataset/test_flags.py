"""What is True or False is given as that: a text or a number in its place is an error that names the argument."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr

RANGE = hr.Dataset.range(4)
ROWS = hr.Dataset.from_tensors(np.arange(3))


def rows(_: Any) -> hr.Dataset:
    return ROWS


def one(x: Any) -> int:
    return 1


def files(flag: Any) -> hr.Dataset:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "one.txt").touch()
        return hr.Dataset.list_files(f"{folder}/*", shuffle=flag)


def by_index(kind: Callable[..., hr.Dataset], flag: Any) -> hr.Dataset:
    return kind([], random_access=flag)


def saved_and_loaded(flag: Any) -> hr.Dataset:
    with tempfile.TemporaryDirectory() as folder:
        RANGE.save(folder)
        return hr.Dataset.load(folder, wait=flag)


TAKES: dict[str, Callable[[Any], hr.Dataset]] = {
    "batch: drop_remainder": lambda flag: RANGE.batch(3, flag),
    "batch: deterministic": lambda flag: RANGE.batch(3, num_parallel_calls=2, deterministic=flag),
    "padded_batch: drop_remainder": lambda flag: ROWS.padded_batch(3, drop_remainder=flag),
    "ragged_batch: drop_remainder": lambda flag: ROWS.ragged_batch(3, drop_remainder=flag),
    "rebatch: drop_remainder": lambda flag: ROWS.rebatch(3, drop_remainder=flag),
    "rebatch: drop_remainder of several": lambda flag: ROWS.rebatch([3, 1], drop_remainder=flag),
    "window: drop_remainder": lambda flag: RANGE.window(3, drop_remainder=flag),
    "bucket_by_sequence_length: drop_remainder": lambda flag: ROWS.bucket_by_sequence_length(
        len, [4], [2, 2], drop_remainder=flag
    ),
    "bucket_by_sequence_length: no_padding": lambda flag: ROWS.bucket_by_sequence_length(
        len, [4], [2, 2], no_padding=flag
    ),
    "bucket_by_sequence_length: pad_to_bucket_boundary": lambda flag: ROWS.bucket_by_sequence_length(
        len, [4], [2, 2], pad_to_bucket_boundary=flag
    ),
    "pack: truncate": lambda flag: ROWS.pack(4, truncate=flag),
    "shuffle: reshuffle_each_iteration": lambda flag: RANGE.shuffle(3, reshuffle_each_iteration=flag),
    "map: deterministic": lambda flag: RANGE.map(one, num_parallel_calls=2, deterministic=flag),
    "random_map: deterministic": lambda flag: RANGE.random_map(max, num_parallel_calls=2, deterministic=flag),
    "interleave: deterministic": lambda flag: RANGE.interleave(rows, num_parallel_calls=2, deterministic=flag),
    "ignore_errors: log_warning": RANGE.ignore_errors,
    "random: rerandomize_each_iteration": lambda flag: hr.Dataset.random(1, flag),
    "list_files: shuffle": files,
    "sample_from_datasets: stop_on_empty_dataset": lambda flag: hr.Dataset.sample_from_datasets(
        [RANGE, RANGE], stop_on_empty_dataset=flag
    ),
    "sample_from_datasets: rerandomize_each_iteration": lambda flag: hr.Dataset.sample_from_datasets(
        [RANGE, RANGE], rerandomize_each_iteration=flag
    ),
    "choose_from_datasets: stop_on_empty_dataset": lambda flag: hr.Dataset.choose_from_datasets(
        [RANGE, RANGE], RANGE, stop_on_empty_dataset=flag
    ),
    "CsvDataset: header": lambda flag: hr.CsvDataset("a.csv", [0], header=flag),
    "CsvDataset: use_quote_delim": lambda flag: hr.CsvDataset("a.csv", [0], use_quote_delim=flag),
    "TFRecordDataset: random_access": lambda flag: by_index(hr.TFRecordDataset, flag),
    "TextLineDataset: random_access": lambda flag: by_index(hr.TextLineDataset, flag),
    "TarDataset: random_access": lambda flag: by_index(hr.TarDataset, flag),
    "ParquetDataset: random_access": lambda flag: by_index(hr.ParquetDataset, flag),
    "ArrowDataset: random_access": lambda flag: by_index(hr.ArrowDataset, flag),
    "SqlDataset: as_dict": lambda flag: hr.SqlDataset("SELECT 1", ":memory:", as_dict=flag),
    "load: wait": saved_and_loaded,
}

NO_FLAGS = st.text() | st.integers() | st.floats() | st.lists(st.booleans()) | st.integers(-2, 2).map(np.int64)


@pytest.mark.parametrize("argument", TAKES)
@given(flag=NO_FLAGS)
def test_what_is_neither_true_nor_false_is_refused(argument: str, flag: object) -> None:
    place = argument.removesuffix(" of several")
    with pytest.raises(TypeError) as caught:
        TAKES[argument](flag)
    assert str(caught.value).startswith(f"{place} must be True or False, not ")


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("argument", TAKES)
def test_numpys_true_and_false_are_pythons(argument: str, flag: bool) -> None:
    take = TAKES[argument]
    assert type(take(np.bool_(flag))) is type(take(flag))
    if argument != "list_files: shuffle":  # whose shuffles and names are others each time
        assert repr(take(np.bool_(flag))) == repr(take(flag))
