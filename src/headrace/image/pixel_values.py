"""What a network expects of pixels' values: standardised, normalised, channels in its order."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.errors import InvalidArgumentError
from headrace.image.image_shape import Pixels, as_images

__all__ = ["normalize", "per_image_standardization", "rgb_to_bgr"]

_Floats = npt.NDArray[np.float32]


def per_image_standardization(image: npt.ArrayLike) -> _Floats:
    """Scales each image to mean 0 and variance 1, as ``tf.image.per_image_standardization``.

    Args:
        image: (height, width, channels), or a batch.

    Returns:
        float32: ``(image - mean) / max(stddev, 1 / sqrt(number of values))``, so that a uniform image becomes 0.

    Raises:
        InvalidArgumentError: it is no image.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> hr.image.per_image_standardization(np.array([1, 3], np.uint8).reshape(1, 2, 1))[..., 0]
        array([[-1.,  1.]], dtype=float32)
    """
    pixels = as_images(image).astype(np.float32)
    over: Any = (-3, -2, -1)
    count = np.prod(pixels.shape[-3:], dtype=np.float32)
    if not count:
        return pixels
    pixels -= pixels.mean(axis=over, keepdims=True)
    # The deviations are there already: NumPy's std would compute the mean again.
    deviation = np.sqrt(np.square(pixels).mean(axis=over, keepdims=True))
    pixels /= np.maximum(deviation, 1 / np.sqrt(count))
    return pixels


def normalize(images: npt.ArrayLike, mean: float | npt.ArrayLike, std: float | npt.ArrayLike | None = None) -> _Floats:
    """Subtracts a mean and divides by a standard deviation, both given, per channel or one for all.

    Args:
        images: (height, width, channels), or a batch.
        mean: a number, one for each channel, or a mean image of the same shape, in the images' unit (0 to 255 for
            uint8).
        std: likewise; None divides by nothing.

    Returns:
        float32, of the images' shape.

    Raises:
        InvalidArgumentError: it is no image, or mean or std have another shape, or std has a 0.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> image = np.full((2, 2, 3), 130, np.uint8)
        >>> hr.image.normalize(image, [123.0, 117.0, 104.0])[0, 0]
        array([ 7., 13., 26.], dtype=float32)
        >>> hr.image.normalize(image, mean=130.0, std=[1.0, 2.0, 4.0])[0, 0]
        array([0., 0., 0.], dtype=float32)
    """
    pixels = as_images(images)
    rows = _rows(pixels)
    result = np.subtract(rows, _along_rows(mean, pixels, "mean"), dtype=np.float32, casting="unsafe")
    if std is not None:
        scale = _along_rows(std, pixels, "std")
        if not np.all(scale):
            raise InvalidArgumentError("std has a 0, by which nothing can be divided")
        result /= scale
    return result.reshape(pixels.shape)


def _rows(pixels: Pixels) -> Pixels:
    """Returns rows as one axis: an inner loop over three channels would cost several times as much as the arithmetic."""
    return pixels.reshape(*pixels.shape[:-2], pixels.shape[-2] * pixels.shape[-1])


def _along_rows(values: Any, pixels: Pixels, what: str) -> _Floats:
    """Values per channel, repeated over a row; a whole image, in the shape of ``_rows``."""
    if type(values) is tuple and set(map(type, values)) == {float} and len(values) == pixels.shape[-1]:
        return _repeated(values, pixels.shape[-2])
    array = np.asarray(values, np.float32)
    if array.ndim < 2 and array.size in {1, pixels.shape[-1]}:
        return _repeated(tuple(np.broadcast_to(array, pixels.shape[-1]).tolist()), pixels.shape[-2])
    if array.shape != pixels.shape[-3:]:
        raise InvalidArgumentError(
            f"{what} is a number, one for each of {pixels.shape[-1]} channels, or of shape {pixels.shape[-3:]}; "
            f"it has shape {array.shape}"
        )
    return _rows(array)


@lru_cache(maxsize=64)
def _repeated(channels: tuple[float, ...], width: int) -> _Floats:
    row = np.tile(np.array(channels, np.float32), width)
    row.flags.writeable = False
    return row


def rgb_to_bgr(images: npt.ArrayLike) -> Pixels:
    """Reverses the order of the channels, RGB to BGR or back, as networks trained with OpenCV or Caffe expect: a view.

    Args:
        images: (height, width, channels), or a batch.

    Raises:
        InvalidArgumentError: it is no image.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> hr.image.rgb_to_bgr(np.arange(3).reshape(1, 1, 3))
        array([[[2, 1, 0]]])
    """
    return as_images(images)[..., ::-1]
