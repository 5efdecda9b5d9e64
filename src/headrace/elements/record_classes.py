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
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import optree

from headrace.errors import InvalidArgumentError

__all__ = [
    "columns_of_fields",
    "is_apart_from_optree",
    "is_known_structure",
    "is_named_tuple_class",
    "is_plain_named_tuple",
    "is_plain_record_class",
    "is_record_class",
    "is_settled_tuple",
    "know_structure",
    "made_of_fields",
    "makes_its_own_objects",
    "names_of_fields",
    "parts_of",
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


def made_of_fields(kind: Any, parts: Iterable[Any]) -> Any:
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


@functools.lru_cache(maxsize=1024)
def _builder(kind: Any, names: tuple[str, ...] | None = None) -> Callable[[Iterable[Any]], Any]:
    """Returns what makes objects of the values of these fields; of all, if none are named."""
    names = tuple(names_of_fields(kind) if names is None else names)
    caches_hash = _caches_hash(kind)
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


def _caches_hash(kind: type) -> bool:
    return _CACHED_HASH in getattr(getattr(kind.__hash__, "__code__", None), "co_names", ())


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


# --- parts, without optree -------------------------------------------------------------------------------------------


def parts_of(value: Any) -> Sequence[Any] | None:
    """Returns what a plain named tuple or record holds, in the order of its fields; None of another, or where that is not all it has."""
    kind: Any = type(value)
    if kind in _registered and not issubclass(kind, tuple):
        fields = _plain_fields(kind)
        return None if fields is None else fields.of(value)
    return value if is_plain_named_tuple(kind) else None


def columns_of_fields(kind: Any, values: Sequence[Any]) -> list[list[Any]] | None:
    """Returns for each field what these objects of one class have in it; None where it is not plain, or one holds something else."""
    if kind in _registered and not issubclass(kind, tuple):
        fields = _plain_fields(kind)
        return None if fields is None else fields.columns(values)
    if is_plain_named_tuple(kind) and kind.__iter__ is tuple.__iter__ and values:
        return list(map(list, zip(*values, strict=True)))
    return None


def is_plain_record_class(kind: type) -> bool:
    """Returns whether objects of a record's class, known to optree, keep fields in a dict, to be found without code of the user's."""
    dicts = [vars(base).get("__dict__") for base in kind.__mro__]
    has_plain_dict = any(dicts) and all(one is None or type(one) is types.GetSetDescriptorType for one in dicts)
    return has_plain_dict and kind.__getattribute__ is object.__getattribute__  # type: ignore[comparison-overlap]  # both are the one


def is_plain_named_tuple(kind: type) -> bool:
    """Returns whether this is the class of named tuples whose parts are found without code of the user's."""
    if not is_named_tuple_class(kind) or not is_settled_tuple(kind):
        return False
    return all(getattr(kind, name) is getattr(tuple, name) for name in ("__getitem__", "__len__"))


@functools.lru_cache(maxsize=1024)
def _plain_fields(kind: Any) -> _InSlots | _InDict | None:
    """Returns where objects of a record's class have their fields; None where they may hold something else, or code of the user's runs."""
    names = tuple(names_of_fields(kind))
    slots = [_slot(kind, name) for name in names]
    if not names or _caches_hash(kind):
        return None
    if all(slots):
        others = [slot for base in kind.__mro__ for slot in _slots_of(base, frozenset(names))]
        return None if others or kind.__dictoffset__ else _InSlots(slots)
    return _InDict(names) if not any(slots) and is_plain_record_class(kind) else None


class _InSlots:
    """Fields in slots, of objects that have nothing else."""

    def __init__(self, slots: Iterable[Any]) -> None:
        self._getters = [slot.__get__ for slot in slots]

    def of(self, value: Any) -> list[Any] | None:
        try:
            return [getter(value) for getter in self._getters]
        except AttributeError:  # a field that nobody has set yet
            return None

    def columns(self, values: Sequence[Any]) -> list[list[Any]] | None:
        try:
            return [list(map(getter, values)) for getter in self._getters]
        except AttributeError:
            return None


class _InDict:
    """Fields in the dicts of objects."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._count = len(names)

    def of(self, value: Any) -> list[Any] | None:
        held = value.__dict__
        if len(held) != self._count:
            return None
        try:
            return [held[name] for name in self._names]
        except KeyError:
            return None

    def columns(self, values: Sequence[Any]) -> list[list[Any]] | None:
        held = [value.__dict__ for value in values]
        if set(map(len, held)) - {self._count}:
            return None
        try:
            return [[one[name] for one in held] for name in self._names]
        except KeyError:
            return None


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
