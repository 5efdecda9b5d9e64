"""FLAC, OGG, MP3 and WAV by one function; damage, limits, and a missing library."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.audio.wav_files import chunk, fmt, riff

import headrace as hr
from headrace.errors import (
    DataLossError,
    HeadraceError,
    InvalidArgumentError,
    MissingExtraError,
    ResourceExhaustedError,
)

soundfile = pytest.importorskip("soundfile")

RATE = 16_000
TONE = 0.5 * np.sin(np.arange(RATE)[:, np.newaxis] * [0.05, 0.11]).astype(np.float32)
KINDS = [("FLAC", "PCM_16"), ("OGG", "VORBIS"), ("OGG", "OPUS"), ("MP3", "MPEG_LAYER_III"), ("WAV", "PCM_16")]


def encoded(kind: str, coding: str, sound: Any = TONE, rate: int = RATE) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, sound, rate, format=kind, subtype=coding)
    return file.getvalue()


FILES = {f"{kind} {coding}": encoded(kind, coding) for kind, coding in KINDS}


@pytest.mark.parametrize("name", FILES)
def test_sound_of_each_format_comes_back(name: str) -> None:
    sound, rate = hr.audio.decode(FILES[name])
    assert (rate, sound.dtype.name, sound.shape) == (RATE, "float32", TONE.shape)
    # Lossy codings keep a tone to some percent, lossless ones to a step of 16 bits.
    assert np.abs(sound - TONE)[100:-1_000].max() < (1e-4 if name.split(maxsplit=1)[0] in {"FLAC", "WAV"} else 0.06)


@pytest.mark.parametrize("name", FILES)
def test_desires_are_those_of_decode_wav(name: str) -> None:
    whole, _ = hr.audio.decode(FILES[name])
    first, _ = hr.audio.decode(FILES[name], desired_channels=1, desired_samples=100)
    np.testing.assert_array_equal(first, whole[:100, :1])
    longer, _ = hr.audio.decode(FILES[name], 3, RATE + 5)
    assert longer.shape == (RATE + 5, 3)
    np.testing.assert_array_equal(longer[:, 1], longer[:, 2])
    np.testing.assert_array_equal(longer[RATE:], 0)


def test_a_compressed_wav_is_left_to_libsndfile() -> None:
    sound, rate = hr.audio.decode(encoded("WAV", "ULAW"))
    assert (rate, sound.shape) == (RATE, TONE.shape)


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("MP3")])
@pytest.mark.parametrize("part", [0.4, 0.99])
def test_a_truncated_file_is_an_error_and_not_a_shorter_sound(name: str, part: float) -> None:
    file = FILES[name]
    with pytest.raises(DataLossError, match="truncated"):
        hr.audio.decode(file[: int(len(file) * part)])


@pytest.mark.parametrize("contents", [b"", b"nothing that sounds", bytes(1000), "path.flac"])
def test_what_is_no_sound_is_the_callers_mistake(contents: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        hr.audio.decode(contents)


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("WAV")])
def test_more_samples_than_allowed_are_refused(name: str) -> None:
    with pytest.raises(ResourceExhaustedError, match="raise max_samples"):
        hr.audio.decode(FILES[name], max_samples=RATE)
    assert hr.audio.decode(FILES[name], max_samples=2 * RATE)[0].shape == TONE.shape


def test_an_hour_of_silence_in_few_bytes_is_refused_before_it_is_memory() -> None:
    bomb = encoded("FLAC", "PCM_16", np.zeros(1 << 22, np.int16))
    assert len(bomb) < 1 << 16
    with pytest.raises(ResourceExhaustedError):
        hr.audio.decode(bomb, max_samples=1 << 20)


def test_a_wrong_desire_is_refused_for_a_wav_too() -> None:
    with pytest.raises(InvalidArgumentError, match="desired_channels"):
        hr.audio.decode(FILES["WAV PCM_16"], desired_channels=0)


@pytest.mark.parametrize(("module", "call"), [("soundfile", "decode"), ("soxr", "resample")])
def test_a_missing_library_names_the_line_that_installs_it(
    module: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'headrace\[audio\]'"):
        hr.audio.decode(FILES["FLAC PCM_16"]) if call == "decode" else hr.audio.resample(TONE, 2, 1)


def test_a_pcm_wav_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    assert hr.audio.decode(riff(fmt(1, 1, 7, 2), chunk(b"data", b"1234")))[0].shape == (2, 1)


@settings(max_examples=200)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_no_damage_crashes_or_passes_the_limit(name: str, data: st.DataObject) -> None:
    file = bytearray(FILES[name][:4_000])
    for _ in range(data.draw(st.integers(0, 6))):
        file[data.draw(st.integers(0, min(len(file) - 1, 300)))] = data.draw(st.integers(0, 255))
    try:
        sound, _ = hr.audio.decode(bytes(file[: data.draw(st.integers(0, len(file)))]), max_samples=1 << 18)
    except HeadraceError:
        return
    assert sound.size <= 1 << 18
