"""Resampling: rates, lengths, channels, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import InvalidArgumentError, ResourceExhaustedError

pytest.importorskip("soxr")


@pytest.mark.parametrize(("rate_in", "rate_out"), [(44_100, 16_000), (8_000, 16_000), (16_000, 11_025)])
def test_a_tone_keeps_its_pitch_and_its_place(rate_in: int, rate_out: int) -> None:
    def tone(rate: int) -> Any:
        return np.sin(2 * np.pi * 440 * np.arange(rate)[:, np.newaxis] / rate)

    sound = hr.audio.resample(tone(rate_in), rate_in, rate_out)
    assert (sound.dtype.name, *sound.shape) == ("float32", rate_out, 1)
    np.testing.assert_allclose(sound[500:-500], tone(rate_out)[500:-500], atol=1e-3)


def test_channels_stay_apart() -> None:
    sound = np.stack([np.ones(4_000), np.zeros(4_000)], axis=1)
    resampled = hr.audio.resample(sound, 2, 1)
    np.testing.assert_allclose(resampled[100:-100], [[1, 0]] * (len(resampled) - 200), atol=1e-3)


def test_the_same_rate_changes_nothing() -> None:
    sound = np.random.default_rng(0).random((50, 2), np.float32)
    np.testing.assert_array_equal(hr.audio.resample(sound, 8_000, 8_000), sound)


def test_nothing_resampled_is_nothing() -> None:
    assert hr.audio.resample(np.zeros((0, 2)), 8_000, 16_000).shape == (0, 2)


@pytest.mark.parametrize(
    ("sound", "rates", "quality"),
    [
        (np.zeros(5), (1, 2), "HQ"),
        (np.zeros((5, 1)), (0, 2), "HQ"),
        (np.zeros((5, 1)), (1, -2), "HQ"),
        (np.zeros((5, 1)), (1, float("nan")), "HQ"),
        (np.zeros((5, 1)), (1, 2), "best"),
    ],
)
def test_what_does_not_fit_is_refused(sound: Any, rates: tuple[float, float], quality: str) -> None:
    with pytest.raises(InvalidArgumentError):
        hr.audio.resample(sound, *rates, quality)


def test_a_rate_beyond_memory_is_refused() -> None:
    with pytest.raises(ResourceExhaustedError):
        hr.audio.resample(np.zeros((1_000, 1)), 1, 1e9)
