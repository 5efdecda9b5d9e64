"""PNG, GIF and BMP to pixels, by OpenCV, outside Python's lock.

What always holds: the size is judged before OpenCV sees the bytes, and pixels come in the order of TensorFlow, RGB and
not OpenCV's BGR. A PNG's depth and channels follow the rules of ``tf.io.decode_png``.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.errors import DataLossError, InvalidArgumentError, MissingExtraError
from headrace.freed_memory import keep_freed_memory
from headrace.io.images.dtype import Pixels
from headrace.io.images.header import ImageHeader, checked_size, image_header

__all__ = ["decode_animation", "decode_still", "opencv"]

# libpng's weights of red, green and blue, in parts of 2 ** 15: Rec. 601, with the rest of the rounding in blue.
_GRAY: Final = np.array([9797, 19234, 3737], np.uint32)


def opencv(what: str) -> Any:
    """Returns the library.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import cv2
    except ImportError:
        raise MissingExtraError(f"{what} needs OpenCV: pip install 'headrace[image]'") from None
    keep_freed_memory()
    return cv2


def decode_still(contents: bytes, channels: int, wide: bool, max_pixels: int) -> Pixels:
    """Returns one picture: (height, width, channels), uint16 if ``wide`` and uint8 if not; the first one of an animation.

    Args:
        contents: a PNG, GIF or BMP.
        channels: 1, 3 or 4; 0 as the file has them.
        wide: for a PNG: 16 bits a channel. Other formats are uint8 in any case.
        max_pixels: refused above.
    """
    header = image_header(contents)
    checked_size(header.format, header.height, header.width, header.frames, max_pixels)
    if header.format == "GIF":
        return _frames(contents, header, channels)[0]
    pixels = _read(contents, header)
    if header.transparent_gray is not None and channels == 4:
        pixels = _with_transparent(pixels, header)
    pixels = _with_channels(pixels, header.channels, channels)
    return _of_depth(pixels, wide and header.format == "PNG")


def decode_animation(contents: bytes, channels: int, max_pixels: int) -> Pixels:
    """Returns all pictures of a GIF, each as it is shown: uint8 (frames, height, width, 3)."""
    header = image_header(contents)
    checked_size("GIF", header.height, header.width, header.frames, max_pixels)
    return np.stack(_frames(contents, header, channels))


def _frames(contents: bytes, header: ImageHeader, channels: int) -> list[Pixels]:
    if channels not in {0, 3}:
        raise InvalidArgumentError(f"a GIF has 3 channels, and channels={channels}")
    library = opencv("decoding GIF")
    try:
        _, frames = library.imdecodemulti(np.frombuffer(contents, np.uint8), library.IMREAD_COLOR_RGB)
    except library.error as error:
        raise _corrupt(header, contents) from error
    if len(frames) != header.frames:
        raise _corrupt(header, contents)
    return list(frames)


def _read(contents: bytes, header: ImageHeader) -> Pixels:
    library = opencv(f"decoding {header.format}")
    try:
        pixels: Pixels | None = library.imdecode(np.frombuffer(contents, np.uint8), library.IMREAD_UNCHANGED)
        if pixels is None:
            raise _corrupt(header, contents)
        if pixels.ndim == 2:
            return pixels[..., np.newaxis]
        in_order: Pixels = library.cvtColor(
            pixels, library.COLOR_BGR2RGB if pixels.shape[2] == 3 else library.COLOR_BGRA2RGBA
        )
    except library.error as error:
        raise _corrupt(header, contents) from error
    return in_order


def _corrupt(header: ImageHeader, contents: bytes) -> DataLossError:
    return DataLossError(
        f"a truncated or corrupt {header.format} of {len(contents)} bytes, "
        f"which claims {header.height} × {header.width} pixels"
    )


# --- channels and depth --------------------------------------------------------------------------------------------


def _with_channels(pixels: Pixels, own: int, wanted: int) -> Pixels:
    """Pixels of 1, 3 or 4 channels with the number that was asked for, else that of the file."""
    have = pixels.shape[2]
    number = wanted or own or have
    if number == have:
        return pixels
    match number:
        case 1:  # gray and alpha come as RGBA, and from equal parts the weights give the same again
            return _gray(pixels)
        case 2:
            return np.ascontiguousarray(pixels[..., [0, 3]])
        case 3:
            return np.repeat(pixels, 3, axis=2) if have == 1 else np.ascontiguousarray(pixels[..., :3])
        case _:
            opaque = np.full((*pixels.shape[:2], 1), np.iinfo(pixels.dtype).max, pixels.dtype)
            return np.concatenate([_with_channels(pixels, 3, 3), opaque], axis=2)


def _gray(pixels: Pixels) -> Pixels:
    half = 0 if pixels.dtype == np.uint8 else 1 << 14  # libpng rounds 16 bits, and cuts 8
    weighted = pixels[..., :3].astype(np.uint32) @ _GRAY
    return ((weighted + np.uint32(half)) >> np.uint32(15)).astype(pixels.dtype)[..., np.newaxis]


def _with_transparent(pixels: Pixels, header: ImageHeader) -> Pixels:
    """Returns a gray PNG as RGBA, where one shade is transparent."""
    assert header.transparent_gray is not None
    top = np.iinfo(pixels.dtype).max
    shade = header.transparent_gray * (top // ((1 << header.bits) - 1))
    alpha = np.where(pixels == shade, 0, top).astype(pixels.dtype)
    return np.concatenate([pixels, pixels, pixels, alpha], axis=2)


def _of_depth(pixels: Pixels, wide: bool) -> Pixels:
    if wide and pixels.dtype == np.uint8:
        return pixels.astype(np.uint16) * np.uint16(257)
    if not wide and pixels.dtype == np.uint16:
        return (pixels >> np.uint16(8)).astype(np.uint8)
    return pixels
