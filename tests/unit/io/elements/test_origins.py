"""Where the elements of a file came from: numbers that follow each other are one line, all others are words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headrace.blocks.origin import FileOrigin, IndexOrigin, Origin, WordedOrigin, numbered, words_of
from headrace.blocks.payload import Rows
from headrace.caching.disk import DiskCache
from headrace.caching.store import Filled
from headrace.errors import DataLossError
from headrace.io.elements.file import ElementFile
from headrace.io.elements.table import check_table
from headrace.io.elements.writer import ElementWriter

ORIGINS: list[Origin] = [
    IndexOrigin(range(5, 2005)),
    IndexOrigin(range(2005, 2010)),
    IndexOrigin(np.array([3, 1])),
    IndexOrigin(range(2010, 2013)),
    FileOrigin("a.txt", range(1, 1500)),
    WordedOrigin(["here", "there"]),
    IndexOrigin(range(0, 20, 2)),
    FileOrigin("a.txt", np.array([7])),
    IndexOrigin(range(9000, 12000)),
]
LENGTHS = [2000, 5, 2, 3, 1499, 2, 10, 1, 3000]


def test_every_element_s_origin_is_read_as_it_was_written(tmp_path: Path) -> None:
    store = DiskCache(tmp_path, "k", "plan")
    writer = store.begin_write(Filled((0,)), None)
    assert writer is not None
    for origin, length in zip(ORIGINS, LENGTHS, strict=True):
        writer.add(Rows(list(range(length))), origin)
    writer.complete()
    file = ElementFile(store.path)
    wanted = [
        origin.describe(index) for origin, length in zip(ORIGINS, LENGTHS, strict=True) for index in range(length)
    ]
    assert [file.origin(number) for number in range(len(file))] == wanted
    file.verify()


@pytest.mark.parametrize(("origin", "length"), list(zip(ORIGINS, LENGTHS, strict=True)))
def test_words_of_many_are_those_of_each(origin: Origin, length: int) -> None:
    words = [origin.describe(index) for index in range(length)]
    assert words_of(origin, length) == words
    run = numbered(origin)
    assert run is None or [f"{run[0]}{number}" for number in run[1]] == words


def test_numbers_that_follow_each_other_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.elements"
    with ElementWriter(path) as writer:
        for start in range(0, 100, 10):
            writer.add(list(range(10)))
            writer.add_numbered_origins("element ", range(start, start + 10))
    assert ElementFile(path)._origins == [{"prefix": "element ", "start": 0, "count": 100}]


@pytest.mark.parametrize(
    "where", [{"prefix": 1, "start": 0}, {"prefix": "a", "start": -1}, {"prefix": "a", "start": 0.5}]
)
def test_a_line_that_is_none_is_refused(where: dict[str, object]) -> None:
    table: dict[str, object] = {"meta": {}, "compression": None, "segments": [], "origins": [{**where, "count": 1}]}
    with pytest.raises((ValueError, TypeError, DataLossError)):
        check_table(table, 0, 0)
