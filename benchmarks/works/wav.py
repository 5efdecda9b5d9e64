"""Work *wav*: files of sound become batches of samples.

1,000 WAV files of one second at 16 kHz, 16 bits, one channel; read, decoded to float32, batches of 128, in order. Every
epoch reads the files anew. The peers without a decoder of their own are given libsndfile's, by soundfile, which reads any
WAV as headrace and tf.data do; and, as `…_raw`, the limit's kernel: NumPy's view behind 44 bytes that nobody reads.
"""

from __future__ import annotations

import wave
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from contest import Candidate, Epoch, Program, Work, WrongResultError
from works.file_pipelines import (
    bare,
    grain_epoch,
    headrace_epoch,
    spdl_epoch,
    tfdata_epoch,
    torch_epoch,
    torchdata_epoch,
)

FILES: Final = 1_000
RATE: Final = 16_000
BATCH: Final = 128
SEED: Final = 0

Sound: TypeAlias = npt.NDArray[np.float32]


# --- the data ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sounds:
    """The files, and what is in them as it is stored."""

    paths: list[str]
    stored: npt.NDArray[np.int16]


def _paths(folder: Path) -> list[Path]:
    return [folder / f"sound-{number:03d}.wav" for number in range(FILES)]


def _stored() -> npt.NDArray[np.int16]:
    # Not around zero, so that the sum of all tells whether any is missing.
    return np.random.default_rng(SEED).integers(-8_000, 16_000, (FILES, RATE), np.int16)


