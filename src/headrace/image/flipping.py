"""Mirror images, as in ``tf.image``.

Upside down is a view, which costs the next function nothing. Left to right is a new array: who reads pixels of three bytes
backwards takes four times as long with each arithmetic that comes after (a view, ``/ 255``: 327 µs; this, and the same: 155).
OpenCV makes it where it is installed and the dtype is a usual one, in a sixth of the time (docs/decisions/0108).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.errors import MissingExtraError
from headrace.image.image_shape import Pixels, as_images
from headrace.io.images.opencv import opencv

__all__ = ["flip_left_right", "flip_up_down", "random_flip_left_right", "random_flip_up_down"]

_FEW_CHANNELS: Final = 8
_OPENCVS_CHANNELS: Final = 4
_OPENCVS_DTYPES: Final = frozenset(map(np.dtype, (np.uint8, np.uint16, np.float32)))


def flip_left_right(image: npt.ArrayLike) -> Pixels:
    """Returns an image or a batch, mirrored left to right.

    Args:
        image: (height, width, channels), or a batch.

    Returns:
        A new array.

    Raises:
        InvalidArgumentError: it is no image.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> hr.image.flip_left_right(np.arange(4).reshape(2, 2, 1))[..., 0]
        array([[1, 0],
               [3, 2]])
    """
    return _mirrored(as_images(image))


def flip_up_down(image: npt.ArrayLike) -> Pixels:
    """Returns an image or a batch, mirrored top to bottom: a view.

    Args:
        image: (height, width, channels), or a batch.

    Raises:
        InvalidArgumentError: it is no image.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> hr.image.flip_up_down(np.arange(4).reshape(2, 2, 1))[..., 0]
        array([[2, 3],
               [0, 1]])
    """
    return _upside_down(as_images(image))


def random_flip_left_right(image: npt.ArrayLike, rng: np.random.Generator) -> Pixels:
    """Returns an image that is mirrored left to right in half of the cases; of a batch, each image by its own draw.

    Args:
        image: (height, width, channels), or a batch.
        rng: draws whether to flip.

    Returns:
        The image itself or a new array; for a batch, a new array.

    Raises:
        InvalidArgumentError: it is no image.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> batch = np.tile(np.arange(2).reshape(1, 1, 2, 1), (5, 1, 1, 1))
        >>> hr.image.random_flip_left_right(batch, np.random.default_rng(0))[:, 0, 0, 0]
        array([0, 1, 1, 1, 0])
    """
    return _random_flip(as_images(image), _mirrored, rng)


def random_flip_up_down(image: npt.ArrayLike, rng: np.random.Generator) -> Pixels:
    """Returns an image that is mirrored top to bottom in half of the cases; of a batch, each image by its own draw.

    Args:
        image: (height, width, channels), or a batch.
        rng: draws whether to flip.

    Returns:
        The image or a view of it; for a batch, a new array.

    Raises:
        InvalidArgumentError: it is no image.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> image = np.arange(2).reshape(2, 1, 1)
        >>> rng = np.random.default_rng(0)
        >>> [int(hr.image.random_flip_up_down(image, rng)[0, 0, 0]) for _ in range(5)]
        [0, 1, 1, 1, 0]
    """
    return _random_flip(as_images(image), _upside_down, rng)


def _random_flip(pixels: Pixels, flip: Callable[[Pixels], Pixels], rng: np.random.Generator) -> Pixels:
    if pixels.ndim == 3:
        return flip(pixels) if rng.random() < 0.5 else pixels
    chosen = rng.random(len(pixels)) < 0.5
    flipped = pixels.copy()
    flipped[chosen] = flip(pixels[chosen])
    return flipped


def _upside_down(pixels: Pixels) -> Pixels:
    return np.flip(pixels, -3)


def _mirrored(pixels: Pixels) -> Pixels:
    channels = pixels.shape[-1]
    if pixels.size and pixels.dtype in _OPENCVS_DTYPES and channels <= _OPENCVS_CHANNELS:
        library = _library()
        if library is not None:
            # The pictures of a batch one below the other are one picture.
            mirrored: Pixels = library.flip(pixels.reshape(-1, *pixels.shape[-2:]), 1)
            return mirrored.reshape(pixels.shape)
    return _mirrored_by_numpy(pixels)


@cache
def _library() -> Any:
    """Returns OpenCV, or None where it is not installed."""
    try:
        return opencv("a quick mirror image")
    except MissingExtraError:
        return None


def _mirrored_by_numpy(pixels: Pixels) -> Pixels:
    """Copies a channel at a time: as long as a loop over the channels of each pixel does not become NumPy's inner one."""
    if pixels.shape[-1] > _FEW_CHANNELS:
        return np.flip(pixels, -2).copy()
    mirrored = np.empty(pixels.shape, pixels.dtype)
    for channel in range(pixels.shape[-1]):
        mirrored[..., channel] = pixels[..., ::-1, channel]
    return mirrored
