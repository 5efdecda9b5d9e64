"""Classes that travel by value: a process makes each of them once, and what changes at one goes from where it was written, and never back.

A class that comes with elements from a process is the one that the program has, whatever the process did to its copy: the program's own attributes,
methods that it gave it since, and what it registered of it stay as they are.
"""

from __future__ import annotations

import enum
import types
import weakref
from collections.abc import Callable
from typing import Any, Final

__all__ = ["PROGRAMS", "have_classes_found", "reduced_class"]

# How the module is called that the program is, here and in a process that multiprocessing started.
PROGRAMS: Final = ("__main__", "__mp_main__")

_known: Final[weakref.WeakValueDictionary[str, type]] = weakref.WeakValueDictionary()
# How many processes a class has come through; none where it was written.
_steps: Final[weakref.WeakKeyDictionary[type, int]] = weakref.WeakKeyDictionary()
# What a copy was told to have, of which it keeps nothing that is gone where it comes from.
_told: Final[weakref.WeakKeyDictionary[type, frozenset[str]]] = weakref.WeakKeyDictionary()
_program: types.ModuleType | None = None


def have_classes_found(program: types.ModuleType) -> None:
    """Has classes of another program's be attributes of this one, which has none of its own, as states, files and other pickles name them by that."""
    global _program  # noqa: PLW0603 - one of a process
    _program = program


def reduced_class(kind: type, found: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns how a class is pickled of which cloudpickle has told how."""
    make, arguments, state, *others, change = found
    state[0].pop("__slotnames__", None)  # what Python has noted when it pickled an object of the class first
    noted: dict[str, Any] = {}
    if issubclass(kind, enum.Enum):
        arguments, state, noted = _with_members(kind, arguments, state)
    else:
        arguments = _with_slots(kind, arguments)
    number = arguments[-2]
    _known[number] = kind
    steps = _steps.get(kind, 0)
    name = kind.__qualname__ if kind.__module__ in PROGRAMS else None
    return _made, (name, number, steps, make, arguments), (steps, change, state, noted), *others, _changed


def _made(name: str | None, number: str, steps: int, make: Callable[..., type], arguments: tuple[Any, ...]) -> type:
    kind = _known.get(number)
    if kind is None:
        kind = _known[number] = _made_unnoticed(make, arguments)
        _steps[kind] = steps + 1
    if _program is not None and name is not None and "." not in name:
        setattr(_program, name, kind)
    return kind


def _made_unnoticed(make: Callable[..., type], arguments: tuple[Any, ...]) -> type:
    """Makes a class of which those above it are not told anew: what they did with it when it was written comes with them."""
    written = arguments[0] if isinstance(arguments[0], tuple) else arguments[2]
    above = {each for base in types.resolve_bases(written) for each in base.__mro__ if each in _steps}
    told = {each: hook for each in above if (hook := vars(each).get("__init_subclass__")) is not None}
    for each in told:
        del each.__init_subclass__
    try:
        return make(*arguments)
    finally:
        for each, hook in told.items():
            each.__init_subclass__ = hook


def _changed(kind: type, state: tuple[Any, ...]) -> None:
    steps, change, attributes, noted = state
    if steps >= _steps.get(kind, 0):
        return
    told = frozenset(attributes[0])
    for name in _told.get(kind, frozenset()) - told:
        if name in vars(kind):
            delattr(kind, name)
    _told[kind] = told
    change(kind, attributes)
    for name, held in noted.items():
        own = getattr(kind, name).__dict__  # of an enum's member; other classes have none noted
        own.update({name: value for name, value in held.items() if name not in own})


def _with_slots(kind: type, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Has a class keep its slots, which cloudpickle forgets: its objects would come back with a ``__dict__``, for which they have no room here."""
    slots = vars(kind).get("__slots__")
    written = vars(kind).get("__orig_bases__", ())
    # Which says them itself.
    if slots is None or any(getattr(base, "__name__", None) == "NamedTuple" for base in written):
        return arguments
    *before, names, tracker, extra = arguments
    return *before, {**names, "__slots__": slots if isinstance(slots, str) else tuple(slots)}, tracker, extra


def _with_members(kind: type[enum.Enum], arguments: tuple[Any, ...], state: tuple[Any, ...]) -> tuple[Any, ...]:
    """Has an enum keep its second names, and what its ``__init__`` or ``__new__`` noted at its members."""
    bases, name, qualname, _, *tracked = arguments
    attributes, slots = state
    members = kind.__members__
    attributes = {name: held for name, held in attributes.items() if name not in members}
    noted = {name: dict(vars(member)) for name, member in members.items() if member.name == name}
    values = {name: member.value for name, member in members.items()}
    return (bases, name, qualname, values, *tracked), (attributes, slots), noted
