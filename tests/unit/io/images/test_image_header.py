"""What headers tell before anything is decoded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headrace.errors import InvalidArgumentError
from headrace.io.images.header import image_header, jpeg_segments

RECORDED = np.load(Path(__file__).with_name("tensorflow_images.npz"))


def file(name: str) -> bytes:
    contents: bytes = RECORDED[f"file_{name}"].tobytes()
    return contents


@pytest.mark.parametrize(
    ("name", "scans"), [("jpeg_444", 1), ("jpeg_gray", 1), ("jpeg_cmyk", 1), ("jpeg_progressive", 10)]
)
def test_scans_are_counted_where_there_can_be_several(name: str, scans: int) -> None:
    assert jpeg_segments(file(name)).scans == scans


def test_marks_within_a_thumbnail_are_not_the_pictures_own() -> None:
    whole = file("jpeg_444")
    thumbnail = b"Exif\0\0" + file("jpeg_progressive")
    segment = b"\xff\xe1" + (2 + len(thumbnail)).to_bytes(2, "big") + thumbnail
    assert jpeg_segments(whole[:2] + segment + whole[2:]).scans == 1


def test_a_scan_of_some_components_may_be_followed_by_any_number() -> None:
    whole = file("jpeg_444")
    place = whole.index(b"\xff\xda") + 4
    assert jpeg_segments(whole[:place] + b"\x01" + whole[place + 1 :] + b"\xff\xda" * 9).scans == 10


def test_headers_tell_size_frames_and_channels() -> None:
    gif, png, bmp = image_header(file("gif")), image_header(file("png_gray_alpha_16")), image_header(file("bmp"))
    assert (gif.height, gif.width, gif.frames, gif.channels) == (21, 29, 3, 3)
    assert (png.height, png.width, png.channels, png.bits) == (3, 5, 2, 16)
    assert (bmp.height, bmp.width) == (21, 29)


def test_the_header_of_a_jpeg_is_its_decoders() -> None:
    with pytest.raises(InvalidArgumentError, match="JPEG"):
        image_header(file("jpeg_444"))
