"""Work *augmented*: files of pictures become batches for training, a part of each at random, mirrored in half of the cases.

The 400 files of *jpeg*, 500 × 375 pixels; read, decoded, 224 × 224 cropped at a random place, mirrored or not, to float32 in [0, 1], in
batches of 64, in the order of the files. Every epoch draws anew.

What is owed cannot be told to the bit, as every library draws in its own way, and a part is not as bright as its picture: that each
is within TOLERANCE of its picture's brightness is checked of the first of each batch. The peers without decoders of their own are
given the limit's function, which is what people write with OpenCV; headrace_kernel has it, too.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from contest import Batch, Candidate, Epoch, Program, Work, WrongResultError
from works.file_pipelines import bare, headrace_epoch, peers_given, tfdata_epoch
from works.jpeg import BATCH, FILES, FIRST, LOST, SEED, STEP, Paths, Picture, load, make

SIDE: Final = 224
TOLERANCE: Final = 8.0  # levels of 256, by which a part's brightness was at most from its picture's, and some more


# --- what the limit and the peers are given ------------------------------------------------------------------------


def kernel(path: str) -> Picture:
    """What people write: OpenCV, and NumPy's own random numbers."""
    import cv2

    image = cv2.cvtColor(cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
    top = np.random.randint(image.shape[0] - SIDE + 1)  # noqa: NPY002 - as people write it
    left = np.random.randint(image.shape[1] - SIDE + 1)  # noqa: NPY002 - as above
    part: npt.NDArray[Any] = image[top : top + SIDE, left : left + SIDE]
    if np.random.rand() < 0.5:  # noqa: NPY002 - as above
        part = part[:, ::-1]
    picture: Picture = part.astype(np.float32) / np.float32(255)
    return picture


def limit(pictures: Paths) -> Epoch:
    """OpenCV and NumPy, in two threads."""
    return bare(pictures, kernel, 2)


def limit_one_core(pictures: Paths) -> Epoch:
    """OpenCV and NumPy, in one thread."""
    return bare(pictures, kernel, 1)


# --- headrace ------------------------------------------------------------------------------------------------------


def headrace(pictures: Paths) -> Epoch:
    """from_tensor_slices, random_map(read_file, decode_and_crop_jpeg, random flip, convert), batch, prefetch."""
    hr = import_module("headrace")

    def part(rng: np.random.Generator, path: str) -> Picture:
        contents = hr.io.read_file(path)
        height, width, _ = hr.io.extract_jpeg_shape(contents)
        window = rng.integers(height - SIDE + 1), rng.integers(width - SIDE + 1), SIDE, SIDE
        image = hr.io.decode_and_crop_jpeg(contents, window, channels=3)
        picture: Picture = hr.image.convert_image_dtype(hr.image.random_flip_left_right(image, rng), np.float32)
        return picture

    return _drawing(pictures, part)


def headrace_whole(pictures: Paths) -> Epoch:
    """from_tensor_slices, random_map(read_file, decode_jpeg, random_crop, random flip, convert), batch, prefetch."""
    hr = import_module("headrace")

    def part(rng: np.random.Generator, path: str) -> Picture:
        image = hr.image.random_crop(hr.io.decode_jpeg(hr.io.read_file(path), channels=3), (SIDE, SIDE, 3), rng)
        picture: Picture = hr.image.convert_image_dtype(hr.image.random_flip_left_right(image, rng), np.float32)
        return picture

    return _drawing(pictures, part)


def headrace_kernel(pictures: Paths) -> Epoch:
    """from_tensor_slices, map(the limit's function), batch, prefetch."""
    return headrace_epoch(pictures, kernel, BATCH)


def _drawing(pictures: Paths, part: Callable[[np.random.Generator, str], Picture]) -> Epoch:
    hr = import_module("headrace")
    dataset = hr.Dataset.from_tensor_slices(pictures).random_map(part, seed=SEED, num_parallel_calls=hr.AUTOTUNE)
    dataset = dataset.batch(BATCH).prefetch(hr.AUTOTUNE)
    return lambda: dataset


# --- peers ---------------------------------------------------------------------------------------------------------


def tfdata(pictures: Paths) -> Epoch:
    """from_tensor_slices, map(read_file, decode_jpeg, random_crop, random flip, convert), batch, prefetch, all AUTOTUNE."""
    tf = import_module("tensorflow")

    def part(path: Any) -> Any:
        image = tf.image.random_crop(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (SIDE, SIDE, 3))
        return tf.image.convert_image_dtype(tf.image.random_flip_left_right(image), tf.float32)

    return tfdata_epoch(pictures, part, BATCH)


def tfdata_crop(pictures: Paths) -> Epoch:
    """from_tensor_slices, map(read_file, decode_and_crop_jpeg, random flip, convert), batch, prefetch, all AUTOTUNE."""
    tf = import_module("tensorflow")

    def part(path: Any) -> Any:
        contents = tf.io.read_file(path)
        shape = tf.io.extract_jpeg_shape(contents)
        top = tf.random.uniform([], 0, shape[0] - SIDE + 1, tf.int32)
        left = tf.random.uniform([], 0, shape[1] - SIDE + 1, tf.int32)
        image = tf.io.decode_and_crop_jpeg(contents, tf.stack([top, left, SIDE, SIDE]), channels=3)
        return tf.image.convert_image_dtype(tf.image.random_flip_left_right(image), tf.float32)

    return tfdata_epoch(pictures, part, BATCH)


# --- what is owed --------------------------------------------------------------------------------------------------


def _total(batch: Batch) -> float:
    """How many pictures there are, all of the right kind."""
    array = np.asarray(batch)
    if array.dtype != np.float32 or array.shape[1:] != (SIDE, SIDE, 3):
        raise WrongResultError(f"a batch is {array.dtype} {array.shape}")
    if not (array.min() >= 0 and 0.2 < array.max() <= 1):
        raise WrongResultError(f"values are from {array.min()} to {array.max()}")
    return float(len(array))


def _verify_order(pictures: Paths, firsts: list[float]) -> None:
    owed = [FIRST + number * STEP - LOST for number in range(0, len(pictures), BATCH)]
    if len(firsts) != len(owed) or np.abs(np.subtract(firsts, owed)).max() > TOLERANCE:
        raise WrongResultError(f"the first pictures of batches are {firsts} bright, and not about {owed}")


WORK: Final[Work[Paths]] = Work(
    name="augmented",
    title="400 JPEG files of 500 × 375 pixels, decoded, 224 × 224 at random, mirrored or not, float32, batches of 64",
    full=FILES,
    probe=2 * BATCH,
    batch_size=BATCH,
    make=make,
    load=load,
    size=len,
    first=lambda batch: float(np.asarray(batch[0]).mean(dtype=np.float64) * 255),
    total=_total,
    expected_total=lambda pictures: float(len(pictures)),
    verify_order=_verify_order,
    candidates=(
        Candidate(prepare=limit, library="opencv-python-headless", module="cv2", program=Program.LIMIT),
        Candidate(prepare=limit_one_core, library="opencv-python-headless", module="cv2", program=Program.LIMIT),
        Candidate(prepare=headrace, library="headrace", module="headrace"),
        Candidate(prepare=headrace_whole, library="headrace", module="headrace"),
        Candidate(prepare=headrace_kernel, library="headrace", module="headrace"),
        Candidate(prepare=tfdata, library="tensorflow-cpu", module="tensorflow"),
        Candidate(prepare=tfdata_crop, library="tensorflow-cpu", module="tensorflow"),
        *peers_given(kernel, BATCH),
    ),
)
