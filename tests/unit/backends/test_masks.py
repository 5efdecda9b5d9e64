"""Masked arrays: what makes one array of several, or several of one, refuses to drop a mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import InvalidArgumentError

CUTS: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "unbatch": lambda rows: rows.unbatch(),
    "pack": lambda rows: rows.pack(6),
    "batch": lambda rows: rows.batch(2),
}


def masked(x: Any) -> Any:
    return np.ma.array([int(x), 7], mask=[False, x == 1])


@pytest.mark.parametrize("executor", ["inline", "thread"])
@pytest.mark.parametrize("name", CUTS)
def test_no_mask_is_dropped(name: str, executor: str) -> None:
    dataset = CUTS[name](hr.Dataset.range(1, 2).map(masked)).with_options(hr.Options(executor=executor))
    with iter(dataset) as iterator, pytest.raises(InvalidArgumentError, match="loses its mask"):
        next(iterator)
    nothing_masked = CUTS[name](hr.Dataset.range(1).map(masked)).with_options(hr.Options(executor=executor))
    assert not any(
        np.ma.isMA(leaf) for element in nothing_masked for leaf in (element if name == "pack" else [element])
    )


def test_slices_of_a_masked_array_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="loses its mask"):
        hr.train.slice_input_producer(masked(1))
