"""``tf.train.Example``: named lists of bytes, of float32 or of int64, as protocol buffers write them.

The message is described here, at run time and in a pool of its own: nothing is generated, and a program may import
TensorFlow, whose pool has messages of the same names, beside us.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from headrace.errors import InvalidArgumentError, MissingExtraError

__all__ = ["example_class", "serialize_example"]

_PACKAGE: Final = "headrace.io"


@functools.cache
def example_class() -> Any:
    """Returns the class of the message.

    Raises:
        MissingExtraError: protobuf is not installed.
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise MissingExtraError("tf.train.Example needs protobuf: pip install 'headrace[tfrecord]'") from None
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="headrace/io/example.proto", package=_PACKAGE, syntax="proto3")

    def add(message: Any, name: str, number: int, kind: int, label: int = field.LABEL_OPTIONAL, of: str = "") -> Any:
        added = message.field.add(name=name, number=number, type=kind, label=label)
        if of:
            added.type_name = f".{_PACKAGE}.{of}"
        return added

    kinds = {"BytesList": field.TYPE_BYTES, "FloatList": field.TYPE_FLOAT, "Int64List": field.TYPE_INT64}
    for name, kind in kinds.items():
        add(file.message_type.add(name=name), "value", 1, kind, field.LABEL_REPEATED)
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, (name, of) in enumerate(zip(("bytes_list", "float_list", "int64_list"), kinds, strict=True), 1):
        add(feature, name, number, field.TYPE_MESSAGE, of=of).oneof_index = 0
    features = file.message_type.add(name="Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    add(entry, "key", 1, field.TYPE_STRING)
    add(entry, "value", 2, field.TYPE_MESSAGE, of="Feature")
    add(features, "feature", 1, field.TYPE_MESSAGE, field.LABEL_REPEATED, of="Features.FeatureEntry")
    add(file.message_type.add(name="Example"), "features", 1, field.TYPE_MESSAGE, of="Features")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Example"))


def serialize_example(features: Mapping[str, Any]) -> bytes:
    """Returns a ``tf.train.Example`` as bytes, for ``TFRecordWriter``: what ``parse_example`` reads, here and in TensorFlow.

    The same features give the same bytes, in whatever order they are named.

    Args:
        features: by name, a value or a list or an array of them. Whole numbers and booleans become int64, other numbers
            float32, ``bytes`` and ``str`` bytes. An array is flattened: its shape is for the reader to know. An empty list is
            a feature without values.

    Raises:
        MissingExtraError: protobuf is not installed.
        InvalidArgumentError: a value of another type, or a number that int64 does not hold; the feature is named.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> pixels = np.zeros((2, 3), np.uint8)
        >>> record = hr.io.serialize_example({"image": pixels.tobytes(), "shape": pixels.shape, "label": "cat"})
        >>> features = {"image": hr.io.FixedLenFeature((), bytes), "shape": hr.io.FixedLenFeature([2], np.int64)}
        >>> parsed = hr.io.parse_single_example(record, features)
        >>> hr.io.decode_raw(parsed["image"], np.uint8).reshape(parsed["shape"]).shape
        (2, 3)
    """
    example = example_class()()
    for name, value in features.items():
        if not isinstance(name, str):
            raise InvalidArgumentError(f"a feature's name is a str, and not {name!r}")
        try:
            _fill(example.features.feature[name], value)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidArgumentError(f"feature {name!r}: {error}") from None
    serialized: bytes = example.SerializeToString(deterministic=True)
    return serialized


def _fill(feature: Any, value: Any) -> None:
    values = _flat(value)
    if isinstance(values, list) and not values:
        return
    if isinstance(values, list):
        feature.bytes_list.value.extend([one.encode() if isinstance(one, str) else one for one in values])
    elif values.dtype.kind in "biu":
        whole = values.view(np.uint8) if values.dtype == bool else values
        feature.int64_list.SetInParent()
        feature.int64_list.value.extend(whole.tolist())
    elif values.dtype.kind == "f":
        feature.float_list.SetInParent()
        feature.float_list.value.extend(_as_float32(values).tolist())
    else:
        raise TypeError(f"neither numbers, bytes nor str, but of dtype {values.dtype}")


def _flat(value: Any) -> list[Any] | np.ndarray:
    """Texts in a list, numbers in an array of one axis."""
    if isinstance(value, (str, bytes)):
        return [value]
    # NumPy's own string types cut zero bytes off, so lists of texts do not become arrays.
    if isinstance(value, (list, tuple)) and all(isinstance(one, (str, bytes)) for one in value):
        return list(value)
    array = np.asarray(value)
    if array.dtype.kind in "SUO":
        return [_text(one) for one in array.ravel().tolist()]
    return array.ravel()


def _text(value: Any) -> str | bytes:
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"neither numbers, bytes nor str: {value!r}")
    return value


def _as_float32(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # what float32 does not hold is infinite, as in TensorFlow
        return values.astype(np.float32)
