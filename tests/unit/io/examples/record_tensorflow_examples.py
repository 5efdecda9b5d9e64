"""Records what TensorFlow makes of examples, for test_examples_as_tensorflow.py. Run it by a Python that has TensorFlow:

    python tests/unit/io/examples/record_tensorflow_examples.py > tests/unit/io/examples/tensorflow_examples.json

A case is a feature's description and the messages of a batch, each as hex. They are parsed at once (tf.io.parse_example), and
the first by itself (tf.io.parse_single_example). A sparse tensor is recorded as rows. An error is null. Bytes are written in
decode_raw's part as hex, too.

Left out is what protobuf's own rules decide against TensorFlow's fast parser: a list that comes twice in one feature is
joined there, and of two kinds the last counts (here: the first of each); a length beyond the end is an error (here: no
feature). And decode_raw with fixed_length for types that TensorFlow has not.
"""

from __future__ import annotations

import json
import os
import random
import struct
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

Case = tuple[list[Any], list[str]]

FIXED: list[list[Any]] = [
    ["fixed", [], "int64", None],
    ["fixed", [], "int64", 7],
    ["fixed", [], "int64", [7]],
    ["fixed", [1], "int64", 7],
    ["fixed", [2], "int64", None],
    ["fixed", [2], "int64", [7, 8]],
    ["fixed", [2], "int64", 7],
    ["fixed", [2, 1], "int64", [7, 8]],
    ["fixed", [0], "int64", None],
    ["fixed", [], "float32", None],
    ["fixed", [], "float32", 1.5],
    ["fixed", [2], "float32", [1.5, 2.5]],
    ["fixed", [3], "float32", None],
    ["fixed", [], "bytes", None],
    ["fixed", [], "bytes", "none"],
    ["fixed", [2], "bytes", ["x", "y"]],
    ["fixed", [2], "bytes", None],
]
VARYING: list[list[Any]] = [
    *(["var", [], dtype, None] for dtype in ("int64", "float32", "bytes")),
    *(["sequence", [], dtype, None] for dtype in ("int64", "float32", "bytes")),
    ["sequence", [], "int64", 9],
    ["sequence", [2], "int64", None],
    ["sequence", [2], "float32", 1.5],
    ["sequence", [1, 2], "int64", 9],
    ["sequence", [], "bytes", "none"],
    ["required sequence", [], "int64", None],
    ["required sequence", [2], "int64", None],
]


