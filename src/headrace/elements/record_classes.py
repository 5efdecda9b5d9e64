"""Classes with named fields as structure: dataclasses, attrs classes (known without importing attrs), and named tuples.

What always holds: an object is built anew by setting its fields, and by nothing else. No code of its class runs: not
``__new__``, ``__init__`` or ``__post_init__``, no converter, validator or ``__setattr__``. So an object that a pipeline takes
apart and puts together is what it was, however often that is; its fields may hold batches and specifications as well; and
no file can have a constructor called. What an object holds besides its fields would be lost, and is refused by name.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import threading
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Final

import optree

from headrace.errors import InvalidArgumentError

__all__ = [
    "is_apart_from_optree",
    "is_known_structure",
    "is_named_tuple_class",
    "is_record_class",
    "is_settled_tuple",
    "know_structure",
    "made_of_fields",
    "makes_its_own_objects",
    "names_of_fields",
    "register_named_tuple",
    "register_record",
]

_registering: Final = threading.RLock()
_registered: Final[set[type]] = set()
# Named tuples that optree itself puts together as they are to be.
_settled: Final[set[type]] = {tuple}
# Where attrs keeps the hash of an object, for a class that has it computed once.
_CACHED_HASH: Final = "_attrs_cached_hash"


def is_record_class(kind: type) -> bool:
    """Returns whether objects of this class have named fields that make them structure.

    One that is a container or another built-in besides (a dataclass that derives from ``dict``) is none: it has contents
    that are no fields.
    """
    return _is_record_class(kind)


@functools.lru_cache(maxsize=1024)
def _is_record_class(kind: Any) -> bool:
    return (dataclasses.is_dataclass(kind) or hasattr(kind, "__attrs_attrs__")) and not _is_built_in(kind)


def _is_built_in(kind: type) -> bool:
    """Returns whether objects are made by something other than ``object.__new__``, however their class overrides it."""
    makers = (vars(base).get("__new__") for base in kind.__mro__ if base is not object)
    return any(isinstance(maker, types.BuiltinFunctionType) for maker in makers)


def names_of_fields(kind: type) -> list[str]:
    """Returns the names of all fields, also of those that the constructor does not take."""
    return [field.name for field in getattr(kind, "__attrs_attrs__", ()) or dataclasses.fields(kind)]


def is_named_tuple_class(kind: type) -> bool:
    """Returns whether this is a named tuple's class; nothing of the class is called to find out."""
    return issubclass(kind, tuple) and _has_named_fields(kind)


@functools.lru_cache(maxsize=1024)
def _has_named_fields(kind: Any) -> bool:
    names = inspect.getattr_static(kind, "_fields", None)
    return type(names) is tuple and all(type(name) is str for name in names)


@functools.lru_cache(maxsize=1024)
def makes_its_own_objects(kind: Any) -> bool:
    """Returns whether this is a class with named fields whose ``__new__`` may do something else than to make an object with these."""
    if is_named_tuple_class(kind):
        return not _is_made_by_optree(kind)
    return is_record_class(kind) and inspect.getattr_static(kind, "__new__") is not vars(object)["__new__"]


def is_settled_tuple(kind: type) -> bool:
    """Returns whether optree puts tuples of this class together as they are to be; False for what is new here, too."""
    return kind in _settled


def is_known_structure(kind: type) -> bool:
    """Returns whether this module has told optree that objects of a class are structure."""
    return kind in _registered


def know_structure(kind: type, namespace: str) -> None:
    """Makes a class known that is so elsewhere; may be called again."""
    register = register_named_tuple if issubclass(kind, tuple) else register_record
    register(kind, namespace)


def is_apart_from_optree(kind: type, namespace: str) -> bool:
    """Returns whether nobody but this module said what a class is to optree."""
    entry = optree.register_pytree_node.get(kind, namespace=namespace)
    return kind in _registered or entry is None or entry.kind != optree.PyTreeKind.CUSTOM


def made_of_fields(kind: type, parts: Iterable[Any]) -> Any:
    """Returns an object with these fields, in their order, without running code of its class."""
    if issubclass(kind, tuple):
        return tuple.__new__(kind, parts)
    return _builder(kind)(parts)


# --- records ---------------------------------------------------------------------------------------------------------


def register_record(kind: type, namespace: str) -> None:
    """Makes the class known to optree as structure; may be called again."""
    with _registering:  # two workers may meet the same class at once
        if kind in _registered:
            return
        build = _builder(kind)
        names = tuple(names_of_fields(kind))
        check = _checker(kind, names)

        def take_apart(value: Any) -> tuple[list[Any], Any, tuple[str, ...]]:
            held: dict[str, Any] = getattr(value, "__dict__", {})
            if len(held) == len(names):  # mostly all fields lie there, and nothing else
                try:
                    return [held[name] for name in names], None, names
                except KeyError:
                    pass
            check(value)
            try:
                return [getattr(value, name) for name in names], None, names
            except AttributeError:  # a field that the constructor does not take, and that nobody has set yet
                there = tuple(name for name in names if hasattr(value, name))
                return [getattr(value, name) for name in there], there, there

        def put_together(there: Any, children: Iterable[Any]) -> Any:
            return build(children) if there is None else _builder(kind, there)(children)

        optree.register_pytree_node(kind, take_apart, put_together, namespace=namespace)
        _registered.add(kind)


