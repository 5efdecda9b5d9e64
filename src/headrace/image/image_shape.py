"""What an image is: an array of three axes, or of four for a batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.errors import InvalidArgumentError
from headrace.io.images.dtype import Pixels

__all__ = ["Pixels", "as_images", "height_and_width"]


def as_images(images: npt.ArrayLike) -> Pixels:
    """Returns the array.

    Raises:
        InvalidArgumentError: it has not three or four axes.
    """
    pixels = np.asarray(images)
    if pixels.ndim not in {3, 4}:
        raise InvalidArgumentError(
            f"an image is (height, width, channels), and a batch has one axis more; this one has shape {pixels.shape}"
        )
    return pixels


def height_and_width(size: Any, what: str = "size") -> tuple[int, int]:
    """Returns a pair of positive numbers of pixels.

    Raises:
        InvalidArgumentError: it is no such pair.
    """
    pair = tuple(size) if isinstance(size, Iterable) else ()
    if len(pair) != 2 or any(not isinstance(side, int | np.integer) or side < 1 for side in pair):
        raise InvalidArgumentError(f"{what} is a height and a width in pixels, from 1, and not {size!r}")
    return int(pair[0]), int(pair[1])
