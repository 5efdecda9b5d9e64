"""The structure of elements as plain data, and back: what a file of elements says of its elements' shape.

Tuples, dicts and None are themselves. A class (a named tuple, a dataclass, an attrs class) is known by where it is imported from, so
it must stand at the top of a module; no code is ever stored, and nothing is unpickled.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Final

import optree

from headrace.errors import DataLossError, InvalidArgumentError
from headrace.record_classes import fields_of_record, is_record_class
from headrace.structure import TreeDef, flatten, normalize, unflatten

__all__ = ["structure_from_json", "structure_to_json"]

_LEAF: Final = "*"
_PLAIN_KEYS: Final = (str, int, bool, float, type(None))


def structure_to_json(treedef: TreeDef) -> Any:
    """The structure as lists, dicts and strings.

    Raises:
        InvalidArgumentError: it has a class that cannot be imported, or a key of a dict that is no plain value.
    """
    if treedef.is_leaf():
        return _LEAF
    kind: Any = treedef.type
    if kind is type(None):
        return None
    if kind is dict:
        # In the order in which the first element was written, which optree does not sort.
        template = unflatten(treedef, range(treedef.num_leaves))
        children = dict(zip(treedef.entries(), treedef.children(), strict=True))
        return {"dict": [[_key(key), structure_to_json(children[key])] for key in template]}
    parts = [structure_to_json(child) for child in treedef.children()]
    if kind is tuple:
        return {"tuple": parts}
    return {"class": _place(kind), "fields": [str(entry) for entry in _fields(kind, treedef)], "parts": parts}


def _key(key: Any) -> Any:
    if not isinstance(key, _PLAIN_KEYS):
        raise InvalidArgumentError(f"a dict with the key {key!r} cannot be stored: its keys must be strings or numbers")
    return key


def _fields(kind: type, treedef: TreeDef) -> list[Any]:
    return list(getattr(kind, "_fields", None) or treedef.entries())


def _place(kind: type) -> str:
    place = f"{kind.__module__}:{kind.__qualname__}"
    if not (optree.is_namedtuple_class(kind) or is_record_class(kind)):
        raise InvalidArgumentError(
            f"elements of the class {place} cannot be stored: use tuples, dicts, dataclasses or attrs classes"
        )
    if _found(place) is not kind:
        message = "cannot be stored, because it cannot be imported again: define it at the top of a module"
        raise InvalidArgumentError(f"elements of the class {place} {message}")
    return place


def _found(place: str) -> Any:
    module, _, name = place.partition(":")
    value: Any = sys.modules.get(module)
    if value is None:
        value = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def structure_from_json(data: Any) -> TreeDef:
    """The structure that ``structure_to_json`` wrote down.

    Raises:
        DataLossError: it names a class that is not there any more, or is no structure at all.
    """
    try:
        # normalize registers dataclasses and attrs classes, so that they are structure for optree.
        return flatten(normalize(_built(data)))[1]
    except (ImportError, TypeError, ValueError, KeyError) as error:
        raise DataLossError(f"the structure of the stored elements cannot be built again: {error}") from error


def _built(data: Any) -> Any:
    """An element of that structure; what its leaves are does not matter."""
    match data:
        case "*":
            return 0
        case None:
            return None
        case {"tuple": parts}:
            return tuple(_built(part) for part in parts)
        case {"dict": items}:
            return {key: _built(part) for key, part in items}
        case {"class": place, "fields": fields, "parts": parts}:
            kind = _found(place)
            if not isinstance(kind, type):
                raise TypeError(f"{place} is not there any more")
            names = fields_of_record(kind) if is_record_class(kind) else {name: name for name in fields}
            return kind(**{names[name]: _built(part) for name, part in zip(fields, parts, strict=True)})
    raise ValueError(f"{data!r} is no structure")
