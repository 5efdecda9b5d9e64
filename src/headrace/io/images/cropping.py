"""A part of a JPEG without the rest of it, as ``tf.io.decode_and_crop_jpeg``, and the shape that says where a part can lie.

What always holds: the pixels are those of the same part of the whole, bit for bit. Time is spent on the rows above the part and on
its own, as the data of a row can only be read after those before it; what is below it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.errors import InvalidArgumentError
from headrace.io.images.decoding import jpeg_settings
from headrace.io.images.dtype import Pixels
from headrace.io.images.header import MAX_PIXELS, image_bytes, image_format
from headrace.io.images.jpeg import Window, decode_jpeg_window, jpeg_shape

__all__ = ["decode_and_crop_jpeg", "extract_jpeg_shape"]


def decode_and_crop_jpeg(
    contents: bytes,
    crop_window: Sequence[int] | npt.NDArray[np.integer[Any]],
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    *,
    dct_method: str = "",
    max_pixels: int = MAX_PIXELS,
    name: str | None = None,  # noqa: ARG001 (TensorFlow names an operation)
) -> Pixels:
    """Decodes a rectangle of a JPEG, as ``tf.io.decode_and_crop_jpeg``: ``decode_jpeg`` and a crop, without the rows below it.

    A random crop of 224 × 224 of 500 × 375 pixels so takes four fifths of the time.

    Args:
        contents: the bytes of the image, a JPEG.
        crop_window: the first row, the first column, how many rows, how many columns, in pixels; at a ratio, of the scaled image.
        channels: 1 gray, 3 RGB, 0 as the file has it. CMYK becomes RGB.
        ratio: 1, 2, 4 or 8: decode at 1/ratio of the height and width.
        fancy_upscaling: smooth upsampling of the colour planes.
        try_recover_truncated: take what there is of a truncated or corrupt file, the rest gray.
        dct_method: ``"INTEGER_ACCURATE"``, or ``"INTEGER_FAST"``, which is the default, as in TensorFlow.
        max_pixels: a file that claims more in all is refused.
        name: accepted for the sake of ported programs.

    Returns:
        uint8 (rows, columns, channels), a new array.

    Raises:
        InvalidArgumentError: the window is not within the image or has no pixels, another argument does not fit, or the bytes are no JPEG.
        DataLossError: truncated or corrupt. What damage there is below the window may not be noticed.
        ResourceExhaustedError: more than ``max_pixels``, or hundreds of scans.
        MissingExtraError: simplejpeg is not installed.

    Example:
        >>> import numpy as np, simplejpeg
        >>> import headrace as hr
        >>> contents = simplejpeg.encode_jpeg(np.full((375, 500, 3), 128, np.uint8))
        >>> height, width, _ = hr.io.extract_jpeg_shape(contents)
        >>> rng = np.random.default_rng(0)
        >>> top, left = rng.integers(0, (height - 224, width - 224), endpoint=True)
        >>> hr.io.decode_and_crop_jpeg(contents, (top, left, 224, 224), channels=3).shape
        (224, 224, 3)
    """
    settings = jpeg_settings(channels, ratio, fancy_upscaling, try_recover_truncated, dct_method, None, max_pixels)
    return decode_jpeg_window(_jpeg(contents, "decode_and_crop_jpeg"), settings, _checked(crop_window))


def extract_jpeg_shape(
    contents: bytes,
    output_type: npt.DTypeLike = np.int32,
    name: str | None = None,  # noqa: ARG001 (TensorFlow names an operation)
) -> npt.NDArray[np.integer[Any]]:
    """Returns the shape of a JPEG from its header, as ``tf.io.extract_jpeg_shape``: nothing is decoded.

    Args:
        contents: the bytes of the image, a JPEG.
        output_type: int32 or int64.
        name: accepted for the sake of ported programs.

    Returns:
        Height, width and channels: 1 gray, 3 colours, 4 CMYK.

    Raises:
        InvalidArgumentError: the bytes are no JPEG, or another ``output_type``.
        DataLossError: the header has no end.
        MissingExtraError: simplejpeg is not installed, which reads the headers that are not as usual.

    Example:
        >>> import numpy as np, simplejpeg
        >>> import headrace as hr
        >>> hr.io.extract_jpeg_shape(simplejpeg.encode_jpeg(np.zeros((375, 500, 3), np.uint8)))
        array([375, 500,   3], dtype=int32)
    """
    return np.array(jpeg_shape(_jpeg(contents, "extract_jpeg_shape")), _checked_type(np.dtype(output_type)))


def _jpeg(contents: bytes, what: str) -> bytes:
    data = image_bytes(contents)
    if (found := image_format(data)) != "JPEG":
        raise InvalidArgumentError(
            f"{what} takes a JPEG, and this is a {found}: decode it whole, with hr.io.decode_image"
        )
    return data


# Mostly they are these, which is seen at once.
_WHOLE_NUMBERS: Final = frozenset((int, np.int64, np.int32))


def _is_whole_number(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _checked(window: Any) -> Window:
    values = list(window) if isinstance(window, Iterable) else []
    if len(values) != 4 or not (set(map(type, values)) <= _WHOLE_NUMBERS or all(map(_is_whole_number, values))):
        raise InvalidArgumentError(
            f"crop_window is the first row, the first column, and how many rows and columns, in pixels, and not {window!r}"
        )
    top, left, rows, columns = map(int, values)
    if top < 0 or left < 0 or rows < 1 or columns < 1:
        raise InvalidArgumentError(
            f"crop_window begins at 0 or later and has pixels, and is not {[top, left, rows, columns]}"
        )
    return top, left, rows, columns


@lru_cache(maxsize=8)
def _checked_type(wanted: np.dtype[Any]) -> np.dtype[Any]:
    if wanted not in (np.int32, np.int64):
        raise InvalidArgumentError(f"output_type is int32 or int64, and not {wanted}")
    return wanted
