"""Decoding images: sizes, limits, damage, missing libraries; the pixels themselves are test_images_as_tensorflow's."""

from __future__ import annotations

import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.io.images.png_files import chunk, png

import headrace as hr
from headrace.errors import (
    DataLossError,
    HeadraceError,
    InvalidArgumentError,
    MissingExtraError,
    ResourceExhaustedError,
)

pytest.importorskip("simplejpeg")
pytest.importorskip("cv2")

RECORDED = np.load(Path(__file__).with_name("tensorflow_images.npz"))
FILES = {name.removeprefix("file_"): RECORDED[name].tobytes() for name in RECORDED if name.startswith("file_")}
SOUND = {name: file for name, file in FILES.items() if "cut" not in name and name not in {"empty", "no_image"}}
RNG = np.random.default_rng(0)


def jpeg(height: int, width: int) -> bytes:
    import simplejpeg

    encoded: bytes = simplejpeg.encode_jpeg(RNG.integers(0, 256, (height, width, 3), dtype=np.uint8))
    return encoded


@pytest.mark.parametrize(
    ("min_size", "shape"),
    [
        (227, (375, 500)),
        (188, (188, 250)),
        ((188, 250), (188, 250)),
        ((188, 251), (375, 500)),
        ((94, 1), (94, 125)),
        (1, (47, 63)),
        (9_999, (375, 500)),
    ],
)
def test_the_smallest_scale_that_suffices_is_decoded(min_size: Any, shape: tuple[int, int]) -> None:
    assert hr.io.decode_jpeg(jpeg(375, 500), min_size=min_size).shape == (*shape, 3)


@given(st.integers(1, 70), st.integers(1, 70), st.integers(1, 70), st.integers(1, 70))
@settings(max_examples=30)
def test_a_scale_never_goes_below_what_is_needed(height: int, width: int, rows: int, columns: int) -> None:
    got = hr.io.decode_jpeg(jpeg(height, width), min_size=(rows, columns)).shape
    assert got[0] >= min(rows, height)
    assert got[1] >= min(columns, width)


def test_a_scaled_image_is_the_ratios() -> None:
    file = FILES["jpeg_420"]
    np.testing.assert_array_equal(hr.io.decode_jpeg(file, min_size=5), hr.io.decode_jpeg(file, ratio=4))


def test_what_is_decoded_is_the_callers_to_change() -> None:
    for file in SOUND.values():
        hr.io.decode_image(file)[:] = 0


