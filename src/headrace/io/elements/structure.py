"""The structure of elements as plain data, and back: what a file of elements says of its elements' shape.

Tuples, dicts and None are themselves. A class (a named tuple, a dataclass, an attrs class) is known by its module and name,
so it must stand at the top of a module; headrace's own by its public name, which stays where the module moves.

What always holds: what is read runs nothing. A class is looked for where the program has it already, and never imported;
it is taken only if it has fields and these are the ones that were written; and its objects are made by setting their fields.
"""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any, Final

from headrace.elements.ragged import RaggedTensor
from headrace.elements.record_classes import (
    is_apart_from_optree,
    is_named_tuple_class,
    is_record_class,
    made_of_fields,
    names_of_fields,
)
from headrace.elements.structure import NAMESPACE, TreeDef, flatten, normalize, unflatten
from headrace.errors import DataLossError, FailedPreconditionError, InvalidArgumentError

__all__ = ["check_structure", "structure_from_json", "structure_to_json"]

_LEAF: Final = "*"
_PLAIN_KEYS: Final = (str, int, bool, float, type(None))
# Of structures within structures; far below where Python and optree end, and far above what anybody writes.
_DEEPEST: Final = 100
_ADVICE: Final = "use tuples, dicts, named tuples, dataclasses or attrs classes"
# Its public name, by which it is written, and the place that was written before.
_RAGGED: Final = "headrace:RaggedTensor"
_OURS: Final = {_RAGGED: RaggedTensor, "headrace.ragged:RaggedTensor": RaggedTensor}


def structure_to_json(treedef: TreeDef, depth: int = 0) -> Any:
    """Returns the structure as lists, dicts and strings.

    Raises:
        InvalidArgumentError: it has a class that a file cannot name, or a key of a dict that is no plain value.
    """
    if treedef.is_leaf():
        return _LEAF
    kind: Any = treedef.type
    if kind is type(None):
        return None
    if depth == _DEEPEST:
        raise InvalidArgumentError(f"elements of more than {_DEEPEST} structures within each other cannot be stored")
    if kind is dict:
        # In the order in which the first element was written, which optree does not sort.
        template = unflatten(treedef, range(treedef.num_leaves))
        children = dict(zip(treedef.entries(), treedef.children(), strict=True))
        return {"dict": [[_key(key), structure_to_json(children[key], depth + 1)] for key in template]}
    parts = [structure_to_json(child, depth + 1) for child in treedef.children()]
    if kind is tuple:
        return {"tuple": parts}
    return {"class": _place(kind, len(parts)), "fields": _fields_of(kind), "parts": parts}


def _key(key: Any) -> Any:
    if type(key) not in _PLAIN_KEYS:
        kind = type(key).__name__
        message = f"a dict with the key {key!r} of type {kind} cannot be stored: its keys must be strings or numbers"
        raise InvalidArgumentError(message)
    return key


def _fields_of(kind: type) -> list[str]:
    return list(inspect.getattr_static(kind, "_fields")) if issubclass(kind, tuple) else names_of_fields(kind)


def _place(kind: type, parts: int) -> str:
    place = _RAGGED if kind is RaggedTensor else f"{kind.__module__}:{kind.__qualname__}"
    if (why := _unfit(kind)) is not None:
        raise InvalidArgumentError(f"elements of the class {place} cannot be stored: {why}")
    if _found(place) is not kind:
        message = "cannot be stored, because its name does not lead to it: define it at the top of a module"
        raise InvalidArgumentError(f"elements of the class {place} {message}")
    if parts != len(_fields_of(kind)):
        raise InvalidArgumentError(f"elements of the class {place} cannot be stored: not all of its fields are set")
    return place


def _unfit(kind: type) -> str | None:
    """Returns why objects of a class cannot be made of fields alone; None where they can."""
    if not is_named_tuple_class(kind) and not (_has_fields(kind) and is_record_class(kind)):
        return _ADVICE
    if not issubclass(kind, tuple) and not is_apart_from_optree(kind, NAMESPACE):
        return "it was registered with optree, and how it is put together is no file's to say"
    base = tuple if issubclass(kind, tuple) else object
    for name in ("__del__", "__getattribute__"):  # which would run when the object is looked at, or let go
        if inspect.getattr_static(kind, name, None) is not inspect.getattr_static(base, name, None):
            return f"it has a {name} of its own"
    return None


