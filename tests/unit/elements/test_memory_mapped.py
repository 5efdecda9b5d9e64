"""Arrays whose memory is a file are elements as all arrays are: what comes out is an array of one's own, whatever becomes of the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

D = hr.Dataset
ROWS = 6

PROGRAMS: dict[str, Callable[[np.memmap], hr.Dataset]] = {
    "a row": lambda rows: D.range(ROWS).map(lambda i: rows[i]),
    "a row, in parallel": lambda rows: D.range(ROWS).map(lambda i: rows[i], num_parallel_calls=2),
    "a row of another dtype": lambda rows: D.range(ROWS).map(lambda i: rows[i].astype(np.int64)),
    "rows in a tuple": lambda rows: D.range(ROWS).map(lambda i: (rows[i], i)),
    "rows in a dict in a tuple": lambda rows: D.range(ROWS).map(lambda i: (i, {"x": rows[i], "y": rows[i : i + 1]})),
    "yielded": lambda rows: D.from_generator(lambda: (rows[i] for i in range(ROWS))),
    "scanned": lambda rows: D.range(ROWS).scan(0, lambda state, i: (state, rows[i])),
    "tensors": lambda rows: D.from_tensors(rows[:2]),
    "slices": D.from_tensor_slices,
    "inside": lambda rows: D.range(ROWS).flat_map(lambda i: D.from_tensors(rows[i])),
    "cached": lambda rows: D.range(ROWS).map(lambda i: rows[i]).cache().repeat(2),
    "batched": lambda rows: D.range(ROWS).map(lambda i: (rows[i], i)).batch(4),
}


def leaves(element: Any) -> list[Any]:
    if isinstance(element, (tuple, dict)):
        return [leaf for part in (element.values() if isinstance(element, dict) else element) for leaf in leaves(part)]
    return [element]


@pytest.mark.parametrize(
    ("executor", "mode"),
    [("thread", "r"), ("thread", "r+"), ("thread", "c"), ("inline", "r+"), ("process", "r"), ("subprocess", "c")],
)
def test_they_are_delivered_as_arrays_of_ones_own(executor: str, mode: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows"
    for name, program in PROGRAMS.items():
        np.arange(ROWS * 3, dtype=np.int32).tofile(path)
        rows = np.memmap(path, np.int32, mode, shape=(ROWS, 3))
        plain = np.array(rows, subok=False)
        plain.flags.writeable = rows.flags.writeable
        options = hr.Options(executor=executor)
        expected = list(program(plain).with_options(options))  # type: ignore[arg-type]  # an array as well
        found = list(program(rows).with_options(options))
        if mode == "r+" and name not in ("tensors", "slices", "inside"):  # views of what they were given
            rows[...] = -1
        assert len(found) == len(expected)
        for one, other in zip(map(leaves, found), map(leaves, expected), strict=True):
            assert list(map(type, one)) == list(map(type, other)), name
            for mine, theirs in zip(one, other, strict=True):
                np.testing.assert_array_equal(mine, theirs, name)
                assert np.asarray(mine).flags.writeable == np.asarray(theirs).flags.writeable, name
