"""What an image's bytes say of themselves before anything is decoded: format, size, channels, frames.

What always holds: only headers are read, nothing of the size they claim is allocated, and every loop moves forward
through bytes that are there. So a size can be judged (``checked_size``) before a decoder believes it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from headrace.errors import DataLossError, InvalidArgumentError, ResourceExhaustedError
from headrace.frozen import frozen

__all__ = [
    "MAX_PIXELS",
    "ImageHeader",
    "JpegSegments",
    "checked_size",
    "image_bytes",
    "image_format",
    "image_header",
    "jpeg_of_first_rows",
    "jpeg_segments",
]

# Above what cameras make (150 million), and 0.8 GB as RGB. A few kilobytes can claim four billion.
MAX_PIXELS: Final = 1 << 28

_STARTS: Final = ((b"\xff\xd8\xff", "JPEG"), (b"\x89PNG\r\n\x1a\n", "PNG"), (b"GIF8", "GIF"), (b"BM", "BMP"))
_PNG_CHANNELS: Final = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}
_PNG_GRAY, _PNG_PALETTE = 0, 3
# Transparency takes a byte for each colour of a palette.
_SMALL_CHUNK: Final = 256


@frozen(kw_only=True)
class ImageHeader:
    """What a file claims to hold.

    Attributes:
        format: ``"PNG"``, ``"GIF"`` or ``"BMP"``; JPEG's header is read by its own decoder.
        height: pixels.
        width: pixels.
        frames: pictures in an animation.
        channels: 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA; 0 when only decoding tells.
        bits: per channel, as stored.
        transparent_gray: the shade that stands for transparency, as stored, in a gray PNG that names one.
    """

    format: str
    height: int
    width: int
    frames: int = 1
    channels: int = 0
    bits: int = 8
    transparent_gray: int | None = None


def image_bytes(contents: Any) -> bytes:
    """Returns the bytes to decode.

    Raises:
        InvalidArgumentError: they are no bytes, or empty.
    """
    if not isinstance(contents, bytes | bytearray | memoryview):
        raise InvalidArgumentError(
            f"contents are the bytes of one image, and not a {type(contents).__name__}; for a path, hr.io.read_file"
        )
    if not len(contents):
        raise InvalidArgumentError("contents are empty, so they are no image")
    return contents if isinstance(contents, bytes) else bytes(contents)


def image_format(contents: bytes) -> str:
    """Returns JPEG, PNG, GIF or BMP, by the first bytes.

    Raises:
        InvalidArgumentError: it is none of them.
    """
    for start, name in _STARTS:
        if contents.startswith(start):
            return name
    raise InvalidArgumentError(f"contents are no JPEG, PNG, GIF or BMP image: they start with {contents[:8]!r}")


def checked_size(name: str, height: int, width: int, frames: int, max_pixels: int) -> None:
    """Refuses a size that a decoder must not be given.

    Raises:
        DataLossError: there are no pixels.
        ResourceExhaustedError: there are more than ``max_pixels``.
    """
    if height < 1 or width < 1 or frames < 1:
        raise DataLossError(f"a corrupt {name}: it claims {frames} pictures of {height} × {width} pixels")
    if height * width * frames > max_pixels:
        pictures = "" if frames == 1 else f"{frames} pictures of "
        raise ResourceExhaustedError(
            f"a {name} that claims {pictures}{height} × {width} pixels is refused: the limit is {max_pixels} in all; "
            "if you trust it, raise max_pixels"
        )


def image_header(contents: bytes) -> ImageHeader:
    """Returns the header of a PNG, GIF or BMP.

    Raises:
        InvalidArgumentError: it is another format.
        DataLossError: it ends within the header.
    """
    name = image_format(contents)
    if name not in _READERS:
        raise InvalidArgumentError(f"the header of a {name} is read by its decoder")
    try:
        return _READERS[name](contents)
    except (struct.error, IndexError):
        raise DataLossError(f"a truncated {name}: its {len(contents)} bytes end within the header") from None


# --- JPEG ----------------------------------------------------------------------------------------------------------

_SCAN: Final = 0xDA
# Start of a frame whose pixels come in one pass, if its first scan has all components.
_SEQUENTIAL: Final = frozenset({0xC0, 0xC1, 0xC9})
# Start of any frame. Among their numbers are three that are not: tables of Huffman codes, a reserved one, arithmetic conditions.
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# Marks of segments that have a length, as libjpeg reads them. All others are left to it.
_WITH_LENGTH: Final = frozenset(range(0xC0, 0xFF)) - frozenset(range(0xD0, 0xDA))
# Of a frame's segment without its components, and of each of these.
_FRAME_BYTES: Final = 8
_COMPONENT_BYTES: Final = 3


class JpegSegments(NamedTuple):
    """What the segments of a JPEG say up to its first scan: marks after it may belong to anything.

    Attributes:
        height: in pixels.
        width: in pixels.
        components: 1 gray, 3 colours, 4 inks. These three and the next are 0 unless one segment follows the other from the first byte to a scan,
            with one frame among them, so that libjpeg reads the very same.
        height_place: where the height stands.
        scans: the most passes that decoding makes over its pixels: 1, or as many as there are marks of a scan.
    """

    height: int
    width: int
    components: int
    height_place: int
    scans: int


def jpeg_segments(contents: bytes) -> JpegSegments:
    """Returns what the segments of a JPEG say, which are gone through once."""
    frame = sequential = components = 0
    place, end = 2, len(contents) - 9
    while place < end and contents[place] == 0xFF:
        mark = contents[place + 1]
        if mark == 0xFF:  # a mark may have any number of these before it
            place += 1
            continue
        length = contents[place + 2] << 8 | contents[place + 3]
        if mark not in _WITH_LENGTH or length < 2:
            break
        if mark == _SCAN:
            scans = 1 if contents[place + 4] == sequential else _marks_of_scans(contents)
            if not components:
                return JpegSegments(0, 0, 0, 0, scans)
            height, width = contents[frame] << 8 | contents[frame + 1], contents[frame + 2] << 8 | contents[frame + 3]
            return JpegSegments(height, width, components, frame, scans)
        if mark in _FRAMES:
            number = contents[place + 9]
            if mark in _SEQUENTIAL:
                sequential = number
            # After the mark stand the segment's length, and the bits of a value.
            is_first, frame = not frame, place + 5
            components = number if is_first and length == _FRAME_BYTES + _COMPONENT_BYTES * number else 0
        place += 2 + length
    return JpegSegments(0, 0, 0, 0, _marks_of_scans(contents))


def _marks_of_scans(contents: bytes) -> int:
    return contents.count(bytes((0xFF, _SCAN)))


def jpeg_of_first_rows(contents: bytes, height_place: int, rows: int) -> bytes:
    """Returns a JPEG that claims to end after some rows, of which its decoder makes no more.

    The data of the other rows stay in it, as stray bytes before the next segment.
    """
    return b"".join((contents[:height_place], rows.to_bytes(2, "big"), memoryview(contents)[height_place + 2 :]))


# --- PNG -----------------------------------------------------------------------------------------------------------


def _png(contents: bytes) -> ImageHeader:
    width, height, bits, color = struct.unpack_from(">IIBB", contents, 16)
    if contents[12:16] != b"IHDR" or color not in _PNG_CHANNELS:
        raise DataLossError("a corrupt PNG: it does not start with a valid IHDR chunk")
    channels = _PNG_CHANNELS[color]
    transparency = dict(_png_chunks(contents)).get(b"tRNS")
    gray = None
    if transparency is not None and color == _PNG_PALETTE:
        channels = 4
    elif transparency is not None and color == _PNG_GRAY:
        (gray,) = struct.unpack_from(">H", transparency)
    return ImageHeader(
        format="PNG", height=height, width=width, channels=channels, bits=bits, transparent_gray=gray
    )  # fmt: skip


def _png_chunks(contents: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields the chunks of some bytes. All of them are followed: OpenCV would allocate what a chunk's length claims."""
    place, kind = 8, b""
    while kind != b"IEND":
        size, kind = struct.unpack_from(">I4s", contents, place)
        place += 12 + size
        if place > len(contents):
            raise DataLossError(f"a truncated or corrupt PNG: chunk {kind!r} claims {size} bytes, which are not there")
        if size <= _SMALL_CHUNK:
            yield kind, contents[place - 4 - size : place - 4]