def _builder(kind: type, names: Iterable[str] | None = None) -> Callable[[Iterable[Any]], Any]:
    """Returns what makes objects of the values of these fields; of all, if none are named."""
    names = tuple(names_of_fields(kind) if names is None else names)
    caches_hash = _CACHED_HASH in getattr(getattr(kind.__hash__, "__code__", None), "co_names", ())
    if not caches_hash and not any(_slot(kind, name) for name in names):

        def build_in_dict(children: Iterable[Any]) -> Any:
            value: Any = object.__new__(kind)
            value.__dict__.update(zip(names, children, strict=True))
            return value

        return build_in_dict
    setters = [_setter(kind, name) for name in names]

    def build(children: Iterable[Any]) -> Any:
        value: Any = object.__new__(kind)
        for setter, part in zip(setters, children, strict=True):
            setter(value, part)
        if caches_hash:
            object.__setattr__(value, _CACHED_HASH, None)
        return value

    return build


def _slot(kind: type, name: str) -> Any:
    """Returns the slot that holds a field; None for one that lies in the object's ``__dict__``."""
    found = inspect.getattr_static(kind, name, None)
    return found if type(found) is types.MemberDescriptorType else None


def _setter(kind: type, name: str) -> Callable[[Any, Any], None]:
    slot = _slot(kind, name)
    if slot is not None:
        setter: Callable[[Any, Any], None] = slot.__set__
        return setter

    def set_in_dict(value: Any, part: Any) -> None:
        value.__dict__[name] = part

    return set_in_dict


def _checker(kind: type, names: tuple[str, ...]) -> Callable[[Any], None]:
    """Returns what refuses an object that holds something besides its fields, other than what a property has remembered."""
    known = frozenset(names) | {_CACHED_HASH}
    slots = [slot for base in kind.__mro__ if "__attrs_attrs__" not in vars(base) for slot in _slots_of(base, known)]

    def check(value: Any) -> None:
        nonlocal known
        held = getattr(value, "__dict__", None)
        if held and not held.keys() <= known:
            for name in held.keys() - known:
                if not isinstance(inspect.getattr_static(kind, name, None), functools.cached_property):
                    raise _besides(kind, name)
                known |= {name}
        for name, slot in slots:
            if _is_set(slot, value):
                raise _besides(kind, name)

    return check


def _slots_of(base: type, known: frozenset[str]) -> list[tuple[str, Any]]:
    return [
        (name, found)
        for name, found in vars(base).items()
        if type(found) is types.MemberDescriptorType and name not in known
    ]


def _is_set(slot: Any, value: Any) -> bool:
    try:
        slot.__get__(value)
    except AttributeError:
        return False
    return True


def _besides(kind: type, name: str) -> InvalidArgumentError:
    message = (
        f"an object of {kind.__name__} holds {name!r} besides its fields, which would be lost where it is taken apart"
    )
    return InvalidArgumentError(f"{message}: make it a field (with init=False, if you like), or a property")


# --- named tuples ----------------------------------------------------------------------------------------------------


def register_named_tuple(kind: type, namespace: str) -> None:
    """Makes a subclass of tuple, where it is a named tuple that makes its objects in a way of its own, known to optree."""
    with _registering:
        if kind in _settled:
            return
        if is_named_tuple_class(kind) and not _is_made_by_optree(kind) and is_apart_from_optree(kind, namespace):
            _register_named_tuple(kind, namespace)
        _settled.add(kind)


def _is_made_by_optree(kind: type) -> bool:
    """Returns whether calling the class makes a tuple of the arguments and does nothing else."""
    new = inspect.getattr_static(kind, "__new__")
    maker = getattr(new, "__func__", new)
    # namedtuple() and typing.NamedTuple compile it in a namespace of that name.
    is_generated = str(getattr(maker, "__globals__", {}).get("__name__")).startswith("namedtuple_")
    return (
        is_generated
        and inspect.getattr_static(kind, "__init__") is vars(object)["__init__"]
        and type(kind).__call__ is type.__call__
    )


def _register_named_tuple(kind: Any, namespace: str) -> None:
    names = kind._fields

    def take_apart(value: Any) -> tuple[tuple[Any, ...], None, tuple[str, ...]]:
        held = getattr(value, "__dict__", None)
        if held:
            raise _besides(kind, next(iter(held)))
        return tuple(value), None, names

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it is no common named tuple any more, which it never was
        optree.register_pytree_node(kind, take_apart, lambda _, parts: tuple.__new__(kind, parts), namespace=namespace)
    _registered.add(kind)