def _has_fields(kind: type) -> bool:
    """Returns whether a class may be a record's; asks no metaclass."""
    return any(inspect.getattr_static(kind, name, None) for name in ("__dataclass_fields__", "__attrs_attrs__"))


def _found(place: str) -> Any:
    """Returns what a program has under a name already; None where it has nothing. Runs no ``__getattr__`` and no property."""
    module, _, name = place.partition(":")
    value: Any = sys.modules.get(module)
    if not issubclass(type(value), types.ModuleType):
        return None
    names = types.ModuleType.__getattribute__(value, "__dict__")
    for part in name.split("."):
        value = names.get(part)
        if not issubclass(type(value), type):
            return None
        names = type.__getattribute__(value, "__dict__")
    return value


def check_structure(data: Any) -> int:
    """Counts the leaves of what claims to be a structure; looks for no class.

    Raises:
        DataLossError: it is none.
    """
    try:
        return _leaves_in(data, 0)
    except (TypeError, ValueError) as error:
        raise _broken(error) from error


def _broken(reason: object) -> DataLossError:
    return DataLossError(f"the structure of the stored elements cannot be built again: {reason}")


def _leaves_in(data: Any, depth: int) -> int:
    if depth > _DEEPEST:
        raise ValueError(f"it has more than {_DEEPEST} structures within each other")
    match data:
        case "*":
            return 1
        case None:
            return 0
        case {"tuple": list(parts), **more} if not more:
            return sum(_leaves_in(part, depth + 1) for part in parts)
        case {"dict": list(items), **more} if not more:
            keys = [key for key, _ in items]
            if len(set(keys)) != len(keys) or not all(type(key) in _PLAIN_KEYS for key in keys):
                raise ValueError("the keys of a dict are not what was written")
            return sum(_leaves_in(part, depth + 1) for _, part in items)
        case {"class": str(), "fields": list(fields), "parts": list(parts), **more} if not more:
            if len(fields) != len(parts) or not all(type(name) is str for name in fields):
                raise ValueError("the fields of a class are not what was written")
            return sum(_leaves_in(part, depth + 1) for part in parts)
    raise ValueError(f"{_short(data)} is no structure")


def _short(data: Any) -> str:
    text = ascii(data)
    return text if len(text) <= 100 else f"{text[:100]}…"


def structure_from_json(data: Any) -> TreeDef:
    """Returns the structure that ``structure_to_json`` wrote down.

    Raises:
        FailedPreconditionError: the program has not imported the module of a class.
        DataLossError: it names a class that is not there any more or has other fields, or is no structure at all.
    """
    check_structure(data)
    # normalize makes the classes known to optree as structure.
    return flatten(normalize(_built(data)))[1]


def _built(data: Any) -> Any:
    """Returns an element of that structure; what its leaves are does not matter."""
    match data:
        case {"tuple": parts}:
            return tuple(_built(part) for part in parts)
        case {"dict": items}:
            return {key: _built(part) for key, part in items}
        case {"class": place, "fields": fields, "parts": parts}:
            return made_of_fields(_class_at(place, fields), [_built(part) for part in parts])
    return None if data is None else 0


def _class_at(place: str, fields: list[str]) -> type:
    """Returns the class of that name, if it is one that could have been written."""
    kind = _OURS.get(place) or _class_of_program(place)
    if _fields_of(kind) != fields:
        raise _broken(
            f"the class {_short(place)} has the fields {_fields_of(kind)}, and had {_short(fields)} when stored"
        )
    return kind


def _class_of_program(place: str) -> type:
    module, _, name = place.partition(":")
    if module not in sys.modules:
        shown = _short(place)
        message = (
            f"the stored elements are of the class {shown}, whose module this program has not imported, and no file"
        )
        raise FailedPreconditionError(
            f"{message} makes it do so: if you trust it, import {_short(module)} before reading"
        )
    kind: type | None = _found(place)
    if (
        kind is None
        or f"{type.__getattribute__(kind, '__module__')}:{type.__getattribute__(kind, '__qualname__')}" != place
    ):
        raise _broken(f"there is no class {_short(name)} at the top of the module {_short(module)} any more")
    if (why := _unfit(kind)) is not None:
        raise _broken(f"the class {_short(place)} was never stored: {why}")
    return kind
