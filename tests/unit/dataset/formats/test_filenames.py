"""How files may be named, in every format that reads them."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import InvalidArgumentError, NotFoundError

data = hr.Dataset

FORMATS: dict[str, Callable[[Any], hr.Dataset]] = {
    "TextLineDataset": hr.TextLineDataset,
    "TextLineDataset by number": lambda names: hr.TextLineDataset(names, random_access=True),
    "CsvDataset": lambda names: hr.CsvDataset(names, [""]),
    "TFRecordDataset": hr.TFRecordDataset,
    "FixedLengthRecordDataset": lambda names: hr.FixedLengthRecordDataset(names, 2),
    "JsonLinesDataset": hr.JsonLinesDataset,
    "ParquetDataset": hr.ParquetDataset,
    "ArrowDataset": hr.ArrowDataset,
    "NumpyDataset": hr.NumpyDataset,
    "TarDataset": hr.TarDataset,
}
# What an element of a dataset names is seen only here.
STREAMED = sorted(set(FORMATS) - {"TextLineDataset by number", "NumpyDataset"})

NAMED: dict[str, Callable[[str], Any]] = {
    "a str": lambda path: path,
    "bytes": os.fsencode,
    "a path": pathlib.Path,
    "a list": lambda path: [path],
    "a list of bytes": lambda path: [os.fsencode(path)],
    "a list of lists": lambda path: [[path], []],
    "a tuple": lambda path: (path,),
    "a generator": lambda path: (one for one in [path]),
    "an array of texts": lambda path: np.array([path]),
    "an array of bytes": lambda path: np.array([os.fsencode(path)]),
    "an array of objects": lambda path: np.array([path], object),
    "an array of two axes": lambda path: np.array([[path]]),
    "an array of no axes": np.array,
    "a text of NumPy's": np.str_,
    "a dataset": data.from_tensors,
    "a dataset of bytes": lambda path: data.from_tensors(os.fsencode(path)),
    "a dataset of an array": lambda path: data.from_tensor_slices(np.array([path])),
    "a dataset through a map": lambda path: data.from_tensors(path).map(os.fsencode),
}


@pytest.mark.parametrize("named", sorted(NAMED))
def test_a_file_may_be_named_in_every_way(named: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "é.txt"
    path.write_text("one\ntwo\n", encoding="utf-8")
    assert list(hr.TextLineDataset(NAMED[named](str(path)))) == ["one", "two"]
    if "dataset" not in named:
        assert list(hr.TextLineDataset(NAMED[named](str(path)), random_access=True)) == ["one", "two"]
        assert list(data.list_files(NAMED[named](str(path)))) == [str(path)]


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_every_format_takes_bytes_for_a_name(form: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(NotFoundError, match="missing"):
        list(FORMATS[form](os.fsencode(tmp_path / "missing")))


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "a number": (1, TypeError, "files are named by a path or a list of paths, not by 1"),
    "None": (None, TypeError, "not by None"),
    "a dict": ({"a": "b"}, TypeError, "not by {'a': 'b'}"),
    "a list of numbers": ([1, 2], InvalidArgumentError, "named by a non-empty str or path, and not by 1"),
    "an empty name": ("", InvalidArgumentError, "named by a non-empty str or path, and not by ''"),
    "numbers in an array": (np.array([1]), InvalidArgumentError, "not by 1"),
}


@pytest.mark.parametrize("form", sorted(FORMATS))
@pytest.mark.parametrize("case", sorted(WRONG))
def test_what_names_no_file_is_said_when_the_dataset_is_built(case: str, form: str) -> None:
    names, kind, message = WRONG[case]
    with pytest.raises(kind, match=f"{form.split(maxsplit=1)[0]}: .*{message}"):
        FORMATS[form](names)


NO_NAMES: dict[str, Callable[[], hr.Dataset]] = {
    "numbers": lambda: data.from_tensors(0),
    "arrays of names": lambda: data.from_tensors([["a"], ["b"]]),
    "pairs": lambda: data.from_tensors(("a", "b")),
    "dicts": lambda: data.from_tensors({"a": "b"}),
}


@pytest.mark.parametrize("form", STREAMED)
@pytest.mark.parametrize("case", sorted(NO_NAMES))
def test_a_dataset_of_no_names_is_refused_when_it_is_known_and_an_error_of_its_element_else(
    case: str, form: str
) -> None:
    with pytest.raises(TypeError, match=f"{form}: a dataset of filenames has one path as each element, and these are"):
        FORMATS[form](NO_NAMES[case]())
    unknown = FORMATS[form](NO_NAMES[case]().map(lambda *element: element[0] if len(element) == 1 else element))
    with pytest.raises(InvalidArgumentError, match=f"{form}, element 0: .*non-empty str or path"):
        list(unknown)
