"""Classes with named fields as structure: dataclasses, and attrs classes, which are known without importing attrs.

What always holds: an object is built anew by its class's own constructor, from the fields that the constructor takes. So
what a class computes of them, it computes again.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable
from typing import Any, Final

import optree

from headrace.errors import InvalidArgumentError

__all__ = ["fields_of_record", "is_record_class", "names_of_fields", "register_record"]

_registering: Final = threading.RLock()
_registered: Final[set[type]] = set()


def is_record_class(kind: type) -> bool:
    """Whether objects of this class have named fields that make them structure."""
    return dataclasses.is_dataclass(kind) or hasattr(kind, "__attrs_attrs__")


def names_of_fields(kind: type) -> list[str]:
    """The names of all fields, also of those that the constructor does not take."""
    return [field.name for field in _attributes(kind) or dataclasses.fields(kind)]


def fields_of_record(kind: type) -> dict[str, str]:
    """The name of each field that the constructor takes, and what the constructor calls it."""
    return {field.name: _argument(field) for field in _attributes(kind) or dataclasses.fields(kind) if field.init}


def _attributes(kind: type) -> Any:
    """The fields of an attrs class; nothing for a dataclass."""
    return getattr(kind, "__attrs_attrs__", ())


def _argument(field: Any) -> str:
    name: str = field.name
    if isinstance(field, dataclasses.Field):
        return name
    # attrs before 22.2 has no aliases: it takes the underscores of a private name off.
    return getattr(field, "alias", None) or name.lstrip("_")


def register_record(kind: type, namespace: str) -> None:
    """Makes the class known to optree as structure; may be called again."""
    with _registering:  # two workers may meet the same class at once
        if kind not in _registered:
            _register(kind, namespace)
            _registered.add(kind)


def _register(kind: type, namespace: str) -> None:
    fields = fields_of_record(kind)
    names, arguments = list(fields), list(fields.values())

    def take_apart(value: Any) -> tuple[list[Any], None, list[str]]:
        return [getattr(value, name) for name in names], None, names

    def build(_: Any, children: Iterable[Any]) -> Any:
        parts = dict(zip(arguments, children, strict=True))
        try:
            return kind(**parts)
        except Exception as error:
            why = error.args[0] if error.args else type(error).__name__
            message = "as structure its fields hold batches and TensorSpec as well, which its constructor must take"
            raise InvalidArgumentError(f"{kind.__name__} cannot be built of {parts!r}: {why}; {message}") from error

    optree.register_pytree_node(kind, take_apart, build, namespace=namespace)
