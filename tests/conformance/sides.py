"""The two sides of a comparison: each with its dataset class, and the functions that chains use, written for it.

The functions of one name mean the same on both sides; they are integer sums and texts, which both compute exactly.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

import headrace as hr

__all__ = ["HEADRACE", "Event", "Headrace", "TensorFlow", "tensorflow_side"]

# What an iteration gave next: ("element", what) or ("error", its kind).
Event = tuple[str, Any]


def _flat(element: Any) -> list[Any]:
    if isinstance(element, dict):
        return [leaf for key in sorted(element) for leaf in _flat(element[key])]
    if isinstance(element, tuple):
        return [leaf for part in element for leaf in _flat(part)]
    return [element]


class Headrace:
    """Functions on Python's and NumPy's values."""

    name = "headrace"
    data: Any = hr.Dataset
    module: Any = hr

    def total(self, *element: Any) -> int:
        """A number that depends on every component."""
        return sum(self._sum(leaf) for leaf in _flat(element)) % 1000

    def _sum(self, leaf: Any) -> int:
        array = np.asarray(leaf)
        if array.dtype.kind in "OUS":
            return sum(len(text.encode() if isinstance(text, str) else text) for text in array.ravel().tolist())
        return int(array.astype(np.int64).sum())

    def text(self, number: Any) -> str:
        """The number as a text."""
        return str(number)

    def numbers_below(self, number: Any) -> Any:
        """0, 1, … below the number."""
        return np.arange(number)

    def table(self, number: Any) -> Any:
        """A dict of several components."""
        return {"a": number, "b": (np.float32(number) / np.float32(2), [number, number + 1])}

    def fail_if(self, wrong: Any, value: Any) -> Any:
        """The value, or an invalid argument."""
        if wrong:
            raise hr.errors.InvalidArgumentError("wrong")
        return value

    def int64(self, value: Any) -> Any:
        """As a number of 64 bits."""
        return int(value)

    def int32(self, value: Any) -> Any:
        """As a number of 32 bits."""
        return int(value)

    def length(self, vector: Any) -> Any:
        """How long a vector is."""
        return len(vector)

    def signature(self, dtype: Any, shape: Any) -> Any:
        """What a generator gives."""
        return hr.TensorSpec(shape, dtype)

    text_type: Any = str

    def at(self, dataset: Any, index: int) -> Any:
        """The element with a number."""
        return dataset[index]

    def spec(self, spec: Any) -> Any:
        """A structure of specs as plain values."""
        if isinstance(spec, dict):
            return {key: self.spec(part) for key, part in spec.items()}
        if isinstance(spec, tuple):
            return tuple(self.spec(part) for part in spec)
        name = "string" if spec.dtype in (str, bytes) else np.dtype(spec.dtype).name
        return (name, None if spec.shape is None else tuple(spec.shape))

    def csv(self, paths: Any, defaults: Any) -> Any:
        """A dataset of rows."""
        return hr.CsvDataset(paths, defaults)

    def text_lines(self, paths: Any) -> Any:
        """A dataset of lines."""
        return hr.TextLineDataset(paths)

    def records(self, paths: Any, compression: str) -> Any:
        """A dataset of framed records."""
        return hr.TFRecordDataset(paths, compression)

    def fixed_records(self, paths: Any, record_bytes: int, header_bytes: int, footer_bytes: int) -> Any:
        """A dataset of records of one length."""
        return hr.FixedLengthRecordDataset(paths, record_bytes, header_bytes, footer_bytes)

    def kind_of(self, error: BaseException) -> str:
        """What is compared of an error."""
        if isinstance(error, hr.errors.HeadraceError):
            return type(error).__name__.removesuffix("Error")
        return type(error).__name__

    errors: Any = (hr.errors.HeadraceError,)

    def plain(self, element: Any) -> Any:
        """An element as plain values."""
        if isinstance(element, hr.RaggedTensor):
            return ("ragged", element.to_list())
        if isinstance(element, dict):
            return {key: self.plain(part) for key, part in element.items()}
        if isinstance(element, tuple):
            return tuple(self.plain(part) for part in element)
        array = np.asarray(element)
        if array.dtype.kind in "OUS":
            texts = [text.encode() if isinstance(text, str) else text for text in array.ravel().tolist()]
            return ("text", array.shape, texts)
        return (array.dtype.name, array.shape, array.ravel().tolist())


class TensorFlow(Headrace):
    """Functions on TensorFlow's tensors, in graphs."""

    name = "tf.data"

    def __init__(self, tf: Any) -> None:
        self.module = tf
        self.data = tf.data.Dataset
        self.errors = (tf.errors.OpError,)
        self.text_type = tf.string

    def total(self, *element: Any) -> Any:
        tf = self.module
        parts = [
            tf.reduce_sum(tf.cast(tf.strings.length(leaf) if leaf.dtype == tf.string else leaf, tf.int64))
            for leaf in _flat(element)
        ]
        return tf.math.floormod(tf.add_n([*parts, tf.constant(0, tf.int64)]), 1000)

    def text(self, number: Any) -> Any:
        return self.module.strings.as_string(number)

    def numbers_below(self, number: Any) -> Any:
        return self.module.range(number)

    def table(self, number: Any) -> Any:
        tf = self.module
        return {"a": number, "b": (tf.cast(number, tf.float32) / 2, tf.stack([number, number + 1]))}

    def fail_if(self, wrong: Any, value: Any) -> Any:
        tf = self.module
        with tf.control_dependencies([tf.debugging.Assert(tf.logical_not(wrong), ["wrong"])]):
            return tf.nest.map_structure(tf.identity, value)

    def int64(self, value: Any) -> Any:
        return self.module.cast(value, self.module.int64)

    def int32(self, value: Any) -> Any:
        return self.module.cast(value, self.module.int32)

    def length(self, vector: Any) -> Any:
        return self.module.shape(vector, out_type=self.module.int32)[0]

    def signature(self, dtype: Any, shape: Any) -> Any:
        return self.module.TensorSpec(shape, dtype)

    def at(self, dataset: Any, index: int) -> Any:
        try:
            return self.module.data.experimental.at(dataset, index)
        except self.module.errors.OutOfRangeError as error:
            raise IndexError(str(error)) from error

    def spec(self, spec: Any) -> Any:
        if isinstance(spec, (dict, tuple)):
            return super().spec(spec)
        return (spec.dtype.name, None if spec.shape.rank is None else tuple(spec.shape))

    def csv(self, paths: Any, defaults: Any) -> Any:
        return self.module.data.experimental.CsvDataset(paths, defaults)

    def text_lines(self, paths: Any) -> Any:
        return self.module.data.TextLineDataset(paths)

    def records(self, paths: Any, compression: str) -> Any:
        return self.module.data.TFRecordDataset(paths, compression)

    def fixed_records(self, paths: Any, record_bytes: int, header_bytes: int, footer_bytes: int) -> Any:
        return self.module.data.FixedLengthRecordDataset(paths, record_bytes, header_bytes, footer_bytes)

    def kind_of(self, error: BaseException) -> str:
        return type(error).__name__.removesuffix("Error") if isinstance(error, self.errors) else type(error).__name__

    def plain(self, element: Any) -> Any:
        tf = self.module
        if isinstance(element, tf.RaggedTensor):
            return ("ragged", element.to_list())
        if isinstance(element, dict):
            return {key: self.plain(part) for key, part in element.items()}
        if isinstance(element, tuple):
            return tuple(self.plain(part) for part in element)
        return super().plain(element.numpy())


HEADRACE: Final = Headrace()


def tensorflow_side() -> TensorFlow:
    """TensorFlow, which takes seconds to import, and is told to be quiet."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    return TensorFlow(tf)


def events_of(side: Headrace, iterator: Any, limit: int) -> Iterator[Event]:
    """What an iterator gives, errors among it, up to a number."""
    try:
        for _ in range(limit):
            try:
                yield "element", side.plain(next(iterator))
            except StopIteration:
                return
            except side.errors as error:
                yield "error", side.kind_of(error)
    finally:
        if hasattr(iterator, "close"):
            iterator.close()