# --- GIF -----------------------------------------------------------------------------------------------------------


def _gif(contents: bytes) -> ImageHeader:
    width, height, flags = struct.unpack_from("<HHB", contents, 6)
    place = 13 + _gif_table_bytes(flags)
    return ImageHeader(format="GIF", height=height, width=width, frames=_gif_frames(contents, place), channels=3)


def _gif_frames(contents: bytes, place: int) -> int:
    """Returns how many pictures there are up to the trailer; IndexError where the file ends before it."""
    frames = 0
    while (kind := contents[place]) != 0x3B:  # the trailer
        if kind == 0x2C:  # a picture: its place and size, a table of colours, a code size, then blocks
            frames += 1
            place = _past_blocks(contents, place + 11 + _gif_table_bytes(contents[place + 9]))
        elif kind == 0x21:  # an extension: a label, then blocks
            place = _past_blocks(contents, place + 2)
        else:
            raise DataLossError(f"a corrupt GIF: no block starts with {kind:#04x}, as the one at byte {place} does")
    return frames


def _gif_table_bytes(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _past_blocks(contents: bytes, place: int) -> int:
    while size := contents[place]:
        place += 1 + size
    return place + 1


# --- BMP -----------------------------------------------------------------------------------------------------------


def _bmp(contents: bytes) -> ImageHeader:
    (size,) = struct.unpack_from("<I", contents, 14)
    # The oldest header, of 12 bytes, has shorter numbers. A negative height says that the top row comes first.
    width, height = struct.unpack_from("<HH" if size == 12 else "<ii", contents, 18)
    return ImageHeader(format="BMP", height=abs(height), width=width)


_READERS: Final[dict[str, Callable[[bytes], ImageHeader]]] = {"PNG": _png, "GIF": _gif, "BMP": _bmp}
