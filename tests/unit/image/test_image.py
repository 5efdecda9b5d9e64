"""hr.image: what its functions promise beyond TensorFlow's results, which test_as_tensorflow.py compares."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import headrace as hr
from headrace.errors import InvalidArgumentError, MissingExtraError, ResourceExhaustedError
from headrace.image import flipping

pytest.importorskip("cv2")

METHODS = list(hr.image.ResizeMethod)
SIDES = st.integers(1, 24)
IMAGES = hnp.arrays(np.uint8, st.tuples(SIDES, SIDES, st.sampled_from([1, 3, 4, 5])))


def photo(height: int = 9, width: int = 7, channels: int = 3) -> Any:
    return np.random.default_rng(0).integers(0, 256, (height, width, channels), dtype=np.uint8)


# --- sizes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [False, True])
@settings(max_examples=20)
@given(image=IMAGES, height=SIDES, width=SIDES)
def test_a_batch_is_resized_as_its_images_are(
    method: str, antialias: bool, image: Any, height: int, width: int
) -> None:
    batch = np.stack([image, image[::-1]])
    resized = hr.image.resize(batch, (height, width), method, antialias=antialias)
    for one, expected in zip(resized, batch, strict=True):
        np.testing.assert_array_equal(one, hr.image.resize(expected, (height, width), method, antialias=antialias))


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=20)
@given(shade=st.integers(0, 255), sides=st.tuples(SIDES, SIDES, SIDES, SIDES))
def test_a_uniform_image_stays_uniform(method: str, shade: int, sides: tuple[int, int, int, int]) -> None:
    image = np.full((*sides[:2], 2), shade, np.uint8)
    resized = hr.image.resize(image, sides[2:], method, antialias=True)
    np.testing.assert_allclose(resized, shade, rtol=2e-6)


@given(IMAGES, SIDES, SIDES)
def test_bilinear_whole_numbers_are_a_level_from_the_floats_at_most(image: Any, height: int, width: int) -> None:
    exact = hr.image.resize(image, (height, width))
    whole = hr.image.resize(image, (height, width), dtype=np.uint8)
    assert whole.dtype == np.uint8
    assert np.abs(whole - exact).max() <= 1.0


@pytest.mark.parametrize("method", ["bicubic", "area", "lanczos3"])
def test_whole_numbers_of_the_other_methods_are_the_floats_rounded_and_cut(method: str) -> None:
    image = np.where(photo() < 128, 0, 255).astype(np.uint8)  # sharp edges, which bicubic overshoots
    exact = hr.image.resize(image, (20, 20), method)
    whole = hr.image.resize(image, (20, 20), method, dtype=np.uint8)
    np.testing.assert_array_equal(whole, np.clip(np.rint(exact), 0, 255))


def test_the_area_of_a_whole_factor_is_the_mean_of_blocks() -> None:
    image = photo(8, 6)
    blocks = image.reshape(4, 2, 2, 3, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(hr.image.resize(image, (4, 2), "area"), blocks, rtol=1e-6)


def test_an_image_that_is_no_block_of_memory_is_resized_all_the_same() -> None:
    image = photo(12, 14)
    for view in (image[:, ::-1], image[::2], image.transpose(1, 0, 2), image[..., ::-1]):
        for dtype in (None, np.uint8):
            expected = hr.image.resize(view.copy(), (5, 6), dtype=dtype)
            np.testing.assert_array_equal(hr.image.resize(view, (5, 6), dtype=dtype), expected)


def test_threads_do_not_share_what_they_scribble_on() -> None:
    images = [np.full((64, 64, 3), shade, np.uint8) for shade in range(4)]
    wrong: list[int] = []

    def work(shade: int) -> None:
        wrong.extend(shade for _ in range(50) if (hr.image.resize(images[shade], (32, 32)) != shade).any())

    threads = [threading.Thread(target=work, args=(shade,)) for shade in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_larger_image_than_the_scratch_is_resized_too() -> None:
    image = np.broadcast_to(np.arange(1_200, dtype=np.uint8)[:, np.newaxis, np.newaxis], (1_200, 900, 3))
    np.testing.assert_allclose(hr.image.resize(image, (1_200, 2))[:, 0, 0], image[:, 0, 0])


def test_no_images_are_a_batch_of_none() -> None:
    assert hr.image.resize(np.zeros((0, 4, 4, 3)), (2, 2)).shape == (0, 2, 2, 3)


@pytest.mark.parametrize(
    ("image", "size", "how"),
    [
        (np.zeros((4, 4)), (2, 2), {}),
        (np.zeros((4, 4, 3)), (2,), {}),
        (np.zeros((4, 4, 3)), 2, {}),
        (np.zeros((4, 4, 3)), (2, 0), {}),
        (np.zeros((4, 4, 3)), (2.5, 2), {}),
        (np.zeros((4, 4, 3)), (2, 2), {"method": "best"}),
        (np.zeros((4, 4, 3), bool), (2, 2), {}),
        (np.zeros((4, 4, 3)), (2, 2), {"dtype": bool}),
        (np.zeros((4, 0, 3)), (2, 2), {}),
        (np.zeros((1, 99, 3)), (1, 1), {"preserve_aspect_ratio": True, "method": "nearest", "dtype": str}),
    ],
)
def test_what_cannot_be_resized_is_refused(image: Any, size: Any, how: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        hr.image.resize(image, size, **how)


def test_a_size_beyond_memory_is_refused() -> None:
    with pytest.raises(ResourceExhaustedError):
        hr.image.resize(photo(), (1 << 20, 1 << 20))


@pytest.mark.parametrize("method", ["bilinear", "bicubic"])
def test_a_missing_library_names_the_line_that_installs_it(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headrace\[image\]'"):
        hr.image.resize(photo(), (3, 3), method)
    assert hr.image.resize(photo(), (3, 3), "nearest").shape == (3, 3, 3)


# --- crops and flips -----------------------------------------------------------------------------------------------


def test_crops_are_views_and_what_is_upside_down_too() -> None:
    image = photo()
    for view in (
        hr.image.central_crop(image, 0.5),
        hr.image.crop_to_bounding_box(image, 1, 1, 2, 2),
        hr.image.random_crop(image, (3, 3, 3), np.random.default_rng(0)),
        hr.image.flip_up_down(image),
        hr.image.rgb_to_bgr(image),
    ):
        assert np.shares_memory(view, image)


@pytest.mark.parametrize("has_opencv", [True, False])
@pytest.mark.parametrize("channels", [0, 1, 2, 3, 4, 5, 20])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, ">u2", np.int64, np.float16, np.float32, bool])
def test_a_mirror_image_lies_in_memory_as_it_is_read(
    channels: int, dtype: Any, has_opencv: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_opencv:
        monkeypatch.setattr(flipping, "_library", lambda: None)
    whole = np.random.default_rng(0).integers(0, 2, (2, 7, 9, channels)).astype(dtype)
    locked = whole[1]
    locked.flags.writeable = False
    for image in (whole, whole[0], locked, whole[:, 1:-1, 2:-2], whole[..., ::-1], whole[:, :, ::-1], whole[:, :, :0]):
        mirrored = hr.image.flip_left_right(image)
        np.testing.assert_array_equal(mirrored, np.flip(image, -2))
        assert mirrored.dtype == image.dtype
        assert mirrored.flags.c_contiguous
        assert mirrored.flags.writeable
        assert not np.shares_memory(mirrored, image)


def test_without_opencv_numpy_mirrors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    assert flipping._library.__wrapped__() is None


def test_a_random_crop_lands_everywhere_and_repeats_with_its_generator() -> None:
    image = np.arange(12).reshape(3, 4, 1)
    rng = np.random.default_rng(1)
    corners = {int(hr.image.random_crop(image, (2, 3, 1), rng)[0, 0, 0]) for _ in range(100)}
    assert corners == {0, 1, 4, 5}
    first, second = (hr.image.random_crop(image, (2, 3, 1), np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("size", [(2, 3), (4, 4, 1), (-1, 2, 1)])
def test_a_crop_that_does_not_fit_is_refused(size: tuple[int, ...]) -> None:
    with pytest.raises(InvalidArgumentError):
        hr.image.random_crop(np.zeros((3, 4, 1)), size, np.random.default_rng(0))


@pytest.mark.parametrize("flip", [hr.image.random_flip_left_right, hr.image.random_flip_up_down])
def test_half_of_a_batch_is_flipped_each_image_by_itself(flip: Any) -> None:
    batch = np.stack([photo() for _ in range(200)])
    flipped = flip(batch, np.random.default_rng(0))
    kept = sum(bool((one == batch[0]).all()) for one in flipped)
    assert 70 < kept < 130
    assert {one.tobytes() for one in flipped} == {
        batch[0].tobytes(),
        (batch[0][:, ::-1] if flip is hr.image.random_flip_left_right else batch[0][::-1]).tobytes(),
    }


@pytest.mark.parametrize("name", ["flip_left_right", "flip_up_down", "rgb_to_bgr", "per_image_standardization"])
def test_what_is_no_image_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"shape \(3,\)"):
        getattr(hr.image, name)(np.zeros(3))


# --- values --------------------------------------------------------------------------------------------------------


@given(IMAGES, st.floats(-300, 300), st.floats(0.01, 99))
def test_normalizing_subtracts_and_divides(image: Any, mean: float, std: float) -> None:
    channels = image.shape[-1]
    expected = (image.astype(np.float64) - mean) / std
    for form in (lambda x: x, lambda x: [x] * channels, lambda x: np.full(image.shape, x)):
        result = hr.image.normalize(image, form(mean), form(std))
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-3 / std)


def test_each_channel_of_a_batch_has_its_own_mean() -> None:
    batch = np.zeros((2, 3, 4, 3), np.float64)
    np.testing.assert_array_equal(hr.image.normalize(batch, [1.0, 2.0, 3.0])[1, 2, 3], [-1, -2, -3])


@pytest.mark.parametrize("mean", [[1.0, 2.0], np.zeros((9, 7)), np.zeros((7, 9, 3)), [[1.0, 2.0, 3.0]]])
def test_a_mean_of_another_shape_is_refused(mean: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="mean is a number"):
        hr.image.normalize(photo(), mean)


def test_a_deviation_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="std has a 0"):
        hr.image.normalize(photo(), 0.0, [1.0, 0.0, 1.0])


def test_no_values_are_standardized_to_none() -> None:
    assert hr.image.per_image_standardization(np.zeros((0, 3, 3))).shape == (0, 3, 3)


@pytest.mark.parametrize("dtype", [bool, complex, str])
def test_pixels_of_no_brightness_are_refused(dtype: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        hr.image.convert_image_dtype(np.zeros((2, 2, 1), np.uint8), dtype)


@given(hnp.arrays(np.uint8, 20))
def test_a_round_trip_through_another_dtype_changes_nothing(values: Any) -> None:
    for dtype in (np.float32, np.float64, np.uint16, np.int32):
        there = hr.image.convert_image_dtype(values, dtype)
        np.testing.assert_array_equal(hr.image.convert_image_dtype(there, np.uint8), values)
