"""What tf.image made of images, recorded by record_tensorflow.py: headrace makes the same of them.

Exact, but for float32 arithmetic in another order, and for one shortcut of TensorFlow's: bicubic without antialias takes
its weights from a table of 1,024 steps, which moves a pixel by up to a thousandth of the range.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from headrace import image
from headrace.errors import HeadraceError

RECORDED = np.load(Path(__file__).with_name("tensorflow_image.npz"))
CASES: list[tuple[str, str, dict[str, Any]]] = json.loads(str(RECORDED["cases"]))


def allowed(how: dict[str, Any], pixels: npt.NDArray[Any]) -> float:
    """As a part of the values' range."""
    if pixels.dtype.kind in "iu" or not pixels.size:
        return 0.0
    from_a_table = how.get("method") == "bicubic" and not how.get("antialias")
    return (1e-3 if from_a_table else 2e-6) * max(float(np.abs(pixels).max()), 1e-30)


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{c[0]}-{c[1]}-{c[2]}" for c in CASES])
def test_an_image_is_changed_as_by_tensorflow(number: int) -> None:
    name, function, how = CASES[number]
    expected: Any = RECORDED.get(f"result_{number}")
    array = RECORDED[f"array_{name}"]
    before = array.copy()
    try:
        result = getattr(image, function)(array, **how)
    except HeadraceError:
        assert expected is None
        return
    assert expected is not None
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(result, expected, rtol=0, atol=allowed(how, expected))
    np.testing.assert_array_equal(array, before)