def varint(number: int) -> bytes:
    """A number as protocol buffers write it."""
    number %= 2**64
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number: int, payload: bytes) -> bytes:
    """A field that has a length."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def values_of(kind: str, values: list[Any], *, packed: bool = True) -> bytes:
    """A Feature."""
    if kind == "bytes":
        return field(1, b"".join(field(1, value.encode()) for value in values))
    if kind == "float32":
        pieces = [struct.pack("<f", value) for value in values]
        body = field(1, b"".join(pieces)) if packed else b"".join(b"\x0d" + piece for piece in pieces)
        return field(2, body)
    numbers = [varint(value) for value in values]
    return field(3, field(1, b"".join(numbers)) if packed else b"".join(b"\x08" + number for number in numbers))


def example(*features: tuple[str, bytes]) -> bytes:
    """An Example."""
    return field(1, b"".join(field(1, field(1, name.encode()) + field(2, feature)) for name, feature in features))


def messages() -> list[bytes]:
    """Examples of feature "x" and others."""
    made = [
        example(("x", values_of(kind, values, packed=packed)), ("other", values_of("bytes", ["o"])))
        for kind, values in (
            ("int64", []),
            ("int64", [1]),
            ("int64", [-1, 2**40]),
            ("int64", [3, 4, 5]),
            ("int64", [1, 2, 3, 4]),
            ("float32", []),
            ("float32", [0.1]),
            ("float32", [0.5, -2.0]),
            ("float32", [1e-40, float("inf"), 3.0]),
            ("bytes", []),
            ("bytes", ["a"]),
            ("bytes", ["", "bcd"]),
        )
        for packed in (True, False)
        if packed or (kind != "bytes" and len(values) == 2)
    ]
    one, two = values_of("int64", [1]), values_of("int64", [2, 3])
    whole = example(("x", two))
    return [
        *made,
        b"",
        example(),
        example(("y", one)),
        example(("x", b"")),
        example(("x", one), ("x", two)),
        example(("x", one)) + example(("x", two)),
        whole[:-1],
        whole[:-3],
        b"garbage",
        b"\xff" * 20,
    ]


def cases() -> Iterator[Case]:
    """Every feature on every message alone, and on some batches."""
    every = [message.hex() for message in messages()]
    dice = random.Random(6)
    for feature in FIXED + VARYING:
        for message in every:
            yield feature, [message]
        yield feature, []
        for _ in range(4):
            yield feature, [dice.choice(every) for _ in range(dice.randint(2, 4))]
        kind = {"int64": 3, "float32": 2, "bytes": 1}[feature[2]]
        alike = [text for text in every if f"{kind << 3 | 2:02x}" in text][:24]
        for _ in range(4):
            yield feature, [dice.choice(alike) for _ in range(dice.randint(2, 4))]


RAW: list[list[Any]] = [
    [texts, dtype, little, length]
    for dtype in (
        "uint8",
        "int8",
        "int16",
        "uint16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "bool",
        "complex64",
    )
    for little in (True, False)
    for texts, length in (
        ("", None),
        ("0102030405060708", None),
        (["0102030405060708", "1112131415161718"], None),
        (["01020304", "010203"], None),
        ("010203", None),
        (["01020304", "010203"], 8),
        ("0102030405", 2),
        ([], None),
    )
    if length is None or dtype not in ("float16", "bool", "complex64")
]


def plain(array: Any) -> Any:
    """An array as JSON, floats by their bits."""
    if array.dtype.kind in "OS":
        return json.loads(json.dumps(array.tolist(), default=bytes.decode))
    if array.dtype.kind in "fc":
        array = array.view(f"u{array.dtype.itemsize // (2 if array.dtype.kind == 'c' else 1)}")
    return array.tolist()


def feature_of(tf: Any, kind: str, shape: list[int], dtype: str, default: Any) -> Any:
    """TensorFlow's description of a feature."""
    of = {"int64": tf.int64, "float32": tf.float32, "bytes": tf.string}[dtype]
    if kind == "var":
        return tf.io.VarLenFeature(of)
    if kind == "fixed":
        return tf.io.FixedLenFeature(shape, of, default)
    return tf.io.FixedLenSequenceFeature(shape, of, kind == "sequence", default)


def result(tf: Any, parse: Callable[[], Any]) -> Any:
    """Shape and values; the rows of a sparse tensor; null for an error."""
    import numpy as np

    try:
        found = parse()
    except (tf.errors.OpError, ValueError, TypeError):
        return None
    if not isinstance(found, tf.SparseTensor):
        return [list(found.shape), plain(np.asarray(found.numpy()))]
    values = found.values.numpy()
    if len(found.dense_shape) == 1:
        return [list(values.shape), plain(values)]
    counts = np.bincount(found.indices.numpy()[:, 0], minlength=int(found.dense_shape[0]))
    return [plain(row) for row in np.split(values, np.cumsum(counts)[:-1])] if len(counts) else []


def main() -> None:
    """Prints the record, a case a line."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    def raw(texts: Any, dtype: str, little: bool, length: int | None) -> Any:
        given = bytes.fromhex(texts) if isinstance(texts, str) else [bytes.fromhex(text) for text in texts]
        return tf.io.decode_raw(tf.constant(given, tf.string), getattr(tf, dtype), little, length)

    def several(feature: list[Any], records: list[bytes]) -> Any:
        return tf.io.parse_example(tf.constant(records, tf.string), {"x": feature_of(tf, *feature)})["x"]

    def single(feature: list[Any], records: list[bytes]) -> Any:
        return tf.io.parse_single_example(records[0], {"x": feature_of(tf, *feature)})["x"]

    lines = []
    for feature, batch in cases():
        records = [bytes.fromhex(message) for message in batch]
        alone = result(tf, partial(single, feature, records)) if len(records) == 1 else "none"
        lines.append(json.dumps([feature, batch, result(tf, partial(several, feature, records)), alone]))
    raws = [json.dumps([*case, result(tf, partial(raw, *case))]) for case in RAW]
    sys.stdout.write('{"parse": [\n' + ",\n".join(lines) + '\n], "raw": [\n' + ",\n".join(raws) + "\n]}\n")


if __name__ == "__main__":
    main()
