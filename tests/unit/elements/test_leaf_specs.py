"""What elements are."""

from __future__ import annotations

import numpy as np

import headrace as hr
from headrace.elements.leaf_specs import spec_of


def test_the_specification_of_an_element() -> None:
    element = ({"a": [1, 2]}, "text", b"", 1.5, True, np.float32(1), {1, 2}, np.array(["a"], object), None)
    assert spec_of(element) == (
        {"a": hr.TensorSpec((2,), np.int64)},
        hr.TensorSpec((), str),
        hr.TensorSpec((), bytes),
        hr.TensorSpec((), np.float64),
        hr.TensorSpec((), bool),
        hr.TensorSpec((), np.float32),
        hr.TensorSpec((), object),
        hr.TensorSpec((1,), str),
        None,
    )
