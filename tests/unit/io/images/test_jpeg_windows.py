"""A part of a JPEG: the pixels of the same part of the whole, for every kind of file, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.errors import DataLossError, HeadraceError, InvalidArgumentError, ResourceExhaustedError
from headrace.io.images import jpeg as jpeg_module
from headrace.io.images.header import jpeg_segments

simplejpeg = pytest.importorskip("simplejpeg")
cv2 = pytest.importorskip("cv2")

RECORDED = np.load(Path(__file__).with_name("tensorflow_images.npz"))
SOUND = {
    name.removeprefix("file_"): RECORDED[name].tobytes()
    for name in RECORDED
    if name.startswith("file_jpeg") and "cut" not in name
}
HEIGHT, WIDTH = 83, 61
PIXELS = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)


def encoded(**settings: int) -> bytes:
    flags = [part for name, value in settings.items() for part in (getattr(cv2, f"IMWRITE_JPEG_{name}"), value)]
    return bytes(cv2.imencode(".jpg", PIXELS, flags)[1])


SAMPLINGS = {
    name: encoded(SAMPLING_FACTOR=getattr(cv2, f"IMWRITE_JPEG_SAMPLING_FACTOR_{name}"))
    for name in ("411", "420", "422", "440", "444")
}
KINDS = {
    **SAMPLINGS,
    "progressive": encoded(PROGRESSIVE=1),
    "restarts": encoded(RST_INTERVAL=2),
    "progressive restarts": encoded(PROGRESSIVE=1, RST_INTERVAL=1),
    "optimized": encoded(OPTIMIZE=1),
    "gray": bytes(cv2.imencode(".jpg", PIXELS[..., 0])[1]),
}


@st.composite
def windows(draw: st.DrawFn, height: int, width: int) -> tuple[int, int, int, int]:
    top, left = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
    return top, left, draw(st.integers(1, height - top)), draw(st.integers(1, width - left))


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_a_part_has_the_pixels_of_the_whole(kind: str, data: st.DataObject) -> None:
    ratio, fancy = data.draw(st.sampled_from([1, 2, 4, 8])), data.draw(st.booleans())
    method, channels = data.draw(st.sampled_from(["", "INTEGER_ACCURATE"])), data.draw(st.sampled_from([0, 1, 3]))
    whole = hr.io.decode_jpeg(KINDS[kind], channels, ratio, fancy, dct_method=method)
    top, left, rows, columns = data.draw(windows(*whole.shape[:2]))
    part = hr.io.decode_and_crop_jpeg(
        KINDS[kind], (top, left, rows, columns), channels, ratio, fancy, dct_method=method
    )
    np.testing.assert_array_equal(part, whole[top : top + rows, left : left + columns])
    assert part.flags.c_contiguous
    assert part.base is None or part.shape == whole.shape  # it holds nothing else


@pytest.mark.parametrize("name", SOUND)
def test_recorded_files_give_each_of_their_rows(name: str) -> None:
    whole = hr.io.decode_jpeg(SOUND[name])
    for top in range(0, len(whole), 3):
        part = hr.io.decode_and_crop_jpeg(SOUND[name], (top, 0, 1, whole.shape[1]))
        np.testing.assert_array_equal(part, whole[top : top + 1])


def test_rows_below_the_part_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, ...]] = []
    library = jpeg_module._library()

    class Counting:
        decode_jpeg_header = staticmethod(library.decode_jpeg_header)

        @staticmethod
        def decode_jpeg(contents: bytes, **arguments: Any) -> Any:
            made.append(library.decode_jpeg_header(contents)[:2])
            return library.decode_jpeg(contents, **arguments)

    monkeypatch.setattr(jpeg_module, "_library", lambda: Counting)
    hr.io.decode_and_crop_jpeg(KINDS["420"], (8, 0, 8, 8))
    hr.io.decode_and_crop_jpeg(KINDS["420"], (8, 0, HEIGHT - 8, 8))
    assert made == [(18, WIDTH), (HEIGHT, WIDTH)]


def test_marks_with_fill_bytes_before_them_are_found() -> None:
    file = KINDS["420"]
    frame = file.index(b"\xff\xc0")
    filled = file[:frame] + b"\xff\xff" + file[frame:]
    assert jpeg_segments(filled).height_place == frame + 2 + 5
    np.testing.assert_array_equal(hr.io.decode_and_crop_jpeg(filled, (1, 2, 3, 4)), hr.io.decode_jpeg(file)[1:4, 2:6])


def test_a_file_whose_frame_is_not_found_is_decoded_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        jpeg_module, "jpeg_segments", lambda contents: jpeg_segments(contents)._replace(components=0, height_place=0)
    )
    file = KINDS["420"]
    np.testing.assert_array_equal(hr.io.decode_and_crop_jpeg(file, (1, 2, 3, 4)), hr.io.decode_jpeg(file)[1:4, 2:6])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stray", [b"\x00", b"\x00\x01\x02", b"\xff\x01", b"\xff\x00", b"\xff\xd0\x00\x04"])
def test_stray_bytes_in_a_header_do_to_a_part_what_they_do_to_the_whole(kind: str, stray: bytes) -> None:
    file = KINDS[kind]
    for place in boundaries(file):
        damaged = file[:place] + stray + file[place:]
        try:
            whole = hr.io.decode_jpeg(damaged)
        except HeadraceError:
            with pytest.raises(HeadraceError):
                hr.io.decode_and_crop_jpeg(damaged, (1, 2, 3, 4))
        else:
            np.testing.assert_array_equal(hr.io.decode_and_crop_jpeg(damaged, (1, 2, 3, 4)), whole[1:4, 2:6])


def boundaries(file: bytes) -> list[int]:
    """Where the segments of a header begin."""
    places = [2]
    while file[places[-1] + 1] != 0xDA:
        places.append(places[-1] + 2 + int.from_bytes(file[places[-1] + 2 : places[-1] + 4], "big"))
    return places


def test_the_shape_is_the_headers() -> None:
    assert hr.io.extract_jpeg_shape(KINDS["420"]).tolist() == [HEIGHT, WIDTH, 3]
    assert hr.io.extract_jpeg_shape(KINDS["gray"], np.int64).dtype == np.int64
    assert hr.io.extract_jpeg_shape(KINDS["gray"]).tolist() == [HEIGHT, WIDTH, 1]
    assert hr.io.extract_jpeg_shape(SOUND["jpeg_cmyk"])[2] == 4


def test_it_need_not_be_whole_below_but_must_go_on_to_where_the_part_ends() -> None:
    file = KINDS["420"]
    with pytest.raises(DataLossError, match="truncated or corrupt JPEG"):
        hr.io.decode_and_crop_jpeg(file[: len(file) // 3], (HEIGHT - 20, 0, 8, 8))
    part = hr.io.decode_and_crop_jpeg(file[: len(file) // 3], (HEIGHT - 20, 0, 8, 8), try_recover_truncated=True)
    assert part.shape == (8, 8, 3)


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ((0, 0, HEIGHT + 1, 1), f"84 × 1 pixels at row 0, column 0 are not within a picture of {HEIGHT} × {WIDTH}"),
        ((0, WIDTH, 1, 1), "1 × 1 pixels at row 0, column 61 are not within"),
        ((-1, 0, 1, 1), "begins at 0 or later"),
        ((0, 0, 0, 1), "has pixels"),
        ((0, 0, 1), "crop_window is the first row"),
        ((0, 0, 1.0, 1), "crop_window is the first row"),
        (7, "crop_window is the first row"),
    ],
)
def test_a_window_that_is_none_is_refused(window: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        hr.io.decode_and_crop_jpeg(KINDS["420"], window)


def test_at_a_ratio_the_window_is_of_the_scaled_picture() -> None:
    with pytest.raises(InvalidArgumentError, match="not within a picture of 42 × 31"):
        hr.io.decode_and_crop_jpeg(KINDS["420"], (40, 0, 10, 10), ratio=2)


def test_other_formats_sizes_and_channels_are_refused() -> None:
    png = bytes(cv2.imencode(".png", PIXELS)[1])
    with pytest.raises(InvalidArgumentError, match="takes a JPEG, and this is a PNG"):
        hr.io.decode_and_crop_jpeg(png, (0, 0, 1, 1))
    with pytest.raises(InvalidArgumentError, match="extract_jpeg_shape takes a JPEG"):
        hr.io.extract_jpeg_shape(png)
    with pytest.raises(InvalidArgumentError, match="no alpha"):
        hr.io.decode_and_crop_jpeg(KINDS["420"], (0, 0, 1, 1), channels=4)
    with pytest.raises(InvalidArgumentError, match="int32 or int64"):
        hr.io.extract_jpeg_shape(KINDS["420"], np.uint8)
    with pytest.raises(ResourceExhaustedError):
        hr.io.decode_and_crop_jpeg(KINDS["420"], (0, 0, 1, 1), max_pixels=100)


@given(st.binary(max_size=400), st.integers(0, 300))
def test_whatever_the_bytes_are_it_ends_with_an_error_of_ours_or_pixels(noise: bytes, place: int) -> None:
    for contents in (b"\xff\xd8\xff" + noise, KINDS["420"][:place] + noise + KINDS["420"][place + len(noise) :]):
        try:
            part = hr.io.decode_and_crop_jpeg(contents, (0, 0, 2, 2), channels=3, max_pixels=1 << 20)
        except hr.errors.HeadraceError:
            continue
        assert part.shape == (2, 2, 3)
