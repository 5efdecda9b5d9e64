"""``resize``: images of another size, by every method of ``tf.image.resize``, with its results.

What always holds: pixels have their centers at halves, as in TensorFlow 2; the result is float32, computed in float32,
except for ``nearest``, which copies, and where another dtype is asked for.

Two ways. Bilinear without antialias is OpenCV's, which gives the same within float32. The rest is a weighted sum of
rows, then of columns (``kernel_spans``), because OpenCV's cubic is another one (a = -3/4) and none of its filters
widens with the scale.

OpenCV runs one parallel loop at a time in a process, and the second caller runs its own in its own thread. So a pool
of workers is not multiplied by OpenCV's threads, and its setting, which belongs to the process, stays as it is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.errors import InvalidArgumentError, ResourceExhaustedError
from headrace.image.image_shape import Pixels, as_images, height_and_width
from headrace.image.kernel_spans import Spans, nearest_places, spans_of
from headrace.io.images.header import MAX_PIXELS
from headrace.io.images.opencv import opencv

__all__ = ["ResizeMethod", "resize"]

_Floats = npt.NDArray[np.float32]
# Photographs of training sets, as float32, fit. What is larger is not worth keeping memory for.
_SCRATCH_VALUES: Final = 1 << 21
# OpenCV takes images of up to this many channels.
_OPENCV_CHANNELS: Final = 4


class ResizeMethod(StrEnum):
    """The names of the methods, as ``tf.image.ResizeMethod`` has them."""

    AREA = "area"
    BICUBIC = "bicubic"
    BILINEAR = "bilinear"
    GAUSSIAN = "gaussian"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    MITCHELLCUBIC = "mitchellcubic"
    NEAREST_NEIGHBOR = "nearest"


def resize(
    images: npt.ArrayLike,
    size: Iterable[int],
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,  # noqa: ARG001 (TensorFlow names an operation)
    *,
    dtype: npt.DTypeLike | None = None,
) -> Pixels:
    """Resizes an image or a batch, as ``tf.image.resize``.

    Args:
        images: (height, width, channels), or a batch; integers or floats.
        size: height and width of the result, in pixels.
        method: ``"bilinear"``, ``"nearest"``, ``"bicubic"``, ``"area"``, ``"lanczos3"``, ``"lanczos5"``,
            ``"gaussian"`` or ``"mitchellcubic"``.
        preserve_aspect_ratio: whether ``size`` is the most that the result may have, and the shape is kept.
        antialias: whether the filter widens when it makes images smaller. ``"area"`` does it in any case, ``"nearest"``
            in none.
        name: accepted for the sake of ported programs.
        dtype: of the result, which is rounded and cut to an integer's range. uint8 from uint8 is what OpenCV, Pillow
            and torchvision give: half of the work, a quarter of the memory, and bilinear up to a level beside the
            rounded float.

    Returns:
        float32 in the images' range; for ``"nearest"``, the images' dtype; or the dtype that was asked for. Bicubic and
        its kin can overshoot the range.

    Raises:
        InvalidArgumentError: an argument does not fit, or an image has no pixels.
        ResourceExhaustedError: the result would have more than 2 ** 28 pixels.
        MissingExtraError: OpenCV is not installed, and the method is not ``"nearest"``.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> image = np.array([[0, 10], [20, 30]], np.uint8)[..., np.newaxis]
        >>> hr.image.resize(image, (2, 4))[..., 0]
        array([[ 0. ,  2.5,  7.5, 10. ],
               [20. , 22.5, 27.5, 30. ]], dtype=float32)
        >>> hr.image.resize(image, (1, 1), method="area")[..., 0]
        array([[15.]], dtype=float32)
    """
    pixels, target = as_images(images), height_and_width(size)
    how = _checked_method(method)
    if pixels.dtype.kind not in "iuf":
        raise InvalidArgumentError(f"pixels are integers or floats, and not {pixels.dtype}")
    if 0 in pixels.shape[-3:]:
        raise InvalidArgumentError(f"an image of shape {pixels.shape[-3:]} has no pixels to resize")
    if preserve_aspect_ratio:
        target = _within(pixels.shape[-3], pixels.shape[-2], target)
    if target[0] * target[1] > MAX_PIXELS:
        raise ResourceExhaustedError(f"an image of {target[0]} × {target[1]} pixels is refused: above {MAX_PIXELS}")
    if how is ResizeMethod.NEAREST_NEIGHBOR:
        return _as_dtype(_nearest(pixels, target), np.dtype(dtype or pixels.dtype))
    wanted = np.dtype(dtype or np.float32)
    if pixels.ndim == 3:
        return _resize_one(pixels, target, how, antialias, wanted)
    resized = np.empty((len(pixels), *target, pixels.shape[-1]), wanted)
    for index, one in enumerate(pixels):
        resized[index] = _resize_one(one, target, how, antialias, wanted)
    return resized


def _checked_method(method: str) -> ResizeMethod:
    try:
        return ResizeMethod(method)
    except ValueError:
        names = ", ".join(ResizeMethod)
        raise InvalidArgumentError(f"method is one of {names}, and not {method!r}") from None


def _within(height: int, width: int, most: tuple[int, int]) -> tuple[int, int]:
    """Returns the largest size of the same shape, in float32 and rounded half to even, as TensorFlow computes it."""
    sides = np.array([height, width], np.float32)
    scaled = np.rint(sides * (np.array(most, np.float32) / sides).min()).astype(int).tolist()
    return height_and_width(scaled, f"the size within {most} of an image of {height} × {width}")


def _resize_one(
    image: Pixels, target: tuple[int, int], method: ResizeMethod, antialias: bool, dtype: np.dtype[Any]
) -> Pixels:
    shrinks = target[0] < image.shape[0] or target[1] < image.shape[1]
    if method is ResizeMethod.BILINEAR and not (antialias and shrinks) and image.shape[2] <= _OPENCV_CHANNELS:
        is_whole = image.dtype == dtype == np.uint8  # OpenCV computes these in whole numbers
        return _as_dtype(_bilinear(np.ascontiguousarray(image) if is_whole else _as_floats(image), target), dtype)
    return _as_dtype(_filtered(image, target, method, antialias), dtype)


def _as_dtype(pixels: Pixels, dtype: np.dtype[Any]) -> Pixels:
    if pixels.dtype == dtype:
        return pixels
    if dtype.kind not in "iuf":
        raise InvalidArgumentError(f"pixels are integers or floats, and not {dtype}")
    if dtype.kind == "f" or pixels.dtype.kind != "f":
        return pixels.astype(dtype)
    ends = np.iinfo(dtype)
    rounded: Pixels = np.clip(np.rint(pixels), ends.min, ends.max).astype(dtype)
    return rounded


def _filtered(image: Pixels, target: tuple[int, int], method: ResizeMethod, antialias: bool) -> _Floats:
    height, width, channels = image.shape
    vertical = spans_of(method, height, target[0], antialias)
    horizontal = spans_of(method, width, target[1], antialias)
    rows = _weighted_rows(image.reshape(height, -1), vertical)
    columns = _turned(rows.reshape(target[0], width, channels)).reshape(width, -1)
    return _turned(_weighted_rows(columns, horizontal).reshape(target[1], target[0], channels))


# --- nearest -------------------------------------------------------------------------------------------------------


def _nearest(pixels: Pixels, target: tuple[int, int]) -> Pixels:
    rows, columns = nearest_places(pixels.shape[-3], target[0]), nearest_places(pixels.shape[-2], target[1])
    return pixels.take(rows, axis=-3).take(columns, axis=-2)


# --- bilinear ------------------------------------------------------------------------------------------------------


class _Scratch(threading.local):
    """A thread's own memory for an image as float32: fresh memory costs more than the conversion into it."""

    values: _Floats | None = None


