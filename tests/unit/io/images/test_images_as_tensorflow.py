"""What TensorFlow made of images, recorded by record_tensorflow_images.py: headrace makes the same of them, bit for bit.

Each difference stands in DIFFERENT, with what headrace does instead and why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace import io
from headrace.errors import HeadraceError

RECORDED = np.load(Path(__file__).with_name("tensorflow_images.npz"))
CASES: list[tuple[str, str, dict[str, Any]]] = json.loads(str(RECORDED["cases"]))

OPAQUE = (
    "TensorFlow gives an opaque pixel of a PNG with fewer than 8 bits an alpha of 1, 3 or 15; here it is the greatest"
)
RESERVED = "the fourth byte of such a BMP is reserved: TensorFlow takes it for alpha, OpenCV does not"
MORE = "TensorFlow refuses to make a BMP gray"
ONE_PIXEL = "at half, a quarter and an eighth there is one pixel, and simplejpeg asks for it by its size"
DIFFERENT: dict[tuple[str, str, Any], str] = {
    **{(name, "channels", 4): OPAQUE for name in ("png_gray_1", "png_gray_4", "png_palette")},
    ("bmp_alpha", "channels", 0): RESERVED,
    ("bmp_alpha", "dtype", "uint16"): RESERVED,
    ("bmp_alpha", "dtype", "float32"): RESERVED,
    ("bmp_alpha", "expand_animations", False): RESERVED,
    ("bmp", "channels", 1): MORE,
    ("bmp_alpha", "channels", 1): MORE,
    ("jpeg_one_pixel", "ratio", 4): ONE_PIXEL,
    ("jpeg_one_pixel", "ratio", 8): ONE_PIXEL,
}


def outcome(name: str, operation: str, how: dict[str, Any]) -> Any:
    try:
        return getattr(io, operation)(RECORDED[f"file_{name}"].tobytes(), **how)
    except HeadraceError:
        return None


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{c[0]}-{c[1]}-{c[2]}" for c in CASES])
def test_an_image_is_decoded_as_by_tensorflow(number: int) -> None:
    name, operation, how = CASES[number]
    expected: Any = RECORDED.get(f"pixels_{number}")
    pixels = outcome(name, operation, how)
    is_same = (
        (pixels is None) == (expected is None)
        and np.array_equal(pixels, expected)
        and (expected is None or pixels.dtype == expected.dtype)
    )
    assert is_same == DIFFERENT.keys().isdisjoint((name, key, value) for key, value in how.items())
