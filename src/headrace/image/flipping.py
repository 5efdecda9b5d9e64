"""Mirror images, as in ``tf.image``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headrace.image.image_shape import Pixels, as_images

__all__ = ["flip_left_right", "flip_up_down", "random_flip_left_right", "random_flip_up_down"]

_ROWS, _COLUMNS = -3, -2


def flip_left_right(image: npt.ArrayLike) -> Pixels:
    """Returns an image or a batch, mirrored left to right: a view.

    Args:
        image: (height, width, channels), or a batch.

    Raises:
        InvalidArgumentError: it is no image.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> hr.image.flip_left_right(np.arange(4).reshape(2, 2, 1))[..., 0]
        array([[1, 0],
               [3, 2]])
    """
    return np.flip(as_images(image), _COLUMNS)


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
    return np.flip(as_images(image), _ROWS)


def random_flip_left_right(image: npt.ArrayLike, rng: np.random.Generator) -> Pixels:
    """Returns an image that is mirrored left to right in half of the cases; of a batch, each image by its own draw.

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
        >>> batch = np.tile(np.arange(2).reshape(1, 1, 2, 1), (5, 1, 1, 1))
        >>> hr.image.random_flip_left_right(batch, np.random.default_rng(0))[:, 0, 0, 0]
        array([0, 1, 1, 1, 0])
    """
    return _random_flip(as_images(image), _COLUMNS, rng)


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
    return _random_flip(as_images(image), _ROWS, rng)


def _random_flip(pixels: Pixels, axis: int, rng: np.random.Generator) -> Pixels:
    if pixels.ndim == 3:
        return np.flip(pixels, axis) if rng.random() < 0.5 else pixels
    chosen = rng.random(len(pixels)) < 0.5
    flipped = pixels.copy()
    flipped[chosen] = np.flip(pixels[chosen], axis)
    return flipped