def test_an_image_can_be_bytearray_or_memoryview() -> None:
    for kind in (bytearray, memoryview):
        assert hr.io.decode_image(kind(FILES["png_rgb"])).shape == (3, 5, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("recover", [False, True])
@pytest.mark.parametrize("part", [0.9, 0.6])
def test_what_there_is_of_a_truncated_jpeg_comes_only_when_asked_for(part: float, recover: bool) -> None:
    whole = jpeg(64, 64)
    cut = whole[: int(len(whole) * part)]
    if recover:
        got = hr.io.decode_jpeg(cut, try_recover_truncated=True)
        np.testing.assert_array_equal(got[:8, :8], hr.io.decode_jpeg(whole)[:8, :8])
    else:
        with pytest.raises(DataLossError, match="try_recover_truncated"):
            hr.io.decode_jpeg(cut)


def test_corrupt_scans_are_an_error_where_tensorflow_warns() -> None:
    broken = bytearray(jpeg(64, 64))
    broken[-200:-198] = b"\xff\xd9"  # an end mark in the middle
    with pytest.raises(DataLossError, match="corrupt JPEG"):
        hr.io.decode_jpeg(bytes(broken))


@pytest.mark.parametrize("decode", [hr.io.decode_jpeg, hr.io.decode_png, hr.io.decode_image])
@pytest.mark.parametrize("contents", [b"", b"nothing to see", "photo.jpg", None, 7, np.zeros(3, np.uint8)])
def test_what_is_no_image_is_the_callers_mistake(decode: Any, contents: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        decode(contents)


@pytest.mark.parametrize(
    ("name", "operation", "how"),
    [
        ("jpeg_444", "decode_jpeg", {"channels": 2}),
        ("jpeg_444", "decode_jpeg", {"channels": 4}),
        ("jpeg_444", "decode_jpeg", {"ratio": 3}),
        ("jpeg_444", "decode_jpeg", {"ratio": 2, "min_size": 9}),
        ("jpeg_444", "decode_jpeg", {"min_size": 0}),
        ("jpeg_444", "decode_jpeg", {"min_size": (1, 2, 3)}),
        ("jpeg_444", "decode_jpeg", {"dct_method": "FLOAT"}),
        ("jpeg_cmyk", "decode_jpeg", {"channels": 1}),
        ("png_rgb", "decode_png", {"dtype": np.float32}),
        ("png_rgb", "decode_image", {"dtype": np.bool_}),
        ("gif", "decode_image", {"channels": 1}),
    ],
)
def test_arguments_that_do_not_fit_are_refused(name: str, operation: str, how: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        getattr(hr.io, operation)(FILES[name], **how)


@pytest.mark.parametrize("name", SOUND)
def test_more_pixels_than_allowed_are_refused(name: str) -> None:
    pixels = np.prod(hr.io.decode_image(SOUND[name]).shape[:-1])
    assert hr.io.decode_image(SOUND[name], max_pixels=int(pixels)) is not None
    with pytest.raises(ResourceExhaustedError, match="max_pixels"):
        hr.io.decode_image(SOUND[name], max_pixels=int(pixels) - 1)


def test_a_bomb_is_refused_by_its_header() -> None:
    bombs = {
        "PNG": png(60_000, 60_000, 8, 0, [b"\0"]),
        "BMP": b"BM" + bytes(12) + struct.pack("<Iii", 40, 60_000, -60_000) + bytes(30),
        "GIF": b"GIF89a" + struct.pack("<HHB", 60_000, 60_000, 0) + b"\0\0" + b"\x2c" + bytes(10) + b"\0" + b"\x3b",
        "JPEG": (whole := jpeg(8, 8)).replace(b"\x08\x00\x08\x00\x08\x03", b"\x08\xea\x60\xea\x60\x03"),
    }
    assert bombs["JPEG"] != whole
    for name, bomb in bombs.items():
        with pytest.raises(ResourceExhaustedError, match=f"a {name} that claims 60000 × 60000"):
            hr.io.decode_image(bomb)


def test_a_length_that_is_not_there_is_refused_before_opencv_believes_it() -> None:
    whole = FILES["png_rgb"]
    for kind in (b"IDAT", b"IEND"):
        place = whole.index(kind) - 4
        claimed = whole[:place] + b"\x7f" + whole[place + 1 :]
        with pytest.raises(DataLossError, match="bytes, which are not there"):
            hr.io.decode_image(claimed)


def test_a_bomb_of_frames_is_refused_by_their_number() -> None:
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
    bomb = b"GIF89a" + struct.pack("<HHB", 1_000, 1_000, 0) + b"\0\0" + frame * 300 + b"\x3b"
    with pytest.raises(ResourceExhaustedError, match="300 pictures of 1000 × 1000"):
        hr.io.decode_image(bomb)


def test_a_bomb_of_scans_is_refused() -> None:
    whole = FILES["jpeg_progressive"]
    with pytest.raises(ResourceExhaustedError, match="500 scans"):
        hr.io.decode_jpeg(whole[:-2] + b"\xff\xda\x00\x02" * 501 + whole[-2:])


def test_no_pixels_are_corrupt() -> None:
    with pytest.raises(DataLossError, match="0 × 5 pixels"):
        hr.io.decode_png(png(5, 0, 8, 0, []))


@pytest.mark.parametrize("name", SOUND)
def test_a_file_that_ends_early_is_an_error_at_every_length(name: str) -> None:
    file = SOUND[name]
    # Behind a JPEG's or GIF's end mark there may be more; a PNG's end chunk and a BMP's last bytes may fill up.
    for size in range(0, len(file) - 20, max(len(file) // 40, 1)):
        if name in {"jpeg_more_behind", "jpeg_stray_bytes"} and size > len(file) - 30:
            continue
        with pytest.raises(HeadraceError):
            hr.io.decode_image(file[:size])


@pytest.mark.parametrize(
    ("module", "name"), [("simplejpeg", "jpeg_444"), ("cv2", "png_rgb"), ("cv2", "gif"), ("cv2", "bmp")]
)
def test_a_missing_library_names_the_line_that_installs_it(
    module: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headrace\[image\]'"):
        hr.io.decode_image(FILES[name])


@settings(max_examples=300)
@given(st.sampled_from(sorted(SOUND)), st.data())
def test_no_damage_crashes_or_passes_the_limit(name: str, data: st.DataObject) -> None:
    file = bytearray(SOUND[name])
    for _ in range(data.draw(st.integers(0, 6))):
        file[data.draw(st.integers(0, len(file) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(file[: data.draw(st.integers(0, len(file)))])
    try:
        pixels = hr.io.decode_image(cut, max_pixels=1 << 16)
    except HeadraceError:
        return
    assert pixels.size <= 4 << 16


@settings(max_examples=100)
@given(st.sampled_from([b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM"]), st.binary(max_size=200))
def test_no_bytes_behind_a_known_start_crash(start: bytes, rest: bytes) -> None:
    with suppress(HeadraceError):
        hr.io.decode_image(start + rest, max_pixels=1 << 16)


def test_chunks_of_no_interest_before_the_pixels_are_passed_over() -> None:
    between = chunk(b"gAMA", struct.pack(">I", 45_455)) + chunk(b"tEXt", b"Title\0" + b"x" * 300)
    assert hr.io.decode_png(png(1, 1, 8, 0, [b"\x07"], between))[0, 0, 0] == 7


def test_a_pipeline_decodes_in_parallel_and_names_the_broken_file() -> None:
    contents = [jpeg(10 + number, 20) for number in range(6)]
    contents[4] = contents[4][:200]
    decoded = hr.Dataset.from_tensor_slices(np.array(contents, object)).map(
        lambda file: hr.io.decode_jpeg(file).shape[0], num_parallel_calls=hr.AUTOTUNE
    )
    with iter(decoded) as iterator:
        assert [next(iterator) for _ in range(4)] == [10, 11, 12, 13]
        with pytest.raises(HeadraceError, match=r"element 4.*truncated or corrupt JPEG"):
            next(iterator)
        assert next(iterator) == 15
