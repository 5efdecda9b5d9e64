"""What an object holds: attributes, slots, and whether there is more that Python does not show."""

from __future__ import annotations

import types
from typing import Any, Final

from headrace.plan.contents.digest import ValueDigest

__all__ = ["add_state", "has_hidden_contents"]

_POINTER_BYTES: Final = tuple.__itemsize__
_STATELESS: Final = frozenset({list, dict, tuple, set, frozenset, bytearray})
# The last three say where C code keeps something: an address, in some of them.
_NO_STATE: Final = frozenset(
    {"__dict__", "__weakref__", "__dictoffset__", "__vectorcalloffset__", "__weaklistoffset__"}
)


def add_state(value: Any, digest: ValueDigest, without: tuple[str, ...] = ()) -> None:
    """Takes in the attributes of an object, and the slots of all of its classes."""
    if type(value) in _STATELESS:
        return
    try:
        held = object.__getattribute__(value, "__dict__")  # not what the class makes of it
    except AttributeError:
        held = None
    if isinstance(held, dict):
        digest.word("attributes")
        for name, part in list(held.items()):
            if name not in without:
                digest.named(f".{name}", part)
    for base in type(value).__mro__:
        for name, member in vars(base).items():
            if type(member) is types.MemberDescriptorType and name not in _NO_STATE:
                try:
                    part = member.__get__(value)
                except AttributeError:  # nobody has set it
                    continue
                digest.named(f".{name}", part)


def has_hidden_contents(kind: type) -> bool:
    """Returns whether objects hold something that is neither attribute nor slot: what C code keeps for itself."""
    base: type | None = kind
    while base is not None and base is not object:
        above = base.__base__ or object
        shown = sum(type(member) is types.MemberDescriptorType for member in vars(base).values())
        pointers = (shown if "__slots__" in vars(base) else 0) + sum(
            getattr(base, offset) > 0 and getattr(above, offset) == 0
            for offset in ("__dictoffset__", "__weakrefoffset__")
        )
        if (
            base.__basicsize__ - above.__basicsize__ > pointers * _POINTER_BYTES
            or base.__itemsize__ != above.__itemsize__
        ):
            return True
        base = base.__base__
    return False
