"""Work *jpeg*: files of pictures become batches of a network's input.

400 JPEG files of 500 × 375 pixels; read, decoded, resized to 227 × 227 (bilinear), the mean of each channel subtracted:
float32 in batches of 64, in order. Every epoch reads and decodes the files anew.

What is owed is within a level of 256: OpenCV rounds a resized uint8 picture to whole levels, tf.data and headrace do not. So
the pictures are told apart, and checked, by their mean. The peers without decoders of their own are given the limit's
kernel: simplejpeg (libjpeg-turbo) and OpenCV.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from contest import Batch, Candidate, Epoch, Program, Work, WrongResultError
from works.file_pipelines import bare, headrace_epoch, peers_given, tfdata_epoch

FILES: Final = 400
HEIGHT, WIDTH, SIDE = 375, 500, 227
BATCH: Final = 64
SEED: Final = 0
MEAN: Final = (123.68, 116.779, 103.939)
# The pictures' means before they are encoded. Encoding makes them darker by LOST, and decoders differ by 0.13 among each
# other, which is within TOLERANCE; the next picture is a STEP away.
FIRST: Final = 55.0
STEP: Final = 0.4
LOST: Final = 0.9
TOLERANCE: Final = 0.15

Paths: TypeAlias = list[str]
Picture: TypeAlias = npt.NDArray[np.float32]


# --- the data ------------------------------------------------------------------------------------------------------


def _paths(folder: Path) -> list[Path]:
    return [folder / f"picture-{number:03d}.jpg" for number in range(FILES)]


def _picture(number: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Soft shapes and some grain, about 60 KB as JPEG; its brightness tells its number."""
    import cv2

    shapes = cv2.resize(rng.uniform(-25, 25, (18, 24, 3)).astype(np.float32), (WIDTH, HEIGHT))
    varied = shapes + rng.normal(0, 9, shapes.shape).astype(np.float32)
    varied += FIRST + number * STEP - cv2.resize(varied, (SIDE, SIDE)).mean()
    pixels: npt.NDArray[np.uint8] = np.clip(np.rint(varied), 0, 255).astype(np.uint8)
    return pixels


def make(folder: Path) -> None:
    """Write the files, unless they are there."""
    import simplejpeg

    paths = _paths(folder)
    if all(path.exists() for path in paths):
        return
    rng = np.random.default_rng(SEED)
    for number, path in enumerate(paths):
        encoded = simplejpeg.encode_jpeg(_picture(number, rng), quality=87, colorsubsampling="420")
        part = path.with_suffix(".part")  # a file that was cut short by Ctrl-C must not be taken for a whole one
        part.write_bytes(encoded)
        part.replace(path)


def load(folder: Path, examples: int) -> Paths:
    """The first files."""
    return [str(path) for path in _paths(folder)[:examples]]


# --- the limit -----------------------------------------------------------------------------------------------------

# A subtraction whose inner loop has three steps costs four times as much as one along whole rows.
_MEAN_ROW: Final = np.tile(np.array(MEAN, np.float32), SIDE)