_SCRATCH: Final = _Scratch()


def _bilinear(image: Pixels, target: tuple[int, int]) -> Pixels:
    library = opencv("hr.image.resize")
    resized: Pixels = library.resize(image, (target[1], target[0]), interpolation=library.INTER_LINEAR)
    return resized.reshape(*target, image.shape[2])  # OpenCV drops an axis of one channel


def _as_floats(image: Pixels) -> _Floats:
    """Returns the image as contiguous float32, to be read before this thread's next one."""
    if image.dtype == np.float32 and image.flags.c_contiguous:
        return image
    if image.size > _SCRATCH_VALUES:
        return np.ascontiguousarray(image, np.float32)
    if _SCRATCH.values is None or _SCRATCH.values.size < image.size:
        _SCRATCH.values = np.empty(image.size, np.float32)
    floats = _SCRATCH.values[: image.size].reshape(image.shape)
    np.copyto(floats, image, casting="unsafe")
    return floats


# --- weighted sums -------------------------------------------------------------------------------------------------


def _weighted_rows(rows: Pixels, spans: Spans) -> _Floats:
    """Sums of whole rows: one long multiplication for each tap."""
    total = np.zeros((len(spans.places), rows.shape[1]), np.float32)
    product = np.empty_like(total)
    for tap in range(spans.places.shape[1]):
        np.multiply(rows[spans.places[:, tap]], spans.weights[:, tap, np.newaxis], out=product, casting="unsafe")
        total += product
    return total


def _turned(image: _Floats) -> _Floats:
    """Returns rows for columns, contiguous."""
    if image.shape[2] > _OPENCV_CHANNELS:
        return np.ascontiguousarray(image.transpose(1, 0, 2))
    turned: Any = opencv("hr.image.resize").transpose(image)
    floats: _Floats = turned.reshape(image.shape[1], image.shape[0], image.shape[2])
    return floats
