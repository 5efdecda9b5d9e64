"""Pixels from one dtype to another: an integer's range stands for [0, 1], as in ``tf.image.convert_image_dtype``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.errors import InvalidArgumentError

__all__ = ["Pixels", "convert_image_dtype"]

Pixels = npt.NDArray[Any]


def convert_image_dtype(image: npt.ArrayLike, dtype: npt.DTypeLike, saturate: bool = False) -> Pixels:
    """Converts pixels and their range: uint8 255, uint16 65535 and float 1.0 are the same brightness.

    Args:
        image: an array of any shape, integers or floats. Floats are taken to be in [0, 1], which is not checked.
        dtype: an integer or floating dtype.
        saturate: whether a float beyond its integer's range becomes the nearest end of it; if not, what it becomes is
            undefined, as in TensorFlow.

    Returns:
        An array of that dtype; ``image`` itself when it has it already.

    Raises:
        InvalidArgumentError: a dtype is neither integer nor floating.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> hr.image.convert_image_dtype(np.array([0, 127, 255], np.uint8), np.float32).round(1)
        array([0. , 0.5, 1. ], dtype=float32)
        >>> hr.image.convert_image_dtype(np.array([0.0, 0.2, 1.0, 7.0]), np.uint8, saturate=True)
        array([  0,  51, 255, 255], dtype=uint8)
    """
    pixels, wanted = np.asarray(image), np.dtype(dtype)
    if not {pixels.dtype.kind, wanted.kind} <= set("iuf"):
        raise InvalidArgumentError(f"pixels are integers or floats, and not {pixels.dtype} to {wanted}")
    if pixels.dtype == wanted:
        return pixels
    if wanted.kind == "f":
        return pixels.astype(wanted) if pixels.dtype.kind == "f" else _to_float(pixels, wanted)
    return _from_float(pixels, wanted, saturate) if pixels.dtype.kind == "f" else _to_integer(pixels, wanted, saturate)


def _to_float(pixels: Pixels, wanted: np.dtype[Any]) -> Pixels:
    scaled: Pixels = pixels.astype(wanted)
    scaled *= _step(pixels.dtype, wanted)
    return scaled


# Kept, because to find out NumPy's limits of a dtype takes as long as to convert an eighth of a picture of 224 × 224.
@lru_cache(maxsize=64)
def _step(integer: np.dtype[Any], floating: np.dtype[Any]) -> Any:
    return floating.type(1.0 / np.iinfo(integer).max)


def _from_float(pixels: Pixels, wanted: np.dtype[Any], saturate: bool) -> Pixels:
    # Half a step more than the end: truncation then rounds, and 1.0 stays within the range.
    scaled = pixels * pixels.dtype.type(np.iinfo(wanted).max + 0.5)
    return _saturated(scaled, wanted) if saturate else _cast(scaled, wanted)


def _to_integer(pixels: Pixels, wanted: np.dtype[Any], saturate: bool) -> Pixels:
    top_in, top_out = int(np.iinfo(pixels.dtype).max), int(np.iinfo(wanted).max)
    if top_in > top_out:
        fewer: Pixels = pixels // ((top_in + 1) // (top_out + 1))
        return _saturated(fewer, wanted) if saturate else fewer.astype(wanted)
    cast = _saturated(pixels, wanted) if saturate else pixels.astype(wanted)
    more: Pixels = cast * wanted.type((top_out + 1) // (top_in + 1))
    return more


def _saturated(pixels: Pixels, wanted: np.dtype[Any]) -> Pixels:
    ends = np.iinfo(wanted)
    cast = _cast(pixels, wanted)
    cast[pixels <= ends.min] = ends.min
    cast[pixels >= ends.max] = ends.max
    return cast


def _cast(pixels: Pixels, wanted: np.dtype[Any]) -> Pixels:
    with np.errstate(invalid="ignore"):  # beyond the range nothing is promised, a warning as little
        return pixels.astype(wanted)
