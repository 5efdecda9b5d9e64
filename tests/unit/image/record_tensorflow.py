"""Records what TensorFlow makes of images' sizes and values, for test_as_tensorflow.py. Run it by a Python that has it:

    python tests/unit/image/record_tensorflow.py tests/unit/image/tensorflow_image.npz

``cases`` is JSON: name of the array, name of the function in tf.image, its arguments. Case n's result is ``result_n``;
there is none where TensorFlow raised an error. ``array_NAME`` are the arrays.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

RNG = np.random.default_rng(0)
ARRAYS = {
    "photo": RNG.integers(0, 256, (13, 17, 3), dtype=np.uint8),
    "batch": RNG.integers(0, 256, (2, 6, 5, 3), dtype=np.uint8),
    "gray": RNG.integers(0, 256, (9, 4, 1), dtype=np.uint8),
    "deep": RNG.random((5, 6, 7), dtype=np.float32),
    "signed": RNG.integers(-(1 << 15), 1 << 15, (6, 6, 2), dtype=np.int16),
    "double": RNG.standard_normal((4, 7, 3)),
    "line": RNG.integers(0, 256, (1, 40, 3), dtype=np.uint8),
    "pixel": np.array([[[7, 8, 9]]], np.uint8),
    "flat": np.full((4, 4, 3), 9, np.uint8),
}
METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")
SIZES = ((13, 17), (5, 6), (26, 40), (7, 30), (1, 1), (12, 3))
DTYPES = ("uint8", "int8", "uint16", "int32", "float16", "float32", "float64")


Case: TypeAlias = tuple[str, str, dict[str, Any]]


def resized() -> Iterator[Case]:
    for method in METHODS:
        for size in SIZES:
            for antialias in (False, True):
                yield "photo", "resize", {"size": size, "method": method, "antialias": antialias}
        for name in ("batch", "gray", "deep", "signed", "double", "line", "pixel"):
            yield name, "resize", {"size": (4, 5), "method": method}
            yield name, "resize", {"size": (4, 5), "method": method, "antialias": True}
    for size in ((10, 10), (5, 30), (40, 25), (13, 17)):
        yield "photo", "resize", {"size": size, "preserve_aspect_ratio": True}


def cropped() -> Iterator[Case]:
    for fraction in (1.0, 0.99, 0.875, 0.5, 0.3, 0.01, 0.0, 1.1):
        for name in ("photo", "batch", "pixel"):
            yield name, "central_crop", {"central_fraction": fraction}
    for box in ((0, 0, 13, 17), (1, 2, 3, 4), (12, 16, 1, 1), (12, 16, 2, 1), (-1, 0, 2, 2), (0, 0, 0, 1)):
        names = ("offset_height", "offset_width", "target_height", "target_width")
        yield "photo", "crop_to_bounding_box", dict(zip(names, box, strict=True))
        yield "batch", "crop_to_bounding_box", dict(zip(names, box, strict=True))
        larger = (*box[:2], box[2] + 13, box[3] + 17)
        yield "photo", "pad_to_bounding_box", dict(zip(names, larger, strict=True))
        yield "batch", "pad_to_bounding_box", dict(zip(names, larger, strict=True))
    for height, width in ((13, 17), (14, 16), (3, 4), (20, 31), (5, 30), (6, 6), (0, 1)):
        for name in ("photo", "batch"):
            yield name, "resize_with_crop_or_pad", {"target_height": height, "target_width": width}


def changed() -> Iterator[Case]:
    for name in ("photo", "batch", "flat", "double", "pixel"):
        yield name, "per_image_standardization", {}
    for name in ("photo", "batch"):
        yield name, "flip_left_right", {}
        yield name, "flip_up_down", {}
    for name in ("photo", "signed", "deep"):
        for dtype in DTYPES:
            yield name, "convert_image_dtype", {"dtype": dtype}
            yield name, "convert_image_dtype", {"dtype": dtype, "saturate": True}


def main() -> None:
    arrays: dict[str, Any] = {f"array_{name}": array for name, array in ARRAYS.items()}
    listed = [*resized(), *cropped(), *changed()]
    for number, (name, function, how) in enumerate(listed):
        try:
            arrays[f"result_{number}"] = np.asarray(getattr(tf.image, function)(tf.constant(ARRAYS[name]), **how))
        except (ValueError, tf.errors.InvalidArgumentError):
            continue
    np.savez_compressed(sys.argv[1], cases=np.array(json.dumps(listed)), **arrays)


if __name__ == "__main__":
    main()
