"""One shape in tf.data with its AUTOTUNE: prints steps a second. For a process of its own, as TensorFlow's threads stay."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from autotune.rounds import rate
from autotune.shapes import SHAPES, Function, Shape, bursts


def dataset_of(shape: Shape) -> Any:
    """The shape, as tf.data writes it."""
    import tensorflow as tf

    dataset = (
        tf.data.Dataset.from_generator(bursts, output_signature=tf.TensorSpec((), tf.int64))
        if shape.bursts
        else tf.data.Dataset.range(1 << 40)
    )

    def called(function: Function) -> Any:
        def call(x: Any) -> Any:
            return tf.numpy_function(function, [x], tf.int64)

        return call

    for make in shape.maps:
        function = make()
        # What adds one is an operation of its own there, as a person would write it.
        dataset = dataset.map(function if shape.batch else called(function), num_parallel_calls=tf.data.AUTOTUNE)
    if shape.batch is not None:
        dataset = dataset.batch(shape.batch)
    return dataset.prefetch(tf.data.AUTOTUNE)


def main() -> None:
    """Measure the shape that is named."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    name, before_s, measured_s = sys.argv[1:]
    shape = next(one for one in SHAPES if one.name == name)
    elements = dataset_of(shape).as_numpy_iterator()
    print(json.dumps(rate(elements, shape.step_s, float(before_s), float(measured_s))), flush=True)
    os._exit(0)  # its threads may hang at the interpreter's end


if __name__ == "__main__":
    main()