def kernel(path: str) -> Picture:
    """simplejpeg, OpenCV, NumPy, each as fast as it goes."""
    import cv2
    import simplejpeg

    pixels = simplejpeg.decode_jpeg(Path(path).read_bytes(), fastdct=True)
    resized = cv2.resize(pixels, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
    centered: Picture = np.subtract(resized.reshape(SIDE, SIDE * 3), _MEAN_ROW, dtype=np.float32)
    return centered.reshape(SIDE, SIDE, 3)


def limit(pictures: Paths) -> Epoch:
    """simplejpeg, OpenCV's uint8 resize and NumPy's subtract, in two threads."""
    return bare(pictures, kernel, 2)


def limit_one_core(pictures: Paths) -> Epoch:
    """simplejpeg, OpenCV's uint8 resize and NumPy's subtract, in one thread."""
    return bare(pictures, kernel, 1)


# --- headrace ------------------------------------------------------------------------------------------------------


def decoded(path: str) -> Picture:
    """headrace's own decoder, resize and normalize."""
    hr = import_module("headrace")
    pixels = hr.io.decode_jpeg(hr.io.read_file(path), channels=3)
    normalized: Picture = hr.image.normalize(hr.image.resize(pixels, (SIDE, SIDE)), MEAN)
    return normalized


def headrace(pictures: Paths) -> Epoch:
    """from_tensor_slices, map(read_file, decode_jpeg, resize, normalize), batch, prefetch."""
    return headrace_epoch(pictures, decoded, BATCH)


def headrace_subprocess(pictures: Paths) -> Epoch:
    """The same with Options(executor="subprocess"): 1 process."""
    return headrace_epoch(pictures, decoded, BATCH, executor="subprocess")


def headrace_uint8(pictures: Paths) -> Epoch:
    """from_tensor_slices, map(read_file, decode_jpeg, resize to uint8, normalize), batch, prefetch."""
    hr = import_module("headrace")

    def decoded(path: str) -> Picture:
        pixels = hr.io.decode_jpeg(hr.io.read_file(path), channels=3)
        normalized: Picture = hr.image.normalize(hr.image.resize(pixels, (SIDE, SIDE), dtype=np.uint8), MEAN)
        return normalized

    return headrace_epoch(pictures, decoded, BATCH)


def headrace_kernel(pictures: Paths) -> Epoch:
    """from_tensor_slices, map(the limit's kernel), batch, prefetch: the pipeline alone, with what the peers are given."""
    return headrace_epoch(pictures, kernel, BATCH)


# --- peers ---------------------------------------------------------------------------------------------------------


def tfdata(pictures: Paths) -> Epoch:
    """from_tensor_slices, map(read_file, decode_jpeg, resize, subtract), batch, prefetch, all AUTOTUNE."""
    tf = import_module("tensorflow")

    def decoded(path: Any) -> Any:
        pixels = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(pixels, (SIDE, SIDE)) - MEAN

    return tfdata_epoch(pictures, decoded, BATCH)


# --- what is owed --------------------------------------------------------------------------------------------------


def _total(batch: Batch) -> float:
    """The sum of the pictures' numbers, as their brightness tells them."""
    array = np.asarray(batch)
    if array.dtype != np.float32 or array.shape[1:] != (SIDE, SIDE, 3):
        raise WrongResultError(f"a batch is {array.dtype} {array.shape}")
    steps = (array.mean(axis=(1, 2, 3), dtype=np.float64) - FIRST + LOST + sum(MEAN) / 3) / STEP
    if (off := np.abs(steps - np.rint(steps)).max() * STEP) > TOLERANCE:
        raise WrongResultError(f"a picture's brightness is {off} from that of the nearest file")
    return float(np.rint(steps).sum())


def _verify_order(pictures: Paths, firsts: list[float]) -> None:
    if len(firsts) != -(-len(pictures) // BATCH):
        raise WrongResultError("there are too few batches, or too many")


WORK: Final[Work[Paths]] = Work(
    name="jpeg",
    title="400 JPEG files of 500 × 375 pixels, decoded, resized to 227 × 227, mean subtracted, batches of 64",
    full=FILES,
    probe=2 * BATCH,
    batch_size=BATCH,
    make=make,
    load=load,
    size=len,
    first=lambda batch: float(batch[0, 0, 0, 0]),
    total=_total,
    expected_total=lambda pictures: sum(range(len(pictures))),
    verify_order=_verify_order,
    candidates=(
        Candidate(prepare=limit, library="simplejpeg", module="simplejpeg", program=Program.LIMIT),
        Candidate(prepare=limit_one_core, library="simplejpeg", module="simplejpeg", program=Program.LIMIT),
        Candidate(prepare=headrace, library="headrace", module="headrace"),
        Candidate(prepare=headrace_subprocess, library="headrace", module="headrace"),
        Candidate(prepare=headrace_uint8, library="headrace", module="headrace"),
        Candidate(prepare=headrace_kernel, library="headrace", module="headrace"),
        Candidate(prepare=tfdata, library="tensorflow-cpu", module="tensorflow"),
        *peers_given(kernel, BATCH),
    ),
)