def make(folder: Path) -> None:
    """Write the files, unless they are there."""
    paths = _paths(folder)
    if all(path.exists() for path in paths):
        return
    for path, samples in zip(paths, _stored(), strict=True):
        part = path.with_suffix(".part")  # a file that was cut short by Ctrl-C must not be taken for a whole one
        with wave.open(str(part), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(samples.tobytes())
        part.replace(path)


def load(folder: Path, examples: int) -> Sounds:
    """The first files."""
    return Sounds([str(path) for path in _paths(folder)[:examples]], _stored()[:examples])


# --- the limit -----------------------------------------------------------------------------------------------------

_SCALE: Final = np.float32(1 / (1 << 15))


def kernel(path: str) -> Sound:
    """The header skipped unread, the samples viewed and scaled."""
    samples = np.frombuffer(Path(path).read_bytes(), np.int16, offset=44).astype(np.float32)
    samples *= _SCALE
    return samples


def sndfile(path: str) -> Sound:
    """libsndfile: what a program without a decoder of its own library's uses."""
    import soundfile

    samples: Sound = soundfile.read(path, dtype="float32")[0]
    return samples


def limit(sounds: Sounds) -> Epoch:
    """NumPy's view behind an unread header, in two threads."""
    return bare(sounds.paths, kernel, 2)


def limit_one_core(sounds: Sounds) -> Epoch:
    """NumPy's view behind an unread header, in one thread."""
    return bare(sounds.paths, kernel, 1)


# --- headrace ------------------------------------------------------------------------------------------------------


def decoded(path: str) -> Sound:
    """headrace's own decoder."""
    hr = import_module("headrace")
    samples: Sound = hr.audio.decode_wav(hr.io.read_file(path))[0]
    return samples[:, 0]


def headrace(sounds: Sounds) -> Epoch:
    """from_tensor_slices, map(read_file, decode_wav), batch, prefetch."""
    return headrace_epoch(sounds.paths, decoded, BATCH)


def headrace_subprocess(sounds: Sounds) -> Epoch:
    """The same with Options(executor="subprocess"): 1 process."""
    return headrace_epoch(sounds.paths, decoded, BATCH, executor="subprocess")


def headrace_serial(sounds: Sounds) -> Epoch:
    """The same with map in the pipeline's own thread: a file takes 17 us, and threads hand Python's lock to and fro."""
    hr = import_module("headrace")
    dataset = hr.Dataset.from_tensor_slices(sounds.paths).map(
        lambda path: hr.audio.decode_wav(hr.io.read_file(path))[0][:, 0]
    )
    dataset = dataset.batch(BATCH).prefetch(hr.AUTOTUNE)
    return lambda: dataset


# --- peers ---------------------------------------------------------------------------------------------------------


def tfdata(sounds: Sounds) -> Epoch:
    """from_tensor_slices, map(read_file, decode_wav), batch, prefetch, all AUTOTUNE."""
    tf = import_module("tensorflow")

    def decoded(path: Any) -> Any:
        return tf.audio.decode_wav(tf.io.read_file(path), desired_channels=1, desired_samples=RATE).audio[:, 0]

    return tfdata_epoch(sounds.paths, decoded, BATCH)


def torch_0(sounds: Sounds) -> Epoch:
    """DataLoader over a map-style dataset with soundfile, no workers."""
    return torch_epoch(sounds.paths, sndfile, BATCH, workers=0)


def torch_2(sounds: Sounds) -> Epoch:
    """DataLoader over a map-style dataset with soundfile, 2 persistent workers."""
    return torch_epoch(sounds.paths, sndfile, BATCH, workers=2)


def torch_0_raw(sounds: Sounds) -> Epoch:
    """DataLoader over a map-style dataset with the limit's kernel, no workers."""
    return torch_epoch(sounds.paths, kernel, BATCH, workers=0)


def torch_2_raw(sounds: Sounds) -> Epoch:
    """DataLoader over a map-style dataset with the limit's kernel, 2 persistent workers."""
    return torch_epoch(sounds.paths, kernel, BATCH, workers=2)


def grain(sounds: Sounds) -> Epoch:
    """MapDataset: source with soundfile, batch; read by 2 threads."""
    return grain_epoch(sounds.paths, sndfile, BATCH)


def grain_raw(sounds: Sounds) -> Epoch:
    """MapDataset: source with the limit's kernel, batch; read by 2 threads."""
    return grain_epoch(sounds.paths, kernel, BATCH)


def spdl(sounds: Sounds) -> Epoch:
    """Pipeline: a source of paths, pipe(soundfile) in 2 threads, aggregate, pipe(stack); no hooks."""
    return spdl_epoch(sounds.paths, sndfile, BATCH)


def torchdata(sounds: Sounds) -> Epoch:
    """Nodes: IterableWrapper, ParallelMapper with 2 threads and soundfile, Batcher, Mapper, Prefetcher."""
    return torchdata_epoch(sounds.paths, sndfile, BATCH)


# --- what is owed --------------------------------------------------------------------------------------------------


def _verify_order(sounds: Sounds, firsts: list[float]) -> None:
    if firsts != (sounds.stored[::BATCH, 0] / (1 << 15)).tolist():
        raise WrongResultError("the files did not come in order")


WORK: Final[Work[Sounds]] = Work(
    name="wav",
    title="1,000 WAV files of 1 s at 16 kHz and 16 bits, to float32, batches of 128",
    full=FILES,
    probe=2 * BATCH,
    batch_size=BATCH,
    make=make,
    load=load,
    size=len,
    first=lambda batch: float(batch[0, 0]),
    total=lambda batch: float(np.asarray(batch).sum(dtype=np.float64)),
    expected_total=lambda sounds: float(sounds.stored.sum(dtype=np.int64)) / (1 << 15),
    verify_order=_verify_order,
    candidates=(
        Candidate(prepare=limit, library="numpy", module="numpy", program=Program.LIMIT),
        Candidate(prepare=limit_one_core, library="numpy", module="numpy", program=Program.LIMIT),
        Candidate(prepare=headrace, library="headrace", module="headrace"),
        Candidate(prepare=headrace_subprocess, library="headrace", module="headrace"),
        Candidate(prepare=headrace_serial, library="headrace", module="headrace"),
        Candidate(prepare=tfdata, library="tensorflow-cpu", module="tensorflow"),
        Candidate(prepare=torch_0, library="torch", module="torch"),
        Candidate(prepare=torch_2, library="torch", module="torch"),
        Candidate(prepare=torch_0_raw, library="torch", module="torch"),
        Candidate(prepare=torch_2_raw, library="torch", module="torch"),
        Candidate(prepare=grain, library="grain", module="grain"),
        Candidate(prepare=grain_raw, library="grain", module="grain"),
        Candidate(prepare=spdl, library="spdl", module="spdl"),
        Candidate(prepare=torchdata, library="torchdata", module="torchdata"),
    ),
)
