"""Parts of images, and images within larger ones, as in ``tf.image``. A crop is a view: it copies nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from headrace.errors import InvalidArgumentError
from headrace.image.image_shape import Pixels, as_images, height_and_width

__all__ = [
    "central_crop",
    "crop_to_bounding_box",
    "pad_to_bounding_box",
    "random_crop",
    "resize_with_crop_or_pad",
]


def central_crop(image: npt.ArrayLike, central_fraction: float) -> Pixels:
    """Returns the middle of an image: this fraction of its height and of its width.

    Args:
        image: (height, width, channels), or a batch.
        central_fraction: within (0, 1].

    Returns:
        A view. What is left and right of it is equally wide, so its size is the fraction rounded up to that.

    Raises:
        InvalidArgumentError: the fraction is beyond (0, 1], or it is no image.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> hr.image.central_crop(np.zeros((10, 9, 3)), 0.5).shape
        (6, 5, 3)
    """
    pixels = as_images(image)
    if not 0.0 < central_fraction <= 1.0:
        raise InvalidArgumentError(f"central_fraction is within (0, 1], and not {central_fraction!r}")
    height, width = pixels.shape[-3:-1]
    above, left = (int((side - side * central_fraction) / 2) for side in (float(height), float(width)))
    return pixels[..., above : height - above, left : width - left, :]


def crop_to_bounding_box(
    image: npt.ArrayLike, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Pixels:
    """Returns a rectangle of an image.

    Args:
        image: (height, width, channels), or a batch.
        offset_height: rows above the rectangle.
        offset_width: columns left of it.
        target_height: its rows.
        target_width: its columns.

    Returns:
        A view of shape (target_height, target_width, channels), for each image of a batch.

    Raises:
        InvalidArgumentError: the rectangle is empty or not within the image.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> hr.image.crop_to_bounding_box(np.arange(12).reshape(3, 4, 1), 1, 1, 2, 2)[..., 0]
        array([[ 5,  6],
               [ 9, 10]])
    """
    pixels = as_images(image)
    height, width = pixels.shape[-3:-1]
    rows, columns = height_and_width((target_height, target_width), "the target")
    bottom, right = offset_height + rows, offset_width + columns
    if offset_height < 0 or offset_width < 0 or bottom > height or right > width:
        raise InvalidArgumentError(
            f"{rows} × {columns} pixels at row {offset_height}, column {offset_width} "
            f"are not within an image of {height} × {width}"
        )
    return pixels[..., offset_height:bottom, offset_width:right, :]


def random_crop(value: npt.ArrayLike, size: Sequence[int], rng: np.random.Generator) -> Pixels:
    """Returns a part of an array at a random place, each place as likely as any other.

    Args:
        value: an array of any shape; of a batch, all images are cropped alike.
        size: the part's shape, one number for each axis.
        rng: draws the place.

    Returns:
        A view of that shape.

    Raises:
        InvalidArgumentError: the size has another number of axes, or does not fit.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> image = np.zeros((256, 256, 3), np.uint8)
        >>> hr.image.random_crop(image, (227, 227, 3), np.random.default_rng(0)).shape
        (227, 227, 3)
    """
    array, shape = np.asarray(value), tuple(size)
    if len(shape) != array.ndim or any(not 0 <= part <= whole for part, whole in zip(shape, array.shape, strict=True)):
        raise InvalidArgumentError(f"a part of shape {shape} does not fit into an array of shape {array.shape}")
    starts = rng.integers(0, np.subtract(array.shape, shape), endpoint=True).tolist()
    return array[tuple(slice(start, start + part) for start, part in zip(starts, shape, strict=True))]


def pad_to_bounding_box(
    image: npt.ArrayLike, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Pixels:
    """Returns an image within a larger one of zeros.

    Args:
        image: (height, width, channels), or a batch.
        offset_height: rows of zeros above it.
        offset_width: columns of zeros left of it.
        target_height: rows of the whole.
        target_width: columns of the whole.

    Returns:
        A new array of shape (target_height, target_width, channels), for each image of a batch.

    Raises:
        InvalidArgumentError: it does not fit there.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> hr.image.pad_to_bounding_box(np.ones((1, 1, 1), int), 1, 0, 3, 2)[..., 0]
        array([[0, 0],
               [1, 0],
               [0, 0]])
    """
    pixels = as_images(image)
    height, width = pixels.shape[-3:-1]
    rows, columns = height_and_width((target_height, target_width), "the target")
    bottom, right = offset_height + height, offset_width + width
    if offset_height < 0 or offset_width < 0 or bottom > rows or right > columns:
        raise InvalidArgumentError(
            f"an image of {height} × {width} pixels at row {offset_height}, column {offset_width} "
            f"does not fit into {rows} × {columns}"
        )
    padded = np.zeros((*pixels.shape[:-3], rows, columns, pixels.shape[-1]), pixels.dtype)
    padded[..., offset_height:bottom, offset_width:right, :] = pixels
    return padded


def resize_with_crop_or_pad(image: npt.ArrayLike, target_height: int, target_width: int) -> Pixels:
    """Returns an image of another size without scaling: the middle of a larger one, zeros around a smaller one.

    Args:
        image: (height, width, channels), or a batch.
        target_height: rows of the result.
        target_width: columns of the result.

    Returns:
        An array of shape (target_height, target_width, channels), for each image of a batch.

    Raises:
        InvalidArgumentError: the target is not positive.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> hr.image.resize_with_crop_or_pad(np.arange(1, 5).reshape(1, 4, 1), 3, 2)[..., 0]
        array([[0, 0],
               [2, 3],
               [0, 0]])
    """
    pixels = as_images(image)
    height, width = pixels.shape[-3:-1]
    rows, columns = height_and_width((target_height, target_width), "the target")
    crop = max((height - rows) // 2, 0), max((width - columns) // 2, 0)
    pad = max((rows - height) // 2, 0), max((columns - width) // 2, 0)
    cropped = crop_to_bounding_box(pixels, *crop, min(rows, height), min(columns, width))
    return cropped if cropped.shape[-3:-1] == (rows, columns) else pad_to_bounding_box(cropped, *pad, rows, columns)
