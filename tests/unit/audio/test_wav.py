"""WAV: every way to store samples, and what becomes of files that are no whole WAV."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.unit.audio.wav_files import chunk, fmt, riff, wav

import headrace as hr
from headrace.errors import DataLossError, HeadraceError, InvalidArgumentError

STEREO = np.arange(12, dtype="<i2").reshape(6, 2)
# GUID of plain PCM behind bits, speakers.
EXTENSIBLE = struct.pack("<HHI", 22, 16, 3) + b"\x01\x00\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"


@pytest.mark.parametrize(
    ("dtype", "scale", "zero"),
    [("u1", 1 << 7, 128), ("<i2", 1 << 15, 0), ("<i4", 1 << 31, 0), ("<f4", 1, 0), ("<f8", 1, 0)],
)
def test_samples_of_each_kind_become_floats(dtype: str, scale: int, zero: int) -> None:
    info: Any = np.finfo(dtype) if dtype[1] == "f" else np.iinfo(dtype)
    ends = [[0.5], [-0.25]] if dtype[1] == "f" else [[info.min], [info.max], [zero], [zero + 1]]
    stored = np.array(ends, dtype)
    decoded, rate = hr.audio.decode_wav(wav(stored, 8_000))
    assert (decoded.dtype.name, rate) == ("float32", 8_000)
    np.testing.assert_array_equal(decoded, ((stored.astype(np.float64) - zero) / scale).astype(np.float32))


def test_24_bits_keep_their_sign() -> None:
    values = [0, 1, -1, (1 << 23) - 1, -(1 << 23)]
    data = b"".join(value.to_bytes(3, "little", signed=True) for value in values)
    decoded, _ = hr.audio.decode_wav(riff(fmt(1, 1, 44_100, 3), chunk(b"data", data)))
    np.testing.assert_array_equal(decoded[:, 0], np.array(values) / np.float32(1 << 23))


def test_what_is_decoded_is_the_callers_to_change() -> None:
    for stored in (STEREO, STEREO.astype("<f4"), STEREO.astype("u1")):
        file = wav(stored)
        first, second = hr.audio.decode_wav(file)[0], hr.audio.decode_wav(file)[0]
        kept = second.copy()
        first[:] = 2  # no sample of a file is
        np.testing.assert_array_equal(second, kept)
        np.testing.assert_array_equal(hr.audio.decode_wav(file)[0], kept)


def test_other_chunks_are_passed_over_with_the_byte_that_fills_them_up() -> None:
    file = riff(
        chunk(b"LIST", b"odd"), fmt(1, 2, 7, 2), chunk(b"fact", b"even"), chunk(b"data", STEREO.tobytes()), b"tail"
    )
    np.testing.assert_array_equal(hr.audio.decode_wav(file)[0], STEREO / np.float32(1 << 15))


def test_the_extensible_format_says_inside_what_it_is() -> None:
    file = riff(fmt(0xFFFE, 2, 7, 2, EXTENSIBLE), chunk(b"data", STEREO.tobytes()))
    np.testing.assert_array_equal(hr.audio.decode_wav(file)[0], STEREO / np.float32(1 << 15))


def test_a_recorder_that_never_wrote_the_length_is_read_to_the_end() -> None:
    file = riff(fmt(1, 2, 7, 2), chunk(b"data", STEREO.tobytes(), size=0xFFFFFFFF))
    assert hr.audio.decode_wav(file)[0].shape == (6, 2)


def test_no_samples_are_an_empty_sound_which_can_be_filled_up() -> None:
    file = wav(STEREO[:0])
    assert hr.audio.decode_wav(file)[0].shape == (0, 2)
    np.testing.assert_array_equal(hr.audio.decode_wav(file, desired_samples=3)[0], np.zeros((3, 2)))


def test_only_the_samples_that_are_wanted_are_converted() -> None:
    decoded, _ = hr.audio.decode_wav(wav(STEREO), desired_samples=2)
    assert decoded.base is None or decoded.base.size == 4


def test_a_sound_can_be_bytearray_or_memoryview() -> None:
    for kind in (bytearray, memoryview):
        assert hr.audio.decode_wav(kind(wav(STEREO)))[0].shape == (6, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "contents", [b"", b"RIFF", b"fLaC" + bytes(50), b"RIFF\0\0\0\0AVI " + bytes(50), "a.wav", None]
)
def test_what_is_no_wav_is_the_callers_mistake(contents: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        hr.audio.decode_wav(contents)


@pytest.mark.parametrize(
    ("file", "match"),
    [
        (wav(STEREO)[:-1], "24 bytes, and 23 are there"),
        (wav(STEREO)[:40], "end before the samples"),
        (riff(chunk(b"data", b"1234")), "before the chunk that says"),
        (riff(chunk(b"fmt ", b"short"), chunk(b"data", b"")), "fmt chunk has 5 bytes"),
        (riff(fmt(1, 0, 7, 2), chunk(b"data", b"")), "0 channels"),
        (riff(fmt(1, 1, 7, 5), chunk(b"data", b"")), "1 channels in 5 bytes"),
        (riff(fmt(3, 1, 7, 2), chunk(b"data", b"")), "1 channels in 2 bytes"),
        (riff(fmt(1, 1, 7, 2), chunk(b"data", b"12", size=0xFFFFFFFE)), "truncated"),
    ],
)
def test_a_broken_wav_says_what_is_broken(file: bytes, match: str) -> None:
    with pytest.raises(DataLossError, match=match):
        hr.audio.decode_wav(file)


def test_a_compressed_wav_names_who_can_read_it() -> None:
    with pytest.raises(InvalidArgumentError, match=r"hr\.audio\.decode"):
        hr.audio.decode_wav(riff(fmt(7, 1, 8_000, 1), chunk(b"data", b"12")))


@pytest.mark.parametrize(
    "how", [{"desired_channels": 0}, {"desired_samples": 0}, {"desired_channels": -2}, {"desired_samples": -9}]
)
def test_a_desire_for_nothing_is_refused(how: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="from 1, or -1"):
        hr.audio.decode_wav(wav(STEREO), **how)


@pytest.mark.parametrize(
    ("audio", "rate"),
    [
        (np.zeros(3), 1),
        (np.zeros((3, 0)), 1),
        (np.zeros((3, 1)), 0),
        (np.array([["a"]]), 1),
        (np.zeros((1, 1)), 1 << 32),
    ],
)
def test_what_does_not_fit_a_wav_is_refused(audio: Any, rate: int) -> None:
    with pytest.raises(InvalidArgumentError):
        hr.audio.encode_wav(audio, rate)


@given(hnp.arrays("<i2", st.tuples(st.integers(0, 40), st.integers(1, 4))), st.integers(1, (1 << 32) - 1))
def test_what_was_encoded_is_decoded(stored: Any, rate: int) -> None:
    samples = stored / np.float32(1 << 15)
    decoded, read = hr.audio.decode_wav(hr.audio.encode_wav(samples, rate))
    assert read == rate
    np.testing.assert_array_equal(decoded, samples)


@given(st.data())
def test_no_damage_crashes_or_allocates_beyond_the_file(data: st.DataObject) -> None:
    whole = bytearray(riff(chunk(b"LIST", b"odd"), fmt(1, 2, 7, 2), chunk(b"data", STEREO.tobytes())))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        decoded, _ = hr.audio.decode_wav(cut)
    except HeadraceError:
        return
    assert decoded.nbytes <= 4 * len(cut)
