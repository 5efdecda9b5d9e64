"""``tf.train.Example`` messages as arrays: ``tf.io.parse_example`` and ``tf.io.parse_single_example``.

What always holds: whatever the bytes are, the result is arrays of the types that were asked for, or an InvalidArgumentError
that names the record and the feature. A message is parsed by protobuf's own C, and a batch is then filled a column at a time; where
the messages of a batch are written alike, they are parsed together, which is the same and quicker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from headrace.elements.ragged import RaggedTensor
from headrace.elements.structure import object_array
from headrace.errors import InvalidArgumentError
from headrace.io.examples.alike import parsed_alike
from headrace.io.examples.features import Feature, FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from headrace.io.examples.message import example_class
from headrace.io.raw_decoding import LOST_NULS

__all__ = ["parse_example", "parse_single_example"]

# From this many numbers on, asking protobuf for its buffer is faster than taking them one by one.
_MANY: Final = 48
_KINDS: Final = {"bytes_list": "bytes", "float_list": "float32", "int64_list": "int64"}


def parse_example(
    serialized: Any, features: Mapping[str, Feature], example_names: Sequence[str] | None = None
) -> dict[str, Any]:
    r"""Parses a batch of serialized ``tf.train.Example`` messages, as ``tf.io.parse_example``.

    Args:
        serialized: the messages: an array or a list of ``bytes``. A single ``bytes`` is parsed as ``parse_single_example``
            parses it.
        features: by name, what each becomes. Others are left out.
        example_names: what errors call the messages, one name each.

    Returns:
        By name: an array of shape (batch, \*shape) for a ``FixedLenFeature``; (batch, longest, \*shape), padded, for a
        ``FixedLenSequenceFeature``; an ``hr.RaggedTensor`` for a ``VarLenFeature``.

    Raises:
        MissingExtraError: protobuf is not installed.
        InvalidArgumentError: bytes that are no such message; a feature that is missing and has no default, is of another
            type, or has another number of values. The record and the feature are named.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> records = [hr.io.serialize_example({"x": [n, n / 2], "label": n}) for n in range(3)]
        >>> features = {"x": hr.io.FixedLenFeature([2], np.float32), "label": hr.io.FixedLenFeature((), np.int64)}
        >>> parsed = hr.io.parse_example(records, features)
        >>> parsed["x"].tolist(), parsed["label"].tolist()
        ([[0.0, 0.0], [1.0, 0.5], [2.0, 1.0]], [0, 1, 2])
    """
    _check(features)
    if isinstance(serialized, bytes):
        return parse_single_example(serialized, features, example_names)
    records = _listed(serialized)
    if example_names is not None and len(example_names) != len(records):
        raise InvalidArgumentError(f"{len(records)} records have {len(example_names)} example_names")
    example_class()  # without protobuf no batch is parsed, whatever its messages are like
    found = parsed_alike(records, features)
    if found is not None:
        return found
    batch = _Batch(records, example_names)
    return {name: _batch_columns[type(feature)](batch, name, feature) for name, feature in features.items()}


def parse_single_example(
    serialized: bytes, features: Mapping[str, Feature], example_names: Any = None
) -> dict[str, Any]:
    r"""Parses one serialized ``tf.train.Example`` message, as ``tf.io.parse_single_example``.

    Batches are faster: ``ds.batch(n).map(lambda records: hr.io.parse_example(records, features))``; for elements one by one, with
    features of fixed length alone, ``ds.map(hr.vectorized(lambda records: hr.io.parse_example(records, features)))``.

    Args:
        serialized: the message.
        features: by name, what each becomes. Others are left out.
        example_names: what errors call the message.

    Returns:
        By name: an array of the shape of a ``FixedLenFeature``, or a single value; (length, \*shape) for a
        ``FixedLenSequenceFeature``; one axis for a ``VarLenFeature``.

    Raises:
        MissingExtraError: protobuf is not installed.
        InvalidArgumentError: as for ``parse_example``.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> record = hr.io.serialize_example({"label": 7, "words": ["a", "b"]})
        >>> features = {"label": hr.io.FixedLenFeature((), np.int64), "words": hr.io.VarLenFeature(bytes)}
        >>> hr.io.parse_single_example(record, features)
        {'label': 7, 'words': array([b'a', b'b'], dtype=object)}
    """
    _check(features)
    if not isinstance(serialized, bytes):
        raise InvalidArgumentError(
            f"a record is bytes, and not {type(serialized).__name__}; see parse_example for several"
        )
    batch = _Batch([serialized], None if example_names is None else [str(example_names)], single=True)
    return {name: _single_columns[type(feature)](batch, name, feature) for name, feature in features.items()}


def _check(features: Mapping[str, Feature]) -> None:
    if not features:
        raise InvalidArgumentError("features is a dict of at least one FixedLenFeature, VarLenFeature or the like")
    for name, feature in features.items():
        if type(feature) not in _batch_columns:
            raise InvalidArgumentError(f"feature {name!r} is described by {feature!r}, which is no description of one")
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise InvalidArgumentError(f"feature {name!r}: a FixedLenSequenceFeature needs allow_missing=True")


def _listed(serialized: Any) -> list[bytes]:
    if isinstance(serialized, np.ndarray):
        if serialized.ndim != 1 or serialized.dtype != object:
            message = f"of shape {list(serialized.shape)} and dtype {serialized.dtype}"
            why = f": {LOST_NULS}" if serialized.dtype.kind == "S" else ""
            raise InvalidArgumentError(f"serialized is one axis of bytes, dtype object, and not {message}{why}")
        listed: list[bytes] = serialized.tolist()
        return listed
    if not isinstance(serialized, (list, tuple)):
        raise InvalidArgumentError(f"serialized is an array or a list of bytes, and not {type(serialized).__name__}")
    return list(serialized)


class _Batch:
    """The parsed messages, and what errors call them."""

    __slots__ = ("_examples", "_names", "_single", "maps")

    def __init__(self, records: list[bytes], names: Sequence[str] | None, *, single: bool = False) -> None:
        self._names = names
        self._single = single
        parse = example_class().FromString
        try:
            self._examples = list(map(parse, records))
        except Exception:  # noqa: BLE001 - protobuf's own error, or TypeError for what is no bytes: told with its place below
            self._examples = [self._parsed(parse, index, record) for index, record in enumerate(records)]
        self.maps = [example.features.feature for example in self._examples]

    def _parsed(self, parse: Any, index: int, record: Any) -> Any:
        if not isinstance(record, bytes):
            raise InvalidArgumentError(f"{self._place(index)} is bytes, and not {type(record).__name__}")
        try:
            return parse(record)
        except Exception as error:
            message = f"{self._place(index)}: its {len(record)} bytes are no tf.train.Example, or a damaged one"
            raise InvalidArgumentError(message) from error

    def _place(self, index: int) -> str:
        name = "" if self._names is None else f" {self._names[index]!r}"
        return f"the record{name}" if self._single else f"record {index}{name}"

    def values(self, name: str, list_name: str) -> list[Any]:
        """Returns the values of a feature in each message, None where a message lacks it.

        Raises:
            InvalidArgumentError: it has values of another type.
        """
        found = []
        for index, features in enumerate(self.maps):
            feature = features.get(name)
            values = None if feature is None else getattr(feature, list_name).value
            if not values and feature is not None:
                kind = feature.WhichOneof("kind")
                if kind is None:
                    values = None
                elif kind != list_name:
                    raise self.fault(index, name, f"is of type {_KINDS[kind]}, and not {_KINDS[list_name]}")
            found.append(values)
        return found

    def fault(self, index: int, name: str, what: str) -> InvalidArgumentError:
        """Returns the error of a feature of a message."""
        return InvalidArgumentError(f"{self._place(index)}, feature {name!r} {what}")

    def array(self, index: int, name: str, values: Any, dtype: Any) -> np.ndarray:
        """Values as an array of one axis."""
        if dtype is bytes:
            return object_array(list(values))
        if dtype is str:
            return object_array([self._text(index, name, one) for one in values])
        count = len(values)
        return np.array(values, dtype) if count >= _MANY else np.fromiter(values, dtype, count)

    def _text(self, index: int, name: str, value: bytes) -> str:
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise self.fault(index, name, f"is not UTF-8 ({error.reason}); read it as bytes") from error


def _fixed_values(batch: _Batch, name: str, feature: FixedLenFeature) -> list[Any]:
    """Returns the values of each message, as many as the shape has; None where the default stands for them."""
    found = batch.values(name, feature.list_name)
    for index, values in enumerate(found):
        if values is None:
            if feature.default is None:
                raise batch.fault(index, name, "is missing, and has no default_value")
        elif len(values) != feature.size:
            raise batch.fault(index, name, f"has {len(values)} values, and its shape is {list(feature.shape)}")
    return found


def _fixed_batch(batch: _Batch, name: str, feature: FixedLenFeature) -> np.ndarray:
    found = _fixed_values(batch, name, feature)
    column = np.empty((len(found), feature.size), feature.array_dtype)
    default = feature.default_values
    if feature.size == 1 and feature.dtype is not str:
        column[:, 0] = [default[0] if values is None and default is not None else values[0] for values in found]
    else:
        for index, values in enumerate(found):
            column[index] = default if values is None else batch.array(index, name, values, feature.dtype)
    return column.reshape(len(found), *feature.shape)


def _fixed_single(batch: _Batch, name: str, feature: FixedLenFeature) -> Any:
    values = _fixed_values(batch, name, feature)[0]
    flat: Any = feature.default_values if values is None else batch.array(0, name, values, feature.dtype)
    if feature.shape:
        return flat.reshape(feature.shape).copy() if values is None else flat.reshape(feature.shape)
    return flat.item() if feature.dtype != np.float32 else flat[0]


def _rows(batch: _Batch, name: str, feature: VarLenFeature | FixedLenSequenceFeature) -> list[np.ndarray]:
    return [
        batch.array(index, name, () if values is None else values, feature.dtype)
        for index, values in enumerate(batch.values(name, feature.list_name))
    ]


def _ragged_batch(batch: _Batch, name: str, feature: VarLenFeature) -> RaggedTensor:
    rows = _rows(batch, name, feature)
    splits = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=splits[1:])
    return RaggedTensor(np.concatenate(rows) if rows else np.empty(0, feature.array_dtype), splits)


def _ragged_single(batch: _Batch, name: str, feature: VarLenFeature) -> np.ndarray:
    return _rows(batch, name, feature)[0]


def _sequences(batch: _Batch, name: str, feature: FixedLenSequenceFeature) -> list[np.ndarray]:
    """Returns the entries of each message, along the first axis."""
    rows = _rows(batch, name, feature)
    for index, row in enumerate(rows):
        if len(row) % feature.size:
            message = (
                f"has {len(row)} values, which is no multiple of the {feature.size} of shape {list(feature.shape)}"
            )
            raise batch.fault(index, name, message)
    return [row.reshape(-1, *feature.shape) for row in rows]


def _sequence_batch(batch: _Batch, name: str, feature: FixedLenSequenceFeature) -> np.ndarray:
    rows = _sequences(batch, name, feature)
    longest = max(map(len, rows), default=0)
    column = np.full((len(rows), longest, *feature.shape), feature.padding, feature.array_dtype)
    for index, row in enumerate(rows):
        column[index, : len(row)] = row
    return column


def _sequence_single(batch: _Batch, name: str, feature: FixedLenSequenceFeature) -> np.ndarray:
    return _sequences(batch, name, feature)[0]


_batch_columns: Final[dict[type, Any]] = {
    FixedLenFeature: _fixed_batch,
    VarLenFeature: _ragged_batch,
    FixedLenSequenceFeature: _sequence_batch,
}
_single_columns: Final[dict[type, Any]] = {
    FixedLenFeature: _fixed_single,
    VarLenFeature: _ragged_single,
    FixedLenSequenceFeature: _sequence_single,
}
