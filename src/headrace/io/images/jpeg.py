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
_INKS: Final = 4  # components of a picture for printers
_SPACES: Final = {1: "GRAY", 3: "RGB", _INKS: "CMYK"}
_COMPONENTS: Final = {"Gray": 1, "CMYK": _INKS, "YCCK": _INKS}
_USUAL_COMPONENTS: Final = frozenset(_SPACES)
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
    height, width, components, _ = _header(contents, settings.max_pixels)
    ratio = settings.ratio if settings.min_size is None else _sufficient_ratio(height, width, settings.min_size)
    shape = _scaled(height, ratio), _scaled(width, ratio)
    pixels = _decoded(library, contents, settings, shape, components, ratio)
    return _in_light(pixels, contents, settings, components)


def decode_jpeg_window(contents: bytes, settings: JpegSettings, window: Window) -> Pixels:
    """Returns the pixels of a part, bit for bit those of the whole. Rows below it are not decoded, and not looked at.

    Raises:
        InvalidArgumentError: the window is not within the picture, or four channels of a JPEG.
        DataLossError: as ``decode_jpeg_pixels``, and so are the next two.
        ResourceExhaustedError: …
        MissingExtraError: …
    """
    library = _library()
    height, width, components, height_place = _header(contents, settings.max_pixels)
    ratio = settings.ratio
    top, left, rows, columns = window
    whole = _scaled(height, ratio), _scaled(width, ratio)
    if top + rows > whole[0] or left + columns > whole[1]:
        raise InvalidArgumentError(
            f"crop_window: {rows} × {columns} pixels at row {top}, column {left} are not within a picture of "
            f"{whole[0]} × {whole[1]}"
        )
    needed = (top + rows + _ROWS_BELOW) * ratio
    if needed >= height or not height_place:
        pixels = _decoded(library, contents, settings, whole, components, ratio)
    else:
        cut = jpeg_of_first_rows(contents, height_place, needed)
        pixels = _decoded(library, cut, settings, (needed // ratio, whole[1]), components, ratio, has_more=True)
    # A copy, so that the rest is freed: a view would hold it.
    part = pixels if pixels.shape[:2] == (rows, columns) else pixels[top : top + rows, left : left + columns].copy()
    return _in_light(part, contents, settings, components)


def jpeg_shape(contents: bytes) -> tuple[int, int, int]:
    """Returns height, width and channels, as the header says.

    Raises:
        DataLossError: it has no end.
        MissingExtraError: simplejpeg is not installed, which reads the headers that are not as usual.
    """
    return _size(contents, jpeg_segments(contents))


def _scaled(side: int, ratio: int) -> int:
    return -(-side // ratio)


def _channels(settings: JpegSettings, components: int) -> int:
    if settings.channels == 4:
        raise InvalidArgumentError("a JPEG has no alpha: channels is 1, 3, or 0 for as many as the file has")
    return settings.channels or (1 if components == 1 else 3)


def _library() -> Any:
    try:
        import simplejpeg
    except ImportError:
        raise MissingExtraError("decoding JPEG needs simplejpeg: pip install 'headrace[image]'") from None
    keep_freed_memory()
    return simplejpeg


def _header(contents: bytes, max_pixels: int) -> tuple[int, int, int, int]:
    """Returns height, width, components, and where the height stands, 0 where that is not known."""
    segments = jpeg_segments(contents)
    height, width, components = _size(contents, segments)
    checked_size("JPEG", height, width, 1, max_pixels)
    if segments.scans > _MAX_SCANS:
        raise ResourceExhaustedError(f"a JPEG of more than {_MAX_SCANS} scans is refused: none needs so many")
    return height, width, components, segments.height_place


def _size(contents: bytes, segments: JpegSegments) -> tuple[int, int, int]:
    """Returns height, width and components: from the segments where they tell, as each call of the library gives Python's lock away."""
    if segments.components in _USUAL_COMPONENTS:
        return segments.height, segments.width, segments.components
    try:
        height, width, space, _ = _library().decode_jpeg_header(contents, strict=False)
    except (ValueError, KeyError) as error:  # KeyError: the header ended before it named a colour space
        raise DataLossError(f"a truncated or corrupt JPEG of {len(contents)} bytes: its header has no end") from error
    return height, width, _COMPONENTS.get(space, 3)


def _sufficient_ratio(height: int, width: int, min_size: tuple[int, int]) -> int:
    # Other scales (3/8, 5/8, …) have no fast DCT: they take longer than the full size.
    enough = (ratio for ratio in RATIOS if -(-height // ratio) >= min_size[0] and -(-width // ratio) >= min_size[1])
    return max(enough, default=1)


def _decoded(
    library: Any,
    contents: bytes,
    settings: JpegSettings,
    shape: tuple[int, int],
    components: int,
    ratio: int,
    *,
    has_more: bool = False,
) -> Pixels:
    """Returns the pixels, inks as they are.

    Args:
        library: simplejpeg.
        contents: the bytes.
        settings: of these, how the pixels are made.
        shape: height and width, scaled.
        components: of the file.
        ratio: how it is scaled.
        has_more: whether it has data for more rows, as what ``jpeg_of_first_rows`` makes: that these are left over is no damage then.
    """
    channels = components if components == _INKS else _channels(settings, components)
    # Ours, so that it is there when libjpeg tells of what is left over, and no larger than what was judged.
    pixels = np.empty((*shape, channels), np.uint8)
    arguments = {
        "colorspace": _SPACES[channels],
        "fastdct": settings.fast_dct,
        "fastupsample": not settings.fancy_upscaling,
        "min_height": shape[0],
        "min_width": shape[1],
        "min_factor": ratio,
        "buffer": pixels,
    }
    try:
        library.decode_jpeg(contents, strict=not settings.recover, **arguments)
    except (ValueError, MemoryError) as error:
        message = str(error)
        if has_more and _LEFT_OVER in message:
            return pixels
        if settings.recover or not any(word in message for word in _HARMLESS):
            raise _damaged(contents, error) from None
        _decoded_whatever_it_warns_of(library, contents, arguments)
    return pixels


def _decoded_whatever_it_warns_of(library: Any, contents: bytes, arguments: dict[str, Any]) -> None:
    try:
        library.decode_jpeg(contents, strict=False, **arguments)
    except (ValueError, MemoryError) as error:
        raise _damaged(contents, error) from None


def _damaged(contents: bytes, error: Exception) -> DataLossError:
    message = (
        f"a truncated or corrupt JPEG of {len(contents)} bytes: {error}. try_recover_truncated=True takes what there is"
    )
    return DataLossError(message)


# --- printers' colours ---------------------------------------------------------------------------------------------

# Segment APP14, by which Adobe's programs mark a file.
_ADOBE: Final = re.compile(rb"\xff\xee..Adobe", re.DOTALL)


def _in_light(pixels: Pixels, contents: bytes, settings: JpegSettings, components: int) -> Pixels:
    if components != _INKS:
        return pixels
    return _from_cmyk(pixels, _channels(settings, components), inverted=_ADOBE.search(contents) is not None)


def _from_cmyk(pixels: Pixels, channels: int, *, inverted: bool) -> Pixels:
    """Converts ink to light. Adobe's programs store the inks inverted, and mark the file."""
    light = pixels if inverted else np.bitwise_not(pixels)
    rgb = (light[..., :3].astype(np.uint16) * light[..., 3:] // 255).astype(np.uint8)
    if channels == 3:
        return rgb
    raise InvalidArgumentError("a CMYK JPEG is decoded to 3 channels; ask for them, or for 0, and make them gray after")
