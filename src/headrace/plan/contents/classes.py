"""What classes are: of one's own the whole, with attributes, bases, metaclass and descriptors; of a package's the name and version."""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Mapping
from typing import Any, Final

from headrace.plan.contents.digest import ValueDigest, take_in
from headrace.plan.contents.functions import add_annotations
from headrace.plan.contents.installed import is_installed_class, name_of_class
from headrace.plan.contents.state import add_state

__all__: list[str] = []

# What Python notes of a class, and what follows from the rest.
_NOTES: Final = frozenset(
    {
        "__abstractmethods__",
        "__annotate__",
        "__annotate_func__",
        "__annotations__",
        "__annotations_cache__",
        "__dict__",
        "__firstlineno__",
        "__module__",
        "__slotnames__",  # once an object was copied or pickled
        "__static_attributes__",
        "__weakref__",
        "_abc_impl",
        # of enumerations
        "_member_map_",
        "_member_names_",
        "_unhashable_values_",
        "_unhashable_values_map_",
        "_hashable_values_",
        "_value2member_map_",
    }
)


@take_in.register
def _class(kind: type, digest: ValueDigest) -> None:
    if is_installed_class(kind):
        digest.word(*name_of_class(kind))
        return
    digest.word(kind.__qualname__)
    digest.items(kind.__bases__, len(kind.__bases__))
    add_annotations(kind, digest)
    members: Mapping[str, Any] = kind.__members__ if isinstance(kind, enum.EnumMeta) else {}
    for name, member in members.items():
        digest.named(f".{name}", member._value_)
    for name, value in list(vars(kind).items()):
        if name not in _NOTES and name not in members:
            digest.named(f".{name}", value)


@take_in.register(property)
def _property(value: property, digest: ValueDigest) -> None:
    digest.items((value.fget, value.fset, value.fdel, value.__doc__), 4)
    held = getattr(value, "__dict__", None)
    if held:
        digest.add(held)


@take_in.register(classmethod)
@take_in.register(staticmethod)
def _wrapped(value: Any, digest: ValueDigest) -> None:
    digest.add(value.__func__)


@take_in.register
def _cached_property(value: functools.cached_property, digest: ValueDigest) -> None:  # type: ignore[type-arg]  # it is dispatched by
    add_state(value, digest, without=("lock",))


@take_in.register
def _attribute(value: types.DynamicClassAttribute, digest: ValueDigest) -> None:
    add_state(value, digest)
