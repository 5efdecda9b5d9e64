"""Classes with fields: dataclasses whose methods are written when a program needs them.

``dataclasses`` looks at each field when a class is made, and writes and compiles three to eight methods: a third of a millisecond for
each class. headrace has hundreds of such classes, and a program uses a few of each. So a class of ``frozen`` or ``mutable`` gets its
slots, and no more. ``==`` and ``hash`` are compiled when they are first called, its constructor after some objects, and the rest is the same
code for all classes. It is a dataclass to all who ask (``fields``, ``replace``, ``match``), and described by ``dataclasses`` itself when somebody does.

Classes that users make objects of are declared with ``dataclasses.dataclass(frozen=True, slots=True)`` all the same, because
tools read their signatures.
"""

from __future__ import annotations

import dataclasses
import functools
import reprlib
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, ParamSpec, TypeVar, cast, dataclass_transform, overload

__all__ = ["frozen", "maker", "mutable", "replaced"]

C = TypeVar("C", bound=type[Any])
P = ParamSpec("P")
T = TypeVar("T")
_NEW: Final = object()  # stands where an argument was not given, whose value a factory makes for each object
# To write a constructor takes as long as to set the fields of about so many objects one by one.
_OBJECTS_BEFORE: Final = 8
# By what dataclasses knows a class.
_DESCRIBED: Final = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: C, /) -> C: ...


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(*, kw_only: bool = False, eq: bool = True) -> Callable[[C], C]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: Any = None, /, *, kw_only: bool = False, eq: bool = True) -> Any:
    """Makes a class a frozen dataclass with slots; its arguments are those of ``dataclasses.dataclass``."""

    def declare(cls: type[Any]) -> type[Any]:
        return _declared(cls, _FROZEN, eq=eq, kw_only=kw_only)

    return declare if cls is None else declare(cls)


@dataclass_transform(field_specifiers=(dataclasses.field,))
def mutable(cls: C, /) -> C:
    """Makes a class a dataclass with slots, whose objects may change and have no hash."""
    return _declared(cls, {**_SHOWN, "__hash__": None}, eq=True)


def _declared(cls: C, shared: dict[str, Any], *, eq: bool, kw_only: bool = False) -> C:
    own = frozenset(name for name, value in vars(cls).items() if name != "__hash__" or value is not None)
    declared, given = _with_slots(cls)
    declared.__own_fields__ = functools.partial(_own_fields, cls.__annotations__, given, kw_only=kw_only)
    for name in _DESCRIBED:
        setattr(declared, name, _Described(name, declared, given, kw_only=kw_only))
    methods = {"__init__": _first_constructor(declared)}
    if eq:
        methods["__eq__"] = _late(declared, "__eq__", _equality)
        methods["__hash__"] = _late(declared, "__hash__", _hash)
    methods |= shared
    for name, method in methods.items():
        if name not in own:
            setattr(declared, name, method)
    return cast(C, declared)


def _with_slots(cls: Any) -> tuple[Any, dict[str, Any]]:
    """Returns the class with a slot for each of its fields, and what annotated names were given: defaults, or fields."""
    contents = dict(vars(cls))
    names = [name for name, kind in cls.__annotations__.items() if not _is_of_class(kind) and not _is_argument(kind)]
    given = {name: contents[name] for name in cls.__annotations__ if name in contents}
    for name in ("__dict__", "__weakref__", *names):
        contents.pop(name, None)
    inherited = {slot for base in cls.__mro__[1:] for slot in vars(base).get("__slots__", ())}
    contents["__slots__"] = tuple([name for name in names if name not in inherited])
    contents["__qualname__"] = cls.__qualname__
    return type(cls)(cls.__name__, cls.__bases__, contents), given


# --- its fields -------------------------------------------------------------------------------------------------------


def _is_of_class(kind: object) -> bool:
    return str(kind).startswith(("ClassVar", "typing.ClassVar"))


def _is_argument(kind: object) -> bool:
    """Returns whether a name is an argument of the constructor alone."""
    return str(kind).startswith(("InitVar", "dataclasses.InitVar"))


def _own_fields(
    annotations: dict[str, Any], given: dict[str, Any], *, kw_only: bool
) -> dict[str, dataclasses.Field[Any]]:
    fields = {}
    for name, kind in annotations.items():
        value = given.get(name, dataclasses.MISSING)
        field = value if isinstance(value, dataclasses.Field) else dataclasses.field(default=value)
        field.name, field.type = name, kind
        field.kw_only = kw_only if field.kw_only is dataclasses.MISSING else field.kw_only
        if not _is_of_class(kind):
            fields[name] = field
    return fields


