"""What a feature of a ``tf.train.Example`` becomes: ``tf.io``'s three descriptions, checked where they are made."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Final

import numpy as np

from headrace.elements.structure import object_array
from headrace.elements.tensor_spec import checked_shape
from headrace.errors import InvalidArgumentError

__all__ = ["Feature", "FixedLenFeature", "FixedLenSequenceFeature", "VarLenFeature"]

# By dtype: the list of the message that holds such values.
_LISTS: Final[dict[Any, str]] = {
    np.dtype(np.float32): "float_list",
    np.dtype(np.int64): "int64_list",
    bytes: "bytes_list",
    str: "bytes_list",
}


def _checked_dtype(dtype: Any) -> Any:
    wanted = dtype if dtype in (bytes, str) else _numpy_dtype(dtype)
    if wanted not in _LISTS:
        raise InvalidArgumentError(f"a feature holds np.float32, np.int64, bytes or str, and not {dtype!r}")
    return wanted


def _numpy_dtype(dtype: Any) -> Any:
    try:
        return np.dtype(dtype)
    except TypeError:
        return None


def _checked_shape(shape: Any) -> tuple[int, ...]:
    if shape is None:
        raise InvalidArgumentError("a feature needs a shape, () for one value; VarLenFeature has any number of values")
    given = checked_shape(shape, "the shape of a feature")
    sizes = tuple(size for size in given or () if size is not None)
    if given is None or len(sizes) < len(given):
        raise InvalidArgumentError(f"a feature's shape is known in full, and is not {shape}; see VarLenFeature")
    return sizes


def _default_array(value: Any, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Returns a default value, of the feature's shape."""
    if dtype in (bytes, str):
        given = value if isinstance(value, np.ndarray) else _flat_strings(value)
        array = object_array([_as_bytes(one) for one in np.ravel(given).tolist()])
    else:
        try:
            array = np.asarray(value).astype(dtype, casting="same_kind").ravel()
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(f"default_value {value!r} is not of type {dtype}: {error}") from None
    if array.size != math.prod(shape):
        raise InvalidArgumentError(f"default_value has {array.size} values, and the shape is {list(shape)}")
    return array.reshape(shape)


def _flat_strings(value: Any) -> np.ndarray:
    """Texts in nested lists, without NumPy's own string types, which cut zero bytes off."""
    if isinstance(value, (list, tuple)):
        return np.concatenate([np.empty(0, object), *(_flat_strings(one) for one in value)])
    return object_array([value])


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes):
        raise InvalidArgumentError(f"default_value {value!r} is neither bytes nor str")
    return value


class Feature:
    """What the three have in common: a dict of several of them is a dict of these."""

    __slots__ = ()
    dtype: Any
    list_name: str

    @property
    def array_dtype(self) -> Any:
        """The dtype of an array of its values."""
        return object if self.list_name == "bytes_list" else self.dtype


@dataclasses.dataclass(frozen=True, slots=True)
class FixedLenFeature(Feature):
    """So many values in every example, as ``tf.io.FixedLenFeature``.

    Args:
        shape: of one example's values; ``()`` for a single one.
        dtype: ``np.float32``, ``np.int64``, ``bytes``, or ``str`` for text in UTF-8.
        default_value: what stands for the values of an example that lacks the feature, as many as the shape has; None makes
            the feature required.

    Raises:
        InvalidArgumentError: an argument that does not fit.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> record = hr.io.serialize_example({"size": [3, 4]})
        >>> features = {"size": hr.io.FixedLenFeature([2], np.int64), "age": hr.io.FixedLenFeature((), np.int64, -1)}
        >>> hr.io.parse_single_example(record, features)
        {'size': array([3, 4]), 'age': -1}
    """

    shape: Any
    dtype: Any
    default_value: Any = None
    list_name: str = dataclasses.field(init=False, repr=False, compare=False)
    size: int = dataclasses.field(init=False, repr=False, compare=False)
    default: np.ndarray | None = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _set(self, shape=_checked_shape(self.shape), dtype=_checked_dtype(self.dtype))
        default = None if self.default_value is None else _default_array(self.default_value, self.dtype, self.shape)
        _set(self, list_name=_LISTS[self.dtype], size=math.prod(self.shape), default=default)

    @property
    def default_values(self) -> np.ndarray | None:
        """What stands for the values of an example that lacks the feature, along one axis."""
        if self.default is None:
            return None
        flat = self.default.ravel()
        return object_array([one.decode() for one in flat.tolist()]) if self.dtype is str else flat


@dataclasses.dataclass(frozen=True, slots=True)
class VarLenFeature(Feature):
    """Any number of values, as ``tf.io.VarLenFeature``.

    An example's values are a one-dimensional array; those of a batch are an ``hr.RaggedTensor``, where TensorFlow gives a
    sparse tensor. An example that lacks the feature has none.

    Args:
        dtype: ``np.float32``, ``np.int64``, ``bytes``, or ``str`` for text in UTF-8.

    Raises:
        InvalidArgumentError: another dtype.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> records = [hr.io.serialize_example({"words": words}) for words in (["a", "b"], [], ["c"])]
        >>> hr.io.parse_example(records, {"words": hr.io.VarLenFeature(str)})["words"].to_list()
        [['a', 'b'], [], ['c']]
    """

    dtype: Any
    list_name: str = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _set(self, dtype=_checked_dtype(self.dtype))
        _set(self, list_name=_LISTS[self.dtype])


@dataclasses.dataclass(frozen=True, slots=True)
class FixedLenSequenceFeature(Feature):
    """Any number of entries of one shape, as ``tf.io.FixedLenSequenceFeature``.

    An example's entries are stacked; those of a batch are padded to the longest of them.

    Args:
        shape: of one entry; ``()`` for a single value.
        dtype: ``np.float32``, ``np.int64``, ``bytes``, or ``str`` for text in UTF-8.
        allow_missing: must be True: an example that lacks the feature has no entries.
        default_value: what shorter ones are padded with; None is 0 or an empty text.

    Raises:
        InvalidArgumentError: an argument that does not fit.

    Example:
        >>> import numpy as np
        >>> import headrace as hr
        >>> records = [hr.io.serialize_example({"points": points}) for points in ([1, 2, 3, 4], [5, 6])]
        >>> points = hr.io.FixedLenSequenceFeature([2], np.int64, allow_missing=True)
        >>> hr.io.parse_example(records, {"points": points})["points"].tolist()
        [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None
    list_name: str = dataclasses.field(init=False, repr=False, compare=False)
    size: int = dataclasses.field(init=False, repr=False, compare=False)
    padding: Any = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _set(self, shape=_checked_shape(self.shape), dtype=_checked_dtype(self.dtype))
        _set(self, list_name=_LISTS[self.dtype], size=math.prod(self.shape))
        if not self.size:
            raise InvalidArgumentError(f"entries of the shape {list(self.shape)} hold nothing to be counted")
        padding = b"" if self.list_name == "bytes_list" else 0
        default = padding if self.default_value is None else self.default_value
        value = _default_array(default, self.dtype, ()).item()
        _set(self, padding=value.decode() if self.dtype is str else value)


def _set(feature: Feature, **fields: Any) -> None:
    for name, value in fields.items():
        object.__setattr__(feature, name, value)
