"""JPEG to pixels, by simplejpeg: libjpeg-turbo, outside Python's lock.

What always holds:
- The size is judged before anything of that size is allocated.
- By default, pixels are bit for bit TensorFlow's: libjpeg-turbo with the fast integer DCT and smooth upsampling.
- What libjpeg warns of is an error, except for warnings that say nothing about pixels (``_HARMLESS``).
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

from headrace.errors import DataLossError, InvalidArgumentError, MissingExtraError, ResourceExhaustedError
from headrace.freed_memory import keep_freed_memory
from headrace.frozen import frozen
from headrace.io.images.dtype import Pixels
from headrace.io.images.header import JpegSegments, checked_size, jpeg_of_first_rows, jpeg_segments

__all__ = ["RATIOS", "JpegSettings", "Window", "decode_jpeg_pixels", "decode_jpeg_window", "jpeg_shape"]

RATIOS: Final = (1, 2, 4, 8)
# Photographs in the wild have stray bytes between segments and unknown versions or transforms, and decode as they should.
_HARMLESS: Final = ("extraneous bytes", "JFIF", "Adobe")
# A progressive file has ten scans. Each costs a pass over all coefficients, so a small file could ask for hours.
_MAX_SCANS: Final = 500
_SPACES: Final = {1: "GRAY", 3: "RGB"}
# Smooth upsampling of colours makes a row of the one below it as well.
_ROWS_BELOW: Final = 2
# What libjpeg says of the data of rows that are not wanted.
_LEFT_OVER: Final = "extraneous bytes"

Window = tuple[int, int, int, int]  # first row, first column, rows, columns


@frozen(kw_only=True)
class JpegSettings:
    """How a JPEG is decoded.

    Attributes:
        channels: 1 gray, 3 RGB, 0 as the file has it.
        ratio: decode at 1/ratio of the size.
        min_size: instead: at the smallest of these sizes that is not below this height and width.
        fancy_upscaling: smooth upsampling of colour.
        fast_dct: the less exact DCT.
        recover: take what there is of a damaged file.
        max_pixels: of the whole size; refused above.
    """

    channels: int
    ratio: int
    min_size: tuple[int, int] | None
    fancy_upscaling: bool
    fast_dct: bool
    recover: bool
    max_pixels: int


def decode_jpeg_pixels(contents: bytes, settings: JpegSettings) -> Pixels:
    """Returns the pixels, uint8 of shape (height, width, channels).

    Raises:
        InvalidArgumentError: four channels of a JPEG.
        DataLossError: truncated or corrupt.
        ResourceExhaustedError: above ``max_pixels``, or with more passes than any honest file.
        MissingExtraError: simplejpeg is not installed.
    """
    library = _library()
    height, width, space, _ = _header(library, contents, settings.max_pixels)
    ratio = settings.ratio if settings.min_size is None else _sufficient_ratio(height, width, settings.min_size)
    shape = _scaled(height, ratio), _scaled(width, ratio)
    pixels = _decoded(library, contents, _arguments(settings, space, shape, ratio), settings.recover)
    return _in_light(pixels, contents, settings, space)


def decode_jpeg_window(contents: bytes, settings: JpegSettings, window: Window) -> Pixels:
    """Returns the pixels of a part, bit for bit those of the whole. Rows below it are not decoded, and not looked at.

    Raises:
        InvalidArgumentError: the window is not within the picture, or four channels of a JPEG.
        DataLossError: as ``decode_jpeg_pixels``, and so are the next two.
        ResourceExhaustedError: …
        MissingExtraError: …
    """
    library = _library()
    height, width, space, segments = _header(library, contents, settings.max_pixels)
    ratio = settings.ratio
    top, left, rows, columns = window
    whole = _scaled(height, ratio), _scaled(width, ratio)
    if top + rows > whole[0] or left + columns > whole[1]:
        raise InvalidArgumentError(
            f"crop_window: {rows} × {columns} pixels at row {top}, column {left} are not within a picture of "
            f"{whole[0]} × {whole[1]}"
        )
    needed = (top + rows + _ROWS_BELOW) * ratio
    if needed >= height or segments.height_place is None:
        pixels = _decoded(library, contents, _arguments(settings, space, whole, ratio), settings.recover)
    else:
        cut = jpeg_of_first_rows(contents, segments.height_place, needed)
        arguments = _arguments(settings, space, (needed // ratio, whole[1]), ratio)
        pixels = _decoded_rows(library, cut, arguments, settings.recover)
    # A copy, so that the rest is freed: a view would hold it.
    part = pixels if pixels.shape[:2] == (rows, columns) else pixels[top : top + rows, left : left + columns].copy()
    return _in_light(part, contents, settings, space)


def jpeg_shape(contents: bytes) -> tuple[int, int, int]:
    """Returns height, width and channels, as the header says.

    Raises:
        DataLossError: it has no end.
        MissingExtraError: simplejpeg is not installed.
    """
    height, width, space = _size(_library(), contents)
    return height, width, {"Gray": 1, "CMYK": 4, "YCCK": 4}.get(space, 3)


def _scaled(side: int, ratio: int) -> int:
    return -(-side // ratio)


def _arguments(settings: JpegSettings, space: str, shape: tuple[int, int], ratio: int) -> dict[str, Any]:
    return {
        "colorspace": "CMYK" if space in _INKS else _SPACES[_channels(settings, space)],
        "fastdct": settings.fast_dct,
        "fastupsample": not settings.fancy_upscaling,
        "min_height": shape[0],
        "min_width": shape[1],
        "min_factor": ratio,
    }


def _channels(settings: JpegSettings, space: str) -> int:
    if settings.channels == 4:
        raise InvalidArgumentError("a JPEG has no alpha: channels is 1, 3, or 0 for as many as the file has")
    return settings.channels or (1 if space == "Gray" else 3)


def _library() -> Any:
    try:
        import simplejpeg
    except ImportError:
        raise MissingExtraError("decoding JPEG needs simplejpeg: pip install 'headrace[image]'") from None
    keep_freed_memory()
    return simplejpeg


def _header(library: Any, contents: bytes, max_pixels: int) -> tuple[int, int, str, JpegSegments]:
    height, width, space = _size(library, contents)
    checked_size("JPEG", height, width, 1, max_pixels)
    segments = jpeg_segments(contents)
    if segments.scans > _MAX_SCANS:
        raise ResourceExhaustedError(f"a JPEG of more than {_MAX_SCANS} scans is refused: none needs so many")
    return height, width, space, segments


def _size(library: Any, contents: bytes) -> tuple[int, int, str]:
    try:
        height, width, space, _ = library.decode_jpeg_header(contents, strict=False)
    except (ValueError, KeyError) as error:  # KeyError: the header ended before it named a colour space
        raise DataLossError(f"a truncated or corrupt JPEG of {len(contents)} bytes: its header has no end") from error
    return height, width, space


def _sufficient_ratio(height: int, width: int, min_size: tuple[int, int]) -> int:
    # Other scales (3/8, 5/8, …) have no fast DCT: they take longer than the full size.
    enough = (ratio for ratio in RATIOS if -(-height // ratio) >= min_size[0] and -(-width // ratio) >= min_size[1])
    return max(enough, default=1)


def _decoded(library: Any, contents: bytes, arguments: dict[str, Any], recover: bool) -> Pixels:
    try:
        try:
            pixels: Pixels = library.decode_jpeg(contents, strict=not recover, **arguments)
        except ValueError as error:
            if recover or not any(word in str(error) for word in _HARMLESS):
                raise
            pixels = library.decode_jpeg(contents, strict=False, **arguments)
    except (ValueError, MemoryError) as error:
        raise _damaged(contents, error) from None
    return pixels


def _decoded_rows(library: Any, contents: bytes, arguments: dict[str, Any], recover: bool) -> Pixels:
    """Decodes a JPEG that claims fewer rows than it has data for: into memory that is here when libjpeg tells of the rest."""
    channels = 4 if arguments["colorspace"] == "CMYK" else 1 if arguments["colorspace"] == "GRAY" else 3
    pixels = np.empty((arguments["min_height"], arguments["min_width"], channels), np.uint8)
    try:
        library.decode_jpeg(contents, strict=not recover, buffer=pixels, **arguments)
    except (ValueError, MemoryError) as error:
        if _LEFT_OVER not in str(error):
            raise _damaged(contents, error) from None
    return pixels


def _damaged(contents: bytes, error: Exception) -> DataLossError:
    message = (
        f"a truncated or corrupt JPEG of {len(contents)} bytes: {error}. try_recover_truncated=True takes what there is"
    )
    return DataLossError(message)


# --- printers' colours ---------------------------------------------------------------------------------------------

_INKS: Final = frozenset({"CMYK", "YCCK"})

# Segment APP14, by which Adobe's programs mark a file.
_ADOBE: Final = re.compile(rb"\xff\xee..Adobe", re.DOTALL)


def _in_light(pixels: Pixels, contents: bytes, settings: JpegSettings, space: str) -> Pixels:
    if space not in _INKS:
        return pixels
    return _from_cmyk(pixels, _channels(settings, space), inverted=_ADOBE.search(contents) is not None)


def _from_cmyk(pixels: Pixels, channels: int, *, inverted: bool) -> Pixels:
    """Converts ink to light. Adobe's programs store the inks inverted, and mark the file."""
    light = pixels if inverted else np.bitwise_not(pixels)
    rgb = (light[..., :3].astype(np.uint16) * light[..., 3:] // 255).astype(np.uint8)
    if channels == 3:
        return rgb
    raise InvalidArgumentError("a CMYK JPEG is decoded to 3 channels; ask for them, or for 0, and make them gray after")