def _fields(cls: type[Any]) -> tuple[list[dataclasses.Field[Any]], list[dataclasses.Field[Any]]]:
    """Returns the fields of a class and its bases, and what is an argument of the constructor alone."""
    found: dict[str, dataclasses.Field[Any]] = {}
    for base in reversed(cls.__mro__):
        found |= vars(base).get("__own_fields__", dict)()
    fields = [field for field in found.values() if not _is_argument(field.type)]
    return fields, [field for field in found.values() if _is_argument(field.type)]


class _Described:
    """Stands for an attribute by which dataclasses knows a class, until somebody asks for one."""

    def __init__(self, name: str, cls: type[Any], given: dict[str, Any], *, kw_only: bool) -> None:
        self._name = name
        self._of = cls
        self._given = given
        self._kw_only = kw_only

    def __get__(self, _object: object, _kind: type[Any]) -> Any:
        cls: Any = self._of
        # A class of the same annotations alone: dataclasses see in it what they would see in this one, beside its bases.
        contents = {**self._given, "__annotations__": cls.__annotations__, "__module__": cls.__module__, "__doc__": "-"}
        declare = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=self._kw_only)
        like: Any = declare(type(cls.__name__, (), contents))
        fields: dict[str, dataclasses.Field[Any]] = {}
        for base in cls.__mro__[:0:-1]:
            fields |= getattr(base, "__dataclass_fields__", {})
        cls.__dataclass_params__ = like.__dataclass_params__
        cls.__dataclass_fields__ = fields | like.__dataclass_fields__
        arguments = [
            field for field in cls.__dataclass_fields__.values() if field.init and not _is_of_class(field.type)
        ]
        positional = [field.name for field in arguments if not field.kw_only]
        setattr(cls, "__match_args__", tuple(positional))  # noqa: B010 - a type checker takes it for a declaration
        return getattr(cls, self._name)


# --- the same for all classes ----------------------------------------------------------------------------------------


