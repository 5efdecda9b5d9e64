"""What headers tell before anything is decoded."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@given(st.sampled_from(["jpeg_444", "jpeg_420", "jpeg_gray", "jpeg_cmyk", "jpeg_progressive"]), st.data())
def test_no_damage_makes_a_jpeg_another_size_than_libjpeg_reads(name: str, data: st.DataObject) -> None:
    simplejpeg = pytest.importorskip("simplejpeg")
    contents = bytearray(file(name))
    header = contents.index(b"\xff\xda") + 20
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(2, header))
        byte = data.draw(st.sampled_from([0, 1, 2, 3, 8, 0xC0, 0xC2, 0xC4, 0xD0, 0xD8, 0xDA, 0xDC, 0xE1, 0xFE, 0xFF]))
        if data.draw(st.booleans()):
            contents[place] = byte
        else:
            contents[place:place] = bytes([0xFF, byte, 0, data.draw(st.integers(0, 20))])
    found = jpeg_segments(bytes(contents))
    if found.components:
        with suppress(ValueError, KeyError):  # what it refuses has no size
            assert simplejpeg.decode_jpeg_header(bytes(contents))[:2] == (found.height, found.width)


def test_headers_tell_size_frames_and_channels() -> None:
    gif, png, bmp = image_header(file("gif")), image_header(file("png_gray_alpha_16")), image_header(file("bmp"))
    assert (gif.height, gif.width, gif.frames, gif.channels) == (21, 29, 3, 3)
    assert (png.height, png.width, png.channels, png.bits) == (3, 5, 2, 16)
    assert (bmp.height, bmp.width) == (21, 29)


def test_the_header_of_a_jpeg_is_its_decoders() -> None:
    with pytest.raises(InvalidArgumentError, match="JPEG"):
        image_header(file("jpeg_444"))
