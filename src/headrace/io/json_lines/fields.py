"""Which fields of JSON objects are read, of which types, and what stands in for one that is missing.

A ``JsonFields`` is checked when it is made, so that the error's traceback points at the line that wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from headrace.elements.structure import TreeDef, flatten, object_array, unflatten
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.io.reader import Array
from headrace.known_as import known_as

__all__ = ["JsonField", "JsonFields"]

DType = np.dtype[Any] | type[str]

# As TensorFlow reads Python's numbers in `record_defaults`: the narrow types, but for an int that does not fit.
_OF_PYTHON: Final[dict[Any, DType]] = {
    bool: np.dtype(bool),
    int: np.dtype(np.int32),
    float: np.dtype(np.float32),
    str: str,
}
_NUMBERS: Final = "biuf"
_FORMS: Final = (
    "an entry of record_defaults is a bool, a number or a str, an array of them, their type, a TensorSpec, or a dict "
    "of entries"
)


@known_as("field of JSON objects")
@frozen(eq=False)
class JsonField:
    """One field.

    Attributes:
        path: the keys that lead to it, from the outermost object in.
        dtype: NumPy's dtype of a number or bool, or ``str``.
        shape: () for a single value; None is a length that varies.
        default: what stands in for it where it is missing or null: a value of that type, or an array; None where it is
            required.
    """

    path: tuple[str, ...]
    dtype: DType
    shape: tuple[int | None, ...] = ()
    default: Any = None

    @property
    def name(self) -> str:
        """The field as messages call it: ``user.id``."""
        return ".".join(self.path)

    @property
    def type_name(self) -> str:
        """The dtype as messages call it."""
        return "str" if isinstance(self.dtype, type) else self.dtype.name

    @property
    def varies(self) -> bool:
        """Whether its arrays may differ in shape."""
        return None in self.shape

    def described(self) -> dict[str, Any]:
        """Returns the field as plain data."""
        default = self.default.tolist() if isinstance(self.default, np.ndarray | np.generic) else self.default
        return {"field": list(self.path), "dtype": self.type_name, "shape": list(self.shape), "default": default}


@known_as("fields of JSON objects")
@frozen(eq=False)
class JsonFields:
    """The fields of a record, and the structure of the element that they make.

    Attributes:
        fields: in the order of the structure's leaves.
        treedef: the structure: dicts.
    """

    fields: tuple[JsonField, ...]
    treedef: TreeDef

    @classmethod
    def of(cls, record_defaults: Any) -> JsonFields:
        """Returns the fields that ``record_defaults`` names.

        Raises:
            InvalidArgumentError: it names none, or has an entry that is none of the forms.

        Example:
            >>> import numpy as np
            >>> from headrace.io.json_lines.fields import JsonFields
            >>> fields = JsonFields.of({"id": np.int64, "text": "", "size": {"width": 0}})
            >>> [(field.name, field.type_name, field.default) for field in fields.fields]
            [('id', 'int64', None), ('size.width', 'int32', np.int32(0)), ('text', 'str', '')]
        """
        if not isinstance(record_defaults, Mapping) or not record_defaults:
            raise InvalidArgumentError(f"record_defaults is a dict of fields, and not {record_defaults!r}")
        fields, treedef = flatten(_tree(record_defaults, ()))
        return cls(tuple(fields), treedef)

    @property
    def vary(self) -> bool:
        """Whether some field's arrays may differ in shape, so that records are no columns."""
        return any(field.varies for field in self.fields)

    def spec(self) -> Any:
        """Returns the structure of ``TensorSpec`` of an element."""
        return unflatten(self.treedef, [TensorSpec(field.shape, field.dtype) for field in self.fields])

    def __iter__(self) -> Iterator[JsonField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


def _tree(entry: Any, path: tuple[str, ...]) -> Any:
    """Returns the entry with a field for each leaf."""
    if not isinstance(entry, Mapping):
        return _field(entry, path)
    for key in entry:
        if not isinstance(key, str):
            raise InvalidArgumentError(f"a key of JSON is a str, and record_defaults has {key!r}")
    if not entry:
        raise InvalidArgumentError(f"record_defaults[{'.'.join(path)!r}] names no field")
    return {key: _tree(inner, (*path, key)) for key, inner in entry.items()}


def _field(entry: Any, path: tuple[str, ...]) -> JsonField:
    try:
        return _field_of(entry, path)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentError(f"field {'.'.join(path)!r}: {error}; {_FORMS}") from error


def _field_of(entry: Any, path: tuple[str, ...]) -> JsonField:
    if isinstance(entry, TensorSpec):
        if entry.shape is None:
            raise ValueError("the number of its axes must be known")
        return JsonField(path, _checked(entry.dtype), entry.shape)
    if isinstance(entry, type | np.dtype):
        return JsonField(path, _OF_PYTHON[entry] if entry in _OF_PYTHON else _checked(np.dtype(entry)))
    if isinstance(entry, np.ndarray | list):
        array = np.asarray(entry)
        return JsonField(path, _checked(_content(array)), array.shape, _stored(array))
    if isinstance(entry, str):
        return JsonField(path, str, (), entry)
    if isinstance(entry, np.generic):
        return JsonField(path, _checked(entry.dtype), (), entry)
    if isinstance(entry, bool | int | float):
        number = np.asarray(entry, np.int64 if _is_long(entry) else _OF_PYTHON[type(entry)])
        return JsonField(path, _checked(number.dtype), (), number[()])
    raise TypeError(f"{entry!r} is none")


def _is_long(value: float) -> bool:
    return type(value) is int and not -(1 << 31) <= value < 1 << 31


def _content(array: Array) -> Any:
    if array.dtype.kind == "U" or (array.dtype.kind == "O" and all(isinstance(item, str) for item in array.ravel())):
        return str
    return array.dtype


def _stored(array: Array) -> Array:
    """Returns the array as elements carry it, and nobody changes it."""
    stored = object_array(array.ravel().tolist()).reshape(array.shape) if array.dtype.kind in "UO" else array.copy()
    stored.flags.writeable = False
    return stored


def _checked(dtype: Any) -> DType:
    if dtype is str or (isinstance(dtype, np.dtype) and dtype.kind == "U"):
        return str
    if isinstance(dtype, np.dtype) and dtype.kind in _NUMBERS and dtype.itemsize <= np.dtype(np.int64).itemsize:
        return dtype
    raise TypeError(f"JSON has no {dtype}")