def _refuse_to_set(_self: Any, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


@reprlib.recursive_repr()
def _show(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _values(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_values(self: Any, values: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), values, strict=True):
        object.__setattr__(self, field.name, value)


_SHOWN: Final[dict[str, Any]] = {"__repr__": _show, "__replace__": dataclasses.replace}
_FROZEN: Final[dict[str, Any]] = {
    **_SHOWN,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    # What has slots is pickled and copied by these, as with dataclasses: setting attributes is refused.
    "__getstate__": _values,
    "__setstate__": _set_values,
}

# --- written for a class, when it is needed ----------------------------------------------------------------------------


def _late(cls: type[Any], name: str, write: Callable[[type[Any]], Callable[..., Any]]) -> Callable[..., Any]:
    """Returns a method that puts what is written for the class in its own place; two threads may do so at once."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        written = write(cls)
        setattr(cls, name, written)
        return written(self, *args, **kwargs)

    return method


def _first_constructor(cls: type[Any]) -> Callable[..., Any]:
    """Returns an ``__init__`` that sets the fields of the first objects one by one, and is written for those after them."""
    left = _OBJECTS_BEFORE
    known: tuple[list[dataclasses.Field[Any]], list[dataclasses.Field[Any]]] | None = None

    def method(self: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal left, known
        left -= 1
        if known is None:
            known = _fields(cls)  # both at once: other threads may make objects, too
        fields, extra = known
        if left >= 0 and (values := _given(fields, extra, args, kwargs)) is not None:
            _set_one_by_one(self, values, extra)
            return
        written = _constructor(cls)
        cls.__init__ = written  # that is its place
        written(self, *args, **kwargs)

    return method


def _given(fields: list[Any], extra: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Returns what a constructor is given for each name; None where it would refuse that."""
    positional = [field.name for field in (*fields, *extra) if field.init and not field.kw_only]
    given = dict(zip(positional, args, strict=False)) | kwargs
    if len(given) < len(args) + len(kwargs):
        return None
    values = {}
    for field in (*fields, *extra):
        name = field.name
        if field.init and name in given:
            values[name] = given.pop(name)
        elif field.default_factory is not dataclasses.MISSING:
            values[name] = field.default_factory()
        elif field.default is not dataclasses.MISSING:
            values[name] = field.default
        elif field.init:
            return None
    return None if given else values


def _set_one_by_one(self: Any, values: dict[str, Any], extra: list[Any]) -> None:
    arguments = [values.pop(field.name) for field in extra]
    for name, value in values.items():
        object.__setattr__(self, name, value)
    if hasattr(self, "__post_init__"):
        self.__post_init__(*arguments)


def _constructor(cls: type[Any]) -> Callable[..., Any]:
    """Writes ``__init__``."""
    arguments, lines, known = _constructing(cls)
    return _compiled(cls, "__init__", ", ".join(["self", *arguments]), lines or ["pass"], known)


def maker(cls: Callable[P, T]) -> Callable[P, T]:
    """Returns a function that makes objects of a frozen class as a call of the class does, in two thirds of the time.

    A call of a class puts what it is given by name into a dict before it comes to the constructor. The function is written when it is first called.
    """
    known: dict[str, Any] = {"__name__": cls.__module__, "_class": cls, "_new": object.__new__}

    def write() -> Callable[..., Any]:
        arguments, lines, used = _constructing(cls)  # type: ignore[arg-type]  # it is a class
        known.update(used)
        made = _compiled(cls, "make", ", ".join(arguments), ["self = _new(_class)", *lines, "return self"], known)  # type: ignore[arg-type]  # as above
        function.__defaults__, function.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
        function.__qualname__, function.__code__ = made.__qualname__, made.__code__
        return made

    known["_write"] = write
    function = FunctionType(_first_made.__code__, known)
    return cast(Callable[P, T], function)


def replaced(one: T, **changes: Any) -> T:
    """Returns the same with other values in some fields, as ``dataclasses.replace`` does in three times as long.

    It is of a frozen class that checks nothing when its objects are made.
    """
    copied, setters = _copying(type(one))  # type: ignore[arg-type]  # every class has a hash
    other: T = copied(one)
    for name, value in changes.items():
        setters[name](other, value)
    return other


@functools.cache
def _copying(kind: type[Any]) -> tuple[Callable[[Any], Any], dict[str, Callable[[Any, Any], None]]]:
    """Writes what copies an object of a class, and returns what sets each field past ``__setattr__``."""
    names = [field.name for field in _fields(kind)[0]]
    setters = {name: getattr(kind, name).__set__ for name in names}
    known = {"_new": object.__new__, "_class": kind} | {f"_set_{name}": setters[name] for name in names}
    lines = ["other = _new(_class)", *[f"_set_{name}(other, one.{name})" for name in names], "return other"]
    return _compiled(kind, "copied", "one", lines, known), setters


def _first_made(*args: Any, **kwargs: Any) -> Any:
    return _write()(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821 - a name of each maker's own


def _constructing(cls: type[Any]) -> tuple[list[str], list[str], dict[str, Any]]:
    """Returns the arguments of a constructor, its lines, and what these name.

    It sets each slot by itself, of what is frozen past ``__setattr__``, and then calls ``__post_init__``.
    """
    is_frozen = vars(cls).get("__setattr__") is _refuse_to_set
    known: dict[str, Any] = {"_NEW": _NEW}
    positional: list[str] = []
    keywords, lines = ["*"], []
    fields, extra = _fields(cls)
    for field in (*fields, *extra):
        name, argument, value = field.name, field.name, field.name
        if field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            argument = f"{name}=_NEW"
            value = f"_make_{name}() if {name} is _NEW else {name}" if field.init else f"_make_{name}()"
        elif field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            argument = f"{name}=_default_{name}"
            value = name if field.init else f"_default_{name}"
        elif not field.init:
            continue  # __post_init__ sets it
        if field.init:
            (keywords if field.kw_only else positional).append(argument)
        if field in extra:
            continue
        if is_frozen:
            known[f"_set_{name}"] = getattr(cls, name).__set__
        lines.append(f"_set_{name}(self, {value})" if is_frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(f"self.__post_init__({', '.join(field.name for field in extra)})")
    return positional + (keywords if len(keywords) > 1 else []), lines, known


def _equality(cls: type[Any]) -> Callable[..., Any]:
    names = [field.name for field in _fields(cls)[0] if field.compare]
    mine, theirs = ("".join(f"{who}.{name}, " for name in names) for who in ("self", "other"))
    lines = ["if other.__class__ is not self.__class__: return NotImplemented", f"return ({mine}) == ({theirs})"]
    return _compiled(cls, "__eq__", "self, other", lines, {})


def _hash(cls: type[Any]) -> Callable[..., Any]:
    names = [field.name for field in _fields(cls)[0] if (field.compare if field.hash is None else field.hash)]
    return _compiled(cls, "__hash__", "self", [f"return hash(({''.join(f'self.{name}, ' for name in names)}))"], {})


def _compiled(cls: type[Any], name: str, arguments: str, lines: list[str], known: dict[str, Any]) -> Callable[..., Any]:
    """Returns the method of this text, which reads as one of the class in messages."""
    text = f"def {name}({arguments}):\n" + "".join(f"    {line}\n" for line in lines)
    made: dict[str, Any] = {}
    exec(text, known, made)  # noqa: S102 - of the names of fields alone
    method: Callable[..., Any] = made[name]
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    method.__module__ = cls.__module__
    return method
